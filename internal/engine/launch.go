package engine

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fleet"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// What becomes of one copy of a bin.
type launchResult int

const (
	launched    launchResult = iota
	overLimit                // the pool's limits do not allow it
	tooFewTypes              // minValues asks for more different types than hold it
)

// launch turns one copy of a bin into an action.
func (s *step) launch(t *tier, items []*item, b pack.Bin) launchResult {
	best := &s.fleet.Rows[t.rows[b.Offer]]
	pool := &s.fleet.Pools[best.Pool]
	if t.full[pool.Name] || best.Left >= 0 && s.reservationUse(best.Reservation) >= best.Left {
		return overLimit
	}
	carried, zones, relaxed := s.carry(t, items, b)
	if len(carried) == 0 {
		t.excluded[t.rows[b.Offer]] = true
		s.unmet[pool.Name] = true
		return tooFewTypes
	}
	budget := s.budget(*pool)
	carried = filter(carried, func(r *fleet.Row) bool { _, over := budget.refuses(r.Type.Capacity); return !over })
	if len(carried) == 0 {
		// The rows that still fit what is left are packed in the next round.
		if !s.narrowed(t, best.Pool, budget) {
			t.full[pool.Name] = true
		}
		return overLimit
	}
	l := plan.Launch{
		Name: s.claimName(pool.Name), Pool: pool.Name, PoolUID: pool.UID, Class: pool.Class,
		CapacityType: best.CapacityType, Reservation: best.Reservation, Zones: zones, Requirements: pool.Requirements,
		Labels: best.Template, Taints: pool.Taints, StartupTaints: pool.StartupTaints, MinValuesRelaxed: relaxed,
	}
	l.Price, _ = carried[0].PriceIn(s.mask(zones))
	for _, r := range carried {
		price, _ := r.PriceIn(s.mask(zones))
		l.Types = append(l.Types, plan.Choice{Type: r.Type.Name, Price: price})
	}
	var slots []Slot
	content := best.Overhead
	for _, p := range b.Parts {
		x := items[p.Class]
		content = content.Add(x.need().Times(p.Count))
		x.left -= p.Count * x.unit
		slots = append(slots, s.fillLaunch(&l, x.class, p.Count*x.unit))
		if x.with != nil {
			x.with.left -= p.Count
			slots = append(slots, s.fillLaunch(&l, x.with.class, p.Count))
		}
	}
	l.Content = s.withoutAttach(content)
	slices.Sort(l.Pods)
	l.Why.Considered, l.Why.Unavailable, l.Why.Best = len(t.rows), s.unavailable, l.Types[0]
	l.Why.RunnerUp = runnerUp(l.Types)
	s.memory.plan(l.Name, merged(slots))
	s.spend(l, carried)
	s.launches = append(s.launches, l)
	s.cost += l.Price
	return launched
}

// fillLaunch gives n of the class to the launch, real pods first.
func (s *step) fillLaunch(l *plan.Launch, c *demandClass, n int64) Slot {
	l.Why.Pods += n
	s.trace.Placed += n
	d := c.draw(n)
	ids := d.ids()
	l.Pods = append(l.Pods, ids...)
	l.Declared += d.declared
	for _, p := range d.displaced {
		if state, ok := s.in.Snapshot.State(p.node); ok {
			l.Why.Replaces = state.Node.Claim
		}
	}
	if len(ids) > 0 {
		s.outcomes = append(s.outcomes, plan.Outcome{
			Group: c.group.Key, Pods: ids, Verdict: plan.OnLaunch, On: l.Name, Dropped: c.levels[c.level].dropped,
		})
	}
	return Slot{Class: c.group.Key, Count: n}
}

