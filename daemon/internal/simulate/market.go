package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
)

// elsewhereRegion is the one whose prices stand in for those of a region that the embedded table
// does not have.
const elsewhereRegion = "us-east-1"

// Offers are what a region sells.
type Offers struct {
	Facts  []catalog.Fact
	Market catalog.Market
	From   string // where the prices are from, for users
}

// Embedded says, for users, that the prices of the market are those of the embedded list.
func Embedded(m catalog.Market) string {
	return fmt.Sprintf("the embedded price list of %s%s", m.Region, dated(m))
}

// market is what the embedded table says that the region sells.
func market(region string) (*Offers, error) {
	facts, m, err := embedded.Load(region)
	if err == nil {
		return &Offers{facts, m, Embedded(m)}, nil
	}
	if !errors.Is(err, embedded.ErrUnknownRegion) {
		return nil, fmt.Errorf("embedded table read: %w", err)
	}
	facts, m, err = embedded.Load(elsewhereRegion)
	if err != nil {
		return nil, fmt.Errorf("embedded table read: %w", err)
	}
	m.Zones = slices.Clone(m.Zones)
	for i := range m.Zones {
		m.Zones[i] = catalog.Zone{Name: region + strings.TrimPrefix(m.Zones[i].Name, elsewhereRegion)}
	}
	m.Region = region
	return &Offers{facts, m, fmt.Sprintf("the embedded price list of %s%s, which stands in for %s: the program has none of that region", elsewhereRegion, dated(m), region)}, nil
}

// dated says of when the prices are.
func dated(m catalog.Market) string {
	var out []string
	for _, group := range []string{"on-demand", "spot"} {
		for _, s := range m.Sources {
			if s.Group == group && s.Date != "" {
				out = append(out, group+" of "+s.Date)
				break
			}
		}
	}
	if len(out) == 0 {
		return ""
	}
	return " (" + strings.Join(out, ", ") + ")"
}

// zonesIn are the zones of the market with these names, or all of them where none is.
func zonesIn(m catalog.Market, names []string) []catalog.Zone {
	var out []catalog.Zone
	for _, z := range m.Zones {
		if slices.Contains(names, z.Name) {
			out = append(out, z)
		}
	}
	if len(out) == 0 {
		out = slices.Clone(m.Zones)
	}
	slices.SortFunc(out, func(a, b catalog.Zone) int { return strings.Compare(a.Name, b.Name) })
	return out
}
