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
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// tombstones is how many deleted objects the world remembers, so that a late answer
// to a write does not bring one of them back.
const tombstones = 10_000

// World is safe for use by many goroutines.
type World struct {
	facts  []catalog.Fact
	market catalog.Market
	now    func() time.Time
	// overhead is what the daemon's options keep of every instance from pods.
	overhead catalog.Overhead

	mu           sync.Mutex
	objects      objects
	translations translations
	reports      catalog.Reports // what nodes have reported
	reported     int             // how often that has changed

	podsOn    map[string]map[string]*translate.CompactPod    // node name -> pod key
	podsOwned map[types.UID]map[string]*translate.CompactPod // controller -> pod key
	podsUsing map[string]map[string]*translate.CompactPod    // PersistentVolumeClaim -> pod key, of pods that run and stay
	setsOwned map[types.UID]map[string]*appsv1.ReplicaSet    // Deployment -> ReplicaSet key
	setOwner  map[string]types.UID                           // ReplicaSet key -> Deployment
	// ownedSince says when controllers of pods were created; see setOwnedSince.
	ownedSince map[types.UID]time.Time
	claimOf    map[string]string              // instance id -> claim name
	nodeOf     map[string]string              // provider id -> node name
	twins      map[string]map[string]bool     // provider id -> node names, where several have it
	seen       map[types.UID]time.Time        // when the daemon first saw that the pod waits
	budgets    map[string][]cluster.PodBudget // by namespace, where they have been asked for
	addresses  map[string]counted             // by subnet
	latest     corev1.Pod                     // only whole uses it
	gone       map[types.UID]struct{}
	goneOrder  []types.UID

	changed    chan struct{}
	subscriber Subscriber
}

// New makes an empty world with this catalogue of instance types.
func New(facts []catalog.Fact, market catalog.Market, now func() time.Time) *World {
	w := &World{
		facts: facts, market: market, overhead: catalog.DefaultOverhead(), now: now, objects: newObjects(), translations: newTranslations(),
		podsOn: map[string]map[string]*translate.CompactPod{}, podsOwned: map[types.UID]map[string]*translate.CompactPod{},
		podsUsing: map[string]map[string]*translate.CompactPod{},
		setsOwned: map[types.UID]map[string]*appsv1.ReplicaSet{}, setOwner: map[string]types.UID{}, ownedSince: map[types.UID]time.Time{},
		claimOf: map[string]string{}, nodeOf: map[string]string{}, twins: map[string]map[string]bool{},
		seen: map[types.UID]time.Time{}, gone: map[types.UID]struct{}{},
		budgets: map[string][]cluster.PodBudget{}, addresses: map[string]counted{},
		changed: make(chan struct{}, 1),
	}
	w.translations.lookups = w.lookups()
	return w
}

// SpreadByDefault sets the topology spread constraints of pods that declare none, as
// the kube-scheduler's defaultConstraints do. Their selectors follow from Services
// and controllers. Call it before the first Observe.
func (w *World) SpreadByDefault(constraints []cluster.Spread) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.translations.lookups.Spread = constraints
}

// KeepFromPods sets what the daemon's options keep of every instance from pods. Call it
// before the first Observe.
func (w *World) KeepFromPods(o catalog.Overhead) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.overhead = o
}

// Changed receives after every change. Several changes may share one receive.
func (w *World) Changed() <-chan struct{} { return w.changed }

// Subscriber is told which objects a change may concern. Its functions must not
// block.
type Subscriber struct {
	Claim func(name string) // a NodeClaim changed, or its node, a pod on its node, or when its NodePool consolidates
	Class func(name string) // an EC2NodeClass changed, or one of its NodeClaims is deleted
}

// Subscribe tells the subscriber of every existing object at once, and of changes
// from then on. There is one subscriber at a time; the result ends the subscription.
func (w *World) Subscribe(s Subscriber) (unsubscribe func()) {
	w.mu.Lock()
	w.subscriber = s
	var now concern
	for name := range w.objects.claims {
		now.claims = append(now.claims, name)
	}
	for name := range w.objects.classes {
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

// Observe stores an object that a watch or the answer to a write has brought. It
// ignores kinds that the world does not keep.
func (w *World) Observe(object metav1.Object) {
	w.mu.Lock()
	concerned, subscriber := w.put(object), w.subscriber
	w.mu.Unlock()
	w.notify(concerned, subscriber)
}

// Forget removes an object that is deleted.
func (w *World) Forget(object metav1.Object) {
	w.mu.Lock()
	concerned, subscriber := w.remove(object), w.subscriber
	w.mu.Unlock()
	w.notify(concerned, subscriber)
}

// Withdraw removes an object that exists in memory only. Unlike one that is deleted, it may
// come back.
func (w *World) Withdraw(object metav1.Object) {
	w.mu.Lock()
	concerned, subscriber := w.take(object), w.subscriber
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

// news reports whether a is a newer version than b. Resource versions are integers that
// grow with etcd's revision (KEP-5504 guarantees that). An object in memory may change with
// something that its version does not tell of.
func news(a, b metav1.Object) bool {
	x, errX := strconv.ParseUint(a.GetResourceVersion(), 10, 64)
	y, errY := strconv.ParseUint(b.GetResourceVersion(), 10, 64)
	return errX != nil || errY != nil || x > y || x == y && inMemory(a)
}

// inMemory says whether the object is made of legacy ones, and is in no API server.
func inMemory(o metav1.Object) bool {
	switch x := o.(type) {
	case *v1.NodePool:
		return translate.FromProvisioner(x)
	case *awsv1.EC2NodeClass:
		return translate.FromTemplate(x)
	}
	return false
}
