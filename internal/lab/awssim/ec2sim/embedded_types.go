package ec2sim

import (
	"fmt"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// EmbeddedTypes is the type source that the product's embedded catalogue
// makes: every type that the region offers. It fails for a region that the
// catalogue does not have.
func EmbeddedTypes(region string) (TypeSource, error) {
	facts, market, err := embedded.Load(region)
	if err != nil {
		return nil, fmt.Errorf("instance types load: %w", err)
	}
	return fromCatalog(facts, market), nil
}

type catalogTypes struct {
	zones []Zone
	types []Type
}

// Zones lists the zones of the region.
func (c catalogTypes) Zones() []Zone { return c.zones }

// Types lists the types that the region offers.
func (c catalogTypes) Types() []Type { return c.types }

func fromCatalog(facts []catalog.Fact, market catalog.Market) catalogTypes {
	var out catalogTypes
	for _, z := range market.Zones {
		out.zones = append(out.zones, Zone{Name: z.Name, ID: z.ID})
	}
	for _, fact := range facts {
		offered := market.Offered[fact.Name]
		if len(offered) == 0 {
			continue
		}
		t := Type{Fact: fact, OnDemand: market.OnDemand[fact.Name], Spot: map[string]quantity.Money{}}
		for n, zone := range offered {
			name := market.Zones[zone].Name
			t.Zones = append(t.Zones, name)
			if prices := market.Spot[fact.Name]; n < len(prices) {
				t.Spot[name] = prices[n]
			}
		}
		out.types = append(out.types, t)
	}
	return out
}
