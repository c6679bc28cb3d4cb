package managed

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/apiserver"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// PlanRegion is the region of the plan; "" while the region is unknown. A configuration
// with which AWS cannot be called is an error of the plan: the apply would fail.
func (b *Base) PlanRegion(ctx context.Context, diags *diag.Diagnostics) string {
	clients, err := b.Session.Clients(ctx)
	if err == nil {
		return clients.Region()
	}
	if !errors.Is(err, failure.ErrConfigUnknown) {
		diags.AddError("Cannot plan karpenter_"+b.Kind, strings.TrimSpace(fmt.Sprintf(
			"karpenter_%s needs AWS, and the provider is not configured for it: %v.\n\n%s", b.Kind, err, b.Remedy("", err))))
	}
	return ""
}

// PlanCluster checks the same for a resource in a cluster that is reached through AWS, as
// far as the configuration is known.
func (b *Base) PlanCluster(ctx context.Context, diags *diag.Diagnostics) {
	if b.Session != nil && b.Session.EKS != nil && b.Session.UnknownCluster == "" {
		b.PlanRegion(ctx, diags)
	}
}

// PriorOf is the state that a plan begins with. ok is false if there is none.
func PriorOf[M any](ctx context.Context, req resource.ModifyPlanRequest, diags *diag.Diagnostics) (prior M, ok bool) {
	if req.State.Raw.IsNull() {
		return prior, false
	}
	return Get[M](ctx, req.State, diags)
}

// KeepOrCreate plans a computed value: the value of the state, or unknown if the
// object has to be made (again).
func KeepOrCreate(prior types.String) types.String {
	if prior.ValueString() == "" {
		return types.StringUnknown()
	}
	return prior
}

// Cluster gives the cluster's API if the cluster is the one in own. If own has
// no cluster yet, Cluster notes this one. Nothing else is read before. ErrWrongCluster or
// ErrClusterGone, or ErrOldCluster if the configuration has accept_new_cluster.
func (b *Base) Cluster(ctx context.Context, own ownership.Record) (*apiserver.Client, error) {
	known, has := own[ownership.KeyCluster]
	c, err := b.Session.Cluster(ctx)
	if has && b.Session.AcceptNewCluster && errors.Is(err, aws.ErrNotFound) {
		return nil, fmt.Errorf("%w: %w", failure.ErrOldCluster, err) // its successor does not exist yet
	}
	if has && errors.Is(err, aws.ErrNotFound) {
		return nil, fmt.Errorf("%w: %w", failure.ErrClusterGone, err)
	}
	if err != nil {
		return nil, err
	}
	uid, err := c.UID(ctx, !has)
	if err != nil {
		return nil, err
	}
	if has && known != uid {
		kind := failure.ErrWrongCluster
		if b.Session.AcceptNewCluster {
			kind = failure.ErrOldCluster
		}
		return nil, fmt.Errorf("%w: the UID of namespace kube-system is %s in this cluster and %s in the state", kind, uid, known)
	}
	own[ownership.KeyCluster] = uid
	return c, nil
}
