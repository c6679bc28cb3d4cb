package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/kubeobject"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// awaitNothingLeft returns when no object needs the daemon or its definitions any more. A
// configuration without references is destroyed side by side: an object that is being deleted
// is waited for, as the daemon finishes it. Terraform deletes a few resources at a time, so
// the others are waited for as long as the list changes. Then they are refused: ErrStillNeeded.
func (c *Cluster) awaitNothingLeft(ctx context.Context, own ownership.Record) error {
	since, last := time.Now(), c.nothingLeft(ctx, own)
	if !errors.Is(last, failure.ErrStillNeeded) {
		return last
	}
	err := kube.Polling{Every: managed.LeftoversPoll, DeniedWithin: c.DeniedWithin}.Until(ctx, func(ctx context.Context) (bool, error) {
		err := c.nothingLeft(ctx, own)
		if !errors.Is(err, failure.ErrStillNeeded) {
			return err == nil, err
		}
		if err.Error() != last.Error() {
			since = time.Now()
		}
		last = err
		if !errors.Is(err, failure.ErrEnding) && time.Since(since) >= managed.ReleasedWithin {
			return false, err
		}
		tflog.Info(ctx, "waiting before the deletion", map[string]any{"object": "daemon", "for": err.Error()})
		return false, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return last
	}
	return err
}

// handedOver refuses to make a shadow of a daemon that NodePools still have finalizers of: nobody
// would take them off. ErrNotHandedBack.
func (c *Cluster) handedOver(ctx context.Context) error {
	pools, err := c.finalized(ctx)
	if err == nil && len(pools) > 0 {
		err = fmt.Errorf("%w: NodePool %s", failure.ErrNotHandedBack, strings.Join(pools, ", "))
	}
	return err
}

// finalized names the NodePools with the daemon's finalizer.
func (c *Cluster) finalized(ctx context.Context) (out []string, err error) {
	pools, err := c.List(ctx, v1.GroupVersion().WithKind(v1.NodePoolKind), "", "")
	if err != nil && !errors.Is(err, kube.ErrKindNotServed) {
		return nil, err
	}
	for _, p := range pools {
		if slices.Contains(p.GetFinalizers(), v1.FinalizerTermination) {
			out = append(out, p.GetName())
		}
	}
	return out, nil
}

// warnReplaced warns if the plan replaces a daemon that objects still need. A plan does not know
// whether the new one is created first: then it takes up what there is.
func (r *daemon) warnReplaced(ctx context.Context, own ownership.Record, plan daemonModel, diags *diag.Diagnostics) {
	ctx, cancel := context.WithTimeout(ctx, managed.PlanCheckTimeout)
	defer cancel()
	c, err := kubeobject.Of(ctx, &r.Base, own)
	if err == nil {
		err = (&Cluster{c}).nothingLeft(ctx, own)
	}
	if !errors.Is(err, failure.ErrStillNeeded) {
		return // a plan must also work if the cluster cannot be asked: the deletion asks again
	}
	diags.AddWarning("karpenter_daemon is in use", fmt.Sprintf(
		"karpenter_daemon %q: the plan replaces it, and %v.\n\nA daemon that objects need is not deleted: then the apply ends with an error, and nothing of it was changed. "+
			"No change of a karpenter_daemon needs a replacement. To start its pods anew, run kubectl rollout restart deployment %s --namespace %s.",
		managed.ImportID(plan), err, install.DefaultName, plan.Namespace.ValueString()))
}
