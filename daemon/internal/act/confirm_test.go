package act

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// asked are the reasons for which a Checked deletion may come, and whether pods of the node
// keep it: without terminationGracePeriod, and with it.
func asked() map[plan.DeleteReason][2]bool {
	return map[plan.DeleteReason][2]bool{
		plan.Empty: {true, true}, plan.Underutilized: {true, true}, plan.Drifted: {true, false}, plan.Expired: {true, false},
		plan.PoolDeleted: {true, false}, plan.Surplus: {false, false}, plan.ReplacementUnused: {true, true},
		// The notice is removed, or cannot be read, or the node was announced by another
		// version.
		plan.Interrupted: {true, true}, "another": {true, true},
	}
}

func annotated(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{key: value} }
}

// web is a PodDisruptionBudget of all pods of the namespace.
func web(name string, allows int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}},
		Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allows},
	}
}

// checked looks for the last time at the node with the pod "known", as the API server has
// them, and says whether the NodeClaim was deleted.
func checked(t *testing.T, why plan.DeleteReason, grace bool, live ...runtime.Object) (deleted bool, w *world, client *fake.Clientset) {
	t.Helper()
	a, w := actor(t)
	if grace {
		w.claim.Spec.TerminationGracePeriod = &metav1.Duration{Duration: time.Hour}
	}
	client = fake.NewClientset(live...)
	a.Core = client
	if err := do(a, plan.Delete{Claim: "c", ClaimUID: "cu", Node: "n", Why: why, Waited: time.Second, Checked: true, Pods: []string{"known"}}); err != nil {
		t.Fatal(err)
	}
	return w.claim.DeletionTimestamp != nil, w, client
}

// started is ready since the 500th second; the actor's clock is at the 1000th.
func started(change func(*corev1.Pod)) *corev1.Pod {
	return podOn("known", func(p *corev1.Pod) {
		at := metav1.NewTime(time.Unix(500, 0))
		p.Status.StartTime, p.Status.Phase = &at, corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		change(p)
	})
}

// Somebody may protect a pod or a node between the plan and the deletion.
func TestDelete_CheckedDeletesNothingWhereAPodIsProtectedNow(t *testing.T) {
	yes := true
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		holds  bool
	}{
		"always":      {annotated(v1.AnnotationDoNotDisrupt, "true"), true},
		"for long":    {annotated(v1.AnnotationDoNotDisrupt, "10m"), true},
		"for as long": {annotated(v1.AnnotationDoNotDisrupt, "500s"), false},
		"unreadable":  {annotated(v1.AnnotationDoNotDisrupt, "soon"), true},
		"not":         {annotated(v1.AnnotationDoNotDisrupt, "false"), false},
		"as of old":   {annotated(v1.AnnotationDoNotEvict, "true"), true},
		"of a DaemonSet": {func(p *corev1.Pod) {
			annotated(v1.AnnotationDoNotDisrupt, "true")(p)
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: &yes}}
		}, true},
		"finished": {func(p *corev1.Pod) {
			annotated(v1.AnnotationDoNotDisrupt, "true")(p)
			p.Status.Phase = corev1.PodSucceeded
		}, false},
		"ending": {func(p *corev1.Pod) {
			annotated(v1.AnnotationDoNotDisrupt, "true")(p)
			p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"f"}
		}, false},
	} {
		for why, asks := range asked() {
			for i, grace := range []bool{false, true} {
				deleted, w, _ := checked(t, why, grace, started(c.change))
				if kept := c.holds && asks[i]; deleted == kept || kept != slices.Equal(w.pods, []string{"known"}) {
					t.Errorf("%s, %s, terminationGracePeriod %v: deleted = %v, the world was told of %v", name, why, grace, deleted, w.pods)
				}
			}
		}
	}
}

