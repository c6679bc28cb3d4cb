package cluster

import (
	"iter"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
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
	Namespaces []Namespace // a namespace that is not listed has no labels
	PodBudgets []PodBudget
}

// Snapshot is a consistent, immutable view of a cluster, with indexes. The zero
// value is the empty cluster. A method that returns a slice of pods, nodes or
// NodeClaims makes the slice at each call; a method that returns an iterator
// does not.
type Snapshot struct {
	pods       table[pod]
	nodes      table[Node]
	claims     table[Claim]
	workloads  table[Workload]
	namespaces table[Namespace]
	podBudgets table[PodBudget]
	supply     *Supply

	groups        tree[*Group]
	waiting, anti tree[none] // keys of groups: with pending pods; with pods that keep others away
	unready       tree[*pod] // those that are NotReady and not Deleting, by namespace/name
	loads         tree[*Load]
	bound         Bound
	rooms         tree[*Load] // by free room
	kinds         tree[kindOfNode]
	inTransition  tree[*Claim]
	reserved      tree[*Claim]        // NodeClaims in a reservation, by reservation and name
	lots          tree[Lot]           // by pool
	watched       tree[int64]         // namespace/label key -> number of selectors that look at the key in the namespace
	watchedKeys   map[string][]string // by namespace; see watchedIn
}

type none struct{}

// Same says whether both are the same snapshot. Two snapshots of equal objects
// may differ if different updates made them.
func (s Snapshot) Same(o Snapshot) bool {
	return s.pods == o.pods && s.nodes == o.nodes && s.claims == o.claims && s.workloads == o.workloads &&
		s.namespaces == o.namespaces && s.podBudgets == o.podBudgets && s.supply == o.supply
}

// Standing returns the NodeClaims and the Supply alone, so that whoever remembers them keeps no
// pods. It is the Same as before until one of them changes.
func (s Snapshot) Standing() Snapshot { return Snapshot{claims: s.claims, supply: s.supply} }

// Supply returns the pools, classes and DaemonSets.
func (s Snapshot) Supply() *Supply {
	if s.supply == nil {
		return &Supply{}
	}
	return s.supply
}

// Pods returns all pods, sorted by namespace/name.
func (s Snapshot) Pods() []Pod {
	out := make([]Pod, 0, s.pods.rows.size)
	for _, p := range s.pods.rows.all() {
		out = append(out, p.Pod)
	}
	return out
}

// EachPod returns all pods, by namespace/name. Callers must not change them.
func (s Snapshot) EachPod() iter.Seq[*Pod] {
	return func(yield func(*Pod) bool) {
		for _, p := range s.pods.rows.all() {
			if !yield(&p.Pod) {
				return
			}
		}
	}
}

// Unready returns the pods that are NotReady and not Deleting, by namespace/name. Callers must
// not change them.
func (s Snapshot) Unready() iter.Seq[*Pod] {
	return func(yield func(*Pod) bool) {
		for _, p := range s.unready.all() {
			if !yield(&p.Pod) {
				return
			}
		}
	}
}

// Pod returns the pod with this namespace/name.
func (s Snapshot) Pod(id string) (Pod, bool) {
	p, ok := s.pods.rows.get(id)
	if !ok {
		return Pod{}, false
	}
	return p.Pod, true
}

// NodesChanged names the nodes that were added or removed since the other snapshot, or of
// which the node itself, its NodeClaim, its pods, or the pods that others nominated for it
// may have changed; sorted.
func (s Snapshot) NodesChanged(since Snapshot) []string { return changed(since.loads, s.loads) }

// NodeCount is how many nodes there are.
func (s Snapshot) NodeCount() int { return s.nodes.rows.size }

// Nodes returns all nodes, sorted by name.
func (s Snapshot) Nodes() []Node { return values(s.nodes.rows) }

// Claims returns all NodeClaims, sorted by name.
func (s Snapshot) Claims() []Claim { return values(s.claims.rows) }

// EachClaim returns all NodeClaims, by name. Callers must not change them.
func (s Snapshot) EachClaim() iter.Seq[*Claim] {
	return func(yield func(*Claim) bool) {
		for _, c := range s.claims.rows.all() {
			if !yield(c) {
				return
			}
		}
	}
}

// Classes returns all classes, sorted by name.
func (s Snapshot) Classes() []Class { return s.Supply().Classes }

// DaemonSets returns all DaemonSets, sorted by namespace/name.
func (s Snapshot) DaemonSets() []DaemonSet { return s.Supply().DaemonSets }

// Workloads returns the controllers with missing replicas, sorted by id.
func (s Snapshot) Workloads() []Workload { return values(s.workloads.rows) }

// Namespaces returns all namespaces, sorted by name.
func (s Snapshot) Namespaces() []Namespace { return values(s.namespaces.rows) }

