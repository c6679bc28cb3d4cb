package act

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

var errDown = errors.New("the API server is down")

// claims is an API server that has one NodeClaim. It refuses an old version, another
// uid, and all writes while it is down.
type claims struct {
	one          *v1.NodeClaim
	writes       int
	down         bool
	precondition string // the version that was to be deleted
}

func (c *claims) Create(context.Context, *v1.NodeClaim, metav1.CreateOptions) (*v1.NodeClaim, error) {
	return nil, errDown
}

func (c *claims) Get(_ context.Context, name string, _ metav1.GetOptions) (*v1.NodeClaim, error) {
	if c.one == nil || c.one.Name != name {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "nodeclaims"}, name)
	}
	return c.one.DeepCopy(), nil
}

func (c *claims) write(version string, change func()) (*v1.NodeClaim, error) {
	if c.down {
		return nil, errDown
	}
	if version != c.one.ResourceVersion {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "nodeclaims"}, c.one.Name, nil)
	}
	c.writes++
	change()
	v, _ := strconv.Atoi(version)
	c.one.ResourceVersion = strconv.Itoa(v + 1)
	return c.one.DeepCopy(), nil
}

func (c *claims) UpdateStatus(_ context.Context, want *v1.NodeClaim, _ metav1.UpdateOptions) (*v1.NodeClaim, error) {
	return c.write(want.ResourceVersion, func() { c.one.Status = *want.Status.DeepCopy() })
}

func (c *claims) Patch(_ context.Context, _ string, _ types.PatchType, body []byte, _ metav1.PatchOptions, _ ...string) (*v1.NodeClaim, error) {
	var patch struct {
		Metadata struct {
			ResourceVersion string
			Annotations     map[string]*string
		}
	}
	if err := json.Unmarshal(body, &patch); err != nil {
		return nil, err
	}
	return c.write(patch.Metadata.ResourceVersion, func() {
		for k, v := range patch.Metadata.Annotations {
			if v == nil {
				delete(c.one.Annotations, k)
			}
		}
	})
}

func (c *claims) Delete(_ context.Context, name string, o metav1.DeleteOptions) error {
	if o.Preconditions == nil || *o.Preconditions.UID != c.one.UID {
		return apierrors.NewConflict(schema.GroupResource{Resource: "nodeclaims"}, name, nil)
	}
	if v := o.Preconditions.ResourceVersion; v != nil {
		c.precondition = *v
	}
	_, err := c.write(c.one.ResourceVersion, func() { now := metav1.NewTime(time.Unix(2000, 0)); c.one.DeletionTimestamp = &now })
	return err
}

func do(a *Actor, action plan.Action) error {
	return a.Do(context.Background(), plan.Plan{Actions: []plan.Action{action}})
}

func disrupted(c *v1.NodeClaim) v1.Condition {
	return c.DeepCopy().Conditions().Get(v1.ConditionDisruptionReason)
}

// down makes every request of the verb for the resource fail until the result is called.
func down(a *Actor, verb, resource string) (up func()) {
	off := false
	a.Core.(*fake.Clientset).PrependReactor(verb, resource, func(k8stesting.Action) (bool, runtime.Object, error) {
		return !off, nil, errDown
	})
	return func() { off = true }
}

func disrupt() plan.Disrupt {
	return plan.Disrupt{Claim: "c", ClaimUID: "cu", Node: "n", NodeUID: "u", Why: plan.Underutilized, Detail: "move m"}
}

func restore() plan.Restore {
	return plan.Restore{Claim: "c", ClaimUID: "cu", Node: "n", NodeUID: "u"}
}

func TestDisrupt_TheReasonPrecedesTheTaintAndACrashBetweenIsRepaired(t *testing.T) {
	a, w := actor(t)
	api := a.Claims.(*claims)
	api.down = true
	if err := do(a, disrupt()); !errors.Is(err, errDown) || slices.Contains(keys(w.node), v1.TaintDisrupted) {
		t.Fatalf("without a reason the node has taints %v; error %v", keys(w.node), err)
	}
	api.down = false
	up := down(a, "patch", "nodes")
	if err := do(a, disrupt()); !errors.Is(err, errDown) || disrupted(w.claim).Reason != "Underutilized" || disrupted(w.claim).Message != "move m" {
		t.Fatalf("after the condition: %+v, error %v", disrupted(w.claim), err)
	}
	up()
	for range 2 {
		if err := do(a, disrupt()); err != nil || !slices.Contains(keys(w.node), v1.TaintDisrupted) {
			t.Errorf("taints %v, error %v", keys(w.node), err)
		}
	}
	if api.writes != 1 {
		t.Errorf("the NodeClaim was written %d times, want once", api.writes)
	}
}

