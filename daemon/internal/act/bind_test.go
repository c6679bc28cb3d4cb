package act

import (
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// binding has an API server bind the pod, which answers with the error.
func binding(a *Actor, w *world, answer error) *[]string {
	var asked []string
	api := fake.NewClientset(w.node.DeepCopy())
	api.PrependReactor("create", "pods", func(action k8stesting.Action) (bool, runtime.Object, error) {
		b, is := action.(k8stesting.CreateAction).GetObject().(*corev1.Binding)
		if !is || action.GetSubresource() != "binding" {
			return false, nil, nil
		}
		asked = append(asked, b.Namespace+"/"+b.Name+" "+string(b.UID)+" "+b.Target.Kind+" "+b.Target.Name)
		return true, b, answer
	})
	a.Core = api
	return &asked
}

func TestBind_OnlyToANodeThatIsTheOneOfThePlanAndStillClosed(t *testing.T) {
	bind := plan.Bind{Pod: "default/p", PodUID: "pu", Node: "n", NodeUID: "u"}
	for name, c := range map[string]struct {
		change func(*world, *plan.Bind)
		binds  bool
	}{
		"as planned":               {func(*world, *plan.Bind) {}, true},
		"another node of the name": {func(_ *world, b *plan.Bind) { b.NodeUID = "another" }, false},
		"the node is gone":         {func(_ *world, b *plan.Bind) { b.Node = "gone" }, false},
		"the node is open by now":  {func(w *world, _ *plan.Bind) { w.node.Spec.Taints = w.node.Spec.Taints[:1] }, false},
	} {
		a, w := actor(t)
		asked, b := binding(a, w, nil), bind
		c.change(w, &b)
		if err := a.Do(context.Background(), plan.Plan{Actions: []plan.Action{b}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if c.binds != slices.Equal(*asked, []string{"default/p pu Node n"}) || c.binds != slices.Equal(w.told, []string{"bound default/p"}) {
			t.Errorf("%s: asked for %q, told %q", name, *asked, w.told)
		}
	}
}

func TestBind_APodThatIsBoundOrGoneSinceIsNoError(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for _, answer := range []error{apierrors.NewConflict(pods, "p", errors.New("is already assigned to node \"m\"")), apierrors.NewNotFound(pods, "p")} {
		a, w := actor(t)
		binding(a, w, answer)
		if err := a.Do(context.Background(), plan.Plan{Actions: []plan.Action{plan.Bind{Pod: "default/p", PodUID: "pu", Node: "n", NodeUID: "u"}}}); err != nil || len(w.told) > 0 {
			t.Errorf("%v: %v, told %q", answer, err, w.told)
		}
	}
}

func TestBind_SaysThatItIsForbiddenAndStillReleases(t *testing.T) {
	a, w := actor(t)
	binding(a, w, apierrors.NewForbidden(schema.GroupResource{Resource: "pods/binding"}, "p", nil))
	err := a.Do(context.Background(), plan.Plan{Actions: []plan.Action{
		plan.Bind{Pod: "default/p", PodUID: "pu", Node: "n", NodeUID: "u"},
		plan.Release{Node: "n", NodeUID: "u", Taint: cluster.Taint{Key: w.node.Spec.Taints[1].Key, Effect: cluster.NoSchedule}},
	}})
	if !errors.Is(err, kube.ErrMayNotBind) || len(w.node.Spec.Taints) != 1 || len(w.told) > 0 {
		t.Errorf("%v, taints %v, told %q", err, w.node.Spec.Taints, w.told)
	}
}
