package market

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// guesses counts the types of a market that count at a price which stands in for one that
// nobody knows.
type guesses struct {
	sold     int      // types that the market has on demand
	onDemand []string // those of them without a known price, sorted
	spot     int      // types on spot without one
}

func guessesOf(facts []catalog.Fact, m catalog.Market) (out guesses) {
	for _, f := range facts {
		if len(m.Offered[f.Name]) == 0 {
			continue
		}
		if slices.Contains(f.UsageClasses, label.OnDemand) {
			out.sold++
		}
		if m.SpotUnknown && slices.Contains(f.UsageClasses, label.Spot) && max(m.OnDemand[f.Name], m.StandIn[f.Name]) > 0 {
			out.spot++
		}
	}
	out.onDemand = slices.Sorted(maps.Keys(m.StandIn))
	return out
}

// of is how many types of the group count at a stand-in.
func (g guesses) of(group string) int {
	switch group {
	case groupOnDemand:
		return len(g.onDemand)
	case groupSpot:
		return g.spot
	}
	return 0
}

// mostNamed is how many types a message names.
const mostNamed = 3

// explain says what counts at stand-ins; "" where nothing does.
func (g guesses) explain() string {
	var parts []string
	if n := len(g.onDemand); n > 0 {
		named := strings.Join(g.onDemand[:min(n, mostNamed)], ", ")
		if n > mostNamed {
			named += " and others"
		}
		parts = append(parts, fmt.Sprintf("instance types without a known price on demand in the region count at a stand-in, by their price elsewhere or by their size: %d of %d (%s)", n, g.sold, named))
	}
	if g.spot > 0 {
		parts = append(parts, fmt.Sprintf("instance types on spot have no known price and count as on demand: %d", g.spot))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + ". No node is replaced to save money by such a price"
}
