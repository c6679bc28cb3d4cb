package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Objects is what a Snapshot is made of. The order does not matter.
type Objects struct {
	Pods       []Pod
	Nodes      []Node
	Claims     []Claim
	Pools      []Pool
	Classes    []Class
	DaemonSets []DaemonSet
	Workloads  []Workload
	Namespaces []Namespace // one that is missing has no labels
}

// Snapshot is a consistent, immutable view of a cluster.
type Snapshot struct {
	objects Objects
	byNode  map[string][]int // node name -> indexes of its pods
	node    map[string]int
	claim   map[string]int
	pool    map[string]int
	class   map[string]int
}

// New checks the objects and builds a Snapshot of them. The error names the
// object and the field that contradict another.
func New(o Objects) (Snapshot, error) {
	o = Objects{
		Pods:       sorted(o.Pods, func(p Pod) string { return p.ID() }),
		Nodes:      sorted(o.Nodes, func(n Node) string { return n.Name }),
		Claims:     sorted(o.Claims, func(c Claim) string { return c.Name }),
		Pools:      sorted(o.Pools, func(p Pool) string { return p.Name }),
		Classes:    sorted(o.Classes, func(c Class) string { return c.Name }),
		DaemonSets: sorted(o.DaemonSets, func(d DaemonSet) string { return d.Namespace + "/" + d.Name }),
		Workloads:  sorted(o.Workloads, func(w Workload) string { return w.ID() }),
	}
	s := Snapshot{objects: o, byNode: map[string][]int{}}
	var err error
	if err = unique("pod", o.Pods, func(p Pod) string { return p.ID() }, nil, err); err != nil {
		return Snapshot{}, err
	}
	s.node, s.claim, s.pool, s.class = map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	err = unique("node", o.Nodes, func(n Node) string { return n.Name }, s.node, err)
	err = unique("nodeclaim", o.Claims, func(c Claim) string { return c.Name }, s.claim, err)
	err = unique("nodepool", o.Pools, func(p Pool) string { return p.Name }, s.pool, err)
	err = unique("ec2nodeclass", o.Classes, func(c Class) string { return c.Name }, s.class, err)
	err = unique("workload", o.Workloads, func(w Workload) string { return w.ID() }, nil, err)
	if err != nil {
		return Snapshot{}, err
	}
	for i, p := range o.Pods {
		if p.Node != "" {
			s.byNode[p.Node] = append(s.byNode[p.Node], i)
		}
	}
	for _, w := range o.Workloads {
		if w.Missing < 0 {
			return Snapshot{}, fmt.Errorf("cluster index: workload %s has %d missing replicas; it must not be negative", w.ID(), w.Missing)
		}
	}
	return s, nil
}

func sorted[T any](in []T, id func(T) string) []T {
	return slices.SortedFunc(slices.Values(in), func(a, b T) int { return strings.Compare(id(a), id(b)) })
}

func unique[T any](kind string, in []T, id func(T) string, index map[string]int, err error) error {
	if err != nil {
		return err
	}
	for i, x := range in {
		if id(x) == "" || id(x) == "/" {
			return fmt.Errorf("cluster index: %s without a name", kind)
		}
		if i > 0 && id(in[i-1]) == id(x) {
			return fmt.Errorf("cluster index: %s %s is given twice", kind, id(x))
		}
		if index != nil {
			index[id(x)] = i
		}
	}
	return nil
}

// Pods returns all pods, sorted by namespace/name.
func (s Snapshot) Pods() []Pod { return s.objects.Pods }

// Nodes returns all nodes, sorted by name.
func (s Snapshot) Nodes() []Node { return s.objects.Nodes }

// Claims returns all NodeClaims, sorted by name.
func (s Snapshot) Claims() []Claim { return s.objects.Claims }

// Classes returns all classes, sorted by name.
func (s Snapshot) Classes() []Class { return s.objects.Classes }

// DaemonSets returns all DaemonSets, sorted by namespace/name.
func (s Snapshot) DaemonSets() []DaemonSet { return s.objects.DaemonSets }

// Workloads returns the controllers with missing replicas, sorted by id.
func (s Snapshot) Workloads() []Workload { return s.objects.Workloads }

// Pools returns all pools, sorted by name.
func (s Snapshot) Pools() []Pool { return s.objects.Pools }

// PoolsByWeight returns the pools in the order in which they are tried: weight
// descending, then name descending, as Karpenter breaks the tie.
func (s Snapshot) PoolsByWeight() []Pool {
	return slices.SortedFunc(slices.Values(s.objects.Pools), func(a, b Pool) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), strings.Compare(b.Name, a.Name))
	})
}

// PodsOn returns the pods bound to the named node, sorted by namespace/name.
func (s Snapshot) PodsOn(node string) []Pod {
	out := make([]Pod, len(s.byNode[node]))
	for i, x := range s.byNode[node] {
		out[i] = s.objects.Pods[x]
	}
	return out
}

// Node returns the named node.
func (s Snapshot) Node(name string) (Node, bool) {
	i, ok := s.node[name]
	if !ok {
		return Node{}, false
	}
	return s.objects.Nodes[i], true
}

// Claim returns the named NodeClaim.
func (s Snapshot) Claim(name string) (Claim, bool) {
	i, ok := s.claim[name]
	if !ok {
		return Claim{}, false
	}
	return s.objects.Claims[i], true
}

// Pool returns the named pool.
func (s Snapshot) Pool(name string) (Pool, bool) {
	i, ok := s.pool[name]
	if !ok {
		return Pool{}, false
	}
	return s.objects.Pools[i], true
}

// Class returns the named class.
func (s Snapshot) Class(name string) (Class, bool) {
	i, ok := s.class[name]
	if !ok {
		return Class{}, false
	}
	return s.objects.Classes[i], true
}
