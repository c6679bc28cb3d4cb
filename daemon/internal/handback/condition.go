package handback

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// poolConditions takes the daemon's own conditions off the NodePool. Karpenter knows none of
// them, and would keep what they said last for ever. Those of NodeClaims are all Karpenter's.
func (h *Handback) poolConditions(ctx context.Context, name string) error {
	return again(func() error {
		p, err := h.Clients.NodePools.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		body := without(p, p.Status.Conditions, v1.ConditionDisrupting, v1.ConditionUnsupported)
		if body == nil {
			return nil
		}
		if _, err = h.Clients.NodePools.Patch(ctx, name, types.MergePatchType, body.JSON(), h.patch(), "status"); err == nil {
			h.say("nodepool %s: the daemon's conditions are removed", name)
		}
		return err
	}, "nodepool "+name)
}

// classConditions does the same for an EC2NodeClass.
func (h *Handback) classConditions(ctx context.Context, name string) error {
	return again(func() error {
		c, err := h.Clients.EC2NodeClasses.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		body := without(c, c.Status.Conditions, awsv1.ConditionLaunchPermitted, awsv1.ConditionCatalogueCurrent, v1.ConditionUnsupported)
		if body == nil {
			return nil
		}
		if _, err = h.Clients.EC2NodeClasses.Patch(ctx, name, types.MergePatchType, body.JSON(), h.patch(), "status"); err == nil {
			h.say("ec2nodeclass %s: the daemon's conditions are removed", name)
		}
		return err
	}, "ec2nodeclass "+name)
}

// without is the patch of the status that leaves out conditions of these types; nil if there
// are none.
func without(object metav1.Object, all []v1.Condition, kinds ...string) translate.Patch {
	left := slices.DeleteFunc(slices.Clone(all), func(c v1.Condition) bool { return slices.Contains(kinds, c.Type) })
	if len(left) == len(all) {
		return nil
	}
	return translate.PatchOfVersion(object, nil).With("status", map[string]any{"conditions": left})
}
