package topology

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// repelling lists the groups with pods that run and keep pods of the classes away.
func repelling(s cluster.Snapshot, classes []Class) (groups []*cluster.Group) {
	var sets []labelSet // of the classes, most of which share them
	for g := range s.AntiAffine() {
		if sets == nil {
			sets = setsOf(s, classes)
		}
		if slices.ContainsFunc(g.Shape.PodAntiAffinity, func(p cluster.PodTerm) bool {
			x := term{PodTerm: p}
			return required(p) && slices.ContainsFunc(sets, func(k labelSet) bool { return x.repels(&k) })
		}) {
			groups = append(groups, g)
		}
	}
	return groups
}

// setsOf lists the different labels of the classes.
func setsOf(s cluster.Snapshot, classes []Class) []labelSet {
	known, out := map[string]bool{}, []labelSet{}
	var key []byte
	for i := range classes {
		c := &classes[i]
		if key = c.Labels.AppendKey(label.AppendText(key[:0], c.Namespace)); !known[string(key)] {
			known[string(key)] = true
			out = append(out, labelSet{namespace: c.Namespace, of: s.Namespace(c.Namespace).Labels, labels: c.Labels})
		}
	}
	return out
}

// Build returns the table of the rules of the classes and of the anti-affinity of
// running pods. All running pods are counted, unless the table is Empty. What follows from
// the nodes alone is kept for the next table.
//
// Up to Kubernetes 1.36, the scheduler takes every namespace for selected by the namespace
// selector of a new pod that a namespace without labels would meet, as with NotIn and
// DoesNotExist. With exact, it looks at the labels of each namespace, as later ones do. The
// terms of pods that run are read exactly by all.
func (k *Known) Build(s cluster.Snapshot, classes []Class, exact bool, vacated ...Vacated) *Table {
	t := &Table{classes: make([]class, len(classes)), topologies: map[string]*topology{}}
	repelling := repelling(s, classes)
	if len(repelling) == 0 && !slices.ContainsFunc(classes, func(c Class) bool { return binds(&c.Shape) }) {
		none := &labelSet{}
		for i := range classes {
			t.classes[i] = class{Class: classes[i], labelSet: none}
		}
		return t
	}
	for i := range classes {
		t.classes[i].Class = classes[i]
	}
	t.numbered = *k.number(s)
	b := &builder{
		Table: t, known: k, snapshot: s, exact: exact, vacated: vacated, labelSetByKey: map[string]*labelSet{}, byLabel: map[label.Label][]*labelSet{},
		censuses: map[string]*census{}, cohorts: map[string]*cohort{}, terms: map[string]*term{}, limits: map[hostSpread]int32{},
	}
	b.gatherLabelSets()
	for i := range t.classes {
		b.spreads(&t.classes[i])
		b.together(&t.classes[i])
		b.antiAffinity(i)
	}
	b.repel(repelling)
	b.limitHosts()
	return t
}

func binds(s *cluster.Shape) bool {
	return slices.ContainsFunc(s.Spread, func(x cluster.Spread) bool { return !x.Soft }) ||
		slices.ContainsFunc(s.PodAffinity, required) || slices.ContainsFunc(s.PodAntiAffinity, required)
}

func required(p cluster.PodTerm) bool { return p.Weight == 0 }

// builder holds what only Build needs. The keys of its maps are made from the
// content of the values.
type builder struct {
	*Table
	known         *Known
	snapshot      cluster.Snapshot
	exact         bool // see Build
	vacated       []Vacated
	labelSets     []*labelSet // in the order in which they were found
	labelSetByKey map[string]*labelSet
	byLabel       map[label.Label][]*labelSet
	censuses      map[string]*census
	cohorts       map[string]*cohort
	terms         map[string]*term
	order         []*term // in the order in which they were found
	limits        map[hostSpread]int32
	scratch       []byte
}

func (b *builder) together(c *class) {
	var terms []*term
	b.scratch = b.scratch[:0]
	for k := range c.Shape.PodAffinity {
		if p := &c.Shape.PodAffinity[k]; required(*p) {
			terms = append(terms, newTerm(p, b.exact))
			b.scratch = appendTerm(b.scratch, p)
		}
	}
	if len(terms) == 0 {
		return
	}
	h, known := b.cohorts[string(b.scratch)]
	if !known {
		h = &cohort{terms: terms}
		b.cohorts[string(b.scratch)] = h
		b.gather(h)
	}
	c.affinity = &affinityRule{cohort: h, self: h.admits(c.labelSet)}
}

// gather counts the running pods that the cohort admits, and finds the classes that
// it admits.
func (b *builder) gather(h *cohort) {
	for _, x := range h.terms {
		h.tallies = append(h.tallies, &tally{b.topology(x.Key), map[int32]int64{}})
	}
	var targets []*labelSet
	for _, k := range b.selected(&h.terms[0].Selector) {
		if h.admits(k) {
			for _, r := range b.runningOf(k) {
				h.add(&spot{node: r.node}, r.all)
			}
			k.cohorts = append(k.cohorts, h)
			targets = append(targets, k)
		}
	}
	h.targets = classesOf(targets)
}

// admits says whether pods of the set meet all terms.
func (h *cohort) admits(k *labelSet) bool {
	return !slices.ContainsFunc(h.terms, func(x *term) bool { return !x.wants(k) })
}

func (b *builder) antiAffinity(i int) {
	c := &b.classes[i]
	for k := range c.Shape.PodAntiAffinity {
		if !required(c.Shape.PodAntiAffinity[k]) {
			continue
		}
		x := b.term(&c.Shape.PodAntiAffinity[k])
		b.want(x)
		self := x.wants(c.labelSet)
		c.antiAffinity = append(c.antiAffinity, antiAffinityRule{selector: &x.Selector, tally: x.wanted, self: self})
		c.owned = append(c.owned, x.owners)
		side := 0
		if self {
			side = 1
		}
		x.binds[side] = append(x.binds[side], int32(i))
	}
}

// term returns the one term that is equal to p. A new term gets rules for the sets
// that its owners keep away.
func (b *builder) term(p *cluster.PodTerm) *term {
	b.scratch = appendTerm(b.scratch[:0], p)
	if x, ok := b.terms[string(b.scratch)]; ok {
		return x
	}
	x := newTerm(p, b.exact)
	x.owners = &tally{b.topology(p.Key), map[int32]int64{}}
	b.terms[string(b.scratch)] = x
	b.order = append(b.order, x)
	for _, k := range b.selected(&p.Selector) {
		if x.repels(k) {
			k.inverse = append(k.inverse, antiAffinityRule{selector: &x.Selector, tally: x.owners})
		}
	}
	return x
}

// want starts to count the pods that the term selects.
func (b *builder) want(x *term) {
	if x.wanted != nil {
		return
	}
	x.wanted = &tally{x.owners.topology, map[int32]int64{}}
	for _, k := range b.selected(&x.Selector) {
		if x.wants(k) {
			x.wanted.addRunning(b.runningOf(k))
			k.tallies = append(k.tallies, x.wanted)
			x.wantedSets = append(x.wantedSets, k)
		}
	}
}

// repel counts the running pods that keep others away.
func (b *builder) repel(groups []*cluster.Group) {
	for _, g := range groups {
		for k := range g.Shape.PodAntiAffinity {
			if required(g.Shape.PodAntiAffinity[k]) {
				x := b.term(&g.Shape.PodAntiAffinity[k])
				x.owners.addRunning(b.appendRunning(nil, g))
			}
		}
	}
}
