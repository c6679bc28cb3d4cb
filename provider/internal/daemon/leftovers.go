package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
)

// A destroy looks in AWS, by tags and paths, whether something is left that was launched or
// made for nodes of the cluster. What the API server no longer knows is found this way.

// awaitNoLeftovers returns when nothing is left in AWS of the nodes of the daemon's
// cluster. ErrLeftovers. It warns if AWS cannot be asked.
func (r *daemon) awaitNoLeftovers(ctx context.Context, state daemonModel, diags *diag.Diagnostics) error {
	cluster := state.ClusterName.ValueString()
	client, err := r.whereItRuns(ctx, state)
	var left aws.Leftovers
	if err == nil {
		left, err = emptied(ctx, client, cluster)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case !left.None():
		return fmt.Errorf("%w of cluster %q: %s", failure.ErrLeftovers, cluster, left)
	case err != nil:
		diags.AddWarning("AWS was not searched for leftovers", fmt.Sprintf(
			"karpenter_daemon %q: %v.\n\nThe destroy continues. Whether instances, launch templates, instance profiles or network interfaces are left, is not known: look for the tag eks:eks-cluster-name = %s.", managed.ImportID(state), err, cluster))
	}
	return nil
}

// whereItRuns gives AWS's clients, if they call the daemon's region.
func (r *daemon) whereItRuns(ctx context.Context, state daemonModel) (*aws.Clients, error) {
	client, err := r.Session.AWS(ctx)
	if err == nil && state.Region.ValueString() != client.Region() {
		err = fmt.Errorf("the daemon's region is %s, and the provider's region is %s", state.Region.ValueString(), client.Region())
	}
	return client, err
}

// Outlived looks whether the daemon's cluster no longer exists, and what is left of it. It
// looks once: no daemon ends what is left, so that waiting is of no use. ErrOutlived;
// ErrAnotherName if only the cluster that the provider's configuration names does not exist.
// What AWS does not answer is an error, too: a daemon must not leave the state by mistake.
func (r *daemon) Outlived(ctx context.Context, state daemonModel) error {
	cluster := state.ClusterName.ValueString()
	client, err := r.whereItRuns(ctx, state)
	if err != nil {
		return err
	}
	switch _, err := client.Cluster(ctx, cluster); {
	case err == nil:
		return fmt.Errorf("%w: the daemon is in cluster %q, which exists", failure.ErrAnotherName, cluster)
	case !errors.Is(err, aws.ErrNotFound):
		return err
	}
	left, err := client.Leftovers(ctx, cluster)
	if err == nil && !left.None() {
		err = fmt.Errorf("%w of cluster %q: %s", failure.ErrOutlived, cluster, left)
	}
	return err
}

// emptied waits until nothing is left, and gives what the last look found that AWS has
// answered. Refusals end the wait; other errors may pass.
func emptied(ctx context.Context, client *aws.Clients, cluster string) (aws.Leftovers, error) {
	var left aws.Leftovers
	var last error
	within, cancel := context.WithTimeout(ctx, managed.LeftoversWithin)
	defer cancel()
	err := wait.PollUntilContextCancel(within, managed.LeftoversPoll, true, func(context.Context) (bool, error) {
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
