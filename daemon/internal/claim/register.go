package claim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// nodeGrace is how long a Node that had joined must be missing before its NodeClaim is
// deleted.
const nodeGrace = 30 * time.Second

// awaitNode writes in the status that no Node has joined yet.
func (c *Controller) awaitNode(ctx context.Context, claim *v1.NodeClaim) (time.Duration, error) {
	if claim.Conditions().Get(v1.ConditionRegistered).IsTrue() {
		return c.missNode(ctx, claim)
	}
	want := claim.DeepCopy()
	if !want.Conditions().Set(v1.ConditionRegistered, metav1.ConditionUnknown, v1.ReasonNodeNotFound, "Node not registered with cluster", c.Now()) {
		return 0, nil
	}
	return 0, c.writeStatus(ctx, claim, want)
}

// missNode deletes a NodeClaim whose Node had joined and no longer exists: it is
// useless. The world may lack the Node because its watch is behind, and somebody may
// put the Node back. So the API server decides, and only after a grace.
func (c *Controller) missNode(ctx context.Context, claim *v1.NodeClaim) (time.Duration, error) {
	if claim.Status.NodeName == "" {
		return 0, fmt.Errorf("nodeclaim %s is registered and has no status.nodeName, so its node cannot be looked up: delete the NodeClaim if the node no longer exists", claim.Name)
	}
	node, up, err := c.liveNode(ctx, claim)
	if err != nil {
		return 0, err
	}
	if up {
		c.World.Observe(node)
		return 0, nil
	}
	since, _ := c.missing.LoadOrStore(claim.Name, c.Now())
	if left := nodeGrace - c.Now().Sub(since.(time.Time)); left > 0 {
		return left, nil
	}
	c.Logger.Info("delete nodeclaim whose node no longer exists", "nodeclaim", claim.Name, "node", claim.Status.NodeName)
	return 0, c.deleteClaim(ctx, claim)
}

// liveNode reads the Node of the NodeClaim from the API server, and says
// whether there is one. A Node of the same name that is another machine is not the
// NodeClaim's.
func (c *Controller) liveNode(ctx context.Context, claim *v1.NodeClaim) (node *corev1.Node, up bool, err error) {
	name := claim.Status.NodeName
	if node, up := c.World.NodeOf(claim.Status.ProviderID); up {
		name = node.Name
	}
	if name == "" {
		return nil, false, nil
	}
	node, err = c.Core.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && node.Spec.ProviderID != claim.Status.ProviderID {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("node %s get: %w", name, err)
	}
	return node, true, nil
}

// register copies finalizer, owner, labels, annotations and taints of the NodeClaim to
// the Node that has joined. The same patch removes the taint karpenter.sh/unregistered,
// which kept every pod away.
func (c *Controller) register(ctx context.Context, claim *v1.NodeClaim, node *corev1.Node) error {
	if !slices.ContainsFunc(node.Spec.Taints, isUnregistered) && node.Labels[v1.LabelRegistered] != v1.LabelTrue {
		c.Logger.Warn("node joined without the taint karpenter.sh/unregistered: pods may have been bound to it before its labels and taints were set",
			"node", node.Name, "nodeclaim", claim.Name)
	}
	want := node.DeepCopy()
	if !slices.Contains(want.Finalizers, v1.FinalizerTermination) {
		want.Finalizers = append(want.Finalizers, v1.FinalizerTermination)
	}
	if !slices.ContainsFunc(want.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == claim.UID }) {
		block := true
		want.OwnerReferences = append(want.OwnerReferences, metav1.OwnerReference{
			APIVersion: v1.Group + "/" + v1.Version, Kind: v1.NodeClaimKind, Name: claim.Name, UID: claim.UID, BlockOwnerDeletion: &block,
		})
	}
	if want.Labels == nil {
		want.Labels = map[string]string{}
	}
	if want.Annotations == nil {
		want.Annotations = map[string]string{}
	}
	maps.Copy(want.Labels, claim.Labels)
	want.Labels[v1.LabelRegistered] = v1.LabelTrue
	for k, value := range claim.Annotations {
		if !v1.IsOwn(k) {
			want.Annotations[k] = value
		}
	}
	want.Spec.Taints = slices.DeleteFunc(want.Spec.Taints, isUnregistered)
	if node.Labels[v1.LabelDoNotSyncTaints] != v1.LabelTrue {
		for _, t := range append(slices.Clone(claim.Spec.Taints), claim.Spec.StartupTaints...) {
			wanted := corev1.Taint(t)
			if !slices.ContainsFunc(want.Spec.Taints, func(x corev1.Taint) bool { return x.MatchTaint(&wanted) }) {
				want.Spec.Taints = append(want.Spec.Taints, wanted)
			}
		}
	}
	// The patch replaces lists: after a change by somebody else it is a conflict, and
	// Reconcile tries again with the newer Node.
	if err := c.patchNode(ctx, node, translate.PatchOfVersion(node, map[string]any{
		"finalizers": want.Finalizers, "ownerReferences": want.OwnerReferences, "labels": want.Labels, "annotations": want.Annotations,
	}).With("spec", map[string]any{"taints": want.Spec.Taints})); err != nil {
		return err
	}

	status := claim.DeepCopy()
	status.Status.NodeName = node.Name
	status.Conditions().SetTrue(v1.ConditionRegistered, c.Now())
	if err := c.writeStatus(ctx, claim, status); err != nil {
		return err
	}
	c.Recorder.Registered(claim, node.Name)
	return nil
}