func TestDisrupt_AReasonThatIsThereStays(t *testing.T) {
	a, w := actor(t)
	w.claim.Conditions().Set(v1.ConditionDisruptionReason, metav1.ConditionTrue, "Drifted", "", time.Unix(1, 0))
	if err := do(a, disrupt()); err != nil || disrupted(w.claim).Reason != "Drifted" || a.Claims.(*claims).writes != 0 {
		t.Errorf("condition %+v, error %v", disrupted(w.claim), err)
	}
}

func TestDisrupt_LeavesAloneWhatHasChangedSince(t *testing.T) {
	for name, change := range map[string]func(a *Actor, w *world){
		"another claim":  func(_ *Actor, w *world) { w.claim.UID = "other" },
		"deleting claim": func(_ *Actor, w *world) { w.claim.DeletionTimestamp = &metav1.Time{} },
		"newer claim":    func(a *Actor, _ *world) { a.Claims.(*claims).one.ResourceVersion = "2" },
		"another node":   func(_ *Actor, w *world) { w.node.UID = "other" },
	} {
		a, w := actor(t)
		change(a, w)
		if err := do(a, disrupt()); err != nil || slices.Contains(keys(w.node), v1.TaintDisrupted) {
			t.Errorf("%s: taints %v, error %v", name, keys(w.node), err)
		}
	}
}

// wrote says in the managed fields that the manager wrote these fields.
func wrote(manager, fields string) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{{Manager: manager, FieldsV1: metav1.NewFieldsV1(fields)}}
}

const (
	cordoned = `{"f:metadata":{"f:labels":{"f:node.kubernetes.io/exclude-from-external-load-balancers":{}}},"f:spec":{"f:taints":{}}}`
	claimed  = `{"f:metadata":{"f:annotations":{".":{},"f:karpenterd.sh/move":{}}},"f:status":{"f:conditions":{}}}`
)

// disruptedActor is an actor after a Disrupt, of a NodeClaim that carries a move. The
// managers wrote the node and the NodeClaim.
func disruptedActor(t *testing.T, nodeBy, claimBy []metav1.ManagedFieldsEntry) (*Actor, *world) {
	t.Helper()
	a, w := actor(t)
	a.Claims.(*claims).one.Annotations = map[string]string{v1.AnnotationMove: "m", "a": "1"}
	if err := do(a, disrupt()); err != nil {
		t.Fatal(err)
	}
	a.Claims.(*claims).one.ManagedFields = claimBy
	w.node.ManagedFields = nodeBy
	a.Core = fake.NewClientset(w.node.DeepCopy())
	return a, w
}

func TestRestore_TakesBackWhatTheDaemonWrote(t *testing.T) {
	a, w := disruptedActor(t, wrote(translate.FieldManager, cordoned), wrote(translate.FieldManager, claimed))
	for range 2 {
		if err := do(a, restore()); err != nil {
			t.Fatal(err)
		}
	}
	if got := keys(w.node); !slices.Equal(got, []string{"spot", v1.TaintAwaitingPods}) || len(w.node.Labels) != 1 {
		t.Errorf("taints %v, labels %v", got, w.node.Labels)
	}
	if disrupted(w.claim).Type != "" || len(w.claim.Annotations) != 1 {
		t.Errorf("condition %+v, annotations %v", disrupted(w.claim), w.claim.Annotations)
	}
}

func TestRestore_KeepsWhatOthersWrote(t *testing.T) {
	a, w := disruptedActor(t, wrote("kubectl", cordoned), wrote("kubectl", claimed))
	if err := do(a, restore()); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(keys(w.node), v1.TaintDisrupted) || len(w.node.Labels) != 2 {
		t.Errorf("taints %v, labels %v", keys(w.node), w.node.Labels)
	}
	if one := a.Claims.(*claims).one; !disrupted(one).IsTrue() || len(one.Annotations) != 2 {
		t.Errorf("condition %+v, annotations %v", disrupted(one), one.Annotations)
	}
}

