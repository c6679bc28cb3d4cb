package bound

import (
	"fmt"
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Problem is classes to be placed on new nodes and on hosts, whose free room
// costs nothing.
type Problem struct {
	pack.Problem
	Hosts []pack.Host
}

// Certificate proves that the classes cost at least Bound.
type Certificate struct {
	Bound      quantity.Money
	Scale      uint
	Dimensions []price.Dimension
	Prices     [][]int64 // for each class, per dimension; shared, not to be changed
	// Surcharge is, for each class, what a pod is worth beside its resources. nil is
	// none.
	Surcharge []int64
}

// Of finds prices and proves what it can with them. Classes that fit nowhere
// count nothing.
func Of(p Problem) Certificate { return With(p, pack.Prices(p.Problem, p.Hosts)) }

// OfWhole also looks at the contents that nodes can have of pods of which few fit a
// node. It takes longer, and proves more where such pods leave much room.
func OfWhole(p Problem) Certificate { return With(p, pack.WholePrices(p.Problem, p.Hosts)) }

// With proves what it can with the given prices, such as those of a result of
// package pack. The bound is 0 where the prices are not for this problem.
func With(p Problem, prices price.Prices) Certificate {
	c := Certificate{Scale: prices.Scale, Dimensions: prices.Dimensions, Prices: prices.Of, Surcharge: prices.Surcharge}
	proven, err := Proven(p, c)
	if err != nil {
		return Certificate{Prices: make([][]int64, len(p.Classes))}
	}
	c.Bound = proven
	return c
}

// Check returns nil if the certificate proves its bound.
func Check(p Problem, c Certificate) error {
	proven, err := Proven(p, c)
	if err == nil && c.Bound > proven {
		err = fmt.Errorf("%w: %d nano-dollars an hour claimed, %d proven", ErrBound, c.Bound, proven)
	}
	return err
}

// Proven is the bound that the prices prove, whatever the certificate claims.
func Proven(p Problem, c Certificate) (quantity.Money, error) {
	if err := check(p, c); err != nil {
		return 0, err
	}
	v := verifier{problem: p, certificate: c, contents: newContents(&p, c.Surcharge)}
	v.sort()
	var demand, limited price.Sum
	for i := range p.Classes {
		one := v.worth(p.Classes[i].Need, c.Prices[i])
		if c.Surcharge != nil {
			one.Add(c.Surcharge[i], 1)
		}
		demand.AddTimes(one, max(0, p.Classes[i].Count))
	}
	for i := range p.Offers {
		excess, err := v.offer(i)
		if err != nil {
			return 0, err
		}
		limited.AddTimes(excess, max(0, p.Offers[i].Nodes))
	}
	for i := range p.Hosts {
		limited.AddTimes(v.host(&p.Hosts[i]), 1)
	}
	if !demand.Exceeds(limited) {
		return 0, nil
	}
	return v.sum(quantity.Money(demand.Minus(limited).Unscaled(c.Scale))), nil
}

// sum raises a bound to a cost that whole nodes can have together: that of one node
// that holds any pods, or at least that of two of the cheapest.
func (v *verifier) sum(bound quantity.Money) quantity.Money {
	if bound == 0 || len(v.sold) == 0 {
		return bound
	}
	cheapest := slices.Min(v.sold)
	lowest := max(bound, cheapest+min(cheapest, math.MaxInt64-cheapest))
	for _, price := range v.sold {
		if price >= bound {
			lowest = min(lowest, price)
		}
	}
	return lowest
}

// check says whether the certificate has the form of the problem.
func check(p Problem, c Certificate) error {
	if c.Scale > 62 || len(c.Prices) != len(p.Classes) || c.Surcharge != nil && len(c.Surcharge) != len(p.Classes) {
		return fmt.Errorf("%w: scale %d, prices for %d and surcharges for %d of %d classes", ErrForm, c.Scale, len(c.Prices), len(c.Surcharge), len(p.Classes))
	}
	for i, v := range c.Surcharge {
		if v < 0 || v >= 1<<61 {
			return fmt.Errorf("%w: the surcharge of class %q is %d", ErrForm, p.Classes[i].Key, v)
		}
	}
	for _, d := range c.Dimensions {
		if d.Resource < 0 || d.Unit < 1 {
			return fmt.Errorf("%w: resource %d in units of %d", ErrForm, d.Resource, d.Unit)
		}
	}
	for i, prices := range c.Prices {
		if len(prices) != len(c.Dimensions) {
			return fmt.Errorf("%w: %d prices of class %q for %d dimensions", ErrForm, len(prices), p.Classes[i].Key, len(c.Dimensions))
		}
		for _, v := range prices {
			if v < 0 {
				return fmt.Errorf("%w: a price of class %q is %d", ErrForm, p.Classes[i].Key, v)
			}
		}
	}
	return nil
}

// verifier looks at what each offer could hold at most.
type verifier struct {
	problem     Problem
	certificate Certificate
	sets        []set
	best        []int64          // scratch of room, per dimension
	sold        []quantity.Money // prices above 0 of nodes that hold any pods
	contents    contents
}

// set is the classes with one list of prices that may run in the same places.
type set struct {
	where   int
	prices  []int64
	classes []int
}

// sort gathers the classes into sets. Of a set, it is enough to know whether one of
// its classes fits.
func (v *verifier) sort() {
	type key struct {
		where int
		first *int64
	}
	index := map[key]int{}
	for i := range v.problem.Classes {
		class := &v.problem.Classes[i]
		prices := v.certificate.Prices[i]
		if class.Count <= 0 || class.Where < 0 || class.Where >= len(v.problem.Where) || len(prices) == 0 {
			continue
		}
		k := key{class.Where, &prices[0]}
		s, ok := index[k]
		if !ok {
			s = len(v.sets)
			index[k] = s
			v.sets = append(v.sets, set{where: class.Where, prices: prices})
		}
		v.sets[s].classes = append(v.sets[s].classes, i)
	}
	v.best = make([]int64, len(v.certificate.Dimensions))
}

// offer is by how much the worth of what the offer can hold exceeds its price,
// in the zone where that is the most.
func (v *verifier) offer(i int) (price.Sum, error) {
	o := &v.problem.Offers[i]
	var most price.Sum
	for z, p := range o.Prices {
		free := p == 0 && o.Nodes >= 0
		if z > 63 || o.Zones>>z&1 == 0 || p <= 0 && !free {
			continue
		}
		open := func(where int) bool {
			zones := v.problem.Where[where].Zones
			return i < len(zones) && zones[i]>>z&1 == 1
		}
		room, usable := v.room(o.Net, open)
		if usable && p > 0 {
			v.sold = append(v.sold, p)
		}
		cost := price.Scaled(int64(p), v.certificate.Scale)
		room.AddTimes(v.contents.most(o.Net, open, cost.Minus(room)), 1)
		if !room.Exceeds(cost) {
			continue
		}
		if o.Nodes < 0 {
			return most, fmt.Errorf("%w: %s in zone %d", ErrOffer, o.Name, z)
		}
		if excess := room.Minus(cost); excess.Exceeds(most) {
			most = excess
		}
	}
	return most, nil
}

// host is the most that the free room of the host could be worth.
func (v *verifier) host(h *pack.Host) price.Sum {
	open := func(where int) bool { return where>>6 < len(h.Holds) && h.Holds[where>>6]>>(where&63)&1 == 1 }
	room, _ := v.room(h.Free, open)
	room.AddTimes(v.contents.most(h.Free, open, price.Sum{}), 1)
	return room
}

// room is the most that the free amounts could be worth. Of the classes that may run
// there and fit, each dimension is given to the class that pays most for it. held says
// whether there are any.
func (v *verifier) room(free []int64, open func(where int) bool) (most price.Sum, usable bool) {
	clear(v.best)
	for s := range v.sets {
		set := &v.sets[s]
		if !open(set.where) || usable && !v.raises(set.prices) || !v.fits(set, free) {
			continue
		}
		usable = true
		for d, p := range set.prices {
			v.best[d] = max(v.best[d], p)
		}
	}
	return v.worth(free, v.best), usable
}

// raises says whether one of the prices is above the best so far.
func (v *verifier) raises(prices []int64) bool {
	for d, p := range prices {
		if p > v.best[d] {
			return true
		}
	}
	return false
}

// fits says whether the free amounts hold a pod of some class of the set.
func (v *verifier) fits(s *set, free []int64) bool {
	return slices.ContainsFunc(s.classes, func(i int) bool { return quantity.Fits(v.problem.Classes[i].Need, free) })
}

// worth is the price of the amounts, counting whole units only.
func (v *verifier) worth(amounts, prices []int64) price.Sum {
	var sum price.Sum
	for d, dim := range v.certificate.Dimensions {
		if dim.Resource < len(amounts) && amounts[dim.Resource] > 0 {
			sum.Add(amounts[dim.Resource]/dim.Unit, prices[d])
		}
	}
	return sum
}
