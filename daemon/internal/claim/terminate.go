package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// poll is how often the state of a terminating instance is read.
const poll = 2 * time.Second

// askAgain is how long EC2 may show an instance as running whose termination it took, before
// it is asked again.
const askAgain = time.Minute

// terminate deletes the Node, which its finalizer holds, drains it, waits for its volumes,
// terminates the instance, and removes the finalizers of the Node and the NodeClaim. An instance
// whose machine has joined again under another name has several Nodes.
func (c *Controller) terminate(ctx context.Context, claim *v1.NodeClaim) (time.Duration, error) {
	if !slices.Contains(claim.Finalizers, v1.FinalizerTermination) {
		return 0, nil
	}
	claim, deadline, err := c.deadline(ctx, claim)
	if err != nil {
		return 0, err
	}
	node, _ := c.World.NodeOf(claim.Status.ProviderID)
	lost, err := c.lost(ctx, claim, node)
	if err != nil {
		return 0, err
	}
	for i, node := range c.World.NodesOf(claim.Status.ProviderID) {
		// A Node under which the machine does not run any more keeps nobody waiting: its pods
		// cannot be drained.
		if lost || i > 0 && !translate.NodeReady(node) {
			continue
		}
		if again, done, err := c.clearNode(ctx, claim, node, deadline); err != nil || !done {
			return again, err
		}
	}
	gone, err := c.endInstance(ctx, claim)
	if err != nil || !gone {
		return poll, err
	}
	for _, node := range c.World.NodesOf(claim.Status.ProviderID) {
		if err := c.removeNode(ctx, node); err != nil {
			return 0, err
		}
	}
	return 0, c.finish(ctx, claim)
}

// clearNode deletes the Node, which its finalizer holds, drains it, and waits for its volumes.
func (c *Controller) clearNode(ctx context.Context, claim *v1.NodeClaim, node *corev1.Node, deadline time.Time) (again time.Duration, done bool, err error) {
	if node, err = c.deleteNode(ctx, node); err != nil {
		return 0, false, err
	}
	if again, done, err := c.drain(ctx, claim, node, deadline); err != nil || !done || ending(claim) {
		return again, done, err
	}
	return c.detach(ctx, claim, node, deadline)
}

// lost reports whether the node is not ready because its instance no longer exists, or somebody
// has stopped it. Then no pod on it can be drained, and waiting would only delay their replacement.
func (c *Controller) lost(ctx context.Context, claim *v1.NodeClaim, node *corev1.Node) (bool, error) {
	if node == nil || translate.NodeReady(node) {
		return false, nil
	}
	_, id, err := awsspec.ParseProviderID(claim.Status.ProviderID)
	if err != nil {
		return false, fmt.Errorf("nodeclaim %s: %w", claim.Name, err)
	}
	down, err := c.instanceIs(ctx, id, aws.Instance.Down)
	if err != nil {
		return false, fmt.Errorf("nodeclaim %s: %w", claim.Name, err)
	}
	return down, nil
}

// deadline is when the drain stops respecting PodDisruptionBudgets; zero is never. It
// is written on the NodeClaim once, so that a restart does not extend it.
func (c *Controller) deadline(ctx context.Context, claim *v1.NodeClaim) (*v1.NodeClaim, time.Time, error) {
	text, there := claim.Annotations[v1.AnnotationTerminationTimestamp]
	if t, err := time.Parse(time.RFC3339, text); there && err == nil {
		return claim, t, nil
	}
	var t time.Time
	var write any // null: nothing
	switch grace := claim.Spec.TerminationGracePeriod; {
	case grace != nil:
		t = claim.DeletionTimestamp.Add(grace.Duration)
		write = t.UTC().Format(time.RFC3339)
	case !there:
		return claim, t, nil
	}
	if there { // somebody has written it by hand, and it must not keep the node for ever
		c.Logger.Warn("an annotation is no time as RFC 3339 has it, and is written anew from the terminationGracePeriod", "nodeclaim", claim.Name, "annotation", v1.AnnotationTerminationTimestamp, "value", text)
	}
	claim, err := c.patchClaim(ctx, claim, translate.PatchOf(claim, map[string]any{"annotations": map[string]any{v1.AnnotationTerminationTimestamp: write}}), "termination time write")
	return claim, t, err
}