func TestRestore_TellsItsTaintFromAUsersByTheLabel(t *testing.T) {
	label, taints := `{"f:metadata":{"f:labels":{"f:node.kubernetes.io/exclude-from-external-load-balancers":{}}}}`, `{"f:spec":{"f:taints":{}}}`
	for _, tc := range []struct {
		name      string
		by        []metav1.ManagedFieldsEntry
		unlabel   bool
		restored  bool
		labelStay bool
	}{
		{"another wrote the list of taints later", append(wrote(translate.FieldManager, label), wrote("node-controller", taints)...), false, true, false},
		{"the label is a user's", append(wrote("kubectl", label), wrote(translate.FieldManager, taints)...), false, true, true},
		{"a user's taint, and the daemon wrote another later", wrote(translate.FieldManager, taints), true, false, false},
	} {
		a, w := disruptedActor(t, tc.by, nil)
		if tc.unlabel {
			delete(w.node.Labels, corev1.LabelNodeExcludeBalancers)
			a.Core = fake.NewClientset(w.node.DeepCopy())
		}
		if err := do(a, restore()); err != nil {
			t.Fatal(err)
		}
		if got := !slices.Contains(keys(w.node), v1.TaintDisrupted); got != tc.restored {
			t.Errorf("%s: taken back = %v, want %v", tc.name, got, tc.restored)
		}
		if _, got := w.node.Labels[corev1.LabelNodeExcludeBalancers]; got != tc.labelStay {
			t.Errorf("%s: label stays = %v, want %v", tc.name, got, tc.labelStay)
		}
	}
}

func TestRestore_ACrashAfterTheTaintIsRepaired(t *testing.T) {
	a, w := disruptedActor(t, wrote(translate.FieldManager, cordoned), wrote(translate.FieldManager, claimed))
	a.Claims.(*claims).down = true
	if err := do(a, restore()); !errors.Is(err, errDown) || slices.Contains(keys(w.node), v1.TaintDisrupted) || !disrupted(w.claim).IsTrue() {
		t.Fatalf("taints %v, condition %+v, error %v", keys(w.node), disrupted(w.claim), err)
	}
	a.Claims.(*claims).down = false
	if err := do(a, restore()); err != nil || disrupted(w.claim).Type != "" {
		t.Errorf("condition %+v, error %v", disrupted(w.claim), err)
	}
}

func TestRestore_ADeletionIsNeverTakenBack(t *testing.T) {
	a, w := disruptedActor(t, wrote(translate.FieldManager, cordoned), wrote(translate.FieldManager, claimed))
	now := metav1.NewTime(time.Unix(2000, 0))
	a.Claims.(*claims).one.DeletionTimestamp = &now
	if err := do(a, restore()); err != nil || !slices.Contains(keys(w.node), v1.TaintDisrupted) {
		t.Errorf("taints %v, error %v", keys(w.node), err)
	}
}

func podOn(name string, change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{NodeName: "n"}}
	change(p)
	return p
}

func TestDelete_CheckedDeletesNothingWhereAPodIsUnknown(t *testing.T) {
	yes := true
	owned := func(kind string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Controller: &yes}} }
	}
	known := podOn("known", func(*corev1.Pod) {})
	for _, tc := range []struct {
		pod     *corev1.Pod
		unknown bool
	}{
		{podOn("running", func(*corev1.Pod) {}), true},
		{podOn("finished", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), false},
		{podOn("mirror", func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }), false},
		{podOn("daemon", owned("DaemonSet")), false},
		{podOn("replica", owned("ReplicaSet")), true},
		{podOn("ending", func(p *corev1.Pod) {
			p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
			p.Finalizers = []string{"f"}
		}), false},
	} {
		a, w := actor(t)
		client := fake.NewClientset(known, tc.pod)
		a.Core = client
		if err := do(a, plan.Delete{Claim: "c", ClaimUID: "cu", Node: "n", Checked: true, Pods: []string{"known"}}); err != nil {
			t.Fatal(err)
		}
		if deleted := w.claim.DeletionTimestamp != nil; deleted == tc.unknown {
			t.Errorf("%s: deleted = %v", tc.pod.Name, deleted)
		}
		if told := slices.Equal(w.pods, []string{tc.pod.Name}); told != tc.unknown {
			t.Errorf("%s: the world was told of %v", tc.pod.Name, w.pods)
		}
		list := client.Actions()[0].(k8stesting.ListActionImpl)
		if list.ListOptions.FieldSelector != "spec.nodeName=n" || list.ListOptions.ResourceVersion != "" {
			t.Errorf("list with %+v; it must be consistent and of the node alone", list.ListOptions)
		}
	}
}

