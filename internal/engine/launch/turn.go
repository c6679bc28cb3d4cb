package launch

import (
	"cmp"
	"maps"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// turn is one packing of a tier.
type turn struct {
	*tier
	rows []int             // indexes into the fleet, cheapest first
	dims demand.Dimensions // of the packer's vectors
	nets [][]int64         // by row: the vector of what is left for pods
	// clipped are the groups of rows that it packs only as full as minValues allows.
	clipped map[int]bool
}

// pack packs once and launches what it may. It returns whether another round could
// place more.
func (t *turn) pack() bool {
	t.dims = demand.DimensionsOf(t.Demand.Classes).WithSlots(t.Slots.Bound())
	extra := t.spare()
	var p pack.Problem
	d := &division{turn: t}
	items := d.divide(&p)
	if len(items) == 0 {
		return false
	}
	p.Offers = t.offers(extra)
	t.clipped = maps.Clone(t.varied)
	for group := range t.clipped {
		c := newClipper(t, group)
		for _, i := range c.group {
			p.Offers[i].Net = c.clip(i)
		}
	}
	result, done := t.Solver.Solve(p, t.Polish)
	if !done {
		return false
	}
	t.Trace.Rounds++
	t.Trace.Work += int64(result.Fills)
	t.Packed = append(t.Packed, Packed{t.dims, result.Prices, items})
	placedBefore := t.Trace.Placed
	result.Bins = t.realFirst(items, result.Bins)
	now, later := t.holdBack(items, &result)
	now, untried, why := t.holdUntried(items, t.inOrder(items, now))
	again := t.launchAll(items, now)
	t.keepWaiting(items, later, nil)
	t.keepWaiting(items, untried, why)
	again = d.giveBack(items) || again
	placed := t.Trace.Placed > placedBefore
	return d.behind && placed || again && (placed || len(t.excluded) > 0 || len(t.full) > 0 || len(t.varied) > 0 || t.exclusive)
}

// inOrder sorts the bins in the order of launching, because limits may stop the
// last ones. Bins with the highest priority come first. In a sparing plan, bins
// with more pods come before others. Reserved bins come before others, because real
// pods are launched before declared ones.
func (t *turn) inOrder(items []*item, bins []pack.Bin) []pack.Bin {
	top := func(b pack.Bin) int32 {
		best := items[b.Parts[0].Class].class.Group.Shape.Priority
		for _, p := range b.Parts[1:] {
			best = max(best, items[p.Class].class.Group.Shape.Priority)
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
		if by == 0 && t.Sparing {
			by = cmp.Compare(pods(b), pods(a))
		}
		return cmp.Or(by, t.reservedFirst(&a, &b))
	})
	return bins
}

// narrowed says whether the pool has rows left that the budget allows and that the
// next round will try.
func (t *turn) narrowed(pool int, b offer.Usage) bool {
	for _, x := range t.rows {
		r := &t.Market.Fleet.Rows[x]
		if r.Pool != pool || t.excluded[x] {
			continue
		}
		if _, exceeded := b.Refuses(r.Type.Capacity); !exceeded {
			return true
		}
	}
	return false
}

// row returns the row of an offer, by the number of the offer.
func (t *turn) row(offer int) *offer.Row { return &t.Market.Fleet.Rows[t.rows[offer]] }

// keepWaiting takes the pods of bins that wait out of the demand of this Step. The reasons
// may be nil: more pods are arriving.
func (t *turn) keepWaiting(items []*item, bins []pack.Bin, why []plan.Refusal) {
	for _, b := range bins {
		for _, part := range b.Parts {
			x, n := items[part.Class], part.Count*b.Copies
			t.keepItem(x, n*x.unit, why)
			if x.with != nil {
				t.keepItem(x.with, n, why)
			}
		}
	}
}

func (t *turn) keepItem(x *item, n int64, why []plan.Refusal) {
	x.left -= n
	x.class.Postpone(t.Journal, n, why)
}
