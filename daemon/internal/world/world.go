package world

import (
	"strconv"
	"sync"
	"time"

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

	mu      sync.Mutex
	objects objects
	words   words

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

// New makes an empty world that judges instance types by this catalogue.
func New(facts []catalog.Fact, market catalog.Market, now func() time.Time) *World {
	w := &World{
		facts: facts, market: market, now: now, objects: newObjects(), words: newWords(),
		podsOn: map[string]map[string]*corev1.Pod{}, podsOwned: map[types.UID]map[string]*corev1.Pod{},
		claimOf: map[string]string{}, nodeOf: map[string]string{},
		seen: map[types.UID]time.Time{}, gone: map[types.UID]struct{}{},
		changed: make(chan struct{}, 1),
	}
	w.words.lookups = w.lookups()
	return w
}

// SpreadByDefault has pods that declare no topology spread constraint get these,
// as the scheduler's own configuration does; their selectors follow from
// Services and controllers. It must be called before anything is observed.
func (w *World) SpreadByDefault(constraints []cluster.Spread) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.words.lookups.Spread = constraints
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

// older compares resource versions, which are integers that grow in etcd's
// revision order (KEP-5504 makes that a promise).
func older(a, b metav1.Object) bool {
	x, errX := strconv.ParseUint(a.GetResourceVersion(), 10, 64)
	y, errY := strconv.ParseUint(b.GetResourceVersion(), 10, 64)
	return errX == nil && errY == nil && x < y
}
