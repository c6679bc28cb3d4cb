package launch

import (
	"cmp"
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// The packer does not know real pods from declared ones, and the cost is the same
// whoever gets a reserved node. It is not the same in practice. If a declared pod,
// which may never come, gets the reserved node, a real pod runs on another node
// that costs money.

// reservedFirst compares bins: those in a reservation come first.
func (t *turn) reservedFirst(a, b *pack.Bin) int {
	rank := func(x *pack.Bin) int {
		if t.row(x.Offer).Reserved() {
			return 0
		}
		return 1
	}
	return rank(a) - rank(b)
}

// copies is a number of the copies of one bin.
type copies struct {
	bin      int
	count    int64
	priority int32 // the highest priority of their real pods
}

// realFirst moves real pods to reserved nodes. It takes a reserved node that would
// hold only declared pods and another node that would hold real pods, and exchanges
// their contents. It does so only if each node may run the other's content and the
// plan costs the same.
func (t *turn) realFirst(items []*item, bins []pack.Bin) []pack.Bin {
	if !slices.ContainsFunc(t.Demand.Classes, func(c *demand.Class) bool { return c.Declared > 0 }) ||
		!slices.ContainsFunc(bins, func(b pack.Bin) bool { return t.row(b.Offer).Reserved() }) {
		return bins
	}
	bins = slices.Clone(bins) // the solver keeps its answer for later Steps: change a copy
	idle, paying := t.whoPays(items, bins)
	for i := range idle {
		to := &idle[i]
		for k := range paying {
			from := &paying[k]
			n := min(to.count, from.count)
			if n == 0 {
				continue
			}
			reserved, other, ok := t.exchanged(items, bins[to.bin], bins[from.bin])
			if !ok {
				continue
			}
			reserved.Copies, other.Copies = n, n
			to.count, from.count = to.count-n, from.count-n
			bins[to.bin].Copies -= n
			bins[from.bin].Copies -= n
			bins = append(bins, reserved, other)
		}
	}
	return slices.DeleteFunc(bins, func(b pack.Bin) bool { return b.Copies == 0 })
}

// whoPays returns two lists of nodes. The nodes of idle are reserved and hold no
// real pod. The nodes of paying are not reserved and hold real pods, highest
// priority first.
func (t *turn) whoPays(items []*item, bins []pack.Bin) (idle, paying []copies) {
	order := make([]int, len(bins))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return t.reservedFirst(&bins[a], &bins[b]) })
	exist := map[*demand.Class]int64{}
	for _, c := range t.Demand.Classes {
		exist[c] = c.Count() - c.Declared
	}
	for _, i := range order {
		reserved := t.row(bins[i].Offer).Reserved()
		if !reserved && len(idle) == 0 {
			break
		}
		x := copies{bin: i, priority: math.MinInt32}
		for range bins[i].Copies {
			n, priority := drawReal(exist, items, bins[i].Parts)
			if n == 0 {
				break // the remaining copies hold no real pods either
			}
			x.count, x.priority = x.count+1, max(x.priority, priority)
		}
		switch {
		case reserved && x.count < bins[i].Copies:
			idle = append(idle, copies{bin: i, count: bins[i].Copies - x.count})
		case !reserved && x.count > 0:
			paying = append(paying, x)
		}
	}
	slices.SortStableFunc(paying, func(a, b copies) int { return cmp.Compare(b.priority, a.priority) })
	return idle, paying
}

// drawReal takes the content of one node out of the counts of real pods. It returns
// how many real pods the node holds, and the highest of their priorities.
func drawReal(exist map[*demand.Class]int64, items []*item, parts []pack.Part) (drawn int64, priority int32) {
	priority = math.MinInt32
	take := func(c *demand.Class, n int64) {
		n = min(n, exist[c])
		if exist[c] -= n; n > 0 {
			drawn, priority = drawn+n, max(priority, c.Group.Shape.Priority)
		}
	}
	for _, p := range parts {
		x := items[p.Class]
		take(x.class, p.Count*x.unit)
		if x.with != nil {
			take(x.with.class, p.Count)
		}
	}
	return drawn, priority
}

// exchanged returns the two bins with their contents exchanged. It returns false if
// a node may not run the other content, or would cost more because of its zone.
func (t *turn) exchanged(items []*item, reserved, other pack.Bin) (a, b pack.Bin, ok bool) {
	a, b = other, reserved
	a.Offer, b.Offer = reserved.Offer, other.Offer
	for _, x := range []struct{ now, was *pack.Bin }{{&a, &reserved}, {&b, &other}} {
		r, at := t.row(x.now.Offer), t.rows[x.now.Offer]
		x.now.Zones = r.Zones & t.Market.Sale[at]
		for _, w := range wheresOf(items, *x.now) {
			x.now.Zones &= w[at]
		}
		price, zone := r.PriceIn(x.now.Zones)
		before, _ := r.PriceIn(x.was.Zones)
		if zone < 0 || price != before || !quantity.Fits(x.now.Used, t.nets[x.now.Offer]) {
			return a, b, false
		}
	}
	return a, b, true
}