func TestDelete_CheckedDeletesNothingWhereAPodDisruptionBudgetAllowsNothingNow(t *testing.T) {
	as := func(*corev1.Pod) {}
	always := web("b", 0)
	policy := policyv1.AlwaysAllow
	always.Spec.UnhealthyPodEvictionPolicy = &policy
	elsewhere := web("b", 0)
	elsewhere.Namespace = "other"
	for name, c := range map[string]struct {
		pod     *corev1.Pod
		budgets []runtime.Object
		holds   bool
	}{
		"nothing":                    {started(as), []runtime.Object{web("b", 0)}, true},
		"one":                        {started(as), []runtime.Object{web("b", 1)}, false},
		"of another namespace":       {started(as), []runtime.Object{elsewhere}, false},
		"several":                    {started(as), []runtime.Object{web("b", 1), web("d", 1)}, true},
		"has not started":            {started(func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }), []runtime.Object{web("b", 0)}, false},
		"is not ready":               {started(func(p *corev1.Pod) { p.Status.Conditions = nil }), []runtime.Object{web("b", 0)}, true},
		"is not ready and may be so": {started(func(p *corev1.Pod) { p.Status.Conditions = nil }), []runtime.Object{always}, false},
	} {
		for why, asks := range asked() {
			for i, grace := range []bool{false, true} {
				deleted, w, _ := checked(t, why, grace, append([]runtime.Object{c.pod}, c.budgets...)...)
				// The node stays announced, as budgets change while nodes drain: a world that is told
				// would ask for the next plan at once, again and again.
				if kept := c.holds && asks[i]; deleted == kept || len(w.pods) > 0 {
					t.Errorf("%s, %s, terminationGracePeriod %v: deleted = %v, the world was told of %v", name, why, grace, deleted, w.pods)
				}
			}
		}
	}
}

func TestDelete_TheDeletionsOfAPlanListBudgetsOfANamespaceOnce(t *testing.T) {
	a, w := actor(t)
	client := fake.NewClientset(web("b", 0), started(func(*corev1.Pod) {}))
	a.Core = client
	d := plan.Delete{Claim: "c", ClaimUID: "cu", Node: "n", Why: plan.Empty, Waited: time.Second, Checked: true, Pods: []string{"known"}}
	if err := a.Do(context.Background(), plan.Plan{Actions: []plan.Action{d, d, d}}); err != nil || w.claim.DeletionTimestamp != nil {
		t.Fatalf("deleted at %v, error %v", w.claim.DeletionTimestamp, err)
	}
	lists := 0
	for _, x := range client.Actions() {
		if x.GetResource().Resource == "poddisruptionbudgets" {
			lists++
		}
	}
	if lists != 1 {
		t.Errorf("%d lists of PodDisruptionBudgets, want one", lists)
	}
}

func TestDelete_CheckedDeletesNothingWhereTheNodeIsProtectedNow(t *testing.T) {
	all := slices.DeleteFunc(slices.Collect(maps.Keys(asked())), func(why plan.DeleteReason) bool { return why == plan.Surplus })
	for _, c := range []struct {
		key, value string
		keeps      []plan.DeleteReason
	}{
		{v1.AnnotationDoNotDisrupt, "true", all},
		{v1.AnnotationDoNotDisrupt, "10m", all},
		{v1.AnnotationDoNotDisrupt, "5m", nil},
		{v1.AnnotationDoNotConsolidate, "true", []plan.DeleteReason{plan.Empty, plan.Underutilized}},
	} {
		for why := range asked() {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
				Name: "n", UID: "u", ResourceVersion: "9", Annotations: map[string]string{c.key: c.value}, CreationTimestamp: metav1.NewTime(time.Unix(500, 0)),
			}}
			deleted, w, _ := checked(t, why, true, node)
			told := w.node.ResourceVersion == "9"
			if kept := slices.Contains(c.keeps, why); deleted == kept || told != kept {
				t.Errorf("%s: %s, %s: deleted = %v, the world was told: %v", c.key, c.value, why, deleted, told)
			}
		}
	}
}

