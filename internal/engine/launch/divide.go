package launch

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/topology"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// item is a part of a class's demand as the packer sees it: the whole demand, or
// the part that is placed in one topology domain.
type item struct {
	name  string // the key, set by describe
	class *demand.Class
	cell  *cell // nil if topology does not matter
	free  bool  // the item could be placed in any cell; this one is chosen only so that its pods count
	count int64 // pods
	left  int64 // pods not launched yet
	where []uint64
	// unit is how many pods must share a node. with is an item of which one pod
	// joins them; nil for none.
	unit int64
	with *item
	// untied says that untie left pods of the item to the next round; its cell
	// still has room.
	untied bool
}

// cell is a set of new nodes that the rules of one class do not tell from each
// other: all are in the same topology domains.
type cell struct {
	name  string   // values of the keys; sorts cells of equal price
	where []uint64 // by row of the fleet: zones
	place topology.Place
	price quantity.Money // of the cheapest row
}

// cellsKey identifies a list of cells: classes that may run in the same places and
// have the same keys share it.
type cellsKey struct {
	where          *uint64
	must, optional string
}

// division divides the demand of one turn into items for the packer.
type division struct {
	*turn
	known  map[cellsKey][]*cell
	behind bool // a class waits until the pods that it must follow are launched
}

// divide makes the packer's classes from the remaining demand. A class whose pods
// must keep to topology domains is divided among the domains. A class that follows
// other pods is divided after them.
func (d *division) divide(p *pack.Problem) []*item {
	var items []*item
	waiting := make([]*demand.Class, 0, len(d.Demand.Classes))
	for _, c := range d.Demand.Classes {
		if c.Count() > 0 && len(c.Shape().Unsupported) == 0 && c.Group.Shape.Priority >= d.MinPriority {
			waiting = append(waiting, c)
		}
	}
	// Pods that are spread come after those that they may be spread among.
	slices.SortStableFunc(waiting, func(a, b *demand.Class) int { return spreads(a) - spreads(b) })
	for progress := true; progress; {
		progress = false
		rest := waiting[:0]
		for _, c := range waiting {
			made := d.divideClass(c, items)
			items = append(items, made...)
			progress = progress || len(made) > 0
			if c.Ruled() && len(made) == 0 {
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
	d.behind = slices.ContainsFunc(waiting, func(c *demand.Class) bool { return follows(c, items) })
	d.describe(p, items)
	return items
}

// spreads is 1 for a class whose pods are spread over topology domains, else 0.
func spreads(c *demand.Class) int {
	if slices.ContainsFunc(c.Shape().Spread, func(x cluster.Spread) bool { return x.Key != label.Hostname }) {
		return 1
	}
	return 0
}

// pin chooses a topology domain for one pod that class c must follow, if that pod
// could run anywhere. It chooses a domain where c may run, too. Class c must have
// rules: a class without rules follows nobody.
func (d *division) pin(c *demand.Class, items []*item) []*item {
	where := d.Market.Where(c)
	must, optional := domainKeys(c, nil)
	for _, rule := range c.Table.AffinityTargets(c.Rule()) {
		i := slices.IndexFunc(items, func(x *item) bool {
			return x.class != c && x.class.Rule() == rule && (x.cell == nil || x.free) && x.with == nil && x.unit == 1 && x.count > 0
		})
		if i < 0 {
			continue
		}
		lead := items[i]
		for _, k := range d.cells(c, both(where, d.Market.Where(lead.class)), must, optional) {
			if d.isShut(c, k) {
				continue
			}
			if lead.cell != nil {
				lead.tell(-1)
			}
			lead.class.Tell(k.place, 1)
			lead.count, lead.left = lead.count-1, lead.left-1
			return []*item{{class: lead.class, cell: k, count: 1, left: 1, where: k.where, unit: 1}}
		}
	}
	return nil
}

// divideClass returns the items of one class. It gives pods to the cell with the
// most room until that cell has no more room than the second one, and so on.
func (d *division) divideClass(c *demand.Class, others []*item) []*item {
	where := d.Market.Where(c)
	counted := c.CountedKeys()
	must, optional := domainKeys(c, counted)
	host := hosting(c) // before any pod of the class is told: then none is the first
	if len(must)+len(optional) == 0 {
		if !anyOf(where, d.rows) {
			return nil
		}
		return d.bundle(&item{class: c, count: c.Count(), where: where}, host, others)
	}
	cells := d.cells(c, where, must, optional)
	if len(must) == 0 {
		cells = pick.Those(cells, func(x *cell) bool { return d.holds(c, x) })
	}
	if !d.Policy.BestEffortMinValues {
		cells = widening{d.Market, d.rows, c, must}.of(cells)
	}
	free := len(must)+len(optional) == len(counted) // no key restricts the class
	counts := make([]int64, len(cells))
	careful := spreads(c) == 0
	for n := c.Count(); n > 0; {
		best, room, second := d.roomiest(c, cells, n, careful)
		if best < 0 && careful {
			careful = false
			continue
		}
		if best < 0 {
			break
		}
		k := min(n, room, max(1, room-second))
		if room == demand.Unlimited {
			k = n
		}
		c.Tell(cells[best].place, k)
		counts[best] += k
		n -= k
	}
	var items []*item
	for i, n := range counts {
		if n == 0 {
			continue
		}
		made := d.bundle(&item{class: c, cell: cells[i], free: free || cells[i].name == "", count: n, where: cells[i].where}, host, others)
		for _, x := range made {
			n -= x.count
			host.First = false
		}
		c.Tell(cells[i].place, -n) // pods that are in no bundle are nowhere
		items = append(items, made...)
	}
	return items
}

// roomiest returns the cell with the most room for the class, the first of several,
// its room and the next one's; -1 where none has any. A cell without limits has no more
// room than a cheaper one that takes all n pods. If careful is set, roomiest
// limits the room, so that pods already spread over the cells keep their place.
func (d *division) roomiest(c *demand.Class, cells []*cell, n int64, careful bool) (best int, room, second int64) {
	best = -1
	for i, x := range cells {
		r := c.Table.Room(c.Rule(), x.place)
		if r <= 0 || d.isShut(c, x) {
			continue
		}
		if careful {
			if more := c.Table.Tolerated(c.Rule(), x.place); more < n {
				r = min(r, more)
			}
		}
		if r > room && (r != demand.Unlimited || room < n) {
			best, room, second = i, r, room
		} else {
			second = max(second, r)
		}
	}
	return best, room, second
}

// holds says whether something in the cell has room for a pod of the class.
func (d *division) holds(c *demand.Class, x *cell) bool {
	need := demand.WithoutAttach(c.Shape().Requests)
	return slices.ContainsFunc(d.rows, func(row int) bool {
		return x.where[row]&d.Market.Sale[row] != 0 && need.Fits(d.Market.Fleet.Rows[row].Net)
	})
}

// isShut says whether an earlier turn could launch nothing for the class in the
// cell.
func (d *division) isShut(c *demand.Class, x *cell) bool {
	return len(d.shut) > 0 && d.shut[c.Group.Key+x.name]
}

// cells returns the cells of the class, cheapest first, and offers their domains to
// the rules.
func (d *division) cells(c *demand.Class, where []uint64, must, optional []string) []*cell {
	id := cellsKey{&where[0], strings.Join(must, " "), strings.Join(optional, " ")}
	out, known := d.known[id]
	if !known {
		out = divideRows(d.Market, d.rows, where, must, optional)
		if d.known == nil {
			d.known = map[cellsKey][]*cell{}
		}
		d.known[id] = out
	}
	offerCells(c, out, must)
	return out
}

// domainKeys divides the keys of the class into those that a node must have, and those that it
// may lack: over which only anti-affinity holds, and those that only count the class.
func domainKeys(c *demand.Class, counted []string) (must, optional []string) {
	must = c.DemandedKeys()
	return must, append(pick.Those(c.DomainKeys(), func(k string) bool { return !slices.Contains(must, k) }), counted...)
}

// offerCells tells the rules of the class that new nodes may come in these cells. Each cell has
// all of the keys.
func offerCells(c *demand.Class, cells []*cell, keys []string) {
	for _, k := range cells {
		for _, key := range keys {
			v, _ := k.place.Labels.Get(key)
			c.Table.Offer(c.Rule(), key, v)
		}
	}
}

// Domains returns the topology domains, by the values of the class's keys, in which new
// nodes of the pool may run the class. It also offers the domains to the rules.
func Domains(m *offer.Market, pool int, c *demand.Class) []topology.Place {
	var rows []int
	for i := range m.Fleet.Rows {
		if m.Fleet.Rows[i].Pool == pool {
			rows = append(rows, i)
		}
	}
	must, optional := domainKeys(c, nil)
	cells := divideRows(m, rows, m.Where(c), must, optional)
	offerCells(c, cells, must)
	places := make([]topology.Place, len(cells))
	for i, x := range cells {
		places[i] = x.place
	}
	return places
}

// domains joins the values of the keys. It returns false if the node lacks one of those
// that it must have.
func domains(l label.Lookup, must, optional []string) (name string, ok bool) {
	if name, ok = topology.DomainOf(topology.Place{Labels: l}, must); !ok {
		return "", false
	}
	for _, key := range optional {
		if v, there := l.Get(key); there {
			name += "/" + key + "=" + v
		}
	}
	return name, true
}

func anyOf(where []uint64, rows []int) bool {
	return slices.ContainsFunc(rows, func(x int) bool { return where[x] != 0 })
}

// describe sorts the items and adds them to the problem as the packer's classes.
func (d *division) describe(p *pack.Problem, items []*item) {
	for _, x := range items {
		x.name = x.key()
	}
	slices.SortStableFunc(items, func(a, b *item) int {
		return cmp.Or(cmp.Compare(b.class.Group.Shape.Priority, a.class.Group.Shape.Priority),
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
				zones[i] = x.where[row] & d.Market.Sale[row]
			}
			d.keepVaried(zones)
			p.Where = append(p.Where, pack.Where{Zones: zones})
		}
		p.Classes = append(p.Classes, pack.Class{
			Key: x.name, Need: d.dims.Vector(x.need()), Count: x.count / x.unit, Where: w, Roles: x.roles(roles),
		})
	}
	if d.exclusive {
		roles.keepOthersOff(p)
	}
	p.Rules = roles.rules
}

// keepVaried takes out of the zones, by row of the turn, those of rows of which a node cannot
// meet its pool's minValues: a rule or a volume leaves the pods too few zones. Where that is
// all that there are, the minValues of the pools are unmet.
func (d *division) keepVaried(zones []uint64) {
	if !slices.ContainsFunc(d.Market.Fleet.Pools[d.from:d.to], func(p cluster.Pool) bool { return len(p.MinValues) > 0 }) {
		return
	}
	left, unmet := false, map[string]bool{}
	for i := range zones {
		r := d.row(i)
		if pool := &d.Market.Fleet.Pools[r.Pool]; zones[i] != 0 && !Varied(d.Policy, pool, r, zones[i]) {
			zones[i], unmet[pool.Name] = 0, true
		}
		left = left || zones[i] != 0
	}
	if !left {
		maps.Copy(d.Unmet, unmet)
	}
}

func (x *item) key() string {
	if x.cell == nil {
		return x.class.Group.Key
	}
	return x.class.Group.Key + x.cell.name
}

// giveBack shuts the cells that had no room for the pods that were divided among
// them. It returns whether another division could place these pods.
func (d *division) giveBack(items []*item) bool {
	again := false
	for _, x := range items {
		if x.left == 0 || x.cell == nil {
			continue
		}
		if !x.untied {
			d.shut[x.class.Group.Key+x.cell.name] = true
		}
		again = true
	}
	return again
}

// divideRows divides the rows into cells by the values of the keys, cheapest first. A node
// without a label that it must have is in no cell.
func divideRows(m *offer.Market, rows []int, where []uint64, must, optional []string) []*cell {
	byName := map[string]*cell{}
	bySite := make([]*cell, m.Fleet.Sites()) // of what types do not decide
	all := slices.Concat(must, optional)
	ofTypes := slices.ContainsFunc(all, m.Fleet.OfTypes)
	var out []*cell
	for _, x := range rows {
		r := &m.Fleet.Rows[x]
		for zones := where[x] & m.Sale[x]; zones != 0; zones &= zones - 1 {
			z := bits.TrailingZeros64(zones)
			if k := bySite[r.Site(z)]; k != nil && !ofTypes {
				k.where[x] |= 1 << z
				continue
			}
			labels := r.Labels(z)
			name, ok := domains(labels, must, optional)
			if !ok {
				continue // a node without the label is no place for the pod
			}
			k := byName[name]
			if k == nil {
				k = &cell{name: name, where: make([]uint64, len(m.Fleet.Rows)), price: r.Prices[z]}
				k.place = topology.Place{Labels: labels, Taints: m.Fleet.Pools[r.Pool].Taints, Possible: topology.NewPossible(m.LabelsIn(k.where))}
				for _, key := range all {
					if v, there := labels.Get(key); there {
						k.place.Possible.Agree(key, v)
					}
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
