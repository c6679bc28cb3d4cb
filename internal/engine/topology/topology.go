package topology

import (
	"cmp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// Domains that have no number.
const (
	missing int32 = -1 // the place lacks the topology key
	unseen  int32 = -2 // the place has a domain that has no number yet, and no counted pods
)

// topology is one topology key and the domains into which it divides places.
type topology struct {
	key     string
	domains map[string]int32
	values  []string
	of      []int32 // by node of the snapshot: the domain
}

// hosts says whether every node is a domain of its own.
func (y *topology) hosts() bool { return y.key == label.Hostname }

func (y *topology) intern(value string) int32 {
	d, ok := y.domains[value]
	if !ok {
		d = int32(len(y.values))
		y.domains[value] = d
		y.values = append(y.values, value)
	}
	return d
}

// at returns the domain of the place.
func (y *topology) at(s *spot) int32 {
	if s.node >= 0 {
		return y.of[s.node]
	}
	if s.last == y {
		return s.domain
	}
	d := y.lookUp(s.Place)
	if d != unseen { // an unseen domain may get a number later
		s.last, s.domain = y, d
	}
	return d
}

func (y *topology) lookUp(p Place) int32 {
	value, ok := y.value(p)
	if !ok {
		return missing
	}
	if d, ok := y.domains[value]; ok && value != "" {
		return d
	}
	return unseen
}

// number returns the domain of a place that pods are added to. Unlike at, it gives
// the domain a number, unless the place is a host without a name.
func (y *topology) number(s *spot) int32 {
	d := y.at(s)
	if d != unseen {
		return d
	}
	if value, _ := y.value(s.Place); value != "" || !y.hosts() {
		return y.intern(value)
	}
	return unseen
}

func (y *topology) value(p Place) (string, bool) {
	if y.hosts() {
		if value, ok := p.Labels.Get(y.key); ok {
			return value, true
		}
		return p.Name, true
	}
	return p.value(y.key)
}

// value returns the label that the place certainly has.
func (p Place) value(key string) (string, bool) {
	if p.Possible != nil {
		return p.Possible.agreed(key)
	}
	return p.Labels.Get(key)
}

// name returns the name of the domain for people. A new node has no hostname yet.
func (y *topology) name(d int32, p Place) string {
	if d >= 0 {
		return y.values[d]
	}
	value, _ := y.value(p)
	return cmp.Or(value, "a new node")
}

func (t *Table) topology(key string) *topology {
	key = label.Canonical(key)
	if y, ok := t.topologies[key]; ok {
		return y
	}
	y := &topology{key: key, domains: map[string]int32{}, of: make([]int32, len(t.nodes))}
	if y.hosts() { // a large cluster has thousands, and each Step builds this
		y.domains, y.values = make(map[string]int32, len(t.nodes)), make([]string, 0, len(t.nodes))
	}
	for i := range t.nodes {
		y.of[i] = missing
		if value, ok := t.nodes[i].Labels.Get(key); ok {
			y.of[i] = y.intern(value)
		}
	}
	t.topologies[key] = y
	return y
}

// electorate is the nodes whose pods count for a spread: those that have all
// topology keys of the pod's hard spreads, and that pass the spread's node
// inclusion policies.
type electorate struct {
	keys   []*topology
	shape  *cluster.Shape // nil if the node affinity is ignored
	taints *cluster.Shape // nil if taints are ignored
	counts []bool         // by node of the snapshot
	base   map[*topology]*base
}

// base is the domains of one topology that have a node of the electorate.
type base struct {
	has     []bool
	domains int64
}

func (e *electorate) includes(s *spot) bool {
	if s.node >= 0 {
		return e.counts[s.node]
	}
	for _, y := range e.keys {
		if y.at(s) == missing {
			return false
		}
	}
	return e.admits(s.Labels, s.Taints)
}

func (e *electorate) admits(labels label.Lookup, taints []cluster.Taint) bool {
	if e.shape != nil {
		if _, ok := fit.Affinity(e.shape, labels); !ok {
			return false
		}
	}
	if e.taints != nil {
		if _, untolerated := cluster.Untolerated(taints, e.taints.Tolerations); untolerated {
			return false
		}
	}
	return true
}

func (e *electorate) baseOf(y *topology) *base {
	b, ok := e.base[y]
	if ok {
		return b
	}
	b = &base{has: make([]bool, len(y.values))}
	for i, counts := range e.counts {
		if d := y.of[i]; counts && !b.has[d] {
			b.has[d] = true
			b.domains++
		}
	}
	e.base[y] = b
	return b
}
