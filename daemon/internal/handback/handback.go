package handback

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/drift"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// Handback is one run.
type Handback struct {
	Clients *kube.Clients
	Out     io.Writer     // a line for each object that is changed
	DryRun  bool          // the API server checks every write and does none
	Wait    time.Duration // how long it waits for nodes that are launched and still to join
	Look    time.Duration // how long until it looks for them again
}

// nodesByProvider has Nodes by spec.providerID.
type nodesByProvider map[string]*corev1.Node

// Run looks at all objects. Its error names what stands against handing back.
func (h *Handback) Run(ctx context.Context) error {
	if err := h.stopped(ctx); err != nil {
		return err
	}
	pools, err := h.Clients.NodePools.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("nodepools list: %w", err)
	}
	claims, err := h.Clients.NodeClaims.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("nodeclaims list: %w", err)
	}
	claims.Items = slices.DeleteFunc(claims.Items, func(c v1.NodeClaim) bool { return !translate.Serves(c.Spec.NodeClassRef, c.Unread) })
	pools.Items = slices.DeleteFunc(pools.Items, func(p v1.NodePool) bool { return !translate.Serves(p.Spec.Template.Spec.NodeClassRef, p.Unread) })
	if err := emptied(pools.Items, claims.Items); err != nil {
		return err
	}
	classes, err := h.Clients.EC2NodeClasses.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("ec2nodeclasses list: %w", err)
	}
	joined, err := h.nodes(ctx, claims.Items)
	faults := []error{err}
	for i := range claims.Items {
		faults = append(faults, h.claim(ctx, &claims.Items[i]))
	}
	for i := range pools.Items {
		faults = append(faults, h.poolConditions(ctx, pools.Items[i].Name), h.pool(ctx, pools.Items[i].Name))
	}
	for i := range classes.Items {
		faults = append(faults, h.classConditions(ctx, classes.Items[i].Name))
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	return h.awaitNodes(ctx, claims.Items, joined)
}

func (h *Handback) say(format string, args ...any) {
	_, _ = fmt.Fprintf(h.Out, format+"\n", args...)
}

// stopped returns an error if a pod of the daemon exists.
func (h *Handback) stopped(ctx context.Context) error {
	pods, err := h.Clients.Core.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: labels.Set(install.LeaseLabels()).String()})
	if err != nil {
		return fmt.Errorf("pods list: %w", err)
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			return fmt.Errorf("the daemon still runs as pod %s/%s, and would write everything again: "+
				"run kubectl -n %s scale deployment %s --replicas=0, wait until its pods are deleted, and try again; nothing was changed",
				p.Namespace, p.Name, p.Namespace, install.DefaultName)
		}
	}
	return nil
}

// emptied returns an error if a NodePool that is being deleted has NodeClaims: without the
// daemon's finalizer the garbage collector deletes all of them at once.
func emptied(pools []v1.NodePool, claims []v1.NodeClaim) error {
	for i := range pools {
		p := &pools[i]
		n := 0
		for j := range claims {
			if claims[j].Labels[v1.LabelNodePool] == p.Name {
				n++
			}
		}
		if p.DeletionTimestamp != nil && n > 0 && slices.Contains(p.Finalizers, v1.FinalizerTermination) {
			return fmt.Errorf("nodepool %s is being deleted and has %d nodeclaims, which would all be deleted at once: "+
				"start the daemon again and let it empty the NodePool, or delete these NodeClaims first; nothing was changed", p.Name, n)
		}
	}
	return nil
}

// nodes takes the daemon's taints and annotations off all Nodes, and the taint for leaving
// nodes off those that stay, if the daemon or Karpenter was the last to write taints.
// Karpenter itself takes that taint off every node that it does not disrupt when it starts,
// and the condition DisruptionReason off its NodeClaim. It returns the Nodes that there are.
func (h *Handback) nodes(ctx context.Context, claims []v1.NodeClaim) (nodesByProvider, error) {
	going := map[string]bool{}
	for i := range claims {
		going[claims[i].Status.ProviderID] = claims[i].DeletionTimestamp != nil
	}
	list, err := h.Clients.Core.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("nodes list: %w", err)
	}
	var faults []error
	joined := nodesByProvider{}
	nodes := h.Clients.Core.CoreV1().Nodes()
	for i := range list.Items {
		name := list.Items[i].Name
		joined[list.Items[i].Spec.ProviderID] = &list.Items[i]
		faults = append(faults, again(func() error {
			node, err := nodes.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			deleting, claimed := going[node.Spec.ProviderID]
			body := freed(node, claimed && !deleting)
			if body == nil {
				return nil
			}
			if _, err = nodes.Patch(ctx, name, types.MergePatchType, body.JSON(), h.patch()); err == nil {
				h.say("node %s: the daemon's taints and annotations are removed", name)
			}
			return err
		}, "node "+name))
	}
	return joined, errors.Join(faults...)
}

