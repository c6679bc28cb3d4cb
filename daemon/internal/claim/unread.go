package claim

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// noteUnread says in the condition Ready why nothing is done for a NodeClaim that cannot be
// read. The patch is of the conditions alone, because the daemon does not have the rest as
// it is. Where the status cannot be read, nothing is written: it says which instance the
// NodeClaim has.
func (c *Controller) noteUnread(ctx context.Context, claim *v1.NodeClaim) error {
	if claim.Unread.In("status") {
		return nil
	}
	was := claim.DeepCopy().Conditions().Get(v1.ConditionReady)
	is := v1.Condition{
		Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1.ReasonUnreadable, Message: v1.Bounded(claim.Unread.Explain(v1.NodeClaimKind, claim.Name), v1.MostMessage),
		ObservedGeneration: claim.Generation, LastTransitionTime: metav1.NewTime(c.Now().Truncate(time.Second)),
	}
	if was.Status == is.Status {
		is.LastTransitionTime = was.LastTransitionTime
	}
	if was == is {
		return nil
	}
	list := slices.DeleteFunc(slices.Clone(claim.Status.Conditions), func(x v1.Condition) bool { return x.Type == v1.ConditionReady })
	body := translate.PatchOfVersion(claim, nil).With("status", map[string]any{"conditions": append(list, is)})
	got, err := c.Claims.Patch(ctx, claim.Name, types.MergePatchType, body.JSON(), metav1.PatchOptions{FieldManager: translate.FieldManager}, "status")
	if err != nil {
		return fmt.Errorf("nodeclaim %s condition %s write: %w", claim.Name, v1.ConditionReady, err)
	}
	c.World.Observe(got)
	return nil
}

// noteRead has Ready follow from the other conditions again.
func (c *Controller) noteRead(ctx context.Context, claim *v1.NodeClaim) error {
	want := claim.DeepCopy()
	want.Conditions().Set(v1.ConditionReady, "", "", "", c.Now())
	return c.writeStatus(ctx, claim, want)
}
