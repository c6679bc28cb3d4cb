package launch

import (
	"cmp"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/topology"
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

// widening gives pools with minValues one cell in place of several that differ in too much: the
// zones that a class has to itself, for a pool that asks for two zones. As long as nobody knows
// where a node comes to be, its pods keep others off all of these domains, so that such a cell
// takes fewer pods, and comes last. Domains that a node must have are never put together: spreads
// and affinities count no pod whose domain is open.
type widening struct {
	market *offer.Market
	rows   []int // of the turn
	class  *demand.Class
	must   []string // the keys of domains that a node must have
}

// of puts wide cells behind the others.
func (w widening) of(cells []*cell) []*cell {
	var narrow, wide []*cell
	for _, x := range cells {
		unvaried := w.unvaried(x)
		if len(unvaried) == 0 {
			narrow = append(narrow, x)
			continue
		}
		rest := *x
		rest.where = slices.Clone(x.where)
		for _, row := range unvaried {
			rest.where[row] = 0
		}
		if anyOf(rest.where, w.rows) {
			narrow = append(narrow, &rest)
		}
		if w.class.Table.Room(w.class.Rule(), x.place) > 0 {
			wide = w.join(wide, x, unvaried)
		}
	}
	return append(narrow, wide...)
}

// unvaried lists the rows of the cell that are of pools whose minValues no node meets which is in
// the cell and holds a pod of the class.
func (w widening) unvaried(x *cell) (unvaried []int) {
	type group struct{ pool, of int }
	need, varieties, enough := demand.WithoutAttach(w.class.Shape().Requests), map[group]*offer.Variety{}, map[int]bool{}
	for _, row := range w.rows {
		r, zones := &w.market.Fleet.Rows[row], x.where[row]&w.market.Sale[row]
		pool := &w.market.Fleet.Pools[r.Pool]
		if zones == 0 || len(pool.MinValues) == 0 {
			continue
		}
		unvaried = append(unvaried, row)
		if !need.Fits(r.Net) {
			continue
		}
		k := group{r.Pool, r.Group}
		if varieties[k] == nil {
			varieties[k] = offer.NewVariety(pool.MinValues)
		}
		varieties[k].Add(r, zones)
		enough[r.Pool] = enough[r.Pool] || varieties[k].Enough()
	}
	return slices.DeleteFunc(unvaried, func(row int) bool { return enough[w.market.Fleet.Rows[row].Pool] })
}

// join adds these rows of a cell to the wide cell with the same values of the keys.
func (w widening) join(wide []*cell, x *cell, rows []int) []*cell {
	name, _ := topology.DomainOf(x.place, w.must)
	name += "/*"
	i := slices.IndexFunc(wide, func(k *cell) bool { return k.name == name })
	if i < 0 {
		k := &cell{name: name, where: make([]uint64, len(x.where)), price: x.price, place: x.place}
		k.place.Possible = topology.NewPossible(w.market.LabelsIn(k.where))
		i, wide = len(wide), append(wide, k)
	}
	for _, row := range rows {
		wide[i].where[row] |= x.where[row] & w.market.Sale[row]
	}
	return wide
}
