package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
)

// A Deployment that was rolled out may fail later: its pods crash, have no node, or are refused
// by the API server. A refresh says so, because no difference of the objects does.

// warnHealth adds a warning if replicas of the daemon are not available, or if all are and none
// of them leads. It tells whether at least one is available. A Deployment that somebody has
// scaled to nothing is a difference that the plan shows.
func (r *daemon) warnHealth(ctx context.Context, c *Cluster, m daemonModel, live *unstructured.Unstructured, diags *diag.Diagnostics) bool {
	available, wanted := kube.Availability(live)
	if wanted == 0 {
		return true
	}
	namespace := m.Namespace.ValueString()
	look := fmt.Sprintf("Look at its pods (kubectl get pods -n %[1]s -l app.kubernetes.io/name=%[2]s) and at its log (kubectl logs -n %[1]s -l app.kubernetes.io/name=%[2]s --tail=50).", namespace, install.DefaultName)
	if available < wanted {
		effect := "The daemon has no other replica to continue with if one more ends."
		if available == 0 {
			effect = "Nobody launches, replaces or terminates nodes."
		}
		diags.AddWarning("karpenter_daemon is not available", fmt.Sprintf("karpenter_daemon %q: %d of %d replicas of %s are available. %s%s\n\n%s",
			managed.ImportID(m), available, wanted, kube.RefOf(live), effect, c.Trouble(ctx, live), look))
		return available > 0
	}
	why, err := c.leaderless(ctx, namespace)
	if err == nil && why != "" {
		diags.AddWarning("karpenter_daemon does not work", fmt.Sprintf(
			"karpenter_daemon %q: all %d replicas of %s are available, but none of them leads: %s. Nobody launches, replaces or terminates nodes.\n\n%s", managed.ImportID(m), wanted, kube.RefOf(live), why, look))
	}
	return true
}

// leaderless says why no replica of the daemon in the namespace leads; "" if one does. A Lease
// whose renewal looks old or lies ahead is watched until it can have expired: the clocks
// of this machine and of the cluster may differ.
func (c *Cluster) leaderless(ctx context.Context, namespace string) (string, error) {
	var why, began string
	first := true
	within, cancel := context.WithTimeout(ctx, cmp.Or(c.Pace.Lease, leaseExpires))
	defer cancel()
	err := kube.Polling{Every: leasePoll, DeniedWithin: time.Nanosecond}.Until(within, func(context.Context) (bool, error) {
		// The outer context: the client refuses a request that its rate limit would delay past the end.
		holder, renewed, err := c.leaseOf(ctx, namespace)
		if err != nil {
			return false, err
		}
		if first {
			began = renewed
		}
		moved := !first && renewed != began
		first = false
		switch {
		case renewed == "":
			why = fmt.Sprintf("there is no Lease %q", namespace+"/"+install.LeaseName)
		case holder == "":
			why = fmt.Sprintf("nobody holds the Lease %q", namespace+"/"+install.LeaseName)
		case !IsDaemon(holder):
			why = fmt.Sprintf("%s holds the Lease %q", holder, namespace+"/"+install.LeaseName)
		default:
			why = fmt.Sprintf("%s holds the Lease %q and does not renew it since %s", holder, namespace+"/"+install.LeaseName, renewed)
			return moved || recent(renewed), nil
		}
		return false, nil
	})
	switch {
	case err == nil:
		return "", nil
	case errors.Is(err, context.DeadlineExceeded) && !first && ctx.Err() == nil:
		return why, nil
	}
	return "", err
}

// recent tells whether a Lease that was renewed then holds still, by the clock of this machine.
func recent(renewed string) bool {
	at, err := time.Parse(time.RFC3339Nano, renewed)
	return err == nil && time.Since(at).Abs() < leaseExpires
}

// leaseOf gives the holder of the daemon's Lease in the namespace and the time of its renewal,
// which is "" if there is no Lease.
func (c *Cluster) leaseOf(ctx context.Context, namespace string) (holder, renewed string, err error) {
	live, err := c.Get(ctx, kube.Ref{GroupVersionKind: leaseKind(), Namespace: namespace, Name: install.LeaseName})
	if errors.Is(err, kube.ErrNotFound) {
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	holder, renewed = heldBy(live)
	return holder, renewed, nil
}
