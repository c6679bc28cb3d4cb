package launch

import (
	"cmp"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// A launch must have as many different values as the pool's minValues asks for, and
// the packer knows nothing of that: what it packs may be held by too few rows. Then
// the next turn packs the rows of the group only so full that enough others hold it.

// wantVariety notes for the next turns that too few rows hold the load. If this turn
// already limited how full the group's rows are, the load's pods may run on too few
// rows. wantVariety then excludes every row of the group that holds the load.
func (t *turn) wantVariety(items []*item, l *load) {
	x := t.rows[l.bin.Offer]
	for i := range t.rows {
		if t.clipped[l.best.Group] && t.row(i).Group == l.best.Group && quantity.Fits(l.bin.Used, t.nets[i]) {
			t.excluded[t.rows[i]] = true
		}
	}
	t.varied[l.best.Group] = true
	t.Unmet[t.Market.Fleet.Pools[l.best.Pool].Name] = true
	for _, p := range l.bin.Parts {
		t.wanted[x] = t.wanted[x].Max(items[p.Class].need())
	}
}

// clipper keeps what is packed on the rows of a group so small that as many different
// ones hold it as the pool's minValues asks for.
type clipper struct {
	*turn
	group []int // indexes into the turn's rows, largest first
}

func newClipper(t *turn, group int) *clipper {
	c := &clipper{turn: t}
	for i := range t.rows {
		if t.row(i).Group == group {
			c.group = append(c.group, i)
		}
	}
	slices.SortStableFunc(c.group, func(a, b int) int { return cmp.Compare(price.Bulk(t.row(b).Net), price.Bulk(t.row(a).Net)) })
	return c
}

// clip returns the room of row i, reduced until enough different rows have that room.
// Rows that have all of it are chosen first. Rows that hold each pod that was packed on
// row i are next. Otherwise rows that have a larger share of the room come first.
func (c *clipper) clip(i int) []int64 {
	net := c.nets[i]
	pool := &c.Market.Fleet.Pools[c.row(i).Pool]
	v := offer.NewVariety(pool.MinValues)
	for _, k := range c.group {
		if quantity.Fits(net, c.nets[k]) && addsEnough(v, c.row(k)) {
			return net
		}
	}
	pod := c.dims.Vector(c.wanted[c.rows[i]])
	shares := map[int]int64{}
	for _, k := range c.group {
		shares[k] = share(net, c.nets[k], 0)
		if quantity.Fits(pod, c.nets[k]) {
			shares[k] += quantity.Whole
		}
	}
	order := slices.Clone(c.group)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(shares[b], shares[a]) })
	net, v = slices.Clone(net), offer.NewVariety(pool.MinValues)
	for _, k := range order {
		for d := range net {
			net[d] = min(net[d], c.nets[k][d])
		}
		if addsEnough(v, c.row(k)) {
			return net
		}
	}
	return make([]int64, len(net)) // all together are not varied enough
}

// addsEnough adds the row and says whether the rows are varied enough with it.
func addsEnough(v *offer.Variety, r *offer.Row) bool {
	v.Add(r, r.Zones)
	return v.Enough()
}
