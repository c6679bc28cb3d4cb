package engine

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// When to launch. A bin that is full for its price cannot become
// better, so it goes at once. The rest, the tail, gets better company for as long
// as demand grows: it waits, though never longer than tailWait since the oldest
// of its content came. Demand grows when it grew at least twice within
// growthGap; a lone pod, or one Deployment declared as a whole, is one growth and
// so waits for nothing.
const (
	fullEnough = 950 // thousandths: the worth of the content of the price
	tailWait   = 950 * time.Millisecond
	growthGap  = 300 * time.Millisecond
)

// Growth is what is remembered of demand from Step to Step. Without it nothing
// waits.
type Growth struct {
	Demand       int64     // pods that need a place, declared ones included
	Fell         time.Time // when it fell last
	Last, Before time.Time // when it grew last, and the time before that
}

// next returns the growth after the demand has been counted anew. Pods that were
// declared and now exist are no growth, nor are those that got a node.
func (g Growth) next(demand int64, now time.Time) Growth {
	if g.Last.After(now) {
		g.Before, g.Last = time.Time{}, time.Time{} // the clock went back
	}
	if g.Fell.After(now) {
		g.Fell = now
	}
	if demand < g.Demand {
		g.Fell = now
	}
	if demand > g.Demand {
		g.Before, g.Last = g.Last, now
	}
	g.Demand = demand
	return g
}

// until is when demand does not grow any more, if nothing new comes. It is in
// the past where that is so already.
func (g Growth) until() time.Time { return g.Before.Add(growthGap) }

// prospect is a bin that could be launched.
type prospect struct {
	price  quantity.Money // of the launch
	worth  quantity.Money // of its content, by the weights of room, where the best offer is worth its price
	since  time.Time      // when the oldest of its content came: a pod's creation, or the first sight of a declared one
	urgent bool           // it must not wait, whatever it holds; see prospect
	bin    int            // its index as it was packed
}

func (p prospect) full() bool { return p.worth >= p.price/1000*fullEnough }

// hold says which bins to launch now, and when to look at the others again; zero
// where there are none.
func hold(bins []prospect, g Growth, now time.Time) (launch []bool, look time.Time) {
	launch = make([]bool, len(bins))
	for i, b := range bins {
		end := b.since.Add(tailWait)
		if quiet := g.until(); quiet.Before(end) {
			end = quiet
		}
		if launch[i] = b.full() || b.urgent || !now.Before(end); !launch[i] {
			look = earliest(look, end)
		}
	}
	return launch, look
}

// holdBack divides the bins into those to launch now and those that wait for
// company.
func (s *step) holdBack(t *tier, items []*item, r *pack.Result) (now, later []pack.Bin) {
	t.findStandard(s)
	prospects := s.prospects(t, items, r)
	launch, look := hold(prospects, s.memory.Growth, s.in.Now)
	if !look.IsZero() {
		s.waitUntil(look, plan.MorePods)
	}
	for i, b := range r.Bins {
		if launch[i] {
			now = append(now, b)
		} else {
			later = append(later, b)
		}
	}
	return now, later
}

// prospects rates the bins, and sorts them by how full they are: the fullest get
// the pods that wait longest.
func (s *step) prospects(t *tier, items []*item, r *pack.Result) []prospect {
	list := make([]prospect, len(r.Bins))
	for i := range r.Bins {
		list[i] = s.prospect(t, items, &r.Bins[i])
		list[i].bin = i
	}
	slices.SortStableFunc(list, func(a, b prospect) int {
		switch {
		case dearer(a.price, a.worth, b.price, b.worth):
			return 1
		case dearer(b.price, b.worth, a.price, a.worth):
			return -1
		}
		return 0
	})
	bins := make([]pack.Bin, len(list))
	given := map[*demandClass]int64{}
	for i := range list {
		x := &list[i]
		bins[i] = r.Bins[x.bin]
		for _, part := range bins[i].Parts {
			c := items[part.Class].class
			if !x.full() && !x.urgent { // else it does not matter
				x.since = earliest(x.since, c.since(given[c], s.in.Now))
			}
			given[c] += part.Count * bins[i].Copies * items[part.Class].unit
		}
	}
	r.Bins = bins
	return list
}

func (s *step) prospect(t *tier, items []*item, b *pack.Bin) prospect {
	row := &s.fleet.Rows[t.rows[b.Offer]]
	cost, _ := row.PriceIn(b.Zones)
	// What limits or reservations may leave to others cannot wait.
	out := prospect{price: cost, since: s.in.Now, urgent: row.Left >= 0 || len(s.fleet.Pools[row.Pool].Limits) > 0}
	for _, part := range b.Parts {
		c := items[part.Class].class
		out.urgent = out.urgent || len(c.displaced) > 0 || c.group.Shape.Gang.Name != "" || s.ruled(c) || s.rules != nil && s.followed[c.rule()]
	}
	out.worth = t.worth(t.dims.resources(b.Used))
	return out
}

// since is when the oldest of the class's demand came, the first so many pods
// aside.
func (c *demandClass) since(after int64, now time.Time) time.Time {
	t := now
	if after < int64(len(c.pods)) && c.pods[after].Created.Before(t) {
		t = c.pods[after].Created
	}
	if c.declared > 0 && c.declaredAt.Before(t) {
		t = c.declaredAt
	}
	return t
}

// findStandard finds the row with the most room for its price: what is held
// back is judged by it, not by the prices of the pods that wait just now, to
// which a resource that they do not need is worth nothing.
func (t *tier) findStandard(s *step) {
	t.standard = nil
	for _, x := range t.rows {
		r := &s.fleet.Rows[x]
		if r.Price <= 0 || s.large(r) {
			continue
		}
		if t.standard == nil || dearer(t.standard.Price, quantity.Money(work(t.standard.Net)), r.Price, quantity.Money(work(r.Net))) {
			t.standard = r
		}
	}
}

// worth is the price of so much room on the standard row.
func (t *tier) worth(r quantity.Resources) quantity.Money {
	if t.standard == nil || work(t.standard.Net) <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(max(0, work(r))), uint64(t.standard.Price))
	per := uint64(work(t.standard.Net))
	if hi >= per {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, per)
	return quantity.Money(min(q, math.MaxInt64))
}

// dearer says whether price a for value v is more than price b for value w.
func dearer(a, v, b, w quantity.Money) bool {
	ah, al := bits.Mul64(uint64(max(0, a)), uint64(max(0, w)))
	bh, bl := bits.Mul64(uint64(max(0, b)), uint64(max(0, v)))
	return ah > bh || ah == bh && al > bl
}
