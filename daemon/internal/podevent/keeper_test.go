package podevent

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/world"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
)

// test is a world with a NodePool, an initialized NodeClaim and its node, a clock, and
// an API server that counts writes.
type test struct {
	*testing.T
	world  *world.World
	keeper *Keeper
	now    time.Time
	writes int
}

var start = time.Unix(10_000, 0)

func newTest(t *testing.T, consolidateAfter v1.NillableDuration) *test {
	t.Helper()
	x := &test{T: t, now: start}
	x.world = world.New(nil, catalog.Market{}, func() time.Time { return x.now })
	x.restart()
	ref := v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: "c"}
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p"}}
	pool.Spec.Template.Spec.NodeClassRef = ref
	pool.Spec.Disruption.ConsolidateAfter = consolidateAfter
	x.world.Observe(pool)
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "c", ResourceVersion: "1", Labels: map[string]string{v1.LabelNodePool: "p"}}}
	claim.Spec.NodeClassRef = ref
	claim.Status.ProviderID = "aws:///a/i"
	claim.Conditions().SetTrue(v1.ConditionInitialized, start)
	x.world.Observe(claim)
	x.world.Observe(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n"}, Spec: corev1.NodeSpec{ProviderID: "aws:///a/i"}})
	return x
}

func (x *test) UpdateStatus(_ context.Context, c *v1.NodeClaim, _ metav1.UpdateOptions) (*v1.NodeClaim, error) {
	x.writes++
	got := c.DeepCopy()
	version, err := strconv.Atoi(c.ResourceVersion)
	got.ResourceVersion = strconv.Itoa(version + 1)
	return got, err
}

// restart makes a Keeper that knows nothing.
func (x *test) restart() {
	x.keeper = New(x.world, x, hclog.NewNullLogger(), func() time.Time { return x.now }, nil)
}

func (x *test) reconcile() time.Duration {
	x.Helper()
	again, err := x.keeper.Reconcile(context.Background(), "c")
	if err != nil {
		x.Fatal(err)
	}
	return again
}

func (x *test) claim() *v1.NodeClaim {
	c, _ := x.world.NodeClaim("c")
	return c.DeepCopy()
}

func (x *test) pod(name, owner string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(x.now)},
		Spec:       corev1.PodSpec{NodeName: "n"},
	}
	if owner != "" {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{Kind: owner, Name: "o", UID: "o", Controller: &yes}}
	}
	return p
}

// expect checks when the last event was, after start, and how often it was written.
func (x *test) expect(what string, last time.Duration, writes int) {
	x.Helper()
	got := x.claim().Status.LastPodEventTime
	if got == nil || !got.Time.Equal(start.Add(last)) || x.writes != writes {
		x.Errorf("%s: last event %v after %d writes, want %v after %d", what, got, x.writes, start.Add(last), writes)
	}
}

func never() v1.NillableDuration { return v1.NillableDuration{Never: true} }

func TestKeeper_APodThatComesEndsOrGoesIsAnEvent(t *testing.T) {
	x := newTest(t, never())
	x.reconcile()
	a, b := x.pod("a", "ReplicaSet"), x.pod("b", "")
	for i, change := range []func(){
		func() { x.world.Observe(a) },
		func() { x.world.Observe(b) },
		func() { p := a.DeepCopy(); p.Status.Phase = corev1.PodSucceeded; x.world.Observe(p) },
		func() { x.world.Forget(b) },
	} {
		x.now = start.Add(time.Duration(i+1) * time.Minute)
		change()
		x.reconcile()
		x.reconcile()
		x.expect("change "+strconv.Itoa(i), time.Duration(i+1)*time.Minute, i+1)
	}
	x.now = start.Add(time.Hour)
	x.world.Forget(a)
	x.reconcile()
	x.expect("a pod that had ended is deleted", 4*time.Minute, 4)
}

func TestKeeper_PodsOfDaemonSetsAndJobsAndStaticPodsDoNotCount(t *testing.T) {
	x := newTest(t, never())
	x.reconcile()
	x.now = start.Add(time.Minute)
	for _, owner := range []string{"DaemonSet", "Job", "Node"} {
		x.world.Observe(x.pod(owner, owner))
	}
	x.reconcile()
	if x.writes != 0 {
		t.Errorf("last event %v after %d writes", x.claim().Status.LastPodEventTime, x.writes)
	}
}

func TestKeeper_WritesOnceInTenSecondsAndTheLastEventCounts(t *testing.T) {
	x := newTest(t, never())
	x.reconcile()
	for i, want := range []time.Duration{0, 7 * time.Second, 4 * time.Second, time.Second} {
		x.now = start.Add(time.Duration(3*i) * time.Second)
		x.world.Observe(x.pod(strconv.Itoa(i), ""))
		if again := x.reconcile(); again != want {
			t.Errorf("pod %d: looks again after %s, want %s", i, again, want)
		}
		x.expect("at once", 0, 1)
	}
	x.now = start.Add(10 * time.Second)
	x.reconcile()
	x.expect("later", 9*time.Second, 2)
}

func TestKeeper_ARestartIsNoEventAndForgetsNone(t *testing.T) {
	x := newTest(t, never())
	x.reconcile()
	x.now = start.Add(time.Minute)
	x.world.Observe(x.pod("a", ""))
	x.reconcile()
	x.now = start.Add(time.Hour)
	x.restart()
	x.reconcile()
	x.expect("nothing happened", time.Minute, 1)
	x.now = start.Add(2 * time.Hour)
	x.world.Observe(x.pod("b", ""))
	x.now = start.Add(3 * time.Hour)
	x.restart()
	x.reconcile()
	x.expect("a pod came that nobody wrote", 2*time.Hour, 2)
}

func TestKeeper_ConsolidatableFollowsConsolidateAfter(t *testing.T) {
	x := newTest(t, v1.NillableDuration{Duration: 15 * time.Second})
	at := func(after time.Duration, want bool, again time.Duration) {
		t.Helper()
		x.now = start.Add(after)
		if got := x.reconcile(); got != again {
			t.Errorf("after %s: looks again after %s, want %s", after, got, again)
		}
		if got := x.claim().Conditions().Get(v1.ConditionConsolidatable); got.IsTrue() != want || want == (got.Type == "") {
			t.Errorf("after %s: %+v, want %v", after, got, want)
		}
	}
	at(0, false, 15*time.Second)
	at(15*time.Second, true, 0)
	x.world.Observe(x.pod("a", ""))
	at(20*time.Second, true, 5*time.Second) // the write before was 5 seconds ago
	at(25*time.Second, false, 10*time.Second)
	at(35*time.Second, true, 0)
	pool, _ := x.world.NodePool("p")
	pool = pool.DeepCopy()
	pool.Spec.Disruption.ConsolidateAfter = never()
	x.world.Observe(pool)
	at(time.Minute, false, 0)
}
