package nodepool

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/choice"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/convert"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwtype"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/kubeobject"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/validate"
)

const nodePoolTimeout = 5 * time.Minute

// poolCluster is the cluster with what a node pool does there.
type poolCluster struct{ *kubeobject.Cluster }

type nodePool struct {
	managed.Frame[nodePoolModel, *poolCluster]
	definitions *kubeobject.Definitions
	choices     *choice.Table
}

type nodePoolModel struct {
	Name types.String `tfsdk:"name"`
	convert.NodePool
	kubeobject.ObjectModel
	DeletionProtection types.Bool `tfsdk:"deletion_protection"`
	destroyModel
	managed.ReadyModel
	managed.LimitsModel
}

func (m nodePoolModel) IDs() []string { return []string{m.Name.ValueString()} }

// New is the resource, before its session is known.
func New(d *kubeobject.Definitions, c *choice.Table) resource.Resource {
	r := &nodePool{definitions: d, choices: c}
	r.Frame = kubeobject.InCluster(managed.Base{Kind: "node_pool", Keys: []string{"name"}}, managed.Times{Create: nodePoolTimeout, Update: nodePoolTimeout, Delete: managed.DrainTimeout}, r, func(c *kubeobject.Cluster) *poolCluster { return &poolCluster{c} })
	return r
}

// Metadata gives the type name. A rename changes the identity.
func (r *nodePool) Metadata(ctx context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	r.Frame.Metadata(ctx, req, resp)
	resp.ResourceBehavior.MutableIdentity = true
}

// Schema describes the node pool.
func (r *nodePool) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "A NodePool (`karpenter.sh/v1`): which nodes the daemon may launch, with which node class, within " +
			"which limits. The attributes are the fields of the NodePool's `spec` and `spec.template`, in snake case.\n\n" +
			"The provider checks the configuration offline against the custom resource definition. A destroy drains all nodes of the pool at once, " +
			"whatever its budgets say, and waits until their instances are terminated.",
		Attributes: map[string]schema.Attribute{
			"name": schema.StringAttribute{
				Required: true, Validators: []validator.String{validate.ObjectName()},
				MarkdownDescription: "Name of the NodePool. A new name does not replace the resource: one update creates the NodePool of the new name, waits until it is ready " +
					"(even if `wait` is `false`) for as long as `update` of `timeouts` says, then deletes the old NodePool and waits until its nodes are deleted for as long as `delete` says. " +
					"If the new NodePool does not become ready, the old one stays. While a rename is not finished, `ready` is `false`, and the next apply continues it.",
			},
			"node_class": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Name of the node class, `karpenter_node_class.<name>.name`.",
			},
			"labels": schema.MapAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Labels of the nodes, in addition to those that the requirements imply. `object_labels` are those of the NodePool itself.",
			},
			"annotations": schema.MapAttribute{
				Optional: true, ElementType: types.StringType, MarkdownDescription: "Annotations of the nodes. `object_annotations` are those of the NodePool itself.",
			},
			"object_labels":      kubeobject.ObjectLabelsAttribute(v1.NodePoolKind),
			"object_annotations": kubeobject.ObjectAnnotationsAttribute(v1.NodePoolKind, ", such as `karpenterd.sh/pause-disruption = \"true\"`, with which no node of the pool is disrupted to save money, because it has drifted or because it expires"),
			"taints":             taintsAttribute("Permanent taints of the nodes."),
			"startup_taints":     taintsAttribute("Taints that a new node has until something else, such as a CNI plugin, removes them. Pods need no tolerations for them."),
			"requirements":       requirementsAttribute(),
			"termination_grace_period": schema.StringAttribute{
				Optional: true, CustomType: fwtype.Duration(),
				MarkdownDescription: "Time limit for the drain of a node, such as `1h`. After this time, pods are deleted even if a PodDisruptionBudget protects them. Without it, a drain has no time limit.",
				Validators:          []validator.String{validate.Duration()},
			},
			"expire_after": schema.StringAttribute{
				Optional: true, Computed: true, CustomType: fwtype.Duration(), Default: stringdefault.StaticString(convert.DefaultExpireAfter),
				MarkdownDescription: "How long a node may live, such as `720h`, or `Never`. Default `720h`. The daemon replaces the node when about nine tenths of this time have passed, " +
					"within the `budgets`. With `termination_grace_period`, a node that is still there at its end is deleted even if its pods have no other place.",
				Validators: []validator.String{validate.Duration(v1.Never)},
			},
			"disruption": disruptionAttribute(),
			"limits": schema.MapAttribute{
				Optional: true, ElementType: fwtype.Quantity(),
				MarkdownDescription: "Limits on the total capacity of the pool's nodes, by resource, such as `cpu = \"100\"` or `memory = \"400Gi\"`. `nodes` limits the number of nodes.",
				Validators:          []validator.Map{validate.Quantities()},
			},
			"weight": schema.Int32Attribute{
				Optional:            true,
				MarkdownDescription: "Priority of the pool, 1 to 100. If several pools can serve a pod, the daemon uses the pool with the largest weight. Without it, the weight is 0.",
			},
			"deletion_protection": deletionProtectionAttribute(),
			"on_destroy":          onDestroyAttribute(),
			"on_timeout":          onTimeoutAttribute(),
			"replicas":            replicasAttribute(),
			"wait":                managed.WaitAttribute("the NodePool is ready"),
			"ready":               managed.ReadyAttribute("the NodePool was ready"),
			"timeouts":            r.TimeoutsAttribute(ctx),
		},
	}
}

