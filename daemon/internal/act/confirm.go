package act

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// gone is why nothing is deleted where the object is not there any more.
const gone = "it no longer exists"

// budgets are the PodDisruptionBudgets as the API server has them. All deletions of a plan
// share one list for each namespace.
type budgets struct {
	mu    sync.Mutex
	lists map[string]func() ([]cluster.PodBudget, error)
}

func (a *Actor) budgetsIn(ctx context.Context, b *budgets, namespace string) ([]cluster.PodBudget, error) {
	b.mu.Lock()
	list, asked := b.lists[namespace]
	if !asked {
		list = sync.OnceValues(func() ([]cluster.PodBudget, error) { return a.listBudgets(ctx, namespace) })
		if b.lists == nil {
			b.lists = map[string]func() ([]cluster.PodBudget, error){}
		}
		b.lists[namespace] = list
	}
	b.mu.Unlock()
	return list()
}

func (a *Actor) listBudgets(ctx context.Context, namespace string) (out []cluster.PodBudget, err error) {
	list, err := a.Core.PolicyV1().PodDisruptionBudgets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, wrap(err, "poddisruptionbudgets of namespace %s list", namespace)
	}
	for i := range list.Items {
		x, _ := translate.PodBudget(&list.Items[i]) // the snapshot reports the error
		out = append(out, x)
	}
	return out, nil
}

// recheck looks at the node and its pods for the last time, and says why the node stays for
// now; empty if it may be deleted. The list of pods is consistent: a pod that was bound
// before it is in it. What protects the node and its pods is what the plan decides by, so
// that the next plan restores the node; a budget that allows nothing now is no reason to
// restore it.
func (a *Actor) recheck(ctx context.Context, d plan.Delete, budgets *budgets) (why string, err error) {
	claim, there := a.World.NodeClaim(d.Claim)
	if !there {
		return gone, nil
	}
	pods, err := a.podsOn(ctx, d.Node)
	if err != nil {
		return "", err
	}
	var grace time.Duration
	if x := claim.Spec.TerminationGracePeriod; x != nil {
		grace = x.Duration
	}
	asks := d.Why.Announced().PodsKeep(grace)
	for i := range pods {
		p := &pods[i]
		name := "pod " + p.Namespace + "/" + p.Name
		protection := translate.PodProtection(p)
		switch {
		case translate.Moves(p) && !slices.Contains(d.Pods, string(p.UID)):
			why = name + " has come since"
		case asks && translate.Ours(p) && p.DeletionTimestamp == nil && protection.Holds(a.Now()):
			why = name + " has the annotation " + protection.By
		default:
			continue
		}
		a.World.Observe(p)
	}
	if why == "" {
		why, err = a.nodeStays(ctx, d)
	}
	if err != nil || why != "" || !asks {
		return why, err
	}
	for i := range pods {
		if p := &pods[i]; translate.Moves(p) {
			all, err := a.budgetsIn(ctx, budgets, p.Namespace)
			if err != nil {
				return "", err
			}
			if by := translate.Refusing(p, all); len(by) > 0 {
				return fmt.Sprintf("PodDisruptionBudget %s allows no eviction of pod %s/%s now", by[0].ID(), p.Namespace, p.Name), nil
			}
		}
	}
	return "", nil
}

// nodeStays says what keeps the node itself now. Nothing keeps one that is deleted.
func (a *Actor) nodeStays(ctx context.Context, d plan.Delete) (why string, err error) {
	node, err := a.Core.CoreV1().Nodes().Get(ctx, d.Node, metav1.GetOptions{})
	if err != nil {
		return "", wrap(ignoreGone(err), "node %s get", d.Node)
	}
	protection := translate.NodeProtection(node)
	traits := d.Why.Announced()
	switch {
	case traits.AsksNode && protection.Holds(a.Now()):
		why = protection.By
	case traits.Saves && node.Annotations[v1.AnnotationDoNotConsolidate] == v1.LabelTrue:
		why = v1.AnnotationDoNotConsolidate
	default:
		return "", nil
	}
	a.World.Observe(node)
	return "the node has the annotation " + why, nil
}

func (a *Actor) podsOn(ctx context.Context, node string) ([]corev1.Pod, error) {
	list, err := a.Core.CoreV1().Pods(corev1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(),
	})
	if err != nil {
		return nil, wrap(err, "pods of node %s list", node)
	}
	return list.Items, nil
}

// cached says whether the deletion follows from what the watches lack: the NodeClaim has
// not come up. The watches may be behind what was written in the last moment, so the API
// server is asked.
func cached(d plan.Delete) bool {
	traits := d.Why.Traits()
	return traits.Lacks != "" || !d.Checked && d.Waited == 0 && traits.Asked
}

// confirm reads the NodeClaim, and says why it stays for now; empty if it may be deleted.
// Then only the version that was read is deleted.
func (a *Actor) confirm(ctx context.Context, d plan.Delete, only *metav1.Preconditions) (why string, err error) {
	live, err := a.Claims.Get(ctx, d.Claim, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return gone, nil
	}
	if err != nil {
		return "", wrap(err, "nodeclaim %s get", d.Claim)
	}
	awaited := d.Why.Traits().Lacks
	switch {
	case live.DeletionTimestamp != nil:
		why = "somebody has deleted it"
	case live.Unread != "":
		why = "it cannot be read"
	case awaited != "" && live.Conditions().Get(awaited).IsTrue():
		why = "it has come up since"
	case awaited == "":
		why, err = a.isUp(ctx, live, d.Why)
	}
	if err != nil {
		return "", err
	}
	if why != "" {
		a.World.Observe(live)
		return why, nil
	}
	only.ResourceVersion = &live.ResourceVersion
	return "", nil
}

// isUp says why a NodeClaim is not one that is deleted at once with its pool or as surplus:
// it has come up, or runs pods. A pool that is terminated takes all.
func (a *Actor) isUp(ctx context.Context, live *v1.NodeClaim, reason plan.DeleteReason) (why string, err error) {
	pool, there := a.World.NodePool(live.Labels[v1.LabelNodePool])
	if live.Status.NodeName == "" || reason.Traits().WithPool && there && pool.Annotations[v1.AnnotationTerminate] == v1.LabelTrue {
		return "", nil
	}
	if live.Conditions().Get(v1.ConditionInitialized).IsTrue() {
		node, err := a.Core.CoreV1().Nodes().Get(ctx, live.Status.NodeName, metav1.GetOptions{})
		if err != nil {
			return "", wrap(ignoreGone(err), "node %s get", live.Status.NodeName)
		}
		a.World.Observe(node)
		return "it has come up since", nil
	}
	if !reason.Traits().AsksPods {
		return "", nil
	}
	pods, err := a.podsOn(ctx, live.Status.NodeName)
	for i := range pods {
		if p := &pods[i]; translate.Moves(p) {
			a.World.Observe(p)
			why = "pod " + p.Namespace + "/" + p.Name + " runs on its node"
		}
	}
	return why, err
}
