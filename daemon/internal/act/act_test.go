package act

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// world has one node and its NodeClaim, and remembers the pods that it was told of.
type world struct {
	node  *corev1.Node
	claim *v1.NodeClaim
	pods  []string
	pool  *v1.NodePool // nil for none
	mu    sync.Mutex
	told  []string // what was carried out
}

func (w *world) tell(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, what)
}
func (w *world) Created(l plan.Launch)                  { w.tell("created " + l.Name) }
func (w *world) Disrupted(d plan.Disrupt)               { w.tell("disrupted " + d.Node) }
func (w *world) Deleted(_ *v1.NodeClaim, d plan.Delete) { w.tell("deleted " + d.Claim) }
func (w *world) Kept(d plan.Delete, why string)         { w.tell("kept " + d.Claim + ": " + why) }
func (w *world) Bound(b plan.Bind)                      { w.tell("bound " + b.Pod) }
func (w *world) NominationForbidden(n plan.Nominate, why string) {
	w.tell("may not nominate " + n.Pod + ": " + why)
}

func (w *world) Observe(object metav1.Object) {
	switch o := object.(type) {
	case *corev1.Node:
		w.node = o
	case *v1.NodeClaim:
		w.claim = o
	case *corev1.Pod:
		w.pods = append(w.pods, o.Name)
	}
}
func (w *world) Pod(string) (*corev1.Pod, bool)        { return nil, false }
func (w *world) NodePool(string) (*v1.NodePool, bool)  { return w.pool, w.pool != nil }
func (w *world) Node(name string) (*corev1.Node, bool) { return w.node, w.node.Name == name }
func (w *world) NodeClaim(name string) (*v1.NodeClaim, bool) {
	return w.claim, w.claim != nil && w.claim.Name == name
}

// actor makes an Actor, and a world and an API server that have one node and its
// NodeClaim.
func actor(t *testing.T) (*Actor, *world) {
	t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: "7", Labels: map[string]string{"a": "1"}}}
	n.Spec.Taints = []corev1.Taint{{Key: "spot", Value: "only", Effect: corev1.TaintEffectNoSchedule}, v1.AwaitingPodsTaint()}
	c := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "cu", ResourceVersion: "1"}}
	w := &world{node: n, claim: c}
	return &Actor{Core: fake.NewClientset(n.DeepCopy()), World: w, Recorder: w, Claims: &claims{one: c.DeepCopy()}, Now: func() time.Time { return time.Unix(1000, 0) }}, w
}

func keys(n *corev1.Node) []string {
	var out []string
	for _, t := range n.Spec.Taints {
		out = append(out, t.Key)
	}
	return out
}

func TestCordonAndRelease_KeepTheOtherTaintsAndLabels(t *testing.T) {
	a, w := actor(t)
	awaiting := cluster.Taint{Key: v1.TaintAwaitingPods, Effect: cluster.NoSchedule}
	for _, step := range []struct {
		action plan.Action
		want   []string
	}{
		{plan.Disrupt{Claim: "c", ClaimUID: "cu", Node: "n", NodeUID: "u", Why: plan.Empty}, []string{"spot", v1.TaintAwaitingPods, v1.TaintDisrupted}},
		{plan.Disrupt{Claim: "c", ClaimUID: "cu", Node: "n", NodeUID: "u", Why: plan.Empty}, []string{"spot", v1.TaintAwaitingPods, v1.TaintDisrupted}},
		{plan.Release{Node: "n", NodeUID: "another", Taint: awaiting}, []string{"spot", v1.TaintAwaitingPods, v1.TaintDisrupted}},
		{plan.Release{Node: "n", NodeUID: "u", Taint: awaiting}, []string{"spot", v1.TaintDisrupted}},
	} {
		if err := a.Do(context.Background(), plan.Plan{Actions: []plan.Action{step.action}}); err != nil {
			t.Fatal(err)
		}
		if got := keys(w.node); !slices.Equal(got, step.want) {
			t.Errorf("after %+v the taints are %v, want %v", step.action, got, step.want)
		}
	}
	if w.node.Labels["a"] != "1" || w.node.Labels[corev1.LabelNodeExcludeBalancers] == "" {
		t.Errorf("labels = %v", w.node.Labels)
	}
}

