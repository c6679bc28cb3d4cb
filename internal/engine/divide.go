package engine

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/spread"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// item is a part of a class's demand as the packer sees it: all of it, or what
// goes to one topology domain.
type item struct {
	name  string // its key, once it is described
	class *demandClass
	cell  *cell // nil where topology does not matter
	count int64 // pods
	left  int64 // of them, not launched for yet
	where []uint64
	// unit is how many pods must share a node; with is an item of which one pod
	// comes with them, nil for none.
	unit int64
	with *item
	// untied says that pods of it were left to the next round, for no want of room.
	untied bool
}

// cell is the nodes to come that are in the same topology domains, as far as one
// class's rules look.
type cell struct {
	name  string   // values of the keys, for order
	where []uint64 // by row of the fleet: zones
	place spread.Place
	price quantity.Money // of the cheapest row, to break ties
}

// cellsKey is what cells are the same for.
type cellsKey struct {
	where *uint64
	keys  string
}

// division shares the demand of a turn out to items of the packer.
type division struct {
	*turn
	known  map[cellsKey][]*cell
	behind bool // some class waits for where those are launched that it must follow
}

// divide makes the packer's classes of the demand that is left. A class whose
// pods must keep to topology domains is divided among them first; one that
// follows other pods comes after these.
func (d *division) divide(p *pack.Problem) []*item {
	var items []*item
	waiting := make([]*demandClass, 0, len(d.demand.classes))
	for _, c := range d.demand.classes {
		if c.count() > 0 && len(c.shape().Unsupported) == 0 && c.group.Shape.Priority >= d.least {
			waiting = append(waiting, c)
		}
	}
	for progress := true; progress; {
		progress = false
		rest := waiting[:0]
		for _, c := range waiting {
			made := d.divideClass(c, items)
			items = append(items, made...)
			progress = progress || len(made) > 0
			if c.ruled() && len(made) == 0 {
				rest = append(rest, c)
			}
		}
		waiting = rest
		for i := 0; i < len(waiting) && !progress; i++ {
			pinned := d.pin(waiting[i], items)
			progress = pinned != nil
			items = append(items, pinned...)
		}
	}
	items = pick.Those(items, func(x *item) bool { return x.count > 0 })
	d.behind = slices.ContainsFunc(waiting, func(c *demandClass) bool { return follows(c, items) })
	d.describe(p, items)
	return items
}

// pin settles where one pod of a class goes that the given one must follow, and
// that could go anywhere otherwise: to a domain where both may run. Only a class
// that has rules follows another.
func (d *division) pin(c *demandClass, items []*item) []*item {
	keys, where := c.domainKeys(), d.market.where(c)
	for _, rule := range c.table.Company(c.rule()) {
		i := slices.IndexFunc(items, func(x *item) bool {
			return x.class != c && x.class.rule() == rule && x.cell == nil && x.with == nil && x.unit == 1 && x.count > 0
		})
		if i < 0 {
			continue
		}
		lead := items[i]
		for _, k := range d.cells(c, both(where, lead.where), keys) {
			if d.isShut(c, k) {
				continue
			}
			lead.class.tell(k.place, 1)
			lead.count, lead.left = lead.count-1, lead.left-1
			return []*item{{class: lead.class, cell: k, count: 1, left: 1, where: k.where, unit: 1}}
		}
	}
	return nil
}

func (d *division) divideClass(c *demandClass, others []*item) []*item {
	where := d.market.where(c)
	keys := c.domainKeys()
	if len(keys) == 0 {
		if !anyOf(where, d.rows) {
			return nil
		}
		return d.bundle(&item{class: c, count: c.count(), where: where}, others)
	}
	cells := d.cells(c, where, keys)
	counts := make([]int64, len(cells))
	for n := c.count(); n > 0; {
		best, room, second := -1, int64(0), int64(0)
		for i, x := range cells {
			r := c.table.Room(c.rule(), x.place)
			if r <= 0 || d.isShut(c, x) {
				continue
			}
			if r > room {
				best, room, second = i, r, room
			} else {
				second = max(second, r)
			}
		}
		if best < 0 {
			break
		}
		k := min(n, room, max(1, room-second))
		if room == unlimited {
			k = n
		}
		c.tell(cells[best].place, k)
		counts[best] += k
		n -= k
	}
	var items []*item
	for i, n := range counts {
		if n > 0 {
			items = append(items, d.bundle(&item{class: c, cell: cells[i], count: n, where: cells[i].where}, others)...)
		}
	}
	return items
}

