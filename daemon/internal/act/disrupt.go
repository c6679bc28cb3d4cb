package act

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// disrupt writes on the NodeClaim why its node is deleted, and then keeps new pods off the
// node. So a node with the daemon's taint always has a reason, wherever the daemon
// stops between the two writes.
func (a *Actor) disrupt(ctx context.Context, d plan.Disrupt) error {
	claim, ok := a.World.NodeClaim(d.Claim)
	if !ok || string(claim.UID) != d.ClaimUID || claim.DeletionTimestamp != nil {
		return nil
	}
	want, news := claim.DeepCopy(), false
	if conditions := want.Conditions(); !conditions.Get(v1.ConditionDisruptionReason).IsTrue() {
		conditions.Set(v1.ConditionDisruptionReason, metav1.ConditionTrue, string(d.Why), d.Detail, a.Now())
		if _, written, err := a.writeStatus(ctx, want); err != nil || !written {
			return err
		}
		news = true
	}
	node, ok := a.World.Node(d.Node)
	if !ok || string(node.UID) != d.NodeUID {
		return nil
	}
	if body := translate.Cordon(node); body != nil {
		var err error
		if news, err = a.patchedNode(ctx, node, body); err != nil {
			return err
		}
	}
	if news {
		a.Recorder.Disrupted(d)
	}
	return nil
}

// restore takes back what the daemon wrote about a node that stays: what disrupt wrote,
// in the reverse order, and the move. It reads the objects anew, because the world does
// not keep who wrote their fields.
func (a *Actor) restore(ctx context.Context, r plan.Restore) error {
	claim, err := a.Claims.Get(ctx, r.Claim, metav1.GetOptions{})
	if err != nil {
		return wrap(ignoreGone(err), "nodeclaim %s get", r.Claim)
	}
	if string(claim.UID) != r.ClaimUID || claim.DeletionTimestamp != nil || claim.Unread != "" {
		return nil // a deletion is never taken back; of one that cannot be read, a part would be written
	}
	if err := a.uncordon(ctx, r); err != nil {
		return err
	}
	want := claim.DeepCopy()
	if translate.Wrote(claim, "f:status", "f:conditions") && want.Conditions().Clear(v1.ConditionDisruptionReason) {
		got, written, err := a.writeStatus(ctx, want)
		if err != nil || !written {
			return err
		}
		claim = got
	}
	if _, moves := claim.Annotations[v1.AnnotationMove]; !moves || !translate.Wrote(claim, "f:metadata", "f:annotations", "f:"+v1.AnnotationMove) {
		return nil
	}
	got, err := a.Claims.Patch(ctx, claim.Name, types.MergePatchType,
		translate.PatchOfVersion(claim, map[string]any{"annotations": map[string]any{v1.AnnotationMove: nil}}).JSON(), metav1.PatchOptions{FieldManager: translate.FieldManager})
	if err != nil {
		return wrap(ignoreGone(err), "nodeclaim %s patch", claim.Name)
	}
	a.World.Observe(got)
	return nil
}

// uncordon takes the daemon's taint and label off the node.
func (a *Actor) uncordon(ctx context.Context, r plan.Restore) error {
	if r.Node == "" {
		return nil
	}
	node, err := a.Core.CoreV1().Nodes().Get(ctx, r.Node, metav1.GetOptions{})
	if err != nil {
		return wrap(ignoreGone(err), "node %s get", r.Node)
	}
	body := translate.Uncordon(node)
	if string(node.UID) != r.NodeUID || body == nil {
		return nil
	}
	return a.patchNode(ctx, node, body)
}

// writeStatus writes the status of the NodeClaim. It is not written where the NodeClaim
// is deleted or has changed: the next decision sees that.
func (a *Actor) writeStatus(ctx context.Context, want *v1.NodeClaim) (got *v1.NodeClaim, written bool, err error) {
	got, err = a.Claims.UpdateStatus(ctx, want, metav1.UpdateOptions{FieldManager: translate.FieldManager})
	if err != nil {
		return nil, false, wrap(ignoreGone(err), "nodeclaim %s status write", want.Name)
	}
	a.World.Observe(got)
	return got, true, nil
}

// delete deletes the NodeClaim, unless a live look finds what the plan did not know: a
// deletion is never taken back. What the look finds is given to the world, for the next
// plan.
func (a *Actor) delete(ctx context.Context, d plan.Delete, budgets *budgets) error {
	known, there := a.World.NodeClaim(d.Claim)
	if !there {
		known = &v1.NodeClaim{}
	}
	if known.DeletionTimestamp != nil {
		return nil // somebody deleted it since
	}
	uid := types.UID(d.ClaimUID)
	only := &metav1.Preconditions{UID: &uid}
	why, err := "", error(nil)
	switch {
	case d.Checked && d.Node != "":
		why, err = a.recheck(ctx, d, budgets)
	case cached(d):
		why, err = a.confirm(ctx, d, only)
	}
	if err != nil {
		return err
	}
	if why != "" {
		a.Recorder.Kept(d, why)
		return nil
	}
	switch err = a.Claims.Delete(ctx, d.Claim, metav1.DeleteOptions{Preconditions: only}); {
	case err == nil:
		a.Recorder.Deleted(known, d)
	case ignoreGone(err) != nil:
		return wrap(err, "nodeclaim %s delete", d.Claim)
	}
	claim, err := a.Claims.Get(ctx, d.Claim, metav1.GetOptions{})
	if err != nil {
		return wrap(ignoreGone(err), "nodeclaim %s get", d.Claim)
	}
	a.World.Observe(claim)
	return nil
}
