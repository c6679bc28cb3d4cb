package nodepool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/kubeobject"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
)

// How a node pool goes with its nodes, also when pods block the drain or no daemon runs.

const (
	destroyDrain     = "drain"
	destroyTerminate = "terminate"
	destroyOrphan    = "orphan"

	timeoutFail   = "fail"
	timeoutForce  = "force"
	timeoutOrphan = "orphan"

	// forcedWithin is how long the daemon has to terminate nodes at once. Then the
	// provider terminates the instances itself.
	forcedWithin = time.Minute
	// forceTimeout bounds what follows a drain that has run out of time.
	forceTimeout = 10 * time.Minute
)

// destroyModel says how the pool goes.
type destroyModel struct {
	OnDestroy types.String `tfsdk:"on_destroy"`
	OnTimeout types.String `tfsdk:"on_timeout"`
}

// orDefaults completes an imported model.
func (m *destroyModel) orDefaults() {
	if m.OnDestroy.IsNull() {
		m.OnDestroy = types.StringValue(destroyDrain)
	}
	if m.OnTimeout.IsNull() {
		m.OnTimeout = types.StringValue(timeoutFail)
	}
}

func onDestroyAttribute() schema.Attribute {
	return schema.StringAttribute{
		Optional: true, Computed: true, Default: stringdefault.StaticString(destroyDrain),
		MarkdownDescription: "What a destroy does with the nodes. `drain`: the daemon drains all of them at once, within PodDisruptionBudgets. `terminate`: pods are deleted whatever protects them, and if the daemon " +
			"does not terminate the instances within a minute, the provider does. `orphan`: the NodePool and its nodes stay, and leave only the state. Default `drain`.",
		Validators: []validator.String{stringvalidator.OneOf(destroyDrain, destroyTerminate, destroyOrphan)},
	}
}

func onTimeoutAttribute() schema.Attribute {
	return schema.StringAttribute{
		Optional: true, Computed: true, Default: stringdefault.StaticString(timeoutFail),
		MarkdownDescription: "What a destroy does when `delete` of `timeouts` has passed and nodes are left. `fail`: the destroy ends with an error that says what each node waits for, and the drain continues. " +
			"`force`: as `terminate` of `on_destroy`. `orphan`: the destroy ends with a warning, the drain continues, and the NodePool leaves the state. Default `fail`.",
		Validators: []validator.String{stringvalidator.OneOf(timeoutFail, timeoutForce, timeoutOrphan)},
	}
}

// Remove removes the pool and waits until its NodeClaims are gone, and with them its
// nodes and instances.
func (r *nodePool) Remove(ctx context.Context, j managed.Job[*poolCluster], state nodePoolModel) error {
	name := state.Name.ValueString()
	if state.OnDestroy.ValueString() == destroyOrphan {
		j.Diags.AddWarning("The node pool was not deleted", fmt.Sprintf(
			"karpenter_node_pool %q: on_destroy is orphan. NodePool %q and its nodes stay, and this configuration no longer manages them.", managed.ImportID(state), name))
		return nil
	}
	if err := j.Client.findSuccessors(ctx, name, j.Own); err != nil {
		return err
	}
	pools := append([]string{name}, poolsBut(j.Own, name)...)
	if state.OnDestroy.ValueString() == destroyTerminate {
		return r.force(ctx, j, pools)
	}
	err := func() error {
		for _, pool := range pools {
			if err := j.Client.terminatePool(ctx, kubeobject.NodePoolRef(pool), j.Own); err != nil {
				return err
			}
		}
		return nil
	}()
	if ctx.Err() == nil || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	switch state.OnTimeout.ValueString() {
	case timeoutForce:
		tflog.Warn(ctx, "the drain has run out of time: the nodes are terminated", map[string]any{"node_pool": name})
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), forceTimeout)
		defer cancel()
		return r.force(within, j, pools)
	case timeoutOrphan:
		j.Diags.AddWarning("Nodes of the node pool are left", fmt.Sprintf(
			"karpenter_node_pool %q: %v.\n\non_timeout is orphan: this configuration no longer manages NodePool %q, and the daemon continues the drain.", managed.ImportID(state), err, name))
		return nil
	}
	return err
}

// force removes the pools. Their pods are deleted whatever protects them. Instances that
// the daemon does not terminate, the provider terminates.
func (r *nodePool) force(ctx context.Context, j managed.Job[*poolCluster], pools []string) error {
	for _, pool := range pools {
		ref := kubeobject.NodePoolRef(pool)
		uid, has := j.Own[ref.Key()]
		if !has {
			continue
		}
		if err := j.Client.endGrace(ctx, ref, uid); err != nil {
			return err
		}
		within, cancel := context.WithTimeout(ctx, cmp.Or(j.Client.Pace.Forced, forcedWithin))
		err := j.Client.waitDrained(within, pool, uid)
		cancel()
		if err != nil && ctx.Err() == nil {
			if err := r.terminateRest(ctx, j.Client, pool, uid); err != nil {
				return fmt.Errorf("NodePool %q: nodes are left that no daemon terminates, and the provider could not either: %w", pool, err)
			}
		}
		if err := j.Client.removePool(ctx, ref, j.Own); err != nil {
			return err
		}
	}
	return nil
}