// endInstance terminates every instance of the claim, and reports whether all are
// terminated. It finds an instance by its tag if a launch was interrupted before it was
// recorded. What EC2 does not show may exist: its reads may be behind. So the recorded
// instance is terminated once even if EC2 does not show it, and an attempt that left no
// instance is waited for.
func (c *Controller) endInstance(ctx context.Context, claim *v1.NodeClaim) (bool, error) {
	instances, err := c.instancesOf(ctx, claim)
	if err != nil {
		return false, err
	}
	want := claim.DeepCopy()
	_, id, unrecorded := awsspec.ParseProviderID(claim.Status.ProviderID)
	if unrecorded == nil && !c.asked(claim, id) && !want.Conditions().Get(v1.ConditionInstanceTerminating).IsTrue() {
		instances[id] = false
	}
	if len(instances) == 0 {
		return unrecorded == nil || c.settled(claim), nil
	}
	for id, ending := range instances {
		if ending || c.asked(claim, id) {
			continue
		}
		if err := c.Cloud.Terminate(ctx, id); err != nil {
			return false, fmt.Errorf("nodeclaim %s instance %s terminate: %w", claim.Name, id, err)
		}
		c.noteAsked(claim, id)
	}
	if want.Conditions().SetTrue(v1.ConditionInstanceTerminating, c.Now()) {
		return false, c.writeStatus(ctx, claim, want)
	}
	return false, nil
}

// asked says whether EC2 took the termination of the NodeClaim's instance a moment ago. It may
// not show that yet, and a write to the API server that fails meanwhile is no reason to ask
// again.
func (c *Controller) asked(claim *v1.NodeClaim, id string) bool {
	taken, _ := c.ended.Load(claim.Name)
	of, _ := taken.(map[string]time.Time)
	at, took := of[id]
	return took && c.Now().Sub(at).Abs() < askAgain
}

func (c *Controller) noteAsked(claim *v1.NodeClaim, id string) {
	taken, _ := c.ended.Load(claim.Name)
	of, _ := taken.(map[string]time.Time)
	next := map[string]time.Time{id: c.Now()}
	for other, at := range of {
		if other != id {
			next[other] = at
		}
	}
	c.ended.Store(claim.Name, next)
}

// ending says whether the instance is being terminated already: nothing is to wait for then.
func ending(claim *v1.NodeClaim) bool {
	return claim.DeepCopy().Conditions().Get(v1.ConditionInstanceTerminating).IsTrue()
}

// settled says whether EC2's listings have every instance of a NodeClaim in deletion that
// records none.
func (c *Controller) settled(claim *v1.NodeClaim) bool {
	_, nothing := c.unlaunched.Load(claim.UID)
	return nothing || claim.Annotations[v1.AnnotationLaunchAttempt] == "" || c.Now().Sub(claim.DeletionTimestamp.Time) >= listingLag
}

// instancesOf lists the instances of the claim that are not terminated yet. The value
// is true for an instance that is shutting down.
func (c *Controller) instancesOf(ctx context.Context, claim *v1.NodeClaim) (map[string]bool, error) {
	ids := map[string]bool{}
	if claim.Status.ProviderID == "" && claim.Annotations[v1.AnnotationLaunchAttempt] == "" {
		return ids, nil // no launch was ever tried
	}
	found, err := c.Cloud.InstancesOf(ctx, string(claim.UID))
	if err != nil {
		return nil, fmt.Errorf("nodeclaim %s instances list: %w", claim.Name, err)
	}
	for _, i := range found {
		ids[i.ID] = i.Gone()
	}
	_, id, err := awsspec.ParseProviderID(claim.Status.ProviderID)
	if _, listed := ids[id]; err == nil && !listed {
		there, err := c.stillThere(ctx, claim, id)
		if err != nil {
			return nil, err
		}
		if there {
			ids[id] = false
		}
	}
	return ids, nil
}

