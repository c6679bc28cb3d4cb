package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/spread"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
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

// divide makes the packer's classes of the demand that is left. A class whose
// pods must keep to topology domains is divided among them first; one that
// follows other pods comes after these.
func (s *step) divide(t *tier, p *pack.Problem) []*item {
	var items []*item
	waiting := make([]*demandClass, 0, len(s.classes))
	for _, c := range s.classes {
		if c.count() > 0 && len(c.shape().Unsupported) == 0 && c.group.Shape.Priority >= t.least {
			waiting = append(waiting, c)
		}
	}
	for progress := true; progress; {
		progress = false
		rest := waiting[:0]
		for _, c := range waiting {
			made := s.divideClass(t, c, items)
			items = append(items, made...)
			progress = progress || len(made) > 0
			if s.ruled(c) && len(made) == 0 {
				rest = append(rest, c)
			}
		}
		waiting = rest
		for i := 0; i < len(waiting) && !progress; i++ {
			pinned := s.pin(t, waiting[i], items)
			progress = pinned != nil
			items = append(items, pinned...)
		}
	}
	items = filter(items, func(x *item) bool { return x.count > 0 })
	t.behind = slices.ContainsFunc(waiting, func(c *demandClass) bool { return s.follows(c, items) })
	s.describe(t, p, items)
	return items
}

// pin settles where one pod of a class goes that the given one must follow, and
// that could go anywhere otherwise: to a domain where both may run. Only a class
// that has rules follows another.
func (s *step) pin(t *tier, c *demandClass, items []*item) []*item {
	keys, where := s.domainKeys(c), s.where(c)
	for _, rule := range s.rules.Company(c.rule()) {
		i := slices.IndexFunc(items, func(x *item) bool {
			return x.class != c && x.class.rule() == rule && x.cell == nil && x.with == nil && x.unit == 1 && x.count > 0
		})
		if i < 0 {
			continue
		}
		lead := items[i]
		for _, k := range s.cells(t, c, both(where, lead.where), keys) {
			if s.isShut(c, k) {
				continue
			}
			s.rules.Add(lead.class.hard(), k.place, 1)
			lead.count, lead.left = lead.count-1, lead.left-1
			return []*item{{class: lead.class, cell: k, count: 1, left: 1, where: k.where, unit: 1}}
		}
	}
	return nil
}

// ruled says whether other pods have a say in where the class may go.
func (s *step) ruled(c *demandClass) bool { return s.rules != nil && s.rules.Bound(c.rule()) }

func (s *step) divideClass(t *tier, c *demandClass, others []*item) []*item {
	where := s.where(c)
	keys := s.domainKeys(c)
	if len(keys) == 0 {
		if !anyOf(where, t.rows) {
			return nil
		}
		return s.bundle(t, &item{class: c, count: c.count(), where: where}, others)
	}
	cells := s.cells(t, c, where, keys)
	counts := make([]int64, len(cells))
	for n := c.count(); n > 0; {
		best, room, second := -1, int64(0), int64(0)
		for i, x := range cells {
			r := s.rules.Room(c.rule(), x.place)
			if r <= 0 || s.isShut(c, x) {
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
		s.rules.Add(c.hard(), cells[best].place, k)
		counts[best] += k
		n -= k
	}
	var items []*item
	for i, n := range counts {
		if n > 0 {
			items = append(items, s.bundle(t, &item{class: c, cell: cells[i], count: n, where: cells[i].where}, others)...)
		}
	}
	return items
}

// isShut says whether nothing could be launched for the class in the cell before.
func (s *step) isShut(c *demandClass, x *cell) bool {
	return len(s.shut) > 0 && s.shut[c.group.Key+x.name]
}

// cells divides the rows where the class may run by the values of the keys,
// cheapest first, and tells the rules of these domains.
func (s *step) cells(t *tier, c *demandClass, where []uint64, keys []string) []*cell {
	id := cellsKey{&where[0], strings.Join(keys, " ")}
	out, known := t.cells[id]
	if !known {
		out = s.divideRows(t, where, keys)
		if t.cells == nil {
			t.cells = map[cellsKey][]*cell{}
		}
		t.cells[id] = out
	}
	for _, k := range out {
		for _, key := range keys {
			v, _ := k.place.Labels.Get(key)
			s.rules.Offer(c.rule(), key, v)
		}
	}
	return out
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
func (s *step) describe(t *tier, p *pack.Problem, items []*item) {
	for _, x := range items {
		x.name = x.key()
	}
	slices.SortStableFunc(items, func(a, b *item) int {
		return cmp.Or(cmp.Compare(b.class.group.Shape.Priority, a.class.group.Shape.Priority),
			strings.Compare(a.name, b.name))
	})
	signature := map[*uint64]int{}
	roles := s.newRoles()
	p.Classes = slices.Grow(p.Classes, len(items))
	for _, x := range items {
		w, known := signature[&x.where[0]]
		if !known {
			w = len(p.Where)
			signature[&x.where[0]] = w
			zones := make([]uint64, len(t.rows))
			for i, row := range t.rows {
				zones[i] = x.where[row] & s.sale[row]
			}
			p.Where = append(p.Where, pack.Where{Zones: zones})
		}
		p.Classes = append(p.Classes, pack.Class{
			Key: x.name, Need: t.dims.vector(x.need()), Count: x.count / x.unit, Where: w, Roles: x.roles(roles),
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
func (s *step) giveBack(items []*item) bool {
	again := false
	for _, x := range items {
		if x.left == 0 || x.cell == nil {
			continue
		}
		if !x.untied {
			s.shut[x.class.group.Key+x.cell.name] = true
		}
		again = true
	}
	return again
}
