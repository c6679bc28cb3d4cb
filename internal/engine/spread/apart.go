package spread

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

func (b *builder) apart(i int) {
	c := &b.classes[i]
	for k := range c.Shape.Apart {
		if !required(c.Shape.Apart[k]) {
			continue
		}
		x := b.term(&c.Shape.Apart[k])
		b.ask(x)
		self := x.wants(c.Namespace, c.namespace, c.Labels)
		c.apart = append(c.apart, apartRule{term: x, tally: x.selected, self: self})
		c.feedsTallies = append(c.feedsTallies, x.owners)
		side := 0
		if self {
			side = 1
		}
		x.binds[side] = append(x.binds[side], int32(i))
	}
}

// term returns the one term that is equal to p, and binds the classes that its
// owners keep away.
func (b *builder) term(p *cluster.PodTerm) *term {
	id := termID(p)
	if x, ok := b.terms[id]; ok {
		return x
	}
	y := b.topology(p.Key)
	x := &term{PodTerm: *p, selected: &tally{y, map[int32]int64{}}, owners: &tally{y, map[int32]int64{}}}
	b.terms[id] = x
	b.order = append(b.order, x)
	for _, k := range b.classDir.candidates(p.Selector) {
		if c := &b.classes[k]; x.repels(c.Namespace, c.namespace, c.Labels) {
			c.inverse = append(c.inverse, apartRule{term: x, tally: x.owners})
		}
	}
	return x
}

// ask keeps count of the pods that the term selects.
func (b *builder) ask(x *term) {
	if x.asked {
		return
	}
	x.asked = true
	for _, g := range b.groupDir.candidates(x.Selector) {
		g := &b.groups[g]
		if x.wants(g.Namespace, g.namespace, g.Labels) {
			b.tally(x.selected, g.Group)
		}
	}
	for _, k := range b.classDir.candidates(x.Selector) {
		if c := &b.classes[k]; x.wants(c.Namespace, c.namespace, c.Labels) {
			c.feedsTallies = append(c.feedsTallies, x.selected)
			x.selects = append(x.selects, k)
		}
	}
}

// repel counts the pods that run and keep others away.
func (b *builder) repel(groups []*cluster.Group) {
	for _, g := range groups {
		for k := range g.Shape.Apart {
			if required(g.Shape.Apart[k]) {
				b.tally(b.term(&g.Shape.Apart[k]).owners, g)
			}
		}
	}
}

// HostRule is a rule over hostnames as one class sees it: a place that holds a
// pod of a class that the rule binds may hold at most Max pods of the classes
// that it counts.
type HostRule struct {
	ID             int // the same for every class
	Max            int64
	Binds, Counted bool
}

// Hosting is what the rules over hostnames ask of one place to come.
type Hosting struct {
	Rules []HostRule // by ID
	// Together says that the class has required affinity over hostnames: it must
	// share its place with a pod of one of the classes With. First says that the
	// next pod of it may do without, since no such pod runs anywhere.
	Together, First bool
	With            []int
}

// Host returns the rules over hostnames that bind or count the class, for places
// that hold nothing yet. The limit of a spread is its skew above the least
// count of the nodes that are there now.
func (t *Table) Host(class int) Hosting {
	c := &t.classes[class]
	var h Hosting
	for _, r := range c.hostRules {
		limit := r.max
		if r.spread != nil {
			limit = r.spread.hostLimit()
		}
		h.Rules = append(h.Rules, HostRule{ID: r.id, Max: limit, Binds: r.binds, Counted: r.counted})
	}
	if r := c.together; r != nil && slices.ContainsFunc(r.tallies, func(y *tally) bool { return y.topology.hosts() }) {
		h.Together, h.First, h.With = true, r.self && r.total == 0, r.company
	}
	return h
}

func (r *spreadRule) hostLimit() int64 {
	least, some := r.levels.least(-1)
	if !some || r.domains < r.MinDomains {
		least = 0
	}
	return r.MaxSkew + least
}

type hostRole struct {
	id             int
	spread         *spreadRule // its limit moves; else max
	max            int64
	binds, counted bool
}

// host gives the classes their parts in one rule.
func (b *builder) host(role hostRole, binds, counted []int32) {
	role.id = b.hostRules
	b.hostRules++
	put := func(k int32, set func(r *hostRole)) {
		rules := b.classes[k].hostRules
		if n := len(rules); n == 0 || rules[n-1].id != role.id {
			rules = append(rules, role)
		}
		set(&rules[len(rules)-1])
		b.classes[k].hostRules = rules
	}
	for _, k := range binds {
		put(k, func(r *hostRole) { r.binds = true })
	}
	for _, k := range counted {
		put(k, func(r *hostRole) { r.counted = true })
	}
}

func (b *builder) capHosts() {
	for _, x := range b.order {
		for self, binds := range x.binds {
			if len(binds) > 0 && x.owners.topology.hosts() {
				b.host(hostRole{max: int64(self)}, binds, x.selects)
			}
		}
	}
}
