package engine

import (
	"cmp"
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fleet"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// rounds is how often a tier is packed again after limits, minValues or topology
// have stopped a part of the plan before.
const rounds = 12

// tier is the pools of one weight while demand is packed on them.
type tier struct {
	rows     []int           // indexes into the fleet, cheapest first
	dims     dimensions      // of the packer's vectors
	nets     [][]int64       // what is left for pods on each, in them
	excluded map[int]bool    // rows that cannot be launched after all
	full     map[string]bool // pools whose limits leave nothing
	varied   map[int]bool    // groups of rows that are packed only as full as minValues allows
	cells    map[cellsKey][]*cell
	standard *fleet.Row   // the row with the most room for its price
	least    int32        // the priority down to which pods are packed
	unsuited map[int]bool // rows for what finds no place on others only; see unsuited
	behind   bool         // some class waits for where those are launched that it must follow
}

// provision launches nodes for the demand that found no host. Weight is not a
// price: the pools of the highest weight take what they can, the rest goes to
// the next.
func (s *step) provision() {
	for from := 0; from < len(s.fleet.Pools) && s.remaining() > 0 && !s.packer.cut; {
		to := from + 1
		for to < len(s.fleet.Pools) && s.fleet.Pools[to].Weight == s.fleet.Pools[from].Weight {
			to++
		}
		s.provisionTier(from, to)
		from = to
	}
}

func (s *step) remaining() int64 {
	var n int64
	for _, c := range s.classes {
		n += c.count()
	}
	return n
}

// provisionTier packs the remaining demand on the pools [from, to).
func (s *step) provisionTier(from, to int) {
	t := &tier{excluded: map[int]bool{}, full: map[string]bool{}, varied: map[int]bool{}, least: math.MinInt32}
	t.unsuited = s.unsuited(from, to)
	clear(s.shut)
	if s.scarce != nil {
		t.least = s.scarce.least()
	}
	for round := 0; round < rounds; round++ {
		s.openRows(t, from, to)
		if s.remaining() == 0 {
			return
		}
		if len(t.rows) > 0 && s.packTier(t) {
			continue
		}
		if !s.packer.cut && len(t.unsuited) > 0 {
			t.unsuited = nil
			continue
		}
		if len(t.rows) == 0 {
			return
		}
		if s.packer.cut || !s.lower(t) {
			return
		}
		round = 0
	}
}

// openRows lists the rows that can be launched now: for sale, with capacity, and
// within what the limits leave.
func (s *step) openRows(t *tier, from, to int) {
	t.rows, t.cells = t.rows[:0], nil
	budgets := make([]budget, to-from)
	for i := range budgets {
		budgets[i] = s.budget(s.fleet.Pools[from+i])
	}
	for i := range s.fleet.Rows {
		r := &s.fleet.Rows[i]
		if r.Pool < from || r.Pool >= to || s.sale[i] == 0 || t.excluded[i] || t.unsuited[i] || t.full[s.fleet.Pools[r.Pool].Name] {
			continue
		}
		if r.Left >= 0 && s.reservationUse(r) >= r.Left {
			continue
		}
		if _, over := budgets[r.Pool-from].refuses(r.Type.Capacity); over {
			continue
		}
		t.rows = append(t.rows, i)
	}
}

// packTier packs once and launches what it may. It returns whether another
// round could place more.
func (s *step) packTier(t *tier) bool {
	t.dims = dimensionsOf(s.classes).withSlots(s.attach)
	extra := s.spare(t)
	var p pack.Problem
	items := s.divide(t, &p)
	if len(items) == 0 {
		return false
	}
	p.Offers = s.offers(t, extra)
	for group := range t.varied {
		s.vary(t, &p, group)
	}
	result, done := s.packer.solve(p, s.in.Polish)
	if !done {
		return false
	}
	s.trace.Rounds++
	s.trace.Work += int64(result.Fills)
	s.packed = append(s.packed, packed{items, t.dims, result.Prices})
	placedBefore := s.trace.Placed
	result.Bins = s.realFirst(t, items, result.Bins)
	now, later := s.holdBack(t, items, &result)
	again := s.launchAll(t, items, s.inOrder(t, items, now))
	s.keepWaiting(items, later)
	again = s.giveBack(items) || again
	placed := s.trace.Placed > placedBefore
	return t.behind && placed || again && (placed || len(t.excluded) > 0 || len(t.full) > 0)
}

// inOrder returns the bins, those with the most important content first, and with
// more of it: where limits bind, it is the rest that stays away. Reservations come
// before others, for pods that exist are launched for before declared ones.
func (s *step) inOrder(t *tier, items []*item, bins []pack.Bin) []pack.Bin {
	top := func(b pack.Bin) int32 {
		best := items[b.Parts[0].Class].class.group.Shape.Priority
		for _, p := range b.Parts[1:] {
			best = max(best, items[p.Class].class.group.Shape.Priority)
		}
		return best
	}
	pods := func(b pack.Bin) (n int64) {
		for _, p := range b.Parts {
			n += p.Count * items[p.Class].unit
		}
		return n
	}
	slices.SortStableFunc(bins, func(a, b pack.Bin) int {
		by := cmp.Compare(top(b), top(a))
		if by == 0 && s.scarce != nil {
			by = cmp.Compare(pods(b), pods(a))
		}
		return cmp.Or(by, s.reservedFirst(t, &a, &b))
	})
	return bins
}

// dimensions maps resources to the packer's vectors.
type dimensions struct {
	extended []string
	slots    []string // to attach volumes, where their number is known
	apart    []apart  // of a bound; the last dimensions
	rest     []int    // of a bound: the classes that those behind all classes are of
}

// withSlots adds the slots of which new nodes have only so many.
func (d dimensions) withSlots(all []*attach) dimensions {
	for _, a := range all {
		if a.bound {
			d.slots = append(d.slots, a.name)
		}
	}
	return d
}

// dimensionsOf lists the extended resources that the classes ask for. Slots to
// attach volumes are not among them; see withSlots.
func dimensionsOf(classes []*demandClass) dimensions {
	var d dimensions
	for _, c := range classes {
		for _, a := range c.shape().Requests.Extended {
			if !cluster.IsAttachSlots(a.Name) {
				d.extended = append(d.extended, a.Name)
			}
		}
	}
	slices.Sort(d.extended)
	d.extended = slices.Compact(d.extended)
	return d
}

func (d dimensions) vector(r quantity.Resources) []int64 {
	v := make([]int64, 4+len(d.extended)+len(d.slots))
	v[0], v[1], v[2], v[3] = r.MilliCPU, r.MemoryBytes, r.EphemeralBytes, r.PodSlots
	for i, name := range d.extended {
		v[4+i] = r.Get(name)
	}
	for i, name := range d.slots {
		v[4+len(d.extended)+i] = r.Get(name)
	}
	return v
}

// slotsLacking returns the first slots of which the room has fewer than used.
func (d dimensions) slotsLacking(used, room []int64) *quantity.Shortage {
	for i, name := range d.slots {
		if need, free := used[4+len(d.extended)+i], room[4+len(d.extended)+i]; need > free {
			return &quantity.Shortage{Resource: name, Need: need, Free: free}
		}
	}
	return nil
}

// resources are those of a vector, slots aside.
func (d dimensions) resources(v []int64) quantity.Resources {
	r := quantity.Resources{MilliCPU: v[0], MemoryBytes: v[1], EphemeralBytes: v[2], PodSlots: v[3]}
	for i, name := range d.extended {
		if n := v[4+i]; n > 0 {
			r.Extended = append(r.Extended, quantity.Amount{Name: name, Count: n})
		}
	}
	return r
}

// names are those of the vectors' places, before any sets of pods apart.
func (d dimensions) names() []string {
	return append([]string{quantity.CPU, quantity.Memory, quantity.EphemeralStorage, quantity.Pods}, d.extended...)
}

// compile lists what the supply can launch, unless that is known from the Step
// before.
func (s *step) compile(supply *cluster.Supply) {
	variants, known := s.variants(), s.in.Memory.fleet
	if !known.Serves(supply, variants) {
		known = fleet.Compile(supply, variants)
	}
	s.use(known)
}

// openFleet compiles what can be launched and takes out what has no capacity now.
func (s *step) openFleet() {
	s.compile(s.in.Snapshot.Supply())
	s.memory.fleet = s.fleet
	s.sale = make([]uint64, len(s.fleet.Rows))
	for i := range s.fleet.Rows {
		r := &s.fleet.Rows[i]
		s.sale[i] = r.Zones
		if len(s.memory.Unavailable) == 0 {
			continue
		}
		for z, zone := range s.fleet.Zones {
			if s.sale[i]>>z&1 == 0 {
				continue
			}
			key := catalog.OfferingKey{CapacityType: r.CapacityType, InstanceType: r.Type.Name, Zone: zone, Reservation: r.Reservation}
			if until, out := s.memory.unavailable(key, s.in.Now); out {
				s.sale[i] &^= 1 << z
				s.unavailable++
				s.waitUntil(until, plan.CapacityToReturn)
			}
		}
	}
	s.trace.Types = len(s.fleet.Rows)
}

// variants lists the label keys by which the demand tells nodes apart and that a
// pool may leave open.
func (s *step) variants() []string {
	open := map[string]bool{}
	for _, p := range s.in.Snapshot.Supply().Pools {
		for _, r := range p.Requirements {
			if values, listed := r.Values(); listed && len(values) > 1 && !label.OfInstance(r.Key()) {
				open[r.Key()] = true
			}
		}
	}
	if len(open) == 0 {
		return nil
	}
	used := map[string]bool{}
	for _, c := range s.classes {
		for _, l := range c.levels {
			for _, key := range keysOf(&l.shape) {
				used[key] = used[key] || open[key]
			}
		}
	}
	var out []string
	for key, yes := range used {
		if yes {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}
