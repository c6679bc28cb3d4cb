// Package act carries out the decision core's plans against the Kubernetes API.
//
// Invariants: every action is safe to repeat; an action refuses an object whose uid
// is not the one in the plan; the answer to every write is given to the world before Do
// returns, so that the next decision sees it. Order within a plan: launches first,
// then all nominations and bindings and what closes nodes, then the rest. So a taint that nominated
// pods wait for is removed after their nominations, and nodes that are to wait for evicted
// pods are closed before the evictions.
package act

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/drift"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// parallel is how many writes are in flight at once; the client's rate limit
// bounds them further.
const parallel = 16

// turn is for how long a plan begins what only takes away. What is left then waits for the next
// plan, so that launches do not wait for the end of hundreds of nodes; as long as the loop rests
// at most.
const turn = 250 * time.Millisecond

// World has the objects that actions refer to, and stores the answers to writes.
type World interface {
	Observe(object metav1.Object)
	NodePool(name string) (*v1.NodePool, bool)
	Node(name string) (*corev1.Node, bool)
	NodeClaim(name string) (*v1.NodeClaim, bool)
	Pod(id string) (*corev1.Pod, bool)
}

// Claims reads and writes NodeClaims.
type Claims interface {
	Create(ctx context.Context, claim *v1.NodeClaim, options metav1.CreateOptions) (*v1.NodeClaim, error)
	Get(ctx context.Context, name string, options metav1.GetOptions) (*v1.NodeClaim, error)
	UpdateStatus(ctx context.Context, claim *v1.NodeClaim, options metav1.UpdateOptions) (*v1.NodeClaim, error)
	Patch(ctx context.Context, name string, kind types.PatchType, body []byte, options metav1.PatchOptions, subresources ...string) (*v1.NodeClaim, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// Recorder is told of what was carried out, which is less than what was planned.
type Recorder interface {
	Created(l plan.Launch)
	Disrupted(d plan.Disrupt)
	Deleted(claim *v1.NodeClaim, d plan.Delete)
	Kept(d plan.Delete, why string) // a live look declined the deletion
	Bound(b plan.Bind)
	NominationForbidden(n plan.Nominate, why string) // the API server does not let the daemon nominate the pod
}

// ErrUnknownAction says that the plan has an action that the Actor does not know.
var ErrUnknownAction = errors.New("unknown action")

// Actor carries out plans.
type Actor struct {
	Core     kubernetes.Interface
	Claims   Claims
	World    World
	Recorder Recorder
	Now      func() time.Time
}

// Do tries every action of the plan and joins what failed. The error is a plan.UnfinishedError
// where it leaves some that take away to the next plan.
func (a *Actor) Do(ctx context.Context, p plan.Plan) error {
	var launches, before, rest []func() error
	budgets := &budgets{}
	for _, action := range p.Actions {
		switch x := action.(type) {
		case plan.Launch:
			launches = append(launches, func() error { return a.launch(ctx, x) })
		case plan.Nominate:
			before = append(before, func() error { return a.nominate(ctx, x) })
		case plan.Bind:
			before = append(before, func() error { return a.bind(ctx, x) })
		case plan.Close:
			before = append(before, func() error { return a.close(ctx, x) })
		case plan.Release:
			rest = append(rest, func() error { return a.release(ctx, x) })
		case plan.Disrupt:
			rest = append(rest, func() error { return a.disrupt(ctx, x) })
		case plan.Restore:
			rest = append(rest, func() error { return a.restore(ctx, x) })
		case plan.Delete:
			rest = append(rest, func() error { return a.delete(ctx, x, budgets) })
		case plan.Wait: // package loop waits
		default:
			rest = append(rest, func() error { return fmt.Errorf("action %T carry out: %w", x, ErrUnknownAction) })
		}
	}
	failed := errors.Join(together(launches), together(before))
	left, err := a.inTurn(rest)
	if failed = errors.Join(failed, err); left > 0 {
		return &plan.UnfinishedError{Left: left, Failed: failed}
	}
	return failed
}

// inTurn begins tasks until their turn is over, and returns how many are left.
func (a *Actor) inTurn(tasks []func() error) (left int, err error) {
	if len(tasks) == 0 {
		return 0, nil
	}
	var late atomic.Int64
	began, begun := a.Now(), make([]func() error, len(tasks))
	for i, task := range tasks {
		begun[i] = func() error {
			if a.Now().Sub(began) >= turn {
				late.Add(1)
				return nil
			}
			return task()
		}
	}
	err = together(begun)
	return int(late.Load()), err
}

func together(tasks []func() error) error {
	faults := make([]error, len(tasks))
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, task := range tasks {
		group.Go(func() error {
			faults[i] = task()
			return nil
		})
	}
	_ = group.Wait() // every task's error is in faults
	return errors.Join(faults...)
}

func (a *Actor) launch(ctx context.Context, l plan.Launch) error {
	pool, ok := a.World.NodePool(l.Pool)
	if !ok || string(pool.UID) != l.PoolUID || pool.Unread != "" {
		return nil // the NodePool is deleted or cannot be read since; the next decision sees that
	}
	claim := translate.NodeClaim(l, pool, v1.AwaitingPodsTaint())
	translate.AskedReservationType(claim, a.podsOf(l))
	maps.Copy(claim.Annotations, drift.PoolStamp(pool))
	claim, err := a.Claims.Create(ctx, claim, metav1.CreateOptions{FieldManager: translate.FieldManager})
	if err != nil {
		return fmt.Errorf("nodeclaim %s create: %w", l.Name, err)
	}
	a.World.Observe(claim)
	a.Recorder.Created(l)
	return nil
}

// podsOf are the pods that the launch is for and that still exist.
func (a *Actor) podsOf(l plan.Launch) iter.Seq[*corev1.Pod] {
	return func(yield func(*corev1.Pod) bool) {
		for _, id := range l.Pods {
			if p, there := a.World.Pod(id); there && !yield(p) {
				return
			}
		}
	}
}

func (a *Actor) nominate(ctx context.Context, n plan.Nominate) error {
	namespace, name, _ := strings.Cut(n.Pod, "/")
	pod, err := a.Core.CoreV1().Pods(namespace).Patch(ctx, name, types.MergePatchType, translate.Patch{
		"metadata": map[string]any{"uid": n.PodUID},
		"status":   map[string]any{"nominatedNodeName": n.Node},
	}.JSON(), metav1.PatchOptions{FieldManager: translate.FieldManager}, "status")
	if apierrors.IsForbidden(err) {
		a.Recorder.NominationForbidden(n, kube.ErrMayNotNominate.Error()+": "+err.Error())
		err = errors.Join(kube.ErrMayNotNominate, err)
	}
	if apierrors.IsInvalid(err) {
		pod, err = a.bound(ctx, namespace, name, err)
	}
	if err = ignoreGone(err); err != nil || pod.Name == "" {
		return wrap(err, "pod %s nominate for %s", n.Pod, n.Node)
	}
	a.World.Observe(pod)
	return nil
}

// bind binds the pod, unless its node is not the one of the plan, or is open by now. The
// answer has no pod in it: the watch tells of the binding, and the core waits for that before
// it binds more.
func (a *Actor) bind(ctx context.Context, b plan.Bind) error {
	node, ok := a.World.Node(b.Node)
	if !ok || string(node.UID) != b.NodeUID || !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == v1.AwaitingPodsTaint().Key }) {
		return nil
	}
	namespace, name, _ := strings.Cut(b.Pod, "/")
	err := a.Core.CoreV1().Pods(namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(b.PodUID)},
		Target:     corev1.ObjectReference{Kind: "Node", Name: b.Node},
	}, metav1.CreateOptions{FieldManager: translate.FieldManager})
	if apierrors.IsForbidden(err) {
		err = errors.Join(kube.ErrMayNotBind, err)
	}
	if err == nil {
		a.Recorder.Bound(b)
	}
	return wrap(ignoreGone(err), "pod %s bind to %s", b.Pod, b.Node)
}

