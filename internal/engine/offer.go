package engine

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fleet"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/spread"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// offer is what can be bought in this Step, and what pods may ask of it: the fleet
// that the pools can launch, without what has no capacity now. Rows are numbers in
// the fleet.
type offer struct {
	fleet       *fleet.Fleet
	sale        []uint64                // by row: zones with capacity
	unavailable int                     // offerings left out for want of capacity
	placeCache  map[string][]uint64     // of the fleet
	words       map[int]plan.Vocabulary // by pool
}

// most is how many of the item's pods one node takes beside what else it must.
func (o *offer) most(t *tier, x *item, beside quantity.Resources) int64 {
	need, beside := withoutAttach(x.class.shape().Requests), withoutAttach(beside)
	var n int64
	for _, row := range t.rows {
		if net := o.fleet.Rows[row].Net; x.where[row]&o.sale[row] != 0 && beside.Fits(net) {
			n = max(n, need.CountIn(net.Sub(beside), x.count))
		}
	}
	return n
}

// zonesFor is in how many zones a node for such pods is for sale.
func (o *offer) zonesFor(shape *cluster.Shape, where pack.Where) int64 {
	need := withoutAttach(shape.Requests)
	var zones uint64
	for i := range o.fleet.Rows {
		// Most rows have no zone that is new, and need not be compared.
		if r := &o.fleet.Rows[i]; r.Left < 0 && where.Zones[i]&r.Zones&^zones != 0 && need.Fits(r.Net) {
			zones |= where.Zones[i] & r.Zones
		}
	}
	return int64(bits.OnesCount64(zones))
}

func (o *offer) divideRows(t *tier, where []uint64, keys []string) []*cell {
	byName := map[string]*cell{}
	bySite := make([]*cell, o.fleet.Sites()) // of what types do not decide
	ofTypes := slices.ContainsFunc(keys, o.fleet.OfTypes)
	var out []*cell
	for _, x := range t.rows {
		r := &o.fleet.Rows[x]
		for m := where[x] & o.sale[x]; m != 0; m &= m - 1 {
			z := bits.TrailingZeros64(m)
			if k := bySite[r.Site(z)]; k != nil && !ofTypes {
				k.where[x] |= 1 << z
				continue
			}
			labels := r.Labels(z)
			name, ok := domains(labels, keys)
			if !ok {
				continue // a node without the label is no place for the pod
			}
			k := byName[name]
			if k == nil {
				k = &cell{name: name, where: make([]uint64, len(o.fleet.Rows)), price: r.Prices[z]}
				k.place = spread.Place{Labels: labels, Taints: o.fleet.Pools[r.Pool].Taints, Either: spread.NewEither(o.labelsIn(k.where))}
				for _, key := range keys {
					v, _ := labels.Get(key)
					k.place.Either.Agree(key, v)
				}
				byName[name] = k
				out = append(out, k)
			}
			k.where[x] |= 1 << z
			bySite[r.Site(z)] = k
		}
	}
	slices.SortStableFunc(out, func(a, b *cell) int {
		return cmp.Or(cmp.Compare(a.price, b.price), strings.Compare(a.name, b.name))
	})
	return out
}

// labelsIn lists the labels of all nodes to come that are in the zones of the rows.
func (o *offer) labelsIn(where []uint64) iter.Seq[label.Lookup] {
	return func(yield func(label.Lookup) bool) {
		for x, zones := range where {
			for m := zones; m != 0; m &= m - 1 {
				if !yield(o.fleet.Rows[x].Labels(bits.TrailingZeros64(m))) {
					return
				}
			}
		}
	}
}

// places returns the zones of every row in which the level's pods may run; the
// key is that of placeKey.
func (o *offer) places(key string, l *level, avoid bool) []uint64 {
	w, known := o.placeCache[key]
	if !known {
		w = o.fleet.Where(l.shape, avoid)
		o.placeCache[key] = w
	}
	return w
}

// where returns the zones of every row in which the class may run.
func (o *offer) where(c *demandClass) []uint64 {
	l := &c.levels[c.level]
	return o.places(placeKey(&l.shape, l.avoid), l, l.avoid)
}

// pass looks for the cheaper type that comes closest to holding the content.
func (o *offer) pass(t *tier, l *load, wheres [][]uint64) {
	closest := int64(0)
	price, _ := l.best.PriceIn(l.bin.Zones)
	var passed *fleet.Row
	var room []int64
	for i := l.bin.Offer - 1; i >= 0; i-- {
		share := share(l.bin.Used, t.nets[i], closest)
		r := &o.fleet.Rows[t.rows[i]]
		if share <= closest || share == whole || r.Group != l.best.Group {
			continue
		}
		if p, zone := r.PriceIn(o.zonesOf(t.rows[i], l.bin, wheres)); zone >= 0 && p < price {
			closest, passed, room, l.passed = share, r, t.nets[i], plan.Choice{Type: r.Type.Name, Price: p}
		}
	}
	if passed == nil {
		return
	}
	if lacking := l.content.Sub(l.best.Overhead).Lacking(passed.Net); len(lacking) > 0 {
		l.lacks = &lacking[0]
		return
	}
	l.lacks = t.dims.slotsLacking(l.bin.Used, room)
}

// strays says whether the row can be had in a zone of the bin where some of its
// content may not run: what is launched may be of any carried type in any of the
// zones.
func (o *offer) strays(row int, b pack.Bin, wheres [][]uint64) bool {
	sold := b.Zones & o.fleet.Rows[row].Zones
	return slices.ContainsFunc(wheres, func(w []uint64) bool { return sold&^w[row] != 0 })
}

