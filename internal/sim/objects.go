package sim

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Amounts that scoring assumes for a container without a request (the
// kube-scheduler's DefaultMilliCPURequest and DefaultMemoryRequest).
const (
	defaultMilliCPU    = 100
	defaultMemoryBytes = 200 << 20
)

// pod is a pod of the API, with its place in the scheduler's queue and the times
// that the report needs.
type pod struct {
	cluster.Pod
	workload *workload // nil for a pod of a DaemonSet
	kind     *kind
	node     *node // that the scheduler chose; Pod.Node is set once the binding is written
	revision int64 // of its workload, when it was created
	dead     bool  // removed

	Ready        bool  // its condition Ready is True
	DeletionCost int32 // controllers delete the cheapest first

	queue    queueName
	index    int // in its heap
	seq      int64
	since    time.Duration // when it came into the queue last
	attempts int
	backoff  time.Duration // end of its back-off
	refused  refusal       // why the last attempt failed

	created, seen, decided, ran time.Duration // -1 while not yet
	planned                     string        // where the last plan put it that had a place for it
	placed                      bool          // the last plan had one
	evicted                     time.Duration // when the pod before it was evicted; -1 if none was
}

// bind writes where the pod runs.
func (p *pod) bind() { p.Node = p.node.Name }

// kind is what pods of one workload have in common.
type kind struct {
	name             string
	shape            cluster.Shape
	labels           label.Labels
	milliCPU, memory int64 // as scoring counts them
	owned            bool  // by a controller, so that the default spreading applies
}

func newKind(name string, shape cluster.Shape, labels label.Labels) *kind {
	k := &kind{name: name, shape: shape, labels: labels, milliCPU: shape.Requests.MilliCPU, memory: shape.Requests.MemoryBytes}
	if k.milliCPU == 0 {
		k.milliCPU = defaultMilliCPU
	}
	if k.memory == 0 {
		k.memory = defaultMemoryBytes
	}
	return k
}

// node is a node with what the scheduler keeps about it.
type node struct {
	cluster.Node
	claim            *claim
	used             quantity.Resources
	milliCPU, memory int64 // used, as scoring counts them
	pods             []*pod
	counts           map[*kind]int64
	nominated        []*pod
	allows           map[*kind]refusal // taints and labels, until they change
	emptied          time.Duration     // when the last of its pods had left; 0 for never
}

func newNode(n cluster.Node) *node {
	return &node{Node: n, counts: map[*kind]int64{}, allows: map[*kind]refusal{}}
}

func (n *node) add(p *pod) {
	n.used = n.used.Add(p.Shape.Requests)
	n.milliCPU += p.kind.milliCPU
	n.memory += p.kind.memory
	n.counts[p.kind]++
	n.pods = append(n.pods, p)
	p.node = n
	if !n.used.Fits(n.Allocatable) {
		panic("sim: node " + n.Name + " holds more than its allocatable") //nolint:forbidigo // a broken model must not report numbers
	}
}

func (n *node) remove(p *pod) {
	n.used = n.used.Sub(p.Shape.Requests)
	n.milliCPU -= p.kind.milliCPU
	n.memory -= p.kind.memory
	n.counts[p.kind]--
	n.pods = slices.DeleteFunc(n.pods, func(x *pod) bool { return x == p })
}

// static says why the node's labels and taints keep pods of the kind away; 0 if
// they do not.
func (n *node) static(k *kind) refusal {
	r, known := n.allows[k]
	if known {
		return r
	}
	if _, kept := cluster.Untolerated(n.Taints, k.shape.Tolerations); kept {
		r |= byTaint
	}
	if _, ok := fit.Labels(k.shape, n.Labels); !ok {
		r |= byLabels
	}
	n.allows[k] = r
	return r
}

// closed says whether the node takes no pod, whatever the pod tolerates.
func (n *node) closed() bool { return n.Cordoned || n.Disrupted }

// changed forgets what was known of the node's labels and taints.
func (n *node) changed() { clear(n.allows) }
