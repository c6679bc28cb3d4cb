package topology

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// Known is what follows from the nodes alone, and is kept from Step to Step: nodes seldom
// change, and pods often do. All of it is as it was made: a Table only reads it.
type Known struct {
	nodes       memory.Cache[cluster.Kinds, struct{}, *numbered]
	divisions   memory.Cache[cluster.Kinds, string, *division]   // by topology key
	electorates memory.Cache[cluster.Kinds, string, *electorate] // by builder.electorate
}

// Next returns what the Step has used, for the next one.
func (k *Known) Next() Known {
	return Known{nodes: k.nodes.Next(), divisions: k.divisions.Next(), electorates: k.electorates.Next()}
}

// numbered is the nodes, by name.
type numbered struct {
	nodes  []node
	byName map[string]int32 // index into nodes
}

type node struct {
	labels label.Labels
	taints []cluster.Taint
}

func (k *Known) number(s cluster.Snapshot) *numbered {
	return k.nodes.Get(s.NodeKinds(), struct{}{}, func() *numbered {
		out := &numbered{nodes: make([]node, 0, s.NodeCount()), byName: make(map[string]int32, s.NodeCount())}
		for n := range s.States() {
			out.byName[n.Node.Name] = int32(len(out.nodes))
			out.nodes = append(out.nodes, node{n.Node.Labels, n.Node.Taints})
		}
		return out
	})
}

// division is one topology key and the domains into which it divides the nodes.
type division struct {
	key     string
	domains map[string]int32
	values  []string // of the domains, by number
	of      []int32  // by node: the domain, or missing
}

func (k *Known) divide(s cluster.Snapshot, key string) *division {
	return k.divisions.Get(s.NodeKinds(), key, func() *division {
		nodes := k.number(s).nodes
		d := &division{key: key, domains: map[string]int32{}, of: make([]int32, len(nodes))}
		if d.hosts() { // a large cluster has thousands
			d.domains, d.values = make(map[string]int32, len(nodes)), make([]string, 0, len(nodes))
		}
		for i := range nodes {
			d.of[i] = missing
			if value, ok := nodes[i].labels.Get(key); ok {
				d.of[i] = d.number(value)
			}
		}
		return d
	})
}

func (d *division) number(value string) int32 {
	n, known := d.domains[value]
	if !known {
		n = int32(len(d.values))
		d.domains[value] = n
		d.values = append(d.values, value)
	}
	return n
}

// electorate is the nodes whose pods count for a spread: those that have all
// topology keys of the pod's hard spreads, and that pass the spread's node
// inclusion policies.
type electorate struct {
	keys   []*division
	shape  *cluster.Shape // nil if the node affinity is ignored
	taints *cluster.Shape // nil if taints are ignored
	counts []bool         // by node
	bases  []base         // by key: the domains that have a node of the electorate
}

// base is domains of one topology key.
type base struct {
	has     []bool
	domains int64
}

// elect finds the nodes of the electorate by its keys, shape and taints.
func (e *electorate) elect(nodes []node, kinds cluster.Kinds) {
	e.counts, e.bases = make([]bool, len(nodes)), make([]base, len(e.keys))
	for k, d := range e.keys {
		e.bases[k].has = make([]bool, len(d.values))
	}
	if e.shape != nil && !fit.AsksForNames(e.shape) && !kinds.Any(e.admits) {
		return // as for pods that can run nowhere
	}
	for i := range nodes {
		e.counts[i] = !slices.ContainsFunc(e.keys, func(d *division) bool { return d.of[i] == missing }) && e.admits(&nodes[i].labels, nodes[i].taints)
		if !e.counts[i] {
			continue
		}
		for k, d := range e.keys {
			if b := &e.bases[k]; !b.has[d.of[i]] {
				b.has[d.of[i]] = true
				b.domains++
			}
		}
	}
}

func (e *electorate) baseOf(key string) *base {
	return &e.bases[slices.IndexFunc(e.keys, func(d *division) bool { return d.key == key })]
}

func (e *electorate) includes(s *spot) bool {
	if s.node >= 0 {
		return e.counts[s.node]
	}
	for _, d := range e.keys {
		if _, has := d.value(s.Place); !has {
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