func TestDelete_CheckedDeletesNothingWhileTheNodeOrTheBudgetsCannotBeRead(t *testing.T) {
	for verb, resource := range map[string]string{"get": "nodes", "list": "poddisruptionbudgets"} {
		a, w := actor(t)
		a.Core = fake.NewClientset(started(func(*corev1.Pod) {}))
		down(a, verb, resource)
		err := do(a, plan.Delete{Claim: "c", ClaimUID: "cu", Node: "n", Why: plan.Empty, Waited: time.Second, Checked: true, Pods: []string{"known"}})
		if err == nil || w.claim.DeletionTimestamp != nil {
			t.Errorf("%s: deleted at %v, error %v", resource, w.claim.DeletionTimestamp, err)
		}
	}
}

// What is deleted at once with its pool or as surplus follows from what the watches lack.
func TestDelete_ANodeClaimThatGoesAtOnceIsKeptWhereItCameUpSince(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"}}
	for name, c := range map[string]struct {
		live      []runtime.Object
		joined    bool
		up        bool
		terminate bool
		waited    time.Duration
		kept      []plan.DeleteReason
	}{
		"not launched":               {kept: nil},
		"not initialized":            {live: []runtime.Object{node}, joined: true},
		"came up":                    {live: []runtime.Object{node}, joined: true, up: true, kept: []plan.DeleteReason{plan.PoolDeleted, plan.Surplus}},
		"came up, its pool is ended": {live: []runtime.Object{node}, joined: true, up: true, terminate: true, kept: []plan.DeleteReason{plan.Surplus}},
		"its node is gone":           {joined: true, up: true},
		"runs a pod":                 {live: []runtime.Object{node, started(func(*corev1.Pod) {})}, joined: true, kept: []plan.DeleteReason{plan.PoolDeleted}},
		"is up, and that was known":  {live: []runtime.Object{node}, joined: true, up: true, waited: time.Hour},
	} {
		for _, why := range []plan.DeleteReason{plan.PoolDeleted, plan.Surplus} {
			a, w := actor(t)
			a.Core = fake.NewClientset(c.live...)
			w.pool = &v1.NodePool{}
			if c.terminate {
				w.pool.Annotations = map[string]string{v1.AnnotationTerminate: "true"}
			}
			live := a.Claims.(*claims).one
			live.ResourceVersion = "2" // the watch is behind
			if c.joined {
				live.Status.NodeName = "n"
			}
			if c.up {
				live.Conditions().SetTrue(v1.ConditionInitialized, time.Unix(1, 0))
			}
			if err := do(a, plan.Delete{Claim: "c", ClaimUID: "cu", Why: why, Waited: c.waited}); err != nil {
				t.Fatal(err)
			}
			if kept := live.DeletionTimestamp == nil; kept != slices.Contains(c.kept, why) || w.claim.ResourceVersion == "1" {
				t.Errorf("%s, %s: kept = %v, the world has version %s", name, why, kept, w.claim.ResourceVersion)
			}
			if v := a.Claims.(*claims).precondition; len(c.kept) == 0 && (v == "2") != (c.waited == 0) {
				t.Errorf("%s, %s: deleted version %q", name, why, fmt.Sprint(v))
			}
		}
	}
}

// A NodeClaim that did not come up in time is looked at by the condition that it lacked.
func TestReasons_LackConditionsOfNodeClaims(t *testing.T) {
	for why, condition := range map[plan.DeleteReason]string{
		plan.LaunchTimeout: v1.ConditionLaunched, plan.RegistrationTimeout: v1.ConditionRegistered, plan.InitializationTimeout: v1.ConditionInitialized,
	} {
		if got := why.Traits().Lacks; got != condition {
			t.Errorf("%s lacks %q, want %q", why, got, condition)
		}
	}
}