func deletionProtectionAttribute() schema.Attribute {
	return schema.BoolAttribute{
		Optional: true, Computed: true, Default: booldefault.StaticBool(false),
		MarkdownDescription: "Refuse to destroy, replace or rename the node pool. To do so, first set it to `false` and apply. " +
			"Default `false`, because one `terraform destroy` must be able to take everything down. It is kept in the state only: it does not protect the NodePool from `kubectl delete`.",
	}
}

// replicasAttribute makes a pool static. The API server refuses to make a static pool of
// another one and the reverse, so that is a replacement.
func replicasAttribute() schema.Attribute {
	const why = "A static pool cannot become one that launches nodes for pods, nor the reverse."
	return schema.Int64Attribute{
		Optional: true,
		MarkdownDescription: "Makes the pool static: it keeps this number of nodes, whatever the pods need, and launches none for them. The nodes are spread over the zones, take pods as others do, " +
			"and are never deleted to save money, so `consolidation_policy` and `consolidate_after` mean nothing. A static pool has no `weight`, and `limits` only of `nodes`: leave room there for " +
			"the nodes that replace those that have drifted or expire. Adding or removing this attribute replaces the pool.",
		PlanModifiers: []planmodifier.Int64{int64planmodifier.RequiresReplaceIf(func(_ context.Context, req planmodifier.Int64Request, resp *int64planmodifier.RequiresReplaceIfFuncResponse) {
			resp.RequiresReplace = !req.PlanValue.IsUnknown() && req.StateValue.IsNull() != req.PlanValue.IsNull()
		}, why, why)},
	}
}

func requirementsAttribute() schema.Attribute {
	return schema.ListNestedAttribute{
		Required: true,
		MarkdownDescription: "Requirements on the labels of every node: instance types, zones, capacity types, architecture and labels of your own. All of them must hold. " +
			"See [well-known labels](https://kubernetes.io/docs/reference/labels-annotations-taints/).",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"key":      schema.StringAttribute{Required: true, MarkdownDescription: "Label key, such as `karpenter.sh/capacity-type` or `karpenter.k8s.aws/instance-category`."},
			"operator": schema.StringAttribute{Required: true, MarkdownDescription: "`In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`, `Gte` or `Lte`."},
			"values": schema.SetAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Values: at least one for `In`, one whole number for `Gt`, `Lt`, `Gte` and `Lte`, none for `Exists` and `DoesNotExist`.",
			},
			"min_values": schema.Int32Attribute{
				Optional: true,
				MarkdownDescription: "Smallest number of different values of the label, 1 to 50, among the instance types of one launch. With 5 for the " +
					"instance family, a launch allows instance types of at least 5 families. With `In`, not more than the number of `values`. " +
					"`min_values_policy` of `karpenter_daemon` says what happens if a launch cannot meet it.",
			},
		}},
	}
}

func taintsAttribute(description string) schema.Attribute {
	return schema.ListNestedAttribute{
		Optional: true, MarkdownDescription: description,
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"key":    schema.StringAttribute{Required: true, MarkdownDescription: "Key of the taint."},
			"value":  schema.StringAttribute{Optional: true, MarkdownDescription: "Value of the taint."},
			"effect": schema.StringAttribute{Required: true, MarkdownDescription: "Effect of the taint: `NoSchedule`, `PreferNoSchedule` or `NoExecute`."},
		}},
	}
}

func disruptionAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true, Computed: true, Default: objectdefault.StaticValue(convert.DefaultDisruption()),
		MarkdownDescription: "When the daemon may remove nodes.",
		Attributes: map[string]schema.Attribute{
			"consolidation_policy": schema.StringAttribute{
				Optional: true, Computed: true, Default: stringdefault.StaticString(string(v1.ConsolidationWhenEmptyOrUnderutilized)),
				MarkdownDescription: "Which nodes the daemon may remove to save money. `WhenEmpty`: nodes that run no pods except those of DaemonSets. " +
					"`WhenEmptyOrUnderutilized`, the default: also nodes whose pods run on other nodes, or on cheaper new ones. `Balanced`: the same, if the share of the pool's cost that is saved is at least half of the share of its pods' disruption.",
			},
			"consolidate_after": schema.StringAttribute{
				Optional: true, Computed: true, CustomType: fwtype.Duration(), Default: stringdefault.StaticString("0s"),
				MarkdownDescription: "How long no pod must have come to a node or left it before the daemon removes the node to save money, such as `30s`, or `Never`. Default `0s`.",
				Validators:          []validator.String{validate.Duration(v1.Never)},
			},
			"budgets": budgetsAttribute(),
		},
	}
}

func budgetsAttribute() schema.Attribute {
	return schema.ListNestedAttribute{
		Optional: true, Computed: true, Default: listdefault.StaticValue(convert.DefaultBudgets()),
		MarkdownDescription: "Bounds on how many nodes of the pool the daemon removes at once. All of them hold. Default: one budget with `nodes = \"10%\"`. For no bound, write `nodes = \"100%\"`.",
		Validators:          []validator.List{listvalidator.SizeAtLeast(1)},
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"nodes": schema.StringAttribute{
				Required: true, MarkdownDescription: "Number of nodes, such as `5`, or a percentage of the pool's nodes, rounded up, such as `10%`.",
			},
			"reasons": schema.SetAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "The reasons that the budget is about: `Empty`, `Underutilized` and `Drifted`. Without it, the budget is about all of them, and about nodes that expire.",
			},
			"schedule": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "When the budget begins to hold: a cron expression of five fields or `@hourly`, `@daily`, `@weekly`, `@monthly` or `@yearly`. " +
					"Times are UTC unless the expression begins with a zone, such as `TZ=Europe/Paris 0 9 * * mon-fri`. Without it, the budget always holds.",
			},
			"duration": schema.StringAttribute{
				Optional: true, CustomType: fwtype.Duration(),
				MarkdownDescription: "How long the budget holds from each time of `schedule` on, such as `8h`. Set it together with `schedule`.",
				Validators:          []validator.String{validate.Duration()},
			},
		}},
	}
}

// ValidateConfig checks the known values against the NodePool's definition, and
// looks for requirements that leave no value.
func (r *nodePool) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	config, ok := managed.Get[nodePoolModel](ctx, req.Config, &resp.Diagnostics)
	if !ok {
		return
	}
	if config.Disruption.IsNull() {
		config.Disruption = convert.DefaultDisruption()
	}
	spec := config.Spec(&resp.Diagnostics)
	pool := &v1.NodePool{Spec: spec}
	further := append(pool.Validate(), kubeobject.AsErrors(translate.UnsupportedOf(pool)...)...)
	resp.Diagnostics.Append(r.definitions.Check(ctx, v1.NodePoolKind, &spec, req.Config.Raw, nil, further)...)
	if !config.Requirements.IsUnknown() && !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(contradictions(spec)...)
	}
}

// ModifyPlan says what new requirements leave to choose from. Of an update it also plans the
// identity, which has the name, and says what a new name does. It refuses what deletes a
// protected pool. On creation it plans no identity: Create writes it.
func (r *nodePool) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if !req.Plan.Raw.IsNull() {
		r.PlanCluster(ctx, &resp.Diagnostics)
	}
	if req.State.Raw.IsNull() {
		if plan, ok := managed.Get[nodePoolModel](ctx, req.Plan, &resp.Diagnostics); ok {
			r.remarkOnChoice(ctx, plan, nodePoolModel{}, &resp.Diagnostics)
		}
		return
	}
	state, ok := managed.Get[nodePoolModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	if req.Plan.Raw.IsNull() {
		if state.DeletionProtection.ValueBool() {
			r.refuseDelete(&resp.Diagnostics, state)
		}
		return
	}
	plan, ok := managed.Get[nodePoolModel](ctx, req.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	r.remarkOnChoice(ctx, plan, state, &resp.Diagnostics)
	if plan.Name.IsUnknown() {
		return
	}
	r.Identify(ctx, resp.Identity, &resp.Diagnostics, plan)
	from, to := state.Name.ValueString(), plan.Name.ValueString()
	switch {
	case from == to:
	case renamesProtected(plan, state):
		resp.Diagnostics.AddAttributeError(path.Root("name"), "Cannot rename karpenter_node_pool", protectedFromRename(from, to))
	default:
		resp.Diagnostics.AddAttributeWarning(path.Root("name"), "karpenter_node_pool gets another name", fmt.Sprintf(
			"karpenter_node_pool %q: the update creates NodePool %q. When it is ready, the update deletes NodePool %q, and all nodes of %q are deleted: their pods move to other nodes.", from, to, from, from))
	}
}