// isShut says whether nothing could be launched for the class in the cell before.
func (d *division) isShut(c *demandClass, x *cell) bool {
	return len(d.shut) > 0 && d.shut[c.group.Key+x.name]
}

// cells divides the rows where the class may run by the values of the keys,
// cheapest first, and tells the rules of these domains.
func (d *division) cells(c *demandClass, where []uint64, keys []string) []*cell {
	id := cellsKey{&where[0], strings.Join(keys, " ")}
	out, known := d.known[id]
	if !known {
		out = divideRows(d.market, d.rows, where, keys)
		if d.known == nil {
			d.known = map[cellsKey][]*cell{}
		}
		d.known[id] = out
	}
	offerCells(c, out, keys)
	return out
}

// offerCells tells the rules of the class that nodes may come in the cells.
func offerCells(c *demandClass, cells []*cell, keys []string) {
	for _, k := range cells {
		for _, key := range keys {
			v, _ := k.place.Labels.Get(key)
			c.table.Offer(c.rule(), key, v)
		}
	}
}

// cellsOf divides the rows of the pool where the class may run by the values of
// the keys, and tells the rules of these domains.
func cellsOf(m *market, pool int, c *demandClass, keys []string) []*cell {
	var rows []int
	for i := range m.fleet.Rows {
		if m.fleet.Rows[i].Pool == pool {
			rows = append(rows, i)
		}
	}
	cells := divideRows(m, rows, m.where(c), keys)
	offerCells(c, cells, keys)
	return cells
}

// domains joins the values of the keys; ok is false where one is missing.
func domains(l label.Lookup, keys []string) (name string, ok bool) {
	for _, key := range keys {
		v, there := l.Get(key)
		if !there {
			return "", false
		}
		name += "/" + v
	}
	return name, true
}

func anyOf(where []uint64, rows []int) bool {
	return slices.ContainsFunc(rows, func(x int) bool { return where[x] != 0 })
}

// describe writes the items as the packer's classes.
func (d *division) describe(p *pack.Problem, items []*item) {
	for _, x := range items {
		x.name = x.key()
	}
	slices.SortStableFunc(items, func(a, b *item) int {
		return cmp.Or(cmp.Compare(b.class.group.Shape.Priority, a.class.group.Shape.Priority),
			strings.Compare(a.name, b.name))
	})
	signature := map[*uint64]int{}
	roles := newRoles()
	p.Classes = slices.Grow(p.Classes, len(items))
	for _, x := range items {
		w, known := signature[&x.where[0]]
		if !known {
			w = len(p.Where)
			signature[&x.where[0]] = w
			zones := make([]uint64, len(d.rows))
			for i, row := range d.rows {
				zones[i] = x.where[row] & d.market.sale[row]
			}
			p.Where = append(p.Where, pack.Where{Zones: zones})
		}
		p.Classes = append(p.Classes, pack.Class{
			Key: x.name, Need: d.dims.vector(x.need()), Count: x.count / x.unit, Where: w, Roles: x.roles(roles),
		})
	}
	p.Rules = roles.rules
}

func (x *item) key() string {
	if x.cell == nil {
		return x.class.group.Key
	}
	return x.class.group.Key + x.cell.name
}

// giveBack shuts the cells that had no room for what was divided among them. It
// returns whether another division could do better.
func (d *division) giveBack(items []*item) bool {
	again := false
	for _, x := range items {
		if x.left == 0 || x.cell == nil {
			continue
		}
		if !x.untied {
			d.shut[x.class.group.Key+x.cell.name] = true
		}
		again = true
	}
	return again
}

// divideRows divides the rows by the values of the keys, cheapest first.
func divideRows(m *market, rows []int, where []uint64, keys []string) []*cell {
	byName := map[string]*cell{}
	bySite := make([]*cell, m.fleet.Sites()) // of what types do not decide
	ofTypes := slices.ContainsFunc(keys, m.fleet.OfTypes)
	var out []*cell
	for _, x := range rows {
		r := &m.fleet.Rows[x]
		for zones := where[x] & m.sale[x]; zones != 0; zones &= zones - 1 {
			z := bits.TrailingZeros64(zones)
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
				k = &cell{name: name, where: make([]uint64, len(m.fleet.Rows)), price: r.Prices[z]}
				k.place = spread.Place{Labels: labels, Taints: m.fleet.Pools[r.Pool].Taints, Either: spread.NewEither(m.labelsIn(k.where))}
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
