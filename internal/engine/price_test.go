package engine_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// reprice gives each offering a price of its own, by type and list price.
func (w *world) reprice(price func(instanceType string, list quantity.Money) quantity.Money) {
	class := w.objects.Classes[0]
	class.Types = slices.Clone(class.Types)
	for i := range class.Types {
		t := &class.Types[i]
		t.Offerings = slices.Clone(t.Offerings)
		for j := range t.Offerings {
			list := map[string]quantity.Money{"c5.large": 85_000_000, "c5.xlarge": 170_000_000, "m5.xlarge": 192_000_000}[t.Name]
			if t.Offerings[j].CapacityType == label.Spot {
				list /= 3
			}
			t.Offerings[j].Price = price(t.Name, list)
		}
	}
	w.objects.Classes = []cluster.Class{class}
}

// begins says whether the engine begins a move within some Steps.
func (w *world) begins() bool {
	for range 12 {
		out := w.step()
		if len(of[plan.Disrupt](out))+len(of[plan.Delete](out))+len(of[plan.Launch](out)) > 0 {
			return true
		}
		w.now = w.now.Add(50 * time.Second)
	}
	return false
}

// Prices of EC2 change every few minutes. What that makes cheaper has to save as much as
// every other move.
func TestStep_PricesThatChangeALittleMoveNothing(t *testing.T) {
	for _, capacityType := range []string{label.OnDemand, label.Spot} {
		t.Run(capacityType, func(t *testing.T) {
			w := newWorld(t)
			w.objects.Pools[0].Disruption = saving()
			w.objects.Pools[0].Requirements = label.All(label.Is(label.CapacityType, capacityType))
			w.pods("web", 12, 900).running()
			w.now = w.now.Add(time.Hour)
			if w.begins() {
				t.Fatal("the fleet is not settled")
			}
			chance := rand.New(rand.NewPCG(1, 2))
			for range 24 {
				w.reprice(func(_ string, list quantity.Money) quantity.Money {
					return list + list/1000*quantity.Money(chance.IntN(101)-50)
				})
				if w.begins() {
					t.Fatal("nodes go because a price has changed by 5 %")
				}
			}
			w.reprice(func(name string, list quantity.Money) quantity.Money {
				if name == "c5.large" {
					return 2 * list
				}
				return list
			})
			if moves := w.begins(); moves != (capacityType == label.OnDemand) { // spot nodes are not replaced by spot nodes
				t.Errorf("after a price has doubled, moves begin: %v", moves)
			}
		})
	}
}