// carry lists the rows that one launch of the bin may become: those of its group
// that hold the content within the price tolerance, cheapest first, and more
// where the pool's minValues asks for more different ones; and the zones of all
// of them. It is empty where minValues cannot be met; relaxed says that it was
// not met and need not be.
func (s *step) carry(t *tier, items []*item, b pack.Bin) (carried []*fleet.Row, zones []string, relaxed bool) {
	best := &s.fleet.Rows[t.rows[b.Offer]]
	pool := &s.fleet.Pools[best.Pool]
	tolerance := s.in.Policy.OnDemandTolerance
	if best.CapacityType == label.Spot {
		tolerance = s.in.Policy.SpotTolerance
	}
	price, _ := best.PriceIn(b.Zones)
	limit := price + price/1000*quantity.Money(tolerance)
	large := s.large(best)
	var wider []*fleet.Row
	for _, x := range t.rows {
		r := &s.fleet.Rows[x]
		if r.Group != best.Group || r == best || !s.holds(items, b, x) {
			continue
		}
		if p, _ := r.PriceIn(b.Zones & s.sale[x]); p <= limit && s.large(r) == large {
			carried = append(carried, r)
		} else {
			wider = append(wider, r)
		}
	}
	carried = slices.Insert(carried, 0, best)
	carried, relaxed = s.diversify(pool, carried, wider)
	for i, z := range s.fleet.Zones {
		if b.Zones>>i&1 == 1 {
			zones = append(zones, z)
		}
	}
	return carried, zones, relaxed
}

func (s *step) large(r *fleet.Row) bool {
	return s.in.Policy.SoftMaxMilliCPU > 0 && r.Type.Capacity.MilliCPU > s.in.Policy.SoftMaxMilliCPU
}

// holds says whether a node of the row may hold the content of the bin in one of
// the bin's zones.
func (s *step) holds(items []*item, b pack.Bin, row int) bool {
	zones := b.Zones & s.sale[row]
	var sum quantity.Resources
	for _, p := range b.Parts {
		x := items[p.Class]
		zones &= x.where[row]
		sum = sum.Add(x.need().Times(p.Count))
	}
	return zones != 0 && s.withoutAttach(sum).Fits(s.fleet.Rows[row].Net)
}

// diversify adds rows until the carried ones have as many different values as
// the pool's minValues asks for. Where there are not so many, nothing is carried,
// unless the policy is to make do.
func (s *step) diversify(pool *cluster.Pool, carried, wider []*fleet.Row) (out []*fleet.Row, relaxed bool) {
	for _, m := range pool.MinValues {
		values := map[string]bool{}
		for _, r := range carried {
			note(values, r, m.Key)
		}
		for _, r := range wider {
			if len(values) >= m.Count {
				break
			}
			if before := len(values); note(values, r, m.Key) > before && !slices.Contains(carried, r) {
				carried = append(carried, r)
			}
		}
		if len(values) < m.Count {
			if !s.in.Policy.BestEffortMinValues {
				return nil, false
			}
			relaxed = true
		}
	}
	return carried, relaxed
}

// note adds the row's values of the label and returns how many there are now.
func note(values map[string]bool, r *fleet.Row, key string) int {
	for m := r.Zones; m != 0; m &= m - 1 {
		if v, ok := r.Labels(bits.TrailingZeros64(m)).Get(key); ok {
			values[v] = true
		}
	}
	return len(values)
}

func (s *step) mask(zones []string) (m uint64) {
	for i, z := range s.fleet.Zones {
		if slices.Contains(zones, z) {
			m |= 1 << i
		}
	}
	return m
}

// runnerUp is the cheapest carried type of another family than the best one.
func runnerUp(types []plan.Choice) plan.Choice {
	family := func(c plan.Choice) string { f, _, _ := strings.Cut(c.Type, "."); return f }
	for _, c := range types[1:] {
		if family(c) != family(types[0]) {
			return c
		}
	}
	return plan.Choice{}
}

// merged adds up the slots of one class, and sorts them.
func merged(slots []Slot) []Slot {
	slices.SortFunc(slots, func(a, b Slot) int { return strings.Compare(a.Class, b.Class) })
	out := slots[:0]
	for _, x := range slots {
		if n := len(out); n > 0 && out[n-1].Class == x.Class {
			out[n-1].Count += x.Count
			continue
		}
		out = append(out, x)
	}
	return out
}

// claimName makes the name of the next NodeClaim: the pool's, and six letters of
// the seed. The alphabet is that of Kubernetes' generated names.
func (s *step) claimName(pool string) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	x := mix(s.in.Seed + uint64(len(s.launches)+1)*0x9e3779b97f4a7c15)
	suffix := make([]byte, 6)
	for i := range suffix {
		suffix[i] = alphabet[x%uint64(len(alphabet))]
		x /= uint64(len(alphabet))
	}
	return fmt.Sprintf("%s-%s", pool, suffix)
}

// mix spreads the bits of x (the finalizer of splitmix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
