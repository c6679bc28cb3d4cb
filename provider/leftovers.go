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
// cluster. ErrLeftovers. If AWS cannot be asked, it warns.
func (r *daemon) awaitNoLeftovers(ctx context.Context, state daemonModel, diags *diag.Diagnostics) error {
	cluster := state.ClusterName.ValueString()
	client, err := r.session.AWS(ctx)
	var left aws.Leftovers
	if err == nil {
		within, cancel := context.WithTimeout(ctx, leftoversWithin)
		defer cancel()
		err = wait.PollUntilContextCancel(within, leftoversPoll, true, func(context.Context) (bool, error) {
			var err error
			left, err = client.Leftovers(ctx, cluster)
			if err == nil && !left.None() {
				tflog.Info(ctx, "waiting until nothing is left in AWS", map[string]any{"cluster": cluster, "left": left.String()})
			}
			return left.None(), err
		})
	}
	switch {
	case err == nil:
		return nil
	case !left.None() && wait.Interrupted(err):
		return fmt.Errorf("%w of cluster %q: %s", ErrLeftovers, cluster, left)
	case errors.Is(err, context.Canceled):
		return err
	}
	diags.AddWarning("AWS was not searched for leftovers", fmt.Sprintf(
		"karpenter_daemon %q: %v.\n\nThe destroy goes on. Whether instances, launch templates, instance profiles or network interfaces are left, is not known: look for the tag eks:eks-cluster-name = %s.", importID(state), err, cluster))
	return nil
}