// bound checks whether a pod that cannot be nominated is bound since the decision. If
// so, the pod has a node, and that is no error.
func (a *Actor) bound(ctx context.Context, namespace, name string, refusal error) (*corev1.Pod, error) {
	pod, err := a.Core.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return pod, err
	}
	if pod.Spec.NodeName == "" {
		return pod, refusal
	}
	return pod, nil
}

func (a *Actor) release(ctx context.Context, r plan.Release) error {
	node, ok := a.World.Node(r.Node)
	if !ok || string(node.UID) != r.NodeUID {
		return nil
	}
	return a.patchNode(ctx, node, translate.PatchOfVersion(node, nil).With("spec", map[string]any{"taints": released(r, slices.Clone(node.Spec.Taints))}))
}

// close puts the daemon's taint back on an open node.
func (a *Actor) close(ctx context.Context, c plan.Close) error {
	return a.release(ctx, plan.Release{Node: c.Node, NodeUID: c.NodeUID, Puts: []cluster.Taint{c.Taint}})
}

// released returns the taints without those that the action removes (Taint, Lifts),
// and with those that it adds (Puts).
func released(r plan.Release, taints []corev1.Taint) []corev1.Taint {
	is := func(list []cluster.Taint, t corev1.Taint) bool {
		return slices.ContainsFunc(list, func(x cluster.Taint) bool { return t.Key == x.Key && string(t.Effect) == x.Effect })
	}
	off := append([]cluster.Taint{r.Taint}, r.Lifts...)
	taints = slices.DeleteFunc(taints, func(t corev1.Taint) bool { return is(off, t) || is(r.Puts, t) })
	for _, t := range r.Puts {
		taints = append(taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	return taints
}

// patchNode changes the node. After a conflict the next decision tries again.
func (a *Actor) patchNode(ctx context.Context, node *corev1.Node, body translate.Patch) error {
	_, err := a.patchedNode(ctx, node, body)
	return err
}

// patchedNode does what patchNode does, and says whether the node is changed.
func (a *Actor) patchedNode(ctx context.Context, node *corev1.Node, body translate.Patch) (bool, error) {
	got, err := a.Core.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, body.JSON(), metav1.PatchOptions{FieldManager: translate.FieldManager})
	if err = ignoreGone(err); err != nil || got.Name == "" {
		return false, wrap(err, "node %s patch", node.Name)
	}
	a.World.Observe(got)
	return true, nil
}

// ignoreGone drops errors which say that the object of the decision is deleted or has
// changed: the next decision sees that.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
