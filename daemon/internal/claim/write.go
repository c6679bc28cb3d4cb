package claim

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// tries is how often a write is tried whose object somebody else changes meanwhile.
const tries = 5

// writeStatus writes what want has changed of the status of claim, and passes the answer to
// the world. Where claim is not the newest version any more, the change is made to the newest
// one: it says what has happened, often in EC2, and happened whatever else has changed.
func (c *Controller) writeStatus(ctx context.Context, claim, want *v1.NodeClaim) error {
	got, err := c.Claims.UpdateStatus(ctx, want, metav1.UpdateOptions{FieldManager: translate.FieldManager})
	for n := 1; apierrors.IsConflict(err) && n < tries; n++ {
		live, fault := c.Claims.Get(ctx, claim.Name, metav1.GetOptions{})
		if fault != nil || live.UID != claim.UID || live.Unread != "" {
			break // it is deleted, or the answer of the next Reconcile
		}
		next := live.DeepCopy()
		c.carry(next, claim, want)
		got, err = c.Claims.UpdateStatus(ctx, next, metav1.UpdateOptions{FieldManager: translate.FieldManager})
	}
	if err != nil {
		return fmt.Errorf("nodeclaim %s status write: %w", want.Name, err)
	}
	c.World.Observe(got)
	return nil
}

// carry makes the changes to the status of live that lead from was to want.
func (c *Controller) carry(live, was, want *v1.NodeClaim) {
	is, before, after := &live.Status, &was.Status, &want.Status
	for _, f := range []struct{ is, before, after *string }{
		{&is.NodeName, &before.NodeName, &after.NodeName},
		{&is.ProviderID, &before.ProviderID, &after.ProviderID},
		{&is.ImageID, &before.ImageID, &after.ImageID},
	} {
		if *f.before != *f.after {
			*f.is = *f.after
		}
	}
	if after.Capacity != nil && before.Capacity == nil {
		is.Capacity, is.Allocatable = after.Capacity, after.Allocatable
	}
	conditions := live.Conditions()
	for _, x := range after.Conditions {
		if x.Type != v1.ConditionReady && !slices.Contains(before.Conditions, x) {
			conditions.Set(x.Type, x.Status, x.Reason, x.Message, c.Now())
		}
	}
	conditions.Set(v1.ConditionReady, "", "", "", c.Now()) // follows from the others
}
