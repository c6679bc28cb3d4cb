package pool

import (
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// Of the last outcomes of a pool so many count, and so many failures among them make it
// unhealthy. The numbers are Karpenter's.
const outcomesKept, failuresOfUnhealthy = 4, 2

// outcome is what became of a NodeClaim: its node has registered, or why not.
type outcome struct {
	registered      bool
	reason, message string // unless registered
}

// outcomes are those of the last NodeClaims of each pool, the newest last. The zero value is
// ready. A restart keeps of them what the condition says.
type outcomes struct {
	mu   sync.Mutex
	last map[string][]outcome // by the name of the pool
}

func (o *outcomes) add(pool string, x outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last == nil {
		o.last = map[string][]outcome{}
	}
	list := slices.Concat(o.last[pool], []outcome{x})
	o.last[pool] = list[max(0, len(list)-outcomesKept):]
}

func (o *outcomes) forget(pool string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.last, pool)
}

// of counts the failures of the pool, and returns the newest outcome and the newest failure.
func (o *outcomes) of(pool string) (failures int, newest, failure outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, x := range o.last[pool] {
		if newest = x; !x.registered {
			failures, failure = failures+1, x
		}
	}
	return failures, newest, failure
}

func (o *outcomes) known(pool string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.last[pool]) > 0
}

// Registered notes that the node of a NodeClaim has registered.
func (k *Keeper) Registered(c *v1.NodeClaim) {
	k.outcomes.add(c.Labels[v1.LabelNodePool], outcome{registered: true})
}

// Failed notes that a NodeClaim was deleted because it got no instance, or its node did not
// register, in time.
func (k *Keeper) Failed(c *v1.NodeClaim) {
	x := outcome{reason: v1.ReasonRegistrationFailed, message: "the node of NodeClaim " + c.Name + " did not register in time"}
	if launched := c.DeepCopy().Conditions().Get(v1.ConditionLaunched); !launched.IsTrue() {
		x.reason, x.message = launched.Reason, "NodeClaim "+c.Name+": "+launched.Message
	}
	k.outcomes.add(c.Labels[v1.LabelNodePool], x)
}

// setHealth says whether nodes of the pool register. What the pool or its class was before
// tells nothing: observed is the generation of the class that was seen before.
func (k *Keeper) setHealth(p *v1.NodePool, class *awsv1.EC2NodeClass, observed int64, now time.Time) {
	conditions := p.Conditions()
	was := conditions.Get(v1.ConditionNodeRegistrationHealthy)
	if was.Type == "" || was.ObservedGeneration != p.Generation || class != nil && class.Generation != observed {
		k.outcomes.forget(p.Name)
		conditions.Set(v1.ConditionNodeRegistrationHealthy, metav1.ConditionUnknown, v1.ReasonAwaitingReconciliation,
			"no node has registered or failed to since the NodePool or its EC2NodeClass changed", now)
		return
	}
	if !k.outcomes.known(p.Name) { // the daemon has just begun
		for range map[metav1.ConditionStatus]int{metav1.ConditionTrue: 1, metav1.ConditionFalse: failuresOfUnhealthy}[was.Status] {
			k.outcomes.add(p.Name, outcome{registered: was.IsTrue(), reason: was.Reason, message: was.Message})
		}
	}
	switch failures, newest, failure := k.outcomes.of(p.Name); {
	case failures >= failuresOfUnhealthy:
		conditions.Set(v1.ConditionNodeRegistrationHealthy, metav1.ConditionFalse, failure.reason, failure.message, now)
	case newest.registered:
		conditions.SetTrue(v1.ConditionNodeRegistrationHealthy, now)
	}
}
