package sim

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Bound is a lower bound of what any fleet for the workloads costs. It sets
// prices for CPU, memory and pod slots such that no offering is worth more than
// it costs. Then any fleet costs at least what all pods are worth. Every choice
// of such prices gives a bound; the search below finds the best single set of
// prices for all pods. Bound leaves out every constraint but size, and takes
// what the DaemonSets need from each node.
//
// It is written apart from the engine's bound, which it checks. Floating point
// makes it exact to about one millionth.
func Bound(cfg Config) quantity.Money {
	demand := [3]float64{}
	for _, w := range cfg.Workloads {
		n := float64(w.Replicas)
		demand[0] += n * float64(w.Shape.Requests.MilliCPU)
		demand[1] += n * float64(w.Shape.Requests.MemoryBytes)
		demand[2] += n * float64(max(1, w.Shape.Requests.PodSlots))
	}
	offers := boundOffers(cfg)
	if len(offers) == 0 {
		return 0
	}
	// The worth is quasi-concave along the prices. So a ternary search over the
	// share of CPU runs inside a ternary search over the share of pod slots.
	worth := func(cpu, slots float64) float64 {
		return worthOf(offers, demand, [3]float64{cpu * (1 - slots), (1 - cpu) * (1 - slots), slots})
	}
	best := highest(0, 0.5, func(slots float64) float64 {
		return highest(0, 1, func(cpu float64) float64 { return worth(cpu, slots) })
	})
	return quantity.Money(best * (1 - 1e-6))
}

type boundOffer struct {
	net   [3]float64
	price float64
}

func boundOffers(cfg Config) []boundOffer {
	var out []boundOffer
	for _, p := range cfg.Pools {
		for _, class := range cfg.Classes {
			if class.Name != p.Class {
				continue
			}
			for _, t := range class.Types {
				for _, o := range t.Offerings {
					l := &label.Layers{p.Labels, t.Labels, label.FromMap(map[string]string{label.Zone: o.Zone, label.CapacityType: o.CapacityType})}
					if _, no := p.Requirements.Unmet(l); no || !o.Available || o.Price <= 0 {
						continue
					}
					net := t.Allocatable.Sub(fit.Overhead(cfg.DaemonSets, l, p.Taints))
					out = append(out, boundOffer{
						net:   [3]float64{float64(net.MilliCPU), float64(net.MemoryBytes), float64(net.PodSlots)},
						price: float64(o.Price),
					})
				}
			}
		}
	}
	return out
}

// worthOf scales the prices up until some offering is worth exactly what it
// costs. It returns what the demand is worth at these prices.
func worthOf(offers []boundOffer, demand, prices [3]float64) float64 {
	// A price is given as a share of the worth of the whole demand. Divide it by
	// the demand to get the price of one unit.
	for d := range prices {
		prices[d] /= max(1, demand[d])
	}
	scale := -1.0
	for _, o := range offers {
		var sum float64
		for d := range prices {
			sum += float64(prices[d] * max(0, o.net[d]))
		}
		if sum > 0 && (scale < 0 || o.price/sum < scale) {
			scale = o.price / sum
		}
	}
	var sum float64
	for d := range prices {
		sum += float64(prices[d] * demand[d])
	}
	return max(0, scale) * sum
}

// highest finds the maximum of a quasi-concave function.
func highest(low, high float64, f func(float64) float64) float64 {
	for range 40 {
		third := (high - low) / 3
		if f(low+third) < f(high-third) {
			low += third
		} else {
			high -= third
		}
	}
	return f((low + high) / 2)
}
