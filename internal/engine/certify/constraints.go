package certify

import (
	"math/bits"
	"slices"
	"strconv"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/bound"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// priceRequirements finds, for each requirement of a pool, the least that the pods
// would cost if the pool did not have the requirement.
func (a *audit) priceRequirements() {
	from := len(a.out.Constraints)
	for _, p := range a.supply.Pools {
		for _, r := range p.Requirements {
			if !label.OfInstance(r.Key()) || r.Key() == label.Hostname {
				continue // the requirement does not restrict what may be launched
			}
			wide, more := a.without(p, r)
			if !more {
				continue
			}
			c := bound.Of(wide)
			a.improve(c)
			a.out.Constraints = append(a.out.Constraints, plan.ConstraintPrice{
				Constraint: plan.PoolRequirement, Pool: p.Name, Key: r.Key(), Rule: r.String(), Without: c.Bound,
			})
		}
	}
	for i := range a.out.Constraints[from:] {
		c := &a.out.Constraints[from+i]
		c.With, c.Without = a.best.Bound, min(c.Without, a.best.Bound)
	}
}

// improve takes over the prices of certificate c if they prove more for the
// question of the audit. The certificate is of a problem with more offers, so its
// prices are valid here, too.
func (a *audit) improve(c bound.Certificate) {
	if c.Bound <= a.best.Bound {
		return
	}
	if proven, err := bound.Proven(a.asked.Problem, c); err == nil && proven > a.best.Bound {
		c.Bound = proven
		a.best = c
	}
}

// without returns the problem in which the pool does not have the requirement. It
// returns false if that adds no offering.
func (a *audit) without(p cluster.Pool, r label.Requirement) (bound.Problem, bool) {
	if values, listed := r.Values(); listed && len(values) == 1 && !r.AdmitsAbsence() {
		if _, there := p.Labels.Get(r.Key()); !there {
			p.Labels = p.Labels.With(r.Key(), values[0]) // nodes keep the label if their type does not decide it
		}
	}
	p.Requirements = slices.DeleteFunc(slices.Clone(p.Requirements), func(x label.Requirement) bool { return x.Key() == r.Key() })
	wide := a.market.Fleet.With(p)
	if offerings(wide) <= offerings(a.market.Fleet) {
		return bound.Problem{}, false
	}
	m := &offer.Market{View: a.View}
	m.Use(wide)
	return a.pose(m, a.asked.demand).Problem, true
}

func offerings(f *offer.Fleet) (n int) {
	for i := range f.Rows {
		n += bits.OnesCount64(f.Rows[i].Zones)
	}
	return n
}

// priceWeights finds the least that the pods would cost if each ran on nodes of a pool of
// the highest weight that can hold it.
func (a *audit) priceWeights() {
	weight := func(row int) int32 { return a.market.Fleet.Pools[a.market.Fleet.Rows[row].Pool].Weight }
	if !slices.ContainsFunc(a.market.Fleet.Rows, func(r offer.Row) bool { return a.market.Fleet.Pools[r.Pool].Weight != weight(0) }) {
		return
	}
	with := a.restricted(func(c *pack.Class) int64 {
		heaviest := int64(-1)
		for i := range a.market.Fleet.Rows {
			if w := int64(weight(i)); w > heaviest && a.holds(i, c) {
				heaviest = w
			}
		}
		return heaviest
	}, func(row int, mark int64) bool { return int64(weight(row)) == mark })
	a.out.Constraints = append(a.out.Constraints, plan.ConstraintPrice{
		Constraint: plan.PoolWeights, Rule: "preferring pools by weight", With: with, Without: a.best.Bound,
	})
}

// priceSizeLimit finds the least that the pods would cost if each pod that fits a
// node within the soft size limit ran on such a node.
func (a *audit) priceSizeLimit() {
	limit := a.Policy.SoftMaxMilliCPU
	large := func(row int) bool { return a.market.Fleet.Rows[row].Type.Capacity.MilliCPU > limit }
	if limit <= 0 || !slices.ContainsFunc(a.market.Fleet.Rows, func(r offer.Row) bool { return r.Type.Capacity.MilliCPU > limit }) {
		return
	}
	with := a.restricted(func(c *pack.Class) int64 {
		for i := range a.market.Fleet.Rows {
			if !large(i) && a.holds(i, c) {
				return 1
			}
		}
		return 0
	}, func(row int, mark int64) bool { return mark == 0 || !large(row) })
	a.out.Constraints = append(a.out.Constraints, plan.ConstraintPrice{
		Constraint: plan.SoftSizeLimit, Rule: "avoiding nodes of more than " + cpus(limit), With: with, Without: a.best.Bound,
	})
}

func cpus(milli int64) string {
	if milli%1000 != 0 {
		return strconv.FormatInt(milli, 10) + "m CPU"
	}
	return strconv.FormatInt(milli/1000, 10) + " vCPU"
}

// restricted returns the bound if each class may use only the rows that its mark
// allows.
func (a *audit) restricted(mark func(*pack.Class) int64, allowed func(row int, mark int64) bool) quantity.Money {
	type key struct {
		where int
		mark  int64
	}
	p := bound.Problem{Problem: pack.Problem{Offers: a.asked.Offers, Classes: slices.Clone(a.asked.Classes)}}
	var levels []*demand.Level
	wheres := map[key]int{}
	for i := range p.Classes {
		c := &p.Classes[i]
		k := key{c.Where, mark(c)}
		w, known := wheres[k]
		if !known {
			w = len(p.Where)
			wheres[k] = w
			zones := slices.Clone(a.asked.Where[k.where].Zones)
			for row := range zones {
				if !allowed(row, k.mark) {
					zones[row] = 0
				}
			}
			p.Where = append(p.Where, pack.Where{Zones: zones})
			levels = append(levels, a.asked.levels[k.where])
		}
		c.Where = w
	}
	p.Hosts = a.asked.hosts(a.foreign, levels)
	// The bound on all rows holds on fewer rows, too.
	return max(bound.Of(p).Bound, a.best.Bound)
}
