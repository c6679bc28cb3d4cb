package world

import (
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

// tombstones is how many deleted objects are remembered, so that a late answer
// to a write does not bring one back.
const tombstones = 10_000

// World is safe for use by many goroutines.
type World struct {
	facts  []catalog.Fact
	market catalog.Market
	now    func() time.Time

	mu          sync.Mutex
	pods        map[string]*corev1.Pod
	nodes       map[string]*corev1.Node
	claims      map[string]*v1.NodeClaim
	pools       map[string]*v1.NodePool
	classes     map[string]*awsv1.EC2NodeClass
	daemonSets  map[string]*appsv1.DaemonSet
	replicaSets map[string]*appsv1.ReplicaSet

	words     words
	podsOn    map[string]map[string]*corev1.Pod    // node name -> pod key
	podsOwned map[types.UID]map[string]*corev1.Pod // controller -> pod key
	claimOf   map[string]string                    // provider id -> claim name
	nodeOf    map[string]string                    // provider id -> node name
	seen      map[types.UID]time.Time              // pods that wait, since when the daemon knows
	gone      map[types.UID]struct{}
	goneOrder []types.UID

	changed    chan struct{}
	subscriber Subscriber
}

// words are the translated objects, kept so that an object is translated once
// for each of its versions.
type words struct {
	pods    map[string]cluster.Pod
	classes map[string]cluster.Class
}

// New makes an empty world that judges instance types by this catalogue.
func New(facts []catalog.Fact, market catalog.Market, now func() time.Time) *World {
	return &World{
		facts: facts, market: market, now: now,
		pods: map[string]*corev1.Pod{}, nodes: map[string]*corev1.Node{}, claims: map[string]*v1.NodeClaim{},
		pools: map[string]*v1.NodePool{}, classes: map[string]*awsv1.EC2NodeClass{},
		daemonSets: map[string]*appsv1.DaemonSet{}, replicaSets: map[string]*appsv1.ReplicaSet{},
		words:  words{pods: map[string]cluster.Pod{}, classes: map[string]cluster.Class{}},
		podsOn: map[string]map[string]*corev1.Pod{}, podsOwned: map[types.UID]map[string]*corev1.Pod{},
		claimOf: map[string]string{}, nodeOf: map[string]string{},
		seen: map[types.UID]time.Time{}, gone: map[types.UID]struct{}{},
		changed: make(chan struct{}, 1),
	}
}

// Changed receives after every change; several changes may be one receive.
func (w *World) Changed() <-chan struct{} { return w.changed }

// Subscriber is told what a change may concern. Its functions must not block.
type Subscriber struct {
	Claim func(name string) // a NodeClaim changed, or its node, or a pod on its node
	Class func(name string) // an EC2NodeClass changed, or a NodeClaim of it is gone
}

// Subscribe has the subscriber told of changes from now on, and at once of
// everything that is there. There is one at a time; the result ends it.
func (w *World) Subscribe(s Subscriber) (unsubscribe func()) {
	w.mu.Lock()
	w.subscriber = s
	var now concern
	for name := range w.claims {
		now.claims = append(now.claims, name)
	}
	for name := range w.classes {
		now.classes = append(now.classes, name)
	}
	w.mu.Unlock()
	now.tell(s)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.subscriber = Subscriber{}
	}
}

// concern names what a change may concern.
type concern struct{ claims, classes []string }

func (c concern) tell(s Subscriber) {
	if s.Claim != nil {
		for _, name := range c.claims {
			s.Claim(name)
		}
	}
	if s.Class != nil {
		for _, name := range c.classes {
			s.Class(name)
		}
	}
}

// Observe takes in an object, from a watch or from the answer to a write.
// Kinds that the world does not keep are ignored.
func (w *World) Observe(object metav1.Object) {
	w.mu.Lock()
	concerned, subscriber := w.put(object), w.subscriber
	w.mu.Unlock()
	w.notify(concerned, subscriber)
}

// Forget takes in that an object is gone.
func (w *World) Forget(object metav1.Object) {
	w.mu.Lock()
	concerned, subscriber := w.remove(object), w.subscriber
	w.mu.Unlock()
	w.notify(concerned, subscriber)
}

