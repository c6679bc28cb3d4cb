package launch

import (
	"math/bits"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/timing"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// holder judges which bins of a turn wait for more pods.
type holder struct {
	*turn
	standard *offer.Row   // the row with the most room for its price; see findStandard
	scarce   map[int]bool // pools whose limits may be too short for all bins
}

// holdBack divides the bins into those to launch now and those that wait for more
// pods.
func (t *turn) holdBack(items []*item, r *pack.Result) (now, later []pack.Bin) {
	h := holder{turn: t, standard: t.findStandard(), scarce: map[int]bool{}}
	h.findScarce(r.Bins)
	prospects := h.prospects(items, r.Bins)
	launch, again := timing.Hold(prospects, h.Growth, t.Now)
	if !again.IsZero() {
		h.WaitUntil(again, plan.MorePods)
	}
	for i, x := range prospects {
		if launch[i] {
			now = append(now, r.Bins[x.Bin])
		} else {
			later = append(later, r.Bins[x.Bin])
		}
	}
	return now, later
}

// prospects rates the bins, fullest first: the fullest bins get the pods that have waited
// longest.
func (h *holder) prospects(items []*item, bins []pack.Bin) []timing.Prospect {
	list := make([]timing.Prospect, len(bins))
	for i := range bins {
		list[i] = h.prospect(items, &bins[i])
		list[i].Bin = i
	}
	slices.SortStableFunc(list, func(a, b timing.Prospect) int {
		switch {
		case dearer(a.Price, a.Worth, b.Price, b.Worth):
			return 1
		case dearer(b.Price, b.Worth, a.Price, a.Worth):
			return -1
		}
		return 0
	})
	given := map[*demand.Class]int64{}
	for i := range list {
		x := &list[i]
		for _, part := range bins[x.Bin].Parts {
			c := items[part.Class].class
			if (!x.Full() || x.Tied) && !x.Urgent { // Since decides only for these
				moved, _ := memory.FirstSeen(h.Growth.Moved, c.Group.Kind)
				x.Since = pick.Earliest(x.Since, pick.Latest(c.Since(given[c], h.Now), moved))
			}
			given[c] += part.Count * bins[x.Bin].Copies * items[part.Class].unit
		}
	}
	return list
}

func (h *holder) prospect(items []*item, b *pack.Bin) timing.Prospect {
	row := &h.Market.Fleet.Rows[h.rows[b.Offer]]
	cost, _ := row.PriceIn(b.Zones)
	// What limits or reservations may leave to others cannot wait; nor can what a plan
	// is made for that spares them.
	out := timing.Prospect{Price: cost, Since: h.Now, Urgent: row.Reserved() || h.Sparing || h.scarce[row.Pool]}
	for _, part := range b.Parts {
		c := items[part.Class].class
		out.Urgent = out.Urgent || len(c.Displaced) > 0 || c.Group.Shape.Gang.Name != ""
		out.Tied = out.Tied || items[part.Class].cell != nil || items[part.Class].with != nil
	}
	out.Worth = h.worth(h.dims.Resources(b.Used))
	return out
}

// findScarce finds the pools whose limits may be too short for the bins.
func (h *holder) findScarce(bins []pack.Bin) {
	for pool := h.from; pool < h.to; pool++ {
		if len(h.Market.Fleet.Pools[pool].Limits) == 0 {
			continue
		}
		var nodes int64
		var capacity quantity.Resources
		for _, b := range bins {
			if r := h.row(b.Offer); r.Pool == pool {
				nodes += b.Copies
				capacity = capacity.Add(r.Type.Capacity.Times(b.Copies))
			}
		}
		h.scarce[pool] = h.Market.MayBind(pool, nodes, capacity)
	}
}

// findStandard returns the row with the most room for its price. holdBack judges
// bins by this row and not by the packer's prices: to the packer, a resource that
// no waiting pod needs is worth nothing, but the next pods may need it.
func (t *turn) findStandard() (standard *offer.Row) {
	for _, x := range t.rows {
		r := &t.Market.Fleet.Rows[x]
		if r.Price <= 0 || t.Market.Large(r) {
			continue
		}
		if standard == nil || dearer(standard.Price, quantity.Money(price.Bulk(standard.Net)), r.Price, quantity.Money(price.Bulk(r.Net))) {
			standard = r
		}
	}
	return standard
}

// worth returns the price of so much room on the standard row.
func (h *holder) worth(r quantity.Resources) quantity.Money {
	if h.standard == nil || price.Bulk(h.standard.Net) <= 0 {
		return 0
	}
	return quantity.Money(quantity.MulDiv(price.Bulk(r), int64(h.standard.Price), price.Bulk(h.standard.Net)))
}

// dearer says whether price a for value v is more than price b for value w.
func dearer(a, v, b, w quantity.Money) bool {
	ah, al := bits.Mul64(uint64(max(0, a)), uint64(max(0, w)))
	bh, bl := bits.Mul64(uint64(max(0, b)), uint64(max(0, v)))
	return ah > bh || ah == bh && al > bl
}