// freed is the patch that takes the daemon's marks off the Node; nil if it has none.
func freed(node *corev1.Node, stays bool) translate.Patch {
	taints := slices.Clone(node.Spec.Taints)
	meta := map[string]any{}
	if stays {
		if body := translate.Uncordon(node); body != nil {
			disrupted := v1.DisruptedTaint()
			taints = slices.DeleteFunc(taints, func(t corev1.Taint) bool { return t.MatchTaint(&disrupted) })
			if gone, there := body["metadata"].(map[string]any)["labels"]; there {
				meta["labels"] = gone
			}
		}
	}
	taints = slices.DeleteFunc(taints, func(t corev1.Taint) bool { return v1.IsOwn(t.Key) })
	if gone := ownKeys(node.Annotations); len(gone) > 0 {
		meta["annotations"] = gone
	}
	if len(meta) == 0 && len(taints) == len(node.Spec.Taints) {
		return nil
	}
	return translate.PatchOfVersion(node, meta).With("spec", map[string]any{"taints": taints})
}

// ownKeys returns a null for each annotation of the daemon.
func ownKeys(annotations map[string]string) map[string]any {
	out := map[string]any{}
	for key := range annotations {
		if v1.IsOwn(key) {
			out[key] = nil
		}
	}
	return out
}

// claim takes the daemon's annotations off the NodeClaim, or deletes it if the daemon has
// made it and not recorded an instance. Karpenter would launch it a second time, and its
// startup taint, which only the daemon removes, cannot be taken out of its spec. Karpenter
// ends an instance that was launched for it.
func (h *Handback) claim(ctx context.Context, known *v1.NodeClaim) error {
	return again(func() error {
		c, err := h.Clients.NodeClaims.Get(ctx, known.Name, metav1.GetOptions{})
		if err != nil || c.UID != known.UID {
			return err
		}
		if c.Status.ProviderID == "" && !c.Unread.In("status") && c.DeletionTimestamp == nil && drift.MadeByDaemon(c) {
			options := metav1.DeleteOptions{DryRun: h.dryRun(), Preconditions: &metav1.Preconditions{UID: &c.UID, ResourceVersion: &c.ResourceVersion}}
			if err := h.Clients.NodeClaims.Delete(ctx, c.Name, options); err != nil {
				return err
			}
			h.say("nodeclaim %s: deleted, because no instance is recorded for it; Karpenter plans its pods anew", c.Name)
			return nil
		}
		gone := ownKeys(c.Annotations)
		if len(gone) == 0 {
			return nil
		}
		_, err = h.Clients.NodeClaims.Patch(ctx, c.Name, types.MergePatchType, translate.PatchOfVersion(c, map[string]any{"annotations": gone}).JSON(), h.patch())
		if err == nil {
			h.say("nodeclaim %s: the daemon's annotations are removed", c.Name)
		}
		return err
	}, "nodeclaim "+known.Name)
}

// pool takes the daemon's finalizer off the NodePool. Karpenter has none there, and would
// never remove it.
func (h *Handback) pool(ctx context.Context, name string) error {
	return again(func() error {
		p, err := h.Clients.NodePools.Get(ctx, name, metav1.GetOptions{})
		if err != nil || !slices.Contains(p.Finalizers, v1.FinalizerTermination) {
			return err
		}
		_, err = kube.SetFinalizers(ctx, h.Clients.NodePools, p, kube.FinalizersWithout(p, v1.FinalizerTermination), h.patch())
		if err == nil {
			h.say("nodepool %s: the daemon's finalizer is removed", name)
		}
		return err
	}, "nodepool "+name)
}

func (h *Handback) patch() metav1.PatchOptions {
	return metav1.PatchOptions{FieldManager: translate.FieldManager, DryRun: h.dryRun()}
}

func (h *Handback) dryRun() []string {
	if h.DryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// again repeats a write that others came before: kubelets write their Nodes every few
// seconds. What is deleted needs none.
func again(write func() error, of string) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, write)
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("%s: %w", of, err)
}
