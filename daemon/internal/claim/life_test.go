package claim

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

func TestNotInitialized_NamesTheFirstMissingThing(t *testing.T) {
	c := &v1.NodeClaim{}
	c.Spec.StartupTaints = []v1.Taint{v1.Taint(v1.AwaitingPodsTaint())}
	c.Spec.Resources.Requests = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
	n := &corev1.Node{}
	check := func(want string) {
		t.Helper()
		if got, _ := notInitialized(c, n); got != want {
			t.Errorf("reason = %q, want %q", got, want)
		}
	}
	check(v1.ReasonNodeNotReady)
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	n.Spec.Taints = []corev1.Taint{v1.AwaitingPodsTaint(), {Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute}}
	check(v1.ReasonStartupTaintsExist)
	n.Spec.Taints = n.Spec.Taints[1:]
	check(v1.ReasonKnownEphemeralTaintsExist)
	n.Spec.Taints = nil
	check(v1.ReasonResourceNotRegistered)
	n.Status.Allocatable = c.Spec.Resources.Requests
	check("")
}

func TestDrain_OrderIsKarpenters(t *testing.T) {
	yes := true
	daemon := []metav1.OwnerReference{{Kind: "DaemonSet", Controller: &yes}}
	pods := []*corev1.Pod{
		{},
		{ObjectMeta: metav1.ObjectMeta{OwnerReferences: daemon}},
		{Spec: corev1.PodSpec{PriorityClassName: "system-cluster-critical"}},
		{ObjectMeta: metav1.ObjectMeta{OwnerReferences: daemon}, Spec: corev1.PodSpec{PriorityClassName: "system-node-critical"}},
	}
	for want, p := range pods {
		if got := tier(p); got != want {
			t.Errorf("tier = %d, want %d", got, want)
		}
	}
}

func TestDrain_WaitsForRunningPodsAndNotForStaticTolerantOrStuckOnes(t *testing.T) {
	now := time.Unix(10_000, 0)
	at := func(d time.Duration) *metav1.Time { x := metav1.NewTime(now.Add(d)); return &x }
	for name, tc := range map[string]struct {
		pod  corev1.Pod
		want bool
	}{
		"running":     {corev1.Pod{}, true},
		"finished":    {corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}, false},
		"mirror":      {corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "x"}}}, false},
		"tolerates":   {corev1.Pod{Spec: corev1.PodSpec{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}}, false},
		"terminating": {corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: at(-time.Second)}}, true},
		"stuck":       {corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: at(-2 * time.Minute)}}, false},
	} {
		if got := evictable(&tc.pod, now); got != tc.want {
			t.Errorf("%s: waits = %v, want %v", name, got, tc.want)
		}
	}
}

func TestOwns_AnUnrecordedLaunchIsNotAnOrphanAndASecondInstanceIs(t *testing.T) {
	i := aws.Instance{ID: "i-1", Zone: "a"}
	if !owns(&v1.NodeClaim{}, i) {
		t.Error("the instance of a NodeClaim that is being launched is taken for an orphan")
	}
	mine := &v1.NodeClaim{}
	mine.Status.ProviderID = awsspec.ProviderID("a", "i-1")
	if !owns(mine, i) {
		t.Error("a NodeClaim's own instance is taken for an orphan")
	}
	mine.Status.ProviderID = awsspec.ProviderID("a", "i-2")
	if owns(mine, i) || owns(nil, i) {
		t.Error("an instance that nothing owns is not seen")
	}
}