// stillThere reports whether the recorded instance exists although the listing lacks
// it. EC2's answers lag behind: if EC2 does not know an instance that was launched a
// moment ago, the instance still counts as existing.
func (c *Controller) stillThere(ctx context.Context, claim *v1.NodeClaim, id string) (bool, error) {
	i, err := c.Cloud.Instance(ctx, id)
	if errors.Is(err, aws.ErrNotFound) {
		launched := claim.DeepCopy().Conditions().Get(v1.ConditionLaunched)
		return c.Now().Sub(launched.LastTransitionTime.Time) < listingLag, nil
	}
	if err != nil {
		return false, fmt.Errorf("nodeclaim %s instance %s read: %w", claim.Name, id, err)
	}
	return i.State != "terminated", nil
}

// deleteNode deletes the Node before it drains, and returns it as it is then. kube-proxy, CSI
// drivers and controllers of load balancers see by its deletionTimestamp that it is being
// deleted, and the finalizer holds it until the instance is terminated. Without the finalizer
// the Node would be removed with its pods on it: such a Node, which has not registered or lost
// the finalizer, is deleted last. So only the version that was read is deleted. A Node that is
// being deleted already is left as it is. A deletion that fails, as by a webhook that refuses or
// does not answer, must not keep pods from getting away: the Node drains as it is, and the next
// round tries again.
func (c *Controller) deleteNode(ctx context.Context, node *corev1.Node) (*corev1.Node, error) {
	if node.DeletionTimestamp != nil || !slices.Contains(node.Finalizers, v1.FinalizerTermination) {
		return node, nil
	}
	// Nodes().Delete would drop the answer, which is the Node.
	got := &corev1.Node{}
	err := c.Core.CoreV1().RESTClient().Delete().Resource("nodes").Name(node.Name).Body(&metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &node.UID, ResourceVersion: &node.ResourceVersion},
	}).Do(ctx).Into(got)
	switch {
	case apierrors.IsNotFound(err):
		return node, nil // the watch brings that it is removed
	case apierrors.IsConflict(err), ctx.Err() != nil:
		return nil, fmt.Errorf("node %s delete: %w", node.Name, err)
	case err != nil:
		c.undeleted.Do(func() {
			c.Logger.Warn("node drains before it is deleted, as its deletion fails; further ones are not logged", "node", node.Name, "error", err)
		})
		return node, nil //nolint:nilerr // it is logged, and the next round tries again
	}
	if got.UID != node.UID {
		return node, nil // a status: the watch brings what has become of the Node
	}
	c.World.Observe(got)
	return got, nil
}

// removeNode removes the finalizer from the Node, and deletes the Node if that has not been done.
func (c *Controller) removeNode(ctx context.Context, node *corev1.Node) error {
	if node.DeletionTimestamp == nil {
		err := c.Core.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &node.UID}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("node %s delete: %w", node.Name, err)
		}
	}
	live, err := c.Core.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && live.UID != node.UID {
		c.World.Forget(node)
		return nil
	}
	if err != nil {
		return fmt.Errorf("node %s get: %w", node.Name, err)
	}
	_, err = kube.SetFinalizers(ctx, c.Core.CoreV1().Nodes(), live, kube.FinalizersWithout(live, v1.FinalizerTermination), writes())
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("node %s finalizer remove: %w", node.Name, err)
	}
	return nil
}

// finish removes the finalizer from the NodeClaim.
func (c *Controller) finish(ctx context.Context, claim *v1.NodeClaim) error {
	live, err := c.Claims.Get(ctx, claim.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && live.UID != claim.UID {
		c.World.Forget(claim)
		return nil
	}
	if err != nil {
		return fmt.Errorf("nodeclaim %s get: %w", claim.Name, err)
	}
	_, err = kube.SetFinalizers(ctx, c.Claims, live, kube.FinalizersWithout(live, v1.FinalizerTermination), writes())
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("nodeclaim %s finalizer remove: %w", claim.Name, err)
	}
	c.unlaunched.Delete(claim.UID)
	c.ended.Delete(claim.Name)
	c.called.Delete(claim.Name)
	c.World.Forget(claim)
	c.Recorder.Terminated(claim, claim.Status.ProviderID)
	return nil
}
