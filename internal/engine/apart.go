package engine

import (
	"cmp"
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// apart is a set of pods that a number of nodes must share among them. Either no
// two of them may share a node: all take one port of it, or all have one required
// anti-affinity over hostnames, or zones, that selects each of them. Or they are of
// one class that is spread over zones: then one in each zone that gets any needs
// a node of its own. To a bound it is a resource of which every node has one.
type apart struct {
	key     string            // of the rule
	port    *cluster.HostPort // one of these
	term    *cluster.PodTerm
	spread  *cluster.Spread
	members []*demandClass
	pods    int64 // of them, that need a node each
}

// mostApart is how many sets a bound looks at, the largest first: a small one
// seldom needs more nodes than all pods do together.
const mostApart = 16

// apartOf finds the sets among the demand. Several of the same classes are one.
func apartOf(demand []*demandClass) []apart {
	var all []apart
	index := map[string]int{}
	enter := func(x apart, c *demandClass) {
		i, known := index[x.key]
		if !known {
			i, index[x.key] = len(all), len(all)
			all = append(all, x)
		}
		if set := &all[i]; len(set.members) == 0 || set.members[len(set.members)-1] != c {
			set.members = append(set.members, c)
			set.pods += min(c.placed(), math.MaxInt64-set.pods)
		}
	}
	for _, c := range demand {
		shape := &c.group.Shape
		for i := range shape.Ports {
			enter(apart{key: cluster.Shape{Ports: shape.Ports[i : i+1]}.Key(), port: &shape.Ports[i]}, c)
		}
		for i := range shape.Apart {
			x := apart{term: &shape.Apart[i]}
			if x.term.Weight == 0 && (x.term.Key == label.Hostname || x.term.Key == label.Zone) && x.repels(c.group) {
				x.key = cluster.Shape{Apart: shape.Apart[i : i+1]}.Key()
				enter(x, c)
			}
		}
	}
	return all
}

// largest leaves the sets that a bound looks at.
func largest(all []apart) []apart {
	slices.SortFunc(all, func(a, b apart) int { return cmp.Or(cmp.Compare(b.pods, a.pods), cmp.Compare(a.key, b.key)) })
	var out []apart
	for _, x := range all {
		same := func(o apart) bool { return slices.Equal(o.members, x.members) }
		if x.pods > 1 && len(out) < mostApart && !slices.ContainsFunc(out, same) {
			out = append(out, x)
		}
	}
	return out
}

// repels says whether a pod of the group on a node keeps those of the set away.
// Namespaces count that the term lists: what labels they have may change.
func (x *apart) repels(g *cluster.Group) bool {
	switch {
	case x.port != nil:
		return slices.ContainsFunc(g.Shape.Ports, x.port.Conflicts)
	case x.term != nil:
		return slices.Contains(x.term.Namespaces, g.Namespace) && x.term.Selector.Selects(g.Labels)
	}
	return false
}

// room is how many pods of the set the host may take. A term says nothing about a
// node without the label, but one to come will have a hostname; and a spread may
// count no other zone than those of the nodes that are there.
func (x *apart) room(h *host) int64 {
	free := x.spread != nil || x.term != nil && (h.state != nil || x.term.Key != label.Hostname) &&
		slices.ContainsFunc(h.labels, func(l label.Lookup) bool { _, named := l.Get(x.term.Key); return !named })
	switch {
	case free:
		return max(0, h.most.PodSlots)
	case h.state == nil:
		return 1
	}
	for g, n := range h.state.Groups() {
		if n > 0 && x.repels(g) {
			return 0
		}
	}
	return 1
}

// withApart adds the sets among the classes to a problem without hosts, as one
// more dimension each. The pods of a class beyond those that need a node each are
// a class behind the others.
func (d dimensions) withApart(p *pack.Problem, demand []*demandClass, sets []apart) dimensions {
	d.apart = sets
	number := map[*demandClass]int{}
	for i, c := range demand {
		number[c] = i
	}
	for range d.apart {
		for i := range p.Offers {
			p.Offers[i].Net = append(p.Offers[i].Net, 1)
		}
		for i := range p.Classes {
			p.Classes[i].Need = append(p.Classes[i].Need, 0)
		}
	}
	for i := range d.apart {
		for _, c := range d.apart[i].members {
			need := p.Classes[number[c]].Need
			need[len(need)-len(d.apart)+i] = 1
		}
	}
	for i := range d.apart {
		x := &d.apart[i]
		if x.spread == nil {
			continue
		}
		at := number[x.members[0]]
		rest := p.Classes[at]
		rest.Need, rest.Count = slices.Clone(rest.Need), rest.Count-x.pods
		rest.Need[len(rest.Need)-len(d.apart)+i] = 0
		p.Classes[at].Count = x.pods
		d.rest, p.Classes = append(d.rest, at), append(p.Classes, rest)
	}
	return d
}

// roomOf is the vector of what was free on the host before this plan.
func (d dimensions) roomOf(h *host) []int64 {
	v := d.vector(h.most)
	for i := range d.apart {
		v = append(v, d.apart[i].room(h))
	}
	return v
}