func TestDelete_CheckedDeletesNothingWithoutAListAndACrashAfterItIsRepaired(t *testing.T) {
	a, w := actor(t)
	checked := plan.Delete{Claim: "c", ClaimUID: "cu", Node: "n", Checked: true}
	up := down(a, "list", "pods")
	if err := do(a, checked); !errors.Is(err, errDown) || w.claim.DeletionTimestamp != nil {
		t.Errorf("deleted at %v, error %v", w.claim.DeletionTimestamp, err)
	}
	up()
	a.Claims.(*claims).down = true
	if err := do(a, checked); !errors.Is(err, errDown) || w.claim.DeletionTimestamp != nil {
		t.Errorf("deleted at %v, error %v", w.claim.DeletionTimestamp, err)
	}
	a.Claims.(*claims).down = false
	if err := do(a, checked); err != nil || w.claim.DeletionTimestamp == nil {
		t.Errorf("not deleted, error %v", err)
	}
}

func TestDelete_LeavesAnotherClaimOfTheNameAlone(t *testing.T) {
	a, w := actor(t)
	a.Claims.(*claims).one.UID = "other"
	if err := do(a, plan.Delete{Claim: "c", ClaimUID: "cu"}); err != nil || w.claim.DeletionTimestamp != nil {
		t.Errorf("deleted at %v, error %v", w.claim.DeletionTimestamp, err)
	}
}

func TestDelete_ANodeClaimThatCameUpSinceIsKept(t *testing.T) {
	for why, condition := range map[plan.DeleteReason]string{
		plan.LaunchTimeout: v1.ConditionLaunched, plan.RegistrationTimeout: v1.ConditionRegistered, plan.InitializationTimeout: v1.ConditionInitialized,
	} {
		for _, up := range []bool{true, false} {
			a, w := actor(t)
			live := a.Claims.(*claims).one
			live.ResourceVersion = "2" // the watch is behind
			if up {
				live.Conditions().SetTrue(condition, time.Unix(1, 0))
			}
			if err := do(a, plan.Delete{Claim: "c", ClaimUID: "cu", Why: why}); err != nil {
				t.Fatal(err)
			}
			if kept := live.DeletionTimestamp == nil; kept != up || w.claim.ResourceVersion == "1" {
				t.Errorf("%s, came up %v: kept = %v, the world has version %s", why, up, kept, w.claim.ResourceVersion)
			}
		}
	}
}

// What is declined or meets a conflict is planned again.
func TestDo_ReportsADisruptionOnceAndOnlyWhereItIsCarriedOut(t *testing.T) {
	a, w := actor(t)
	says := func(when string, want ...string) {
		t.Helper()
		if !slices.Equal(w.told, want) {
			t.Errorf("%s: told %q, want %q", when, w.told, want)
		}
		w.told = nil
	}
	stale := true
	a.Core.(*fake.Clientset).PrependReactor("patch", "nodes", func(k8stesting.Action) (bool, runtime.Object, error) {
		return stale, nil, apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, "n", nil)
	})
	for range 2 {
		if err := do(a, disrupt()); err != nil {
			t.Fatal(err)
		}
	}
	says("the node changes meanwhile")
	stale = false
	for range 2 {
		if err := do(a, disrupt()); err != nil {
			t.Fatal(err)
		}
	}
	says("the taint", "disrupted n")

	remove := plan.Delete{Claim: "c", ClaimUID: "cu", Node: "n", Why: plan.Drifted, Waited: time.Second, Checked: true}
	_ = a.Core.(*fake.Clientset).Tracker().Add(podOn("new", func(*corev1.Pod) {}))
	if err := do(a, remove); err != nil {
		t.Fatal(err)
	}
	says("a pod came", "kept c: pod default/new has come since")
	remove.Pods = []string{"new"}
	another := remove
	another.ClaimUID = "another"
	if err := do(a, another); err != nil {
		t.Fatal(err)
	}
	says("another NodeClaim of the name")
	for range 2 {
		if err := do(a, remove); err != nil {
			t.Fatal(err)
		}
	}
	says("the deletion", "deleted c")
}

// Karpenter taints a node before it drains, without the label, and may have been stopped
// then.
func TestRestore_TakesBackWhatKarpenterWrote(t *testing.T) {
	for manager, back := range map[string]bool{"karpenter": true, "kubectl": false} {
		a, w := disruptedActor(t, wrote(manager, `{"f:spec":{"f:taints":{}}}`), wrote(manager, claimed))
		delete(w.node.Labels, corev1.LabelNodeExcludeBalancers)
		a.Core = fake.NewClientset(w.node.DeepCopy())
		if err := do(a, restore()); err != nil {
			t.Fatal(err)
		}
		if got := keys(w.node); slices.Contains(got, v1.TaintDisrupted) == back {
			t.Errorf("%s: taints %v", manager, got)
		}
		if one := a.Claims.(*claims).one; disrupted(one).IsTrue() == back {
			t.Errorf("%s: condition %+v", manager, disrupted(one))
		}
	}
}
