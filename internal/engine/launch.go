package engine

import (
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fleet"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/random"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/spread"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// load is a bin made ready to be launched: all that its copies have in common.
type load struct {
	bin     pack.Bin
	best    *fleet.Row
	carried []*fleet.Row // that one launch of it may become, cheapest first
	types   []plan.Choice
	zones   []string
	content quantity.Resources // with what DaemonSets take
	passed  plan.Choice        // the cheaper type that comes closest to holding it, zero if none
	lacks   *quantity.Shortage // what passed lacks
	relaxed bool
	either  *spread.Either // the labels of all nodes that it may become
}

func (s *step) load(t *tier, items []*item, b pack.Bin) load {
	l := load{bin: b, best: &s.fleet.Rows[t.rows[b.Offer]]}
	wheres := wheresOf(items, b)
	l.carried, l.relaxed = s.carry(t, b, wheres)
	l.choose()
	for i, z := range s.fleet.Zones {
		if b.Zones>>i&1 == 1 {
			l.zones = append(l.zones, z)
		}
	}
	l.content = withoutAttach(l.best.Overhead.Add(t.dims.resources(b.Used)))
	s.pass(t, &l, wheres)
	return l
}

// share is how much of the content the room holds, of what it holds least of. It
// need not be exact where it is not above the floor.
func share(content, room []int64, floor int64) int64 {
	least := int64(whole)
	for d, n := range content {
		if n <= 0 {
			continue
		}
		if !above(room[d], n, floor) {
			return floor
		}
		least = min(least, part(room[d], n))
	}
	return least
}

// above says whether part is more than the floor, without dividing.
func above(have, need, floor int64) bool {
	if have <= 0 {
		return false
	}
	ah, al := bits.Mul64(uint64(have), whole)
	bh, bl := bits.Mul64(uint64(need), uint64(floor)+1)
	return floor < whole && (ah > bh || ah == bh && al >= bl)
}

// whole is the unit of part.
const whole = 1 << 32

// part is how much of what is needed there is, at most whole.
func part(have, need int64) int64 {
	switch {
	case have <= 0:
		return 0
	case have >= need:
		return whole
	}
	high, low := bits.Mul64(uint64(have), whole)
	q, _ := bits.Div64(high, low, uint64(need)) // high is less than need, as have is
	return int64(q)
}

// place is a copy of the bin as topology rules see it.
func (l *load) place(name string, f *fleet.Fleet) spread.Place {
	p := spread.Place{Name: name, Taints: f.Pools[l.best.Pool].Taints, Labels: l.best.Labels(bits.TrailingZeros64(l.bin.Zones))}
	if len(l.carried) > 1 || bits.OnesCount64(l.bin.Zones) > 1 {
		if l.either == nil {
			l.either = spread.NewEither(l.labels)
		}
		p.Either = l.either
	}
	return p
}

// labels lists those of all nodes that the launch may become.
func (l *load) labels(yield func(label.Lookup) bool) {
	for _, r := range l.carried {
		for m := r.Zones & l.bin.Zones; m != 0; m &= m - 1 {
			if !yield(r.Labels(bits.TrailingZeros64(m))) {
				return
			}
		}
	}
}

// choose prices the carried rows.
func (l *load) choose() {
	l.types = make([]plan.Choice, len(l.carried))
	for i, r := range l.carried {
		price, _ := r.PriceIn(l.bin.Zones)
		l.types[i] = plan.Choice{Type: r.Type.Name, Price: price}
	}
}

// launch turns one copy of a bin into an action. It returns false where limits or
// minValues do not allow that, after it has narrowed what the next round packs.
func (s *step) launch(t *tier, items []*item, l *load) bool {
	best, b := l.best, l.bin
	pool := &s.fleet.Pools[best.Pool]
	if t.full[pool.Name] || best.Left >= 0 && s.reservationUse(best) >= best.Left {
		return false
	}
	if len(l.carried) == 0 {
		if t.varied[best.Group] {
			t.excluded[t.rows[b.Offer]] = true
		}
		t.varied[best.Group] = true
		s.unmet[pool.Name] = true
		return false
	}
	if len(pool.Limits) > 0 {
		budget := s.budget(*pool)
		l.carried = filter(l.carried, func(r *fleet.Row) bool { _, over := budget.refuses(r.Type.Capacity); return !over })
		l.carried, l.relaxed = s.diversify(pool, l.carried, nil)
		if len(l.carried) == 0 {
			// The rows that still fit what is left are packed in the next round.
			if !s.narrowed(t, best.Pool, budget) {
				t.full[pool.Name] = true
			}
			return false
		}
		l.choose()
	}
	out := plan.Launch{
		Name: s.claimName(pool.Name), Pool: pool.Name, PoolUID: pool.UID, Class: pool.Class,
		CapacityType: best.CapacityType, Reservation: best.Reservation, Types: l.types, Zones: l.zones, Requirements: pool.Requirements,
		Labels: best.Template, Taints: pool.Taints, StartupTaints: pool.StartupTaints, Content: l.content,
		Price: l.types[0].Price, MinValuesRelaxed: l.relaxed,
	}
	place := l.place(out.Name, s.fleet)
	slots, named := make([]cluster.Slot, 0, len(b.Parts)), len(s.names)
	for _, p := range b.Parts {
		x := items[p.Class]
		x.left -= p.Count * x.unit
		s.ruleAt(x.class, place, p.Count*x.unit)
		slots = append(slots, s.fillLaunch(&out, x.class, p.Count*x.unit))
		if x.with != nil {
			x.with.left -= p.Count
			s.ruleAt(x.with.class, place, p.Count)
			slots = append(slots, s.fillLaunch(&out, x.with.class, p.Count))
		}
	}
	if n := len(s.names); n > named {
		out.Pods = s.names[named:n:n]
	}
	out.Why.Considered, out.Why.Unavailable, out.Why.Best = len(t.rows), s.unavailable, l.types[0]
	out.Why.RunnerUp, out.Why.Passed, out.Why.Lacks = runnerUp(l.types), l.passed, l.lacks
	out.Planned = merged(slots)
	s.spend(out, l.carried)
	s.launches = append(s.launches, out)
	if s.cost += out.Price; s.cost < 0 {
		s.cost = math.MaxInt64 // prices beyond reason
	}
	return true
}

// fillLaunch gives n of the class to the launch, real pods first.
func (s *step) fillLaunch(l *plan.Launch, c *demandClass, n int64) cluster.Slot {
	l.Why.Pods += n
	s.trace.Placed += n
	d := c.draw(n)
	ids := s.ids(d)
	l.Declared += d.declared
	for _, p := range d.displaced {
		if state, ok := s.in.Snapshot.State(p.Node); ok {
			l.Why.Replaces = state.Node.Claim
		}
	}
	if len(ids) > 0 {
		s.outcomes = append(s.outcomes, plan.Outcome{
			Group: c.group.Key, Pods: ids, Verdict: plan.OnLaunch, On: l.Name, Dropped: c.levels[c.level].dropped,
		})
	}
	return cluster.Slot{Kind: c.group.Kind, Count: n}
}

// carry lists the rows that one launch of the bin may become: those of its group
// that hold the content within the price tolerance, cheapest first, and more
// where the pool's minValues asks for more different ones. It is empty where
// minValues cannot be met; relaxed says that it was not met and need not be.
func (s *step) carry(t *tier, b pack.Bin, wheres [][]uint64) (carried []*fleet.Row, relaxed bool) {
	best := &s.fleet.Rows[t.rows[b.Offer]]
	pool := &s.fleet.Pools[best.Pool]
	tolerance := s.in.Policy.OnDemandTolerance
	if best.CapacityType == label.Spot {
		tolerance = s.in.Policy.SpotTolerance
	}
	price, _ := best.PriceIn(b.Zones)
	limit := price + price/1000*quantity.Money(tolerance)
	large := s.large(best)
	carried = []*fleet.Row{best}
	var wider []*fleet.Row
	for i, x := range t.rows {
		r := &s.fleet.Rows[x]
		if r.Price > limit && len(pool.MinValues) == 0 {
			break // rows are sorted by price
		}
		if r.Group != best.Group || r == best || !fits(b.Used, t.nets[i]) {
			continue
		}
		zones := s.zonesOf(x, b, wheres)
		if zones == 0 || s.strays(x, b, wheres) {
			continue
		}
		if p, _ := r.PriceIn(zones); p <= limit && s.large(r) == large {
			carried = append(carried, r)
		} else {
			wider = append(wider, r)
		}
	}
	return s.diversify(pool, carried, wider)
}

// wheresOf lists where the parts of the bin may run, each answer once.
func wheresOf(items []*item, b pack.Bin) [][]uint64 {
	var out [][]uint64
	for _, p := range b.Parts {
		w := items[p.Class].where
		if !slices.ContainsFunc(out, func(x []uint64) bool { return &x[0] == &w[0] }) {
			out = append(out, w)
		}
	}
	return out
}

// fits says whether the room holds the content.
func fits(content, room []int64) bool {
	for d, n := range content {
		if n > 0 && n > room[d] {
			return false
		}
	}
	return true
}

func (s *step) large(r *fleet.Row) bool {
	return s.in.Policy.SoftMaxMilliCPU > 0 && r.Type.Capacity.MilliCPU > s.in.Policy.SoftMaxMilliCPU
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

// merged adds up the slots of one kind, and sorts them.
func merged(slots []cluster.Slot) []cluster.Slot {
	slices.SortFunc(slots, func(a, b cluster.Slot) int { return strings.Compare(a.Kind, b.Kind) })
	out := slots[:0]
	for _, x := range slots {
		if n := len(out); n > 0 && out[n-1].Kind == x.Kind {
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
	x := random.At(s.in.Seed, uint64(len(s.launches)+1))
	suffix := make([]byte, 6)
	for i := range suffix {
		suffix[i] = alphabet[x%uint64(len(alphabet))]
		x /= uint64(len(alphabet))
	}
	return pool + "-" + string(suffix)
}
