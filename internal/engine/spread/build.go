package spread

import (
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// Build makes the table of the classes' rules, and of the anti-affinity of pods
// that run, with what runs counted.
func Build(s cluster.Snapshot, classes []Class) *Table {
	t := &Table{
		snapshot: s, classes: make([]class, len(classes)),
		topologies: map[string]*topology{}, electors: map[string]*electorate{},
	}
	for i, c := range classes {
		t.classes[i] = class{Class: c, namespace: s.Namespace(c.Namespace).Labels}
	}
	repelling := slices.Collect(s.AntiAffine())
	if len(repelling) == 0 && !slices.ContainsFunc(classes, func(c Class) bool { return binds(&c.Shape) }) {
		return t
	}
	t.byName = map[string]int32{}
	for n := range s.States() {
		t.byName[n.Node.Name] = int32(len(t.nodes))
		t.nodes = append(t.nodes, &n.Node)
	}
	b := &builder{Table: t, terms: map[string]*term{}}
	b.running()
	b.classDir = newDirectory(len(classes), func(i int) label.Labels { return classes[i].Labels })
	for i := range t.classes {
		b.spreads(i)
		b.together(i)
		b.apart(i)
	}
	b.repel(repelling)
	b.capHosts()
	return t
}

func binds(s *cluster.Shape) bool {
	return slices.ContainsFunc(s.Spread, func(x cluster.Spread) bool { return !x.Soft }) ||
		slices.ContainsFunc(s.Together, required) || slices.ContainsFunc(s.Apart, required)
}

func required(p cluster.PodTerm) bool { return p.Weight == 0 }

type builder struct {
	*Table
	groups             []group
	classDir, groupDir *directory
	terms              map[string]*term
	order              []*term // as they were first seen
}

func (b *builder) spreads(i int) {
	c := &b.classes[i]
	var keys []*topology
	for _, x := range c.Shape.Spread {
		if !x.Soft {
			keys = append(keys, b.topology(x.Key))
		}
	}
	if len(keys) == 0 {
		return
	}
	for _, x := range c.Shape.Spread {
		if x.Soft {
			continue
		}
		r := &spreadRule{
			Spread: x, topology: b.topology(x.Key), voters: b.electorate(&c.Shape, x, keys), count: map[int32]int64{},
			self: x.Selector.Selects(c.Labels), blank: !x.Selector.Nothing && len(x.Selector.Match) == 0,
		}
		r.base = r.voters.over(r.topology)
		r.domains = r.base.domains
		r.levels = r.levels.with(0, r.domains)
		c.spreads = append(c.spreads, r)
		if r.blank {
			continue
		}
		for _, g := range b.groupDir.candidates(x.Selector) {
			if g := &b.groups[g]; g.Namespace == c.Namespace && x.Selector.Selects(g.Labels) {
				b.count(r, g.Group)
			}
		}
		var counted []int32
		for _, k := range b.classDir.candidates(x.Selector) {
			if to := &b.classes[k]; to.Namespace == c.Namespace && x.Selector.Selects(to.Labels) {
				to.feedsSpreads = append(to.feedsSpreads, r)
				counted = append(counted, k)
			}
		}
		if r.topology.hosts() {
			b.host(hostRole{spread: r}, []int32{int32(i)}, counted)
		}
	}
}

// electorate returns the nodes whose pods count for the spread, one and the same
// for all shapes that let the same nodes in.
func (b *builder) electorate(shape *cluster.Shape, x cluster.Spread, keys []*topology) *electorate {
	e := &electorate{keys: keys, base: map[*topology]*base{}}
	var id strings.Builder
	for _, y := range sortedKeys(keys) {
		id.WriteString(y)
		id.WriteByte(' ')
	}
	if !x.IgnoreAffinity && (len(shape.Selector) > 0 || len(shape.Affinity) > 0) {
		e.shape = shape
		id.WriteString("|" + shape.Selector.String())
		for _, t := range shape.Affinity {
			id.WriteString("|or " + t.String())
		}
	}
	if x.HonorTaints {
		e.taints = shape
		id.WriteString("|tolerates")
		for _, o := range shape.Tolerations {
			id.WriteString(" " + o.Key + "=" + o.Value + ":" + o.Effect)
			if o.Exists {
				id.WriteByte('?')
			}
		}
	}
	if known, ok := b.electors[id.String()]; ok {
		return known
	}
	e.counts = make([]bool, len(b.nodes))
	for i := range b.nodes {
		n := b.nodes[i]
		e.counts[i] = !slices.ContainsFunc(keys, func(y *topology) bool { return y.of[i] == missing }) &&
			e.admits(&n.Labels, n.Taints)
	}
	b.electors[id.String()] = e
	return e
}

func sortedKeys(keys []*topology) []string {
	out := make([]string, len(keys))
	for i, y := range keys {
		out[i] = y.key
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (b *builder) together(i int) {
	c := &b.classes[i]
	var terms []*term
	r := &togetherRule{}
	for k := range c.Shape.Together {
		if required(c.Shape.Together[k]) {
			x := &term{PodTerm: c.Shape.Together[k]}
			terms = append(terms, x)
			r.tallies = append(r.tallies, &tally{topology: b.topology(x.Key), count: map[int32]int64{}})
		}
	}
	if len(terms) == 0 {
		return
	}
	c.together = r
	meets := func(namespace string, of, labels label.Labels) bool {
		return !slices.ContainsFunc(terms, func(x *term) bool { return !x.wants(namespace, of, labels) })
	}
	r.self = meets(c.Namespace, c.namespace, c.Labels)
	for _, g := range b.groupDir.candidates(terms[0].Selector) {
		g := &b.groups[g]
		if !meets(g.Namespace, g.namespace, g.Labels) {
			continue
		}
		for node, n := range g.On() {
			if k, ok := b.byName[node]; ok {
				r.add(&spot{node: k}, n)
			}
		}
	}
	for _, k := range b.classDir.candidates(terms[0].Selector) {
		if x := &b.classes[k]; meets(x.Namespace, x.namespace, x.Labels) {
			x.feedsTogether = append(x.feedsTogether, r)
			r.company = append(r.company, int(k))
		}
	}
}
