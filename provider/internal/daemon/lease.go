package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
)

// The Lease says which controller leads. Karpenter's has the same name as the daemon's. In
// one namespace they exclude each other; in two they would both launch nodes for the same
// pods.

const (
	// leaseExpires is how long a Lease holds that nobody renews: a little more than the 15
	// seconds that both controllers ask for.
	leaseExpires = 20 * time.Second
	leasePoll    = time.Second
	// clocksDiffer is by how much the clocks of this machine and of the cluster may differ.
	clocksDiffer = time.Hour
)

func leaseKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}
}

// noOtherController returns when no controller but the daemon in one of the namespaces
// holds a Lease, in any namespace. It waits for a Lease to expire that nobody renews. It
// warns if it may not read Leases. ErrOtherController.
func (c *Cluster) noOtherController(ctx context.Context, namespaces []string, diags *diag.Diagnostics) error {
	began := map[string]string{} // renewal of each Lease at the first look, by holder
	first := true
	within, cancel := context.WithTimeout(ctx, leaseExpires)
	defer cancel()
	err := kube.Polling{Every: leasePoll, DeniedWithin: time.Nanosecond}.Until(within, func(context.Context) (bool, error) {
		held, err := c.foreignLeases(ctx, namespaces)
		if err != nil {
			return false, err
		}
		for holder, renewed := range held {
			switch before, seen := began[holder]; {
			case first:
				began[holder] = renewed
			case !seen || before != renewed:
				return false, fmt.Errorf("%w: Lease %s", failure.ErrOtherController, holder)
			}
		}
		first = false
		return len(held) == 0, nil
	})
	switch {
	case apierrors.IsForbidden(err):
		diags.AddWarning("Leases were not read", fmt.Sprintf("%v. Whether another controller runs in the cluster, such as Karpenter, is not known: two would launch nodes for the same pods.", err))
		return nil
	case err != nil && !first && errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return nil // nobody has renewed it
	}
	return err
}

// foreignLeases are the Leases that somebody else than the daemon in the namespaces holds
// and that may be valid, each with the time of its renewal.
func (c *Cluster) foreignLeases(ctx context.Context, namespaces []string) (map[string]string, error) {
	held, err := c.HeldLeases(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, lease := range held {
		if !IsDaemon(lease.Holder) || !slices.Contains(namespaces, lease.namespace) {
			out[lease.String()] = lease.renewed
		}
	}
	return out, nil
}

// HeldLease is a Lease of a controller that leads.
type HeldLease struct{ namespace, Holder, renewed string }

// String names the Lease and its holder.
func (l HeldLease) String() string {
	return fmt.Sprintf("%s/%s, held by %s", l.namespace, install.LeaseName, l.Holder)
}

// HeldLeases are the Leases of controllers that somebody holds and that may be valid.
func (c *Cluster) HeldLeases(ctx context.Context) ([]HeldLease, error) {
	resource := leaseKind().GroupVersion().WithResource("leases")
	list, err := c.Dynamic().Resource(resource).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + install.LeaseName})
	if err != nil {
		return nil, fmt.Errorf("leases list: %w", err)
	}
	var out []HeldLease
	for _, lease := range list.Items {
		holder, renewed := heldBy(&lease)
		if holder == "" {
			continue
		}
		if at, err := time.Parse(time.RFC3339Nano, renewed); err == nil && time.Since(at) > clocksDiffer {
			continue
		}
		out = append(out, HeldLease{lease.GetNamespace(), holder, renewed})
	}
	return out, nil
}

// heldBy gives the holder of the Lease and the time of its renewal; each is "" if there is none.
func heldBy(lease *unstructured.Unstructured) (holder, renewed string) {
	holder, _, _ = unstructured.NestedString(lease.Object, "spec", "holderIdentity")
	renewed, _, _ = unstructured.NestedString(lease.Object, "spec", "renewTime")
	return holder, renewed
}

// IsDaemon tells whether the holder of a Lease is a pod of the daemon.
func IsDaemon(holder string) bool { return strings.HasPrefix(holder, install.DefaultName+"-") }

// removeLease removes the Leases that the daemon itself has made, also as a shadow. Karpenter's Lease
// has the same name, but not our labels; where one took the other's place, the labels stay,
// and the holder tells whose it is.
func (c *Cluster) removeLease(ctx context.Context, namespace string) error {
	for _, name := range []string{install.LeaseName, install.ShadowName} {
		if err := c.removeLeaseNamed(ctx, namespace, name); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) removeLeaseNamed(ctx context.Context, namespace, name string) error {
	ref := kube.Ref{GroupVersionKind: leaseKind(), Namespace: namespace, Name: name}
	live, err := c.Get(ctx, ref)
	if errors.Is(err, kube.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for key, value := range install.LeaseLabels() {
		if live.GetLabels()[key] != value {
			return nil
		}
	}
	if holder, _ := heldBy(live); holder != "" && !IsDaemon(holder) {
		return nil
	}
	return c.Delete(ctx, ref, live.GetUID())
}