// endGrace deletes the pool and its NodeClaims, and says that the time of their pods is
// over.
func (c *poolCluster) endGrace(ctx context.Context, ref kube.Ref, uid string) error {
	if err := c.annotate(ctx, ref, apitypes.UID(uid), map[string]string{v1.AnnotationTerminate: v1.LabelTrue}); err != nil {
		return err
	}
	if err := c.Delete(ctx, ref, apitypes.UID(uid)); err != nil {
		return err
	}
	claims, err := c.claimsOf(ctx, ref.Name, uid)
	if err != nil {
		return err
	}
	now := time.Now().UTC().Format(time.RFC3339)
	for _, claim := range claims {
		if err := c.annotate(ctx, kube.RefOf(&claim), claim.GetUID(), map[string]string{v1.AnnotationTerminationTimestamp: now}); err != nil {
			return err
		}
		if err := c.Delete(ctx, kube.RefOf(&claim), claim.GetUID()); err != nil {
			return err
		}
	}
	return nil
}

// terminateRest terminates the instances of the pool's NodeClaims. When they are
// terminated, it releases the NodeClaims and their Nodes from the daemon's finalizers.
func (r *nodePool) terminateRest(ctx context.Context, c *poolCluster, pool, uid string) error {
	claims, err := c.claimsOf(ctx, pool, uid)
	if err != nil || len(claims) == 0 {
		return err
	}
	client, err := r.Session.AWS(ctx)
	if err != nil {
		return err
	}
	var ids []string
	for _, claim := range claims {
		found, err := client.Instances(ctx, map[string]string{awsspec.TagNodeClaimUID: string(claim.GetUID()), awsspec.TagNodePool: "*"})
		if err != nil {
			return err
		}
		for _, i := range found {
			ids = append(ids, i.ID)
		}
		id, err := instanceOf(&claim, client.Region())
		if err != nil {
			return err
		}
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		if err := c.knownToEC2(ctx, client, &claim, id); err != nil {
			return err
		}
	}
	tflog.Warn(ctx, "no daemon terminates the instances: the provider does", map[string]any{"node_pool": pool, "instances": ids})
	if err := client.Terminate(ctx, ids...); err != nil {
		return err
	}
	if err := awaitTerminated(ctx, client, ids); err != nil {
		return err
	}
	for _, claim := range claims {
		if err := c.dismissClaim(ctx, &claim); err != nil {
			return err
		}
	}
	return nil
}

// instanceOf is the id of the NodeClaim's instance; "" if none was recorded. The instance
// must be in the region that the provider calls.
func instanceOf(claim *unstructured.Unstructured, region string) (string, error) {
	provider, _, _ := unstructured.NestedString(claim.Object, "status", "providerID")
	if provider == "" {
		return "", nil
	}
	parts := strings.Split(provider, "/") // the zone and the id are the last two
	if len(parts) < 2 || !strings.HasPrefix(parts[len(parts)-2], region) {
		return "", fmt.Errorf("NodeClaim %q: its instance is %s, and the provider's region is %s: set region", claim.GetName(), provider, region)
	}
	return parts[len(parts)-1], nil
}

// knownToEC2 refuses an instance that EC2 does not know while its Node is ready: the
// provider then has the credentials of another account.
func (c *poolCluster) knownToEC2(ctx context.Context, client *aws.Clients, claim *unstructured.Unstructured, id string) error {
	if id == "" {
		return nil
	}
	if _, err := client.Instance(ctx, id); !errors.Is(err, aws.ErrNotFound) {
		return err
	}
	name, _, _ := unstructured.NestedString(claim.Object, "status", "nodeName")
	node, err := c.Get(ctx, kubeobject.NodeRef(name))
	if errors.Is(err, kube.ErrNotFound) {
		return nil
	}
	if err == nil && kubeobject.IsReady(node) {
		err = fmt.Errorf("NodeClaim %q: node %s is ready, and EC2 does not know its instance %s: check the account of the provider's credentials", claim.GetName(), name, id)
	}
	return err
}

// awaitTerminated returns when all instances are terminated.
func awaitTerminated(ctx context.Context, client *aws.Clients, ids []string) error {
	left := slices.Clone(ids)
	err := wait.PollUntilContextCancel(ctx, 2*time.Second, true, func(ctx context.Context) (bool, error) {
		for len(left) > 0 {
			i, err := client.Instance(ctx, left[0])
			if err != nil && !errors.Is(err, aws.ErrNotFound) {
				return false, err
			}
			if err == nil && i.State != "terminated" {
				return false, nil
			}
			left = left[1:]
		}
		return true, nil
	})
	if err != nil && len(left) > 0 {
		return fmt.Errorf("instances %s are not terminated: %w", strings.Join(left, ", "), err)
	}
	return err
}

// dismissClaim deletes the NodeClaim, whose instance is terminated, and its Node, and removes
// the daemon's finalizers from both.
func (c *poolCluster) dismissClaim(ctx context.Context, claim *unstructured.Unstructured) error {
	if name, _, _ := unstructured.NestedString(claim.Object, "status", "nodeName"); name != "" {
		node, err := c.Get(ctx, kubeobject.NodeRef(name))
		if err == nil {
			err = c.dismiss(ctx, kubeobject.NodeRef(name), node.GetUID())
		}
		if err != nil && !errors.Is(err, kube.ErrNotFound) {
			return err
		}
	}
	return c.dismiss(ctx, kube.RefOf(claim), claim.GetUID())
}

func (c *poolCluster) dismiss(ctx context.Context, ref kube.Ref, uid apitypes.UID) error {
	if err := c.Delete(ctx, ref, uid); err != nil {
		return err
	}
	return c.release(ctx, ref, uid)
}
