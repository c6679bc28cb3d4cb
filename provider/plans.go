package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// planRegion is the region of the plan; "" while the region is unknown. A configuration
// with which AWS cannot be called is an error of the plan: the apply would fail.
func (b *base) planRegion(ctx context.Context, diags *diag.Diagnostics) string {
	clients, err := b.session.clients(ctx)
	if err == nil {
		return clients.Region()
	}
	if !errors.Is(err, ErrConfigUnknown) {
		diags.AddError("Cannot plan karpenter_"+b.kind, strings.TrimSpace(fmt.Sprintf(
			"karpenter_%s needs AWS, and the provider is not configured for it: %v.\n\n%s", b.kind, err, b.remedy("", err))))
	}
	return ""
}

// planCluster checks the same for a resource in a cluster that is reached through AWS, as
// far as the configuration is known.
func (b *base) planCluster(ctx context.Context, diags *diag.Diagnostics) {
	if b.session != nil && b.session.eks != nil && b.session.unknownCluster == "" {
		b.planRegion(ctx, diags)
	}
}

// priorOf is the state that a plan begins with. ok is false if there is none.
func priorOf[M any](ctx context.Context, req resource.ModifyPlanRequest, diags *diag.Diagnostics) (prior M, ok bool) {
	if req.State.Raw.IsNull() {
		return prior, false
	}
	return get[M](ctx, req.State, diags)
}

// keepOrCreate plans a computed value: the value of the state, or unknown if the
// object has to be made (again).
func keepOrCreate(prior types.String) types.String {
	if prior.ValueString() == "" {
		return types.StringUnknown()
	}
	return prior
}

// cluster gives the cluster's API if the cluster is the one in own. If own has
// no cluster yet, cluster notes this one. Nothing else is read before. ErrWrongCluster or
// ErrClusterGone, or ErrOldCluster if the configuration has accept_new_cluster.
func (b *base) cluster(ctx context.Context, own made) (*clusterClient, error) {
	known, has := own[madeCluster]
	c, err := b.session.Cluster(ctx)
	if has && b.session.acceptNewCluster && errors.Is(err, aws.ErrNotFound) {
		return nil, fmt.Errorf("%w: %w", ErrOldCluster, err) // its successor does not exist yet
	}
	if has && errors.Is(err, aws.ErrNotFound) {
		return nil, fmt.Errorf("%w: %w", ErrClusterGone, err)
	}
	if err != nil {
		return nil, err
	}
	uid, err := c.uid(ctx, !has)
	if err != nil {
		return nil, err
	}
	if has && known != uid {
		kind := ErrWrongCluster
		if b.session.acceptNewCluster {
			kind = ErrOldCluster
		}
		return nil, fmt.Errorf("%w: the UID of namespace kube-system is %s in this cluster and %s in the state", kind, uid, known)
	}
	own[madeCluster] = uid
	return c, nil
}
