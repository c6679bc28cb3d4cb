package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// A destroy looks in AWS, by tags and paths, whether something is left that was launched or
// made for nodes of the cluster. What the API server no longer knows is found this way.

const (
	// leftoversWithin is how long a destroy waits until instances are terminated that were
	// told to, and until the daemon has found what has no NodeClaim.
	leftoversWithin = 3 * time.Minute
	leftoversPoll   = 3 * time.Second
)

// awaitNoLeftovers returns when nothing is left in AWS of the nodes of the daemon's
// cluster. ErrLeftovers.
func (r *daemon) awaitNoLeftovers(ctx context.Context, state daemonModel, diags *diag.Diagnostics) error {
	return r.searchLeftovers(ctx, state, diags, ErrLeftovers, emptied)
}

// outlived looks once for what is left of a cluster that no longer exists: no daemon ends
// it, so that waiting is of no use. ErrOutlived.
func (r *daemon) outlived(ctx context.Context, state daemonModel, diags *diag.Diagnostics) error {
	return r.searchLeftovers(ctx, state, diags, ErrOutlived, func(ctx context.Context, client *aws.Clients, cluster string) (aws.Leftovers, error) {
		return client.Leftovers(ctx, cluster)
	})
}

// searchLeftovers is an error of this kind if the search finds something. It warns if AWS
// cannot be asked.
func (r *daemon) searchLeftovers(ctx context.Context, state daemonModel, diags *diag.Diagnostics, kind error,
	search func(ctx context.Context, client *aws.Clients, cluster string) (aws.Leftovers, error),
) error {
	cluster := state.ClusterName.ValueString()
	client, err := r.session.AWS(ctx)
	if err == nil && state.Region.ValueString() != client.Region() {
		err = fmt.Errorf("the daemon's region is %s, and the provider's region is %s", state.Region.ValueString(), client.Region())
	}
	var left aws.Leftovers
	if err == nil {
		left, err = search(ctx, client, cluster)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case !left.None():
		return fmt.Errorf("%w of cluster %q: %s", kind, cluster, left)
	case err != nil:
		diags.AddWarning("AWS was not searched for leftovers", fmt.Sprintf(
			"karpenter_daemon %q: %v.\n\nWhether instances, launch templates, instance profiles or network interfaces are left, is not known: look for the tag eks:eks-cluster-name = %s.", importID(state), err, cluster))
	}
	return nil
}

// emptied waits until nothing is left, and gives what the last look found that AWS has
// answered. Refusals end the wait; other errors may pass.
func emptied(ctx context.Context, client *aws.Clients, cluster string) (aws.Leftovers, error) {
	var left aws.Leftovers
	var last error
	within, cancel := context.WithTimeout(ctx, leftoversWithin)
	defer cancel()
	err := wait.PollUntilContextCancel(within, leftoversPoll, true, func(context.Context) (bool, error) {
		var found aws.Leftovers
		if found, last = client.Leftovers(ctx, cluster); last != nil {
			if errors.Is(last, aws.ErrUnauthorized) || errors.Is(last, aws.ErrCredentials) {
				return false, last
			}
			return false, nil // it may pass
		}
		if left = found; !left.None() {
			tflog.Info(ctx, "waiting until nothing is left in AWS", map[string]any{"cluster": cluster, "left": left.String()})
		}
		return left.None(), nil
	})
	if last != nil {
		return left, last
	}
	return left, err
}
