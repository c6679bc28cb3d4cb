package claim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

func TestMayEvict_AtMostAQuarterOfTheReplicasAtATime(t *testing.T) {
	for _, c := range []struct {
		replicas, ready, recent int64
		want                    bool
	}{
		{1, 1, 0, true},
		{1, 0, 1, false},
		{2, 2, 0, true},
		{2, 1, 1, false},
		{2, 2, 1, true},
		{7, 6, 1, false},
		{8, 7, 1, true},
		{8, 6, 2, false},
		{8, 7, 2, true},
		{100, 76, 24, true},
		{100, 75, 25, false},
		{4, 0, 0, true}, // nothing of ours is under way: the replicas are not ready for another reason
		{0, 0, 3, true}, // scaled down meanwhile
		{4, 9, 1, true}, // more are ready than declared
		{8, 3, 1, true}, // only one of those that lack was evicted
		{8, 3, 2, false},
	} {
		if got := mayEvict(c.replicas, c.ready, c.recent); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestMaySpare_NeverMoreThanAQuarterOfTheReplicasAreNotReady(t *testing.T) {
	for _, c := range []struct {
		replicas, ready int64
		want            bool
	}{
		{1, 1, true},
		{2, 2, true},
		{2, 1, false},
		{3, 2, false},
		{4, 4, true},
		{4, 3, false},
		{4, 1, false},
		{7, 6, false},
		{8, 8, true},
		{8, 7, true},
		{8, 6, false},
		{100, 76, true},
		{100, 75, false},
		{0, 1, true},
		{4, 9, true},
	} {
		if got := maySpare(c.replicas, c.ready); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// replica is a ready pod of a ReplicaSet.
func replica(name string) *corev1.Pod {
	yes := true
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: types.UID(name),
		OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", UID: "web", Controller: &yes}},
	}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return p
}

// replicated is the drain of a node with four of eight replicas.
func replicated(t *testing.T, why plan.DeleteReason) *drained {
	t.Helper()
	d := newDrained(t)
	for i := range 8 {
		d.siblings = append(d.siblings, replica(fmt.Sprint(i)))
	}
	d.pods, d.replicas = d.siblings[:4:4], 8
	d.claim.Conditions().Set(v1.ConditionDisruptionReason, metav1.ConditionTrue, string(why), "", d.now)
	return d
}

func (d *drained) evictions() int { return len(d.posts) }

func TestDrain_EvictsTheNextReplicasWhenTheSuccessorsAreReady(t *testing.T) {
	d := replicated(t, plan.Underutilized)
	for range 3 {
		if again, err := d.drain(t); err != nil || d.evictions() != 2 || again > drainPoll {
			t.Fatalf("%d evictions, again after %s, error %v; want a quarter of eight", d.evictions(), again, err)
		}
	}
	if m := d.message(); !strings.Contains(m, "at most 2 of the 8 replicas of ReplicaSet default/web") || len(d.events) != 0 {
		t.Errorf("message %q, events %q", m, d.events)
	}
	gone := func(name string) func(*corev1.Pod) bool { return func(p *corev1.Pod) bool { return p.Name == name } }
	for i, p := range d.siblings[:4] {
		if d.posts[p.Name] > 0 { // one of the two has left, and its successor is ready
			d.pods = without(d.pods, gone(p.Name))
			d.siblings = append(without(d.siblings, gone(p.Name)), replica(fmt.Sprint("new", i)))
			break
		}
	}
	d.now = d.now.Add(drainPoll)
	if _, err := d.drain(t); err != nil || d.evictions() != 3 {
		t.Errorf("%d evictions, error %v; want one more", d.evictions(), err)
	}
	for _, p := range d.pods {
		if d.posts[p.Name] > 0 {
			p.DeletionTimestamp = &metav1.Time{Time: d.now}
		}
	}
}

// The drain of a node that is deleted although nothing forces that takes no more of a
// controller than a quarter of its replicas, for however long those that came in their
// place do not get ready.
func TestDrain_TheNextReplicasWaitForAsLongAsTheSuccessorsAreNotReady(t *testing.T) {
	for _, c := range []struct {
		why  plan.DeleteReason
		want int // evictions
	}{
		{plan.Empty, 2},
		{plan.Underutilized, 2},
		{plan.Drifted, 2},
		{plan.Expired, 2},
		{plan.PoolDeleted, 4},
		{plan.Surplus, 4}, // a user asked for the end of the node, and other nodes may never take its pods
	} {
		d := replicated(t, c.why)
		if _, err := d.drain(t); err != nil || d.evictions() != 2 {
			t.Fatalf("%s: %d evictions, error %v", c.why, d.evictions(), err)
		}
		if blocks := d.drainedReason(); blocks != v1.ReasonDraining || len(d.events) != 0 {
			t.Errorf("%s: reason %s, events %q while the successors start", c.why, blocks, d.events)
		}
		for i, p := range d.siblings[:4] {
			if d.posts[p.Name] > 0 { // it has left, and its successor does not get ready
				d.pods = without(d.pods, func(x *corev1.Pod) bool { return x.Name == p.Name })
				d.siblings[i] = unready(replica(fmt.Sprint("new", i)))
			}
		}
		for range 3 {
			d.now = d.now.Add(patience)
			if _, err := d.drain(t); err != nil || d.evictions() != c.want {
				t.Errorf("%s: %d evictions, error %v; want %d", c.why, d.evictions(), err, c.want)
			}
		}
		if c.want > 2 {
			continue
		}
		const says = "6 of the 8 replicas of ReplicaSet default/web are ready"
		if m := d.message(); d.drainedReason() != v1.ReasonReplicasNotReady || !strings.Contains(m, says) || !strings.Contains(m, "PodDisruptionBudget") {
			t.Errorf("%s: reason %s, message %q", c.why, d.drainedReason(), m)
		}
		if len(d.events) == 0 || !strings.HasPrefix(d.events[0], "2 ReplicasNotReady: ") {
			t.Errorf("%s: events %q", c.why, d.events)
		}
		for i := range d.siblings { // somebody mends them
			d.siblings[i].Status.Conditions = replica("").Status.Conditions
		}
		d.now = d.now.Add(drainPoll)
		if _, err := d.drain(t); err != nil || d.evictions() != 4 {
			t.Errorf("%s: %d evictions, error %v; want the rest", c.why, d.evictions(), err)
		}
	}
}

// An outage must not follow from a saving.
func TestDrain_TheLastReadyReplicaIsNotEvictedToSaveMoney(t *testing.T) {
	for name, c := range map[string]struct {
		replicas int64
		ready    int // of the siblings; the first is on the node
		absent   int // replicas that have no pod
		why      plan.DeleteReason
		want     int // evictions
	}{
		"the others crash":              {4, 1, 0, plan.Underutilized, 0},
		"the others crash, drift":       {4, 1, 0, plan.Drifted, 0},
		"the others crash, expiry":      {4, 1, 0, plan.Expired, 0},
		"the others crash, interrupted": {4, 1, 0, plan.Interrupted, 1},
		"the others do not exist":       {4, 1, 3, plan.Underutilized, 0},
		"one of two crashes":            {2, 1, 0, plan.Underutilized, 0},
		"a single replica":              {1, 1, 0, plan.Underutilized, 1},
		"all are ready":                 {4, 4, 0, plan.Underutilized, 1},
		"less than a quarter crash":     {8, 7, 0, plan.Underutilized, 1},
		"a quarter crash":               {8, 6, 0, plan.Underutilized, 0},
		"scaled down to what is ready":  {1, 1, 0, plan.Drifted, 1},
	} {
		d := newDrained(t)
		d.replicas = c.replicas
		for i := range int(c.replicas) - c.absent {
			p := replica(fmt.Sprint(i))
			if i >= c.ready {
				p = unready(p)
			}
			d.siblings = append(d.siblings, p)
		}
		d.pods = d.siblings[:1:1]
		d.claim.Conditions().Set(v1.ConditionDisruptionReason, metav1.ConditionTrue, string(c.why), "", d.now)
		for range 3 {
			if _, err := d.drain(t); err != nil || d.evictions() != c.want {
				t.Errorf("%s: %d evictions, error %v; want %d", name, d.evictions(), err, c.want)
			}
			d.now = d.now.Add(drainPoll)
		}
		if blocked := c.want == 0; blocked != (d.drainedReason() == v1.ReasonReplicasNotReady) || blocked != (len(d.events) > 0) {
			t.Errorf("%s: reason %s, events %q", name, d.drainedReason(), d.events)
		}
	}
}

func TestDrain_ReplicasThatAreNotReadyAreEvictedWhateverTheOthersAre(t *testing.T) {
	d := replicated(t, plan.Underutilized)
	for _, p := range d.siblings[1:] {
		unready(p)
	}
	if _, err := d.drain(t); err != nil || d.evictions() != 3 || d.posts["0"] != 0 {
		t.Errorf("%v, error %v; want the three that are not ready", d.posts, err)
	}
}

func TestDrain_TheEndOfTerminationGracePeriodEndsTheWaitForReplicas(t *testing.T) {
	d := replicated(t, plan.Drifted)
	for _, p := range d.siblings[1:] {
		unready(p)
	}
	d.pods = d.siblings[:1:1]
	for _, c := range []struct {
		left time.Duration // until the end
		want string
	}{{time.Hour, ""}, {29 * time.Second, "DELETE"}} {
		d.methods = map[string]string{}
		if _, _, err := d.controller.drain(t.Context(), d.claim, d.node, d.now.Add(c.left)); err != nil || d.methods["0"] != c.want {
			t.Errorf("%s before the end: %q, error %v; want %q", c.left, d.methods["0"], err, c.want)
		}
	}
}

// A kind that the daemon does not know declares no replicas to it: those count that it had.
func TestDrain_AReplicaThatIsGoneAndNotCreatedAgainIsMissedOfAnUnknownKind(t *testing.T) {
	d := replicated(t, plan.Underutilized)
	for _, p := range d.siblings {
		p.OwnerReferences[0].Kind = "CloneSet"
	}
	if _, err := d.drain(t); err != nil || d.evictions() != 2 {
		t.Fatalf("%d evictions, error %v", d.evictions(), err)
	}
	evicted := func(p *corev1.Pod) bool { return d.posts[p.Name] > 0 }
	d.pods, d.siblings = without(d.pods, evicted), without(d.siblings, evicted)
	d.replicas = int64(len(d.siblings)) // see Replicas of package world
	d.now = d.now.Add(drainPoll)
	if _, err := d.drain(t); err != nil || d.evictions() != 2 {
		t.Errorf("%d evictions, error %v; want none before the controller has created the pods again", d.evictions(), err)
	}
	for i := range 2 {
		p := replica(fmt.Sprint("new", i))
		p.OwnerReferences[0].Kind, p.CreationTimestamp = "CloneSet", metav1.NewTime(d.now)
		d.siblings = append(d.siblings, p)
	}
	d.replicas = int64(len(d.siblings))
	d.now = d.now.Add(drainPoll)
	if _, err := d.drain(t); err != nil || d.evictions() != 4 {
		t.Errorf("%d evictions, error %v; want the rest", d.evictions(), err)
	}
}

func unready(p *corev1.Pod) *corev1.Pod {
	p.Status.Conditions = nil
	return p
}

// drainedReason is the reason of the condition that says what the drain waits for.
func (d *drained) drainedReason() string {
	return d.claim.DeepCopy().Conditions().Get(v1.ConditionDrained).Reason
}

func without(pods []*corev1.Pod, gone func(*corev1.Pod) bool) (out []*corev1.Pod) {
	for _, p := range pods {
		if !gone(p) {
			out = append(out, p)
		}
	}
	return out
}

func TestDrain_AllItsPodsGoAtOnceWhereNothingBoundsThem(t *testing.T) {
	for name, change := range map[string]func(*drained){
		"an interruption": func(d *drained) { *d = *replicated(t, plan.Interrupted) },
		"an interruption of a node that was about to go": func(d *drained) {
			d.claim.Annotations = map[string]string{v1.AnnotationInterruption: "soon"}
		},
		"deleted by a user": func(d *drained) { d.claim.Conditions().Clear(v1.ConditionDisruptionReason) },
		"a budget":          func(d *drained) { d.budgets = []cluster.PodBudget{{Namespace: "default", Name: "web"}} },
		"pods that are not ready": func(d *drained) {
			for _, p := range d.siblings {
				p.Status.Conditions = nil
			}
		},
		"pods of a job": func(d *drained) {
			for _, p := range d.siblings {
				p.OwnerReferences[0].Kind = "Job"
			}
		},
		"pods of nobody": func(d *drained) {
			for _, p := range d.siblings {
				p.OwnerReferences = nil
			}
		},
		"the end of its life": func(d *drained) {
			d.claim.Conditions().Set(v1.ConditionDisruptionReason, metav1.ConditionTrue, string(plan.Expired), "", d.now)
			d.claim.CreationTimestamp, d.claim.DeletionTimestamp = metav1.NewTime(d.now.Add(-2*time.Hour)), &metav1.Time{Time: d.now.Add(-time.Minute)}
			d.claim.Spec.ExpireAfter = &v1.NillableDuration{Duration: time.Hour}
			d.claim.Spec.TerminationGracePeriod = &metav1.Duration{Duration: time.Hour}
		},
	} {
		d := replicated(t, plan.Drifted)
		change(d)
		if _, err := d.controller.World.(*drained).drain(t); err != nil || d.controller.World.(*drained).evictions() != 4 {
			t.Errorf("%s: %d evictions, error %v", name, d.controller.World.(*drained).evictions(), err)
		}
	}
}

// The garbage collector deletes all NodeClaims of such a pool at once.
func TestDrain_OfAPoolThatIsDeletedInTheForegroundIsAQuarterAtATime(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*drained)
		want   int // evictions
	}{
		"in the foreground":               {func(*drained) {}, 2},
		"in the background":               {func(d *drained) { d.pool.Finalizers = []string{v1.FinalizerTermination} }, 4},
		"with all that needs it":          {func(d *drained) { d.pool.Annotations = map[string]string{v1.AnnotationTerminate: "true"} }, 4},
		"with a node that is interrupted": {func(d *drained) { d.claim.Annotations = map[string]string{v1.AnnotationInterruption: "soon"} }, 4},
		"with a node that has to go anyway": {func(d *drained) {
			d.claim.Conditions().Set(v1.ConditionDisruptionReason, metav1.ConditionTrue, string(plan.Interrupted), "", d.now)
		}, 4},
	} {
		d := replicated(t, plan.Drifted)
		d.claim.Conditions().Clear(v1.ConditionDisruptionReason)
		d.claim.Labels = map[string]string{v1.LabelNodePool: "p"}
		d.pool = &v1.NodePool{ObjectMeta: metav1.ObjectMeta{
			Name: "p", DeletionTimestamp: &metav1.Time{Time: d.now}, Finalizers: []string{metav1.FinalizerDeleteDependents, v1.FinalizerTermination},
		}}
		c.change(d)
		if _, err := d.drain(t); err != nil || d.evictions() != c.want {
			t.Errorf("%s: %d evictions, error %v, want %d", name, d.evictions(), err, c.want)
		}
	}
}

func TestDrain_AnEvictionThatFailsDoesNotCount(t *testing.T) {
	d := replicated(t, plan.Empty)
	many := *blocked(0)
	many.Details = nil // of the API server, not of a budget
	d.answer = &many
	for range 2 {
		if _, err := d.drain(t); err != nil {
			t.Fatal(err)
		}
		d.now = d.now.Add(backoffMost)
	}
	if d.evictions() != 4 {
		t.Errorf("%d pods were tried", d.evictions())
	}
	d.answer, d.posts = nil, map[string]int{}
	if _, err := d.drain(t); err != nil || d.evictions() != 2 {
		t.Errorf("%d evictions, error %v", d.evictions(), err)
	}
}

func TestDrain_ReplicasOfOneControllerOnTwoNodesCountTogether(t *testing.T) {
	d := replicated(t, plan.Underutilized)
	if _, err := d.drain(t); err != nil {
		t.Fatal(err)
	}
	d.pods = d.siblings[4:] // of another node
	if _, err := d.drain(t); err != nil || d.evictions() != 2 {
		t.Errorf("%d evictions, error %v; want 2 of both nodes", d.evictions(), err)
	}
}
