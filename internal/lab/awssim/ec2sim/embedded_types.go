package ec2sim

import (
	"fmt"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// EmbeddedTypes is every type that the region offers by the product's embedded
// catalogue. It fails for a region that the catalogue does not have.
func EmbeddedTypes(region string) (Offered, error) {
	facts, market, err := embedded.Load(region)
	if err != nil {
		return Offered{}, fmt.Errorf("instance types load: %w", err)
	}
	return fromCatalog(facts, market), nil
}

func fromCatalog(facts []catalog.Fact, market catalog.Market) Offered {
	var out Offered
	for _, z := range market.Zones {
		out.Zones = append(out.Zones, Zone{Name: z.Name, ID: z.ID})
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
		out.Types = append(out.Types, t)
	}
	return out
}
