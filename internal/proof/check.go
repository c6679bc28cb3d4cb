package proof

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Key returns the key of the group that a pod like this belongs to. The checker
// need not trust it: a key that puts different pods into one group only lowers
// the bound.
type Key func(namespace string, labels label.Labels, shape cluster.Shape) string

// Check returns nil if the certificate proves its bound for these objects.
func Check(o cluster.Objects, c plan.Certificate, key Key) error {
	proven, err := Proven(o, c, key)
	if err == nil && c.Bound > proven {
		err = fmt.Errorf("%w: %d nano-dollars an hour claimed, %d proven", ErrBound, c.Bound, proven)
	}
	return err
}

// Proven returns the bound that the certificate's prices prove, whatever bound
// it claims. Zero is always proven.
func Proven(o cluster.Objects, c plan.Certificate, key Key) (quantity.Money, error) {
	p := newProof(o, c)
	if err := p.checkForm(); err != nil {
		return 0, err
	}
	if err := p.gather(key); err != nil {
		return 0, err
	}
	offerings, err := p.offerings()
	if err != nil {
		return 0, err
	}
	total := p.worthOfSets()
	for _, g := range p.groups {
		each := p.worth(g.need, g.prices)
		each.Add(each, big.NewInt(g.surcharge))
		total.Add(total, each.Mul(each, big.NewInt(g.count)))
	}
	var prices []quantity.Money // of nodes that hold any of the pods
	for _, s := range append(offerings, p.existing()...) {
		cost := new(big.Int).Lsh(big.NewInt(int64(s.price)), c.Scale)
		surplus, holds := p.worthOn(s.places, cost)
		surplus.Sub(surplus, cost)
		switch {
		case surplus.Sign() <= 0:
		case s.count == unlimited:
			return 0, fmt.Errorf("%w: %s costs %d, and holds pods worth %d more, times 2^-%d", ErrOffering, s.name, s.price, surplus, c.Scale)
		default:
			total.Sub(total, surplus.Mul(surplus, big.NewInt(s.count)))
		}
		if holds && s.price > 0 {
			prices = append(prices, s.price)
		}
	}
	for _, g := range p.groups {
		if !g.fits {
			return 0, fmt.Errorf("%w: nothing holds a pod of group %q", ErrDemand, g.key)
		}
	}
	return whole(total.Rsh(total, c.Scale), prices), nil // rounds down
}

// whole raises a bound to the next cost that whole nodes can have: nothing, the
// price of one node, or at least twice the price of the cheapest node.
func whole(bound *big.Int, prices []quantity.Money) quantity.Money {
	switch {
	case bound.Sign() <= 0:
		return 0
	case !bound.IsInt64():
		return math.MaxInt64
	}
	proven := quantity.Money(bound.Int64())
	if len(prices) == 0 {
		return proven
	}
	cheapest := slices.Min(prices)
	lowest := max(proven, addUp(cheapest, cheapest))
	for _, price := range prices {
		if price >= proven {
			lowest = min(lowest, price)
		}
	}
	return lowest
}

// addUp adds two numbers that are not negative. It stops at the largest number
// there is.
func addUp[N ~int64](a, b N) N { return min(a, math.MaxInt64-b) + b }

func (p *proof) checkForm() error {
	c := p.certificate
	if c.Bound < 0 || c.NodeCost < 0 || c.Scale > 62 {
		return fmt.Errorf("%w: bound %d, node cost %d, scale %d", ErrForm, c.Bound, c.NodeCost, c.Scale)
	}
	seen, groups := map[plan.Dimension]bool{}, map[string]bool{}
	for _, d := range c.Dimensions {
		if d.Unit < 1 || seen[d] || !p.known(d.Resource) {
			return fmt.Errorf("%w: dimension %q in units of %d is unknown, given twice, or not positive", ErrForm, d.Resource, d.Unit)
		}
		seen[d] = true
	}
	for _, d := range c.Demand {
		negative := slices.ContainsFunc(d.Prices, func(price int64) bool { return price < 0 })
		if d.Count < 0 || d.Surcharge < 0 || groups[d.Group] || negative || len(d.Prices) != len(c.Dimensions) {
			return fmt.Errorf("%w: group %q, count %d, prices %d, surcharge %d: each group needs one list of %d prices, and nothing may be negative",
				ErrForm, d.Group, d.Count, d.Prices, d.Surcharge, len(c.Dimensions))
		}
		groups[d.Group] = true
	}
	return nil
}

// known says whether the name is one of these: a resource that every node has, a
// resource that some pod requests, or an exclusive set of pods.
func (p *proof) known(resource string) bool {
	if plan.IsExclusive(resource) {
		return true
	}
	if cluster.IsAttachSlots(resource) {
		return false
	}
	return slices.Contains([]string{quantity.CPU, quantity.Memory, quantity.EphemeralStorage, quantity.Pods}, resource) ||
		slices.ContainsFunc(p.objects.Pods, func(x cluster.Pod) bool { return x.Shape.Requests.Get(resource) != 0 }) ||
		slices.ContainsFunc(p.objects.Workloads, func(x cluster.Workload) bool { return x.Shape.Requests.Get(resource) != 0 })
}

// worth is what the amounts are worth at these prices. Only whole units count.
func (p *proof) worth(amount quantity.Resources, prices []int64) *big.Int {
	sum := new(big.Int)
	for i, d := range p.certificate.Dimensions {
		units := big.NewInt(max(0, amount.Get(d.Resource)) / d.Unit)
		sum.Add(sum, units.Mul(units, big.NewInt(prices[i])))
	}
	return sum
}

// worthOn is the most that pods on one of the places can be worth: all room of
// the place, each resource at the highest price that a group gives it which may
// run there, and the surcharges of what fits. holds says whether there is such a
// group. Contents of a place are looked at only if they could be worth more than the
// cost, since less does not matter.
func (p *proof) worthOn(places []place, cost *big.Int) (most *big.Int, holds bool) {
	most = new(big.Int)
	for _, x := range places {
		best := make([]int64, len(p.certificate.Dimensions))
		for _, g := range p.groups {
			if !slices.ContainsFunc(g.shapes, x.holds) {
				continue
			}
			g.fits, holds = true, true
			for i, price := range g.prices {
				best[i] = max(best[i], price)
			}
		}
		w := p.worth(x.room, best)
		if w.Add(w, p.surcharges(x, new(big.Int).Sub(cost, w))); w.Cmp(most) > 0 {
			most = w
		}
	}
	return most, holds
}