func TestRelease_PutsAndLiftsPreferences(t *testing.T) {
	a, w := actor(t)
	awaiting := cluster.Taint{Key: v1.TaintAwaitingPods, Effect: cluster.NoSchedule}
	first := []cluster.Taint{{Key: "goes-next", Effect: cluster.PreferNoSchedule}, {Key: "fills-later", Effect: cluster.PreferNoSchedule}}
	for _, step := range []struct {
		action plan.Release
		want   []string
	}{
		{plan.Release{Node: "n", NodeUID: "u", Taint: awaiting, Puts: first}, []string{"spot", "goes-next", "fills-later"}},
		{plan.Release{Node: "n", NodeUID: "u", Taint: awaiting, Puts: first}, []string{"spot", "goes-next", "fills-later"}},
		{plan.Release{Node: "n", NodeUID: "u", Taint: awaiting, Lifts: first}, []string{"spot"}},
	} {
		if err := a.Do(context.Background(), plan.Plan{Actions: []plan.Action{step.action}}); err != nil {
			t.Fatal(err)
		}
		if got := keys(w.node); !slices.Equal(got, step.want) {
			t.Errorf("after %+v the taints are %v, want %v", step.action, got, step.want)
		}
	}
}

func TestNominate_SaysThatItIsForbiddenAndStillReleases(t *testing.T) {
	a, w := actor(t)
	api := fake.NewClientset(w.node.DeepCopy())
	api.PrependReactor("patch", "pods", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods/status"}, "p", nil)
	})
	a.Core = api
	awaiting := cluster.Taint{Key: v1.TaintAwaitingPods, Effect: cluster.NoSchedule}
	err := a.Do(context.Background(), plan.Plan{Actions: []plan.Action{
		plan.Nominate{Pod: "default/p", PodUID: "u", Node: "n"}, plan.Release{Node: "n", NodeUID: "u", Taint: awaiting},
	}})
	if !errors.Is(err, kube.ErrMayNotNominate) {
		t.Errorf("error %v, want ErrMayNotNominate", err)
	}
	if len(w.told) != 1 || !strings.HasPrefix(w.told[0], "may not nominate default/p: not allowed to patch pods/status: give ") || strings.Contains(w.told[0], "\n") {
		t.Errorf("told %q, want the pod, what is missing and the remedy", w.told)
	}
	if got := keys(w.node); slices.Contains(got, v1.TaintAwaitingPods) {
		t.Errorf("the node is kept for pods that cannot be nominated: taints %v", got)
	}
}

// unknown is an action that no case of Do is for.
type unknown struct{ plan.Action }

func TestDo_AnUnknownActionIsAFailure(t *testing.T) {
	a, _ := actor(t)
	if err := a.Do(context.Background(), plan.Plan{Actions: []plan.Action{unknown{}}}); !errors.Is(err, ErrUnknownAction) {
		t.Errorf("error %v", err)
	}
}

func TestNominate_OfAPodThatWasBoundMeanwhileIsNoFailure(t *testing.T) {
	for _, node := range []string{"elsewhere", ""} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "u"}, Spec: corev1.PodSpec{NodeName: node}}
		client := fake.NewClientset(pod)
		client.PrependReactor("patch", "pods", func(k8stesting.Action) (bool, runtime.Object, error) {
			// The text of the API server.
			refusal := field.Forbidden(field.NewPath("status", "nominatedNodeName"), "may not be set on pods that are already bound to a node")
			return true, nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "p", field.ErrorList{refusal})
		})
		_, w := actor(t)
		err := (&Actor{Core: client, World: w}).Do(context.Background(), plan.Plan{Actions: []plan.Action{plan.Nominate{Pod: "default/p", PodUID: "u", Node: "n"}}})
		if isBound := node != ""; isBound != (err == nil) || isBound != (len(w.pods) == 1) {
			t.Errorf("bound %t: error %v, seen %v", isBound, err, w.pods)
		}
	}
}

// slow is a clock that goes on by a tenth of a turn with each look.
type slow struct {
	mu  sync.Mutex
	now time.Time
}

func (s *slow) look() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(turn / 10)
	return s.now
}

// To end hundreds of nodes takes half a minute, for which no launch is to wait.
func TestDo_WhatTakesAwayAndIsNotBegunInItsTurnIsLeftToTheNextPlan(t *testing.T) {
	a, _ := actor(t)
	a.Now = (&slow{now: time.Unix(1000, 0)}).look
	p := plan.Plan{Actions: []plan.Action{plan.Nominate{Pod: "default/none", Node: "n"}}}
	for range 40 {
		p.Actions = append(p.Actions, plan.Release{Node: "n", NodeUID: "u"})
	}
	err := a.Do(t.Context(), p)
	var unfinished *plan.UnfinishedError
	if !errors.As(err, &unfinished) || unfinished.Left < 25 || unfinished.Left > 35 || unfinished.Failed != nil {
		t.Fatalf("error %v, want some 31 of 40 actions left", err)
	}
	a.Now = func() time.Time { return time.Unix(1000, 0) }
	if err := a.Do(t.Context(), p); err != nil {
		t.Errorf("in time: %v", err)
	}
}