// nameWithin bounds the call for a name, for which nothing must wait.
const nameWithin = 2 * time.Second

// nameInstance tags the instance with the name of its Node. Nothing depends on the name: a
// failure is logged once, and Collector.mark tries again.
func (c *Controller) nameInstance(ctx context.Context, claim *v1.NodeClaim, node string) {
	if _, id, err := awsspec.ParseProviderID(claim.Status.ProviderID); err == nil {
		_ = c.setName(ctx, claim, id, node)
	}
}

// setName tags the instance with the name of its Node, which EC2's console shows, unless the
// class has a tag Name.
func (c *Controller) setName(ctx context.Context, claim *v1.NodeClaim, id, node string) error {
	class, known := c.World.EC2NodeClass(claim.Spec.NodeClassRef.Name)
	if known && class.Spec.Tags[awsspec.TagName] != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, nameWithin)
	defer cancel()
	err := c.Cloud.NameInstance(ctx, id, node)
	if err != nil {
		c.unnamed.Do(func() {
			c.Logger.Warn("instance could not be tagged with the name of its node; further failures are not logged", "nodeclaim", claim.Name, "instance", id, "node", node, "error", err)
		})
	}
	return err
}

func isUnregistered(t corev1.Taint) bool { return t.Key == v1.TaintUnregistered }

// initialize sets the condition Initialized as soon as the node can take pods: it is
// Ready, its startup taints and the taints of a starting node are removed, and it reports
// every resource that the NodeClaim requests.
func (c *Controller) initialize(ctx context.Context, claim *v1.NodeClaim, node *corev1.Node) error {
	reason, message := notInitialized(claim, node)
	want := claim.DeepCopy()
	if reason != "" {
		if want.Conditions().Set(v1.ConditionInitialized, metav1.ConditionUnknown, reason, message, c.Now()) {
			return c.writeStatus(ctx, claim, want)
		}
		return nil
	}
	if node.Labels[v1.LabelInitialized] != v1.LabelTrue {
		if err := c.patchNode(ctx, node, translate.PatchOf(node, map[string]any{"labels": map[string]string{v1.LabelInitialized: v1.LabelTrue}})); err != nil {
			return err
		}
	}
	want.Conditions().SetTrue(v1.ConditionInitialized, c.Now())
	if err := c.writeStatus(ctx, claim, want); err != nil {
		return err
	}
	c.Recorder.Initialized(claim, node.Name)
	c.nameInstance(ctx, claim, node.Name)
	return nil
}

// notInitialized returns Karpenter's reason why the node is not initialized; "" if it
// is.
func notInitialized(claim *v1.NodeClaim, node *corev1.Node) (reason, message string) {
	if !translate.NodeReady(node) {
		return v1.ReasonNodeNotReady, "Node status is NotReady"
	}
	for _, startup := range claim.Spec.StartupTaints {
		t := corev1.Taint(startup)
		if slices.ContainsFunc(node.Spec.Taints, func(x corev1.Taint) bool { return x.MatchTaint(&t) }) {
			return v1.ReasonStartupTaintsExist, "StartupTaint " + t.ToString() + " still exists"
		}
	}
	for _, t := range node.Spec.Taints {
		if (cluster.Taint{Key: t.Key}).Ephemeral() {
			return v1.ReasonKnownEphemeralTaintsExist, "KnownEphemeralTaint " + t.ToString() + " still exists"
		}
	}
	for name, want := range claim.Spec.Resources.Requests {
		if have := node.Status.Allocatable[name]; !want.IsZero() && have.IsZero() {
			return v1.ReasonResourceNotRegistered, "Resource " + string(name) + " was requested but not registered"
		}
	}
	return "", ""
}