func (w *World) notify(c concern, s Subscriber) {
	c.tell(s)
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// put stores the object unless it is older than what is known, and returns what
// that concerns.
func (w *World) put(object metav1.Object) concern {
	if _, dead := w.gone[object.GetUID()]; dead {
		return concern{}
	}
	switch o := object.(type) {
	case *corev1.Pod:
		return concern{claims: w.putPod(o)}
	case *corev1.Node:
		if store(w.nodes, o.Name, o) && o.Spec.ProviderID != "" {
			w.nodeOf[o.Spec.ProviderID] = o.Name
		}
		return concern{claims: w.claimsOfNode(o)}
	case *v1.NodeClaim:
		if !ours(o.Spec.NodeClassRef) {
			return concern{}
		}
		if store(w.claims, o.Name, o) && o.Status.ProviderID != "" {
			w.claimOf[o.Status.ProviderID] = o.Name
		}
		return concern{claims: []string{o.Name}}
	case *v1.NodePool:
		if ours(o.Spec.Template.Spec.NodeClassRef) {
			store(w.pools, o.Name, o)
		}
	case *awsv1.EC2NodeClass:
		if store(w.classes, o.Name, o) {
			delete(w.words.classes, o.Name)
		}
		return concern{claims: w.unlaunched(o.Name), classes: []string{o.Name}}
	case *appsv1.DaemonSet:
		store(w.daemonSets, key(o), o)
	case *appsv1.ReplicaSet:
		store(w.replicaSets, key(o), o)
	}
	return concern{}
}

func (w *World) remove(object metav1.Object) concern {
	w.bury(object.GetUID())
	switch o := object.(type) {
	case *corev1.Pod:
		w.unindexPod(w.pods[key(o)])
		delete(w.pods, key(o))
		delete(w.words.pods, key(o))
		delete(w.seen, o.UID)
		if n, ok := w.nodes[o.Spec.NodeName]; ok {
			return concern{claims: w.claimsOfNode(n)}
		}
	case *corev1.Node:
		delete(w.nodes, o.Name)
		if w.nodeOf[o.Spec.ProviderID] == o.Name {
			delete(w.nodeOf, o.Spec.ProviderID)
		}
		return concern{claims: w.claimsOfNode(o)}
	case *v1.NodeClaim:
		delete(w.claims, o.Name)
		if w.claimOf[o.Status.ProviderID] == o.Name {
			delete(w.claimOf, o.Status.ProviderID)
		}
		return concern{claims: []string{o.Name}, classes: []string{o.Spec.NodeClassRef.Name}}
	case *v1.NodePool:
		delete(w.pools, o.Name)
	case *awsv1.EC2NodeClass:
		delete(w.classes, o.Name)
		delete(w.words.classes, o.Name)
	case *appsv1.DaemonSet:
		delete(w.daemonSets, key(o))
	case *appsv1.ReplicaSet:
		delete(w.replicaSets, key(o))
	}
	return concern{}
}

// ours says whether the class is of the kind that this daemon carries out: pools
// and NodeClaims of another kind's, such as EKS Auto Mode's, are left alone.
func ours(ref v1.NodeClassReference) bool {
	return ref.Group == awsv1.Group && ref.Kind == awsv1.EC2NodeClassKind
}

func (w *World) bury(uid types.UID) {
	if _, dead := w.gone[uid]; dead {
		return
	}
	w.gone[uid] = struct{}{}
	w.goneOrder = append(w.goneOrder, uid)
	if len(w.goneOrder) > tombstones {
		delete(w.gone, w.goneOrder[0])
		w.goneOrder = w.goneOrder[1:]
	}
}

// store keeps the newer of two versions and says whether that is o. Objects of
// the same name with another uid are another object: the newer version wins too.
func store[T metav1.Object](m map[string]T, k string, o T) bool {
	if old, ok := m[k]; ok && older(o, old) {
		return false
	}
	m[k] = o
	return true
}

// older compares resource versions, which are integers that grow in etcd's
// revision order (KEP-5504 makes that a promise).
func older(a, b metav1.Object) bool {
	x, errX := strconv.ParseUint(a.GetResourceVersion(), 10, 64)
	y, errY := strconv.ParseUint(b.GetResourceVersion(), 10, 64)
	return errX == nil && errY == nil && x < y
}

func key(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

func (w *World) claimsOfNode(n *corev1.Node) []string {
	if name, ok := w.claimOf[n.Spec.ProviderID]; ok && n.Spec.ProviderID != "" {
		return []string{name}
	}
	return nil
}

// unlaunched lists the class's NodeClaims that wait for it.
func (w *World) unlaunched(class string) []string {
	var out []string
	for name, c := range w.claims {
		if c.Status.ProviderID == "" && c.Spec.NodeClassRef.Name == class {
			out = append(out, name)
		}
	}
	return out
}