// PodBudgets returns all PodDisruptionBudgets, sorted by namespace/name.
func (s Snapshot) PodBudgets() []PodBudget { return values(s.podBudgets.rows) }

// Pools returns all pools, sorted by name.
func (s Snapshot) Pools() []Pool { return s.Supply().Pools }

// Objects returns all that the snapshot was made of, each list sorted by id.
func (s Snapshot) Objects() Objects {
	return Objects{
		Pods: s.Pods(), Nodes: s.Nodes(), Claims: s.Claims(), Pools: s.Pools(), Classes: s.Classes(),
		DaemonSets: s.DaemonSets(), Workloads: s.Workloads(), Namespaces: s.Namespaces(),
		PodBudgets: s.PodBudgets(),
	}
}

// PodsOn returns the pods bound to the named node, sorted by namespace/name.
func (s Snapshot) PodsOn(node string) []Pod {
	l, ok := s.loads.get(node)
	if !ok {
		return nil
	}
	out := make([]Pod, len(l.pods))
	for i, p := range l.pods {
		out[i] = p.Pod
	}
	return out
}

// Node returns the named node.
func (s Snapshot) Node(name string) (Node, bool) { return row(s.nodes.rows, name) }

// Claim returns the named NodeClaim.
func (s Snapshot) Claim(name string) (Claim, bool) { return row(s.claims.rows, name) }

// Pool returns the named pool.
func (s Snapshot) Pool(name string) (Pool, bool) { return named(s.Pools(), name, poolID) }

// Class returns the named class.
func (s Snapshot) Class(name string) (Class, bool) { return named(s.Classes(), name, classID) }

// Namespace returns the named namespace. An unknown namespace has no labels.
func (s Snapshot) Namespace(name string) Namespace {
	if n, ok := s.namespaces.rows.get(name); ok {
		return *n
	}
	return Namespace{Name: name}
}

// Groups returns the groups that have pods, by key.
func (s Snapshot) Groups() iter.Seq[*Group] {
	return func(yield func(*Group) bool) {
		for _, g := range s.groups.all() {
			if !yield(g) {
				return
			}
		}
	}
}

// PendingGroups returns the groups that have pending pods, by key.
func (s Snapshot) PendingGroups() iter.Seq[*Group] { return s.filed(s.waiting) }

// AntiAffine returns, by key, the groups with bound pods and a required
// anti-affinity, which keeps other pods away from them.
func (s Snapshot) AntiAffine() iter.Seq[*Group] { return s.filed(s.anti) }

func (s Snapshot) filed(keys tree[none]) iter.Seq[*Group] {
	return func(yield func(*Group) bool) {
		for key := range keys.all() {
			if g, _ := s.groups.get(key); !yield(g) {
				return
			}
		}
	}
}

// GroupOf returns the group of the pod with this namespace/name.
func (s Snapshot) GroupOf(podID string) (*Group, bool) {
	p, ok := s.pods.rows.get(podID)
	if !ok {
		return nil, false
	}
	return s.groups.get(p.key)
}

// GroupFor returns the group that pods like these are in. Where there are no
// such pods, it returns the empty group that they would be in.
func (s Snapshot) GroupFor(namespace string, labels label.Labels, shape Shape) *Group {
	var room [768]byte
	key := string(s.appendGroupKey(shape.appendKey(room[:0]), namespace, labels))
	if g, ok := s.groups.get(key); ok {
		return g
	}
	return s.newGroup(key, namespace, labels, shape)
}

// State returns the named node with what runs there.
func (s Snapshot) State(node string) (*NodeState, bool) {
	l, ok := s.loads.get(node)
	if !ok || !l.there {
		return nil, false
	}
	return &NodeState{l, s.groups}, true
}

// Bound is how many pods all nodes together have.
type Bound struct {
	Pods   int64
	Moving int64 // of those, pods that move if their node is deleted
}

// Bound returns how many pods have nodes that are there.
func (s Snapshot) Bound() Bound { return s.bound }

// States returns all nodes with what runs there, by name.
func (s Snapshot) States() iter.Seq[*NodeState] {
	return func(yield func(*NodeState) bool) {
		for _, l := range s.loads.all() {
			if l.there && !yield(&NodeState{l, s.groups}) {
				return
			}
		}
	}
}

func row[T any](rows tree[*T], id string) (T, bool) {
	if x, ok := rows.get(id); ok {
		return *x, true
	}
	var zero T
	return zero, false
}

func values[T any](rows tree[*T]) []T {
	out := make([]T, 0, rows.size)
	for _, x := range rows.all() {
		out = append(out, *x)
	}
	return out
}

func named[T any](list []T, name string, id func(T) string) (T, bool) {
	i, ok := slices.BinarySearchFunc(list, name, func(x T, name string) int { return strings.Compare(id(x), name) })
	if !ok {
		var zero T
		return zero, false
	}
	return list[i], true
}