// zonesOf is where a launch of the row could take the bin's place, its size
// aside.
func (o *offer) zonesOf(row int, b pack.Bin, wheres [][]uint64) uint64 {
	zones := b.Zones & o.sale[row]
	for _, w := range wheres {
		zones &= w[row]
	}
	return zones
}

// narrowed says whether rows of the pool remain that the budget allows and that
// the next round will try.
func (o *offer) narrowed(t *tier, pool int, b budget) bool {
	for _, x := range t.rows {
		r := &o.fleet.Rows[x]
		if r.Pool != pool || t.excluded[x] {
			continue
		}
		if _, over := b.refuses(r.Type.Capacity); !over {
			return true
		}
	}
	return false
}

// use plans with the fleet from here on.
func (o *offer) use(f *fleet.Fleet) { o.fleet, o.placeCache = f, map[string][]uint64{} }

// exchanged returns the bins with the content of each other, if that may be and
// no other zone makes them dearer.
func (o *offer) exchanged(t *tier, items []*item, reserved, other pack.Bin) (a, b pack.Bin, ok bool) {
	a, b = other, reserved
	a.Offer, b.Offer = reserved.Offer, other.Offer
	for _, x := range []struct{ now, was *pack.Bin }{{&a, &reserved}, {&b, &other}} {
		r, at := o.row(t, x.now.Offer), t.rows[x.now.Offer]
		x.now.Zones = r.Zones & o.sale[at]
		for _, w := range wheresOf(items, *x.now) {
			x.now.Zones &= w[at]
		}
		price, zone := r.PriceIn(x.now.Zones)
		before, _ := r.PriceIn(x.was.Zones)
		if zone < 0 || price != before || !fits(x.now.Used, t.nets[x.now.Offer]) {
			return a, b, false
		}
	}
	return a, b, true
}

func (o *offer) row(t *tier, offer int) *fleet.Row { return &o.fleet.Rows[t.rows[offer]] }

// poolsOf says of each pool whether the class may run there.
func (o *offer) poolsOf(c *demandClass, known map[*uint64][]bool) []bool {
	where := o.where(c)
	if len(where) == 0 {
		return nil
	}
	out, found := known[&where[0]]
	if !found {
		out = make([]bool, len(o.fleet.Pools))
		for i, zones := range where {
			out[o.fleet.Rows[i].Pool] = out[o.fleet.Rows[i].Pool] || zones != 0
		}
		known[&where[0]] = out
	}
	return out
}

// vary keeps what is packed on the rows of a group so small that as many
// different ones hold it as the pool's minValues asks for: no more of anything
// than the least that so many of the largest have.
func (o *offer) vary(t *tier, p *pack.Problem, group int) {
	var mine []int // indexes into the tier's rows, largest first
	for i, x := range t.rows {
		if o.fleet.Rows[x].Group == group {
			mine = append(mine, i)
		}
	}
	if len(mine) == 0 {
		return
	}
	row := func(i int) *fleet.Row { return &o.fleet.Rows[t.rows[i]] }
	slices.SortStableFunc(mine, func(a, b int) int { return cmp.Compare(work(row(b).Net), work(row(a).Net)) })
	least := slices.Clone(t.nets[mine[0]])
	for _, m := range o.fleet.Pools[row(mine[0]).Pool].MinValues {
		values := map[string]bool{}
		for _, i := range mine {
			if len(values) >= m.Count {
				break
			}
			note(values, row(i), m.Key)
			for d, n := range t.nets[i] {
				least[d] = min(least[d], n)
			}
		}
	}
	for _, i := range mine {
		net := slices.Clone(t.nets[i])
		for d := range net {
			net[d] = min(net[d], least[d])
		}
		p.Offers[i].Net = net
	}
}

// absent says whether some node of the pool lacks the label.
func (o *offer) absent(key string, pool int) bool {
	return slices.ContainsFunc(o.fleet.Rows, func(r fleet.Row) bool {
		if r.Pool != pool {
			return false
		}
		for m := r.Zones; m != 0; m &= m - 1 {
			if _, there := r.Labels(bits.TrailingZeros64(m)).Get(key); !there {
				return true
			}
		}
		return false
	})
}

// ask finds a requirement of the shape that no node of the pool meets. Where each
// is met by some, but not all by one, it is all of them.
func (o *offer) ask(shape *cluster.Shape, pool int) (detail string, ask *plan.Ask) {
	alternatives := shape.Alternatives()
	all := make([]string, len(alternatives))
	for i, alternative := range alternatives {
		all[i] = alternative.String()
		for _, x := range alternative {
			if a := o.vocabulary(pool).Ask(x); !slices.ContainsFunc(a.Known, x.Admits) && !(x.AdmitsAbsence() && o.absent(x.Key(), pool)) {
				return x.String(), a
			}
		}
	}
	return strings.Join(all, ", or "), nil
}

// vocabulary is the labels of the pool's nodes; they are collected once in a Step.
func (o *offer) vocabulary(pool int) plan.Vocabulary {
	v, known := o.words[pool]
	if known {
		return v
	}
	v = plan.NewVocabulary(func(yield func(label.Labels) bool) {
		seen := map[*label.Label]bool{}
		for i := range o.fleet.Rows {
			row := &o.fleet.Rows[i]
			for m := row.Zones; m != 0 && row.Pool == pool; m &= m - 1 {
				for _, l := range row.Labels(bits.TrailingZeros64(m)) {
					if len(l) == 0 || seen[&l[0]] {
						continue // most rows share them
					}
					seen[&l[0]] = true
					if !yield(l) {
						return
					}
				}
			}
		}
	})
	o.words[pool] = v
	return v
}
