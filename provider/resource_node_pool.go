package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/convert"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwtype"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/validate"
)

const (
	nodePoolTimeout = 5 * time.Minute
	// drainTimeout leaves room for nodes that drain within their pods' budgets.
	drainTimeout = 30 * time.Minute
)

type nodePool struct {
	base
	definitions *definitions
}

type nodePoolModel struct {
	Name types.String `tfsdk:"name"`
	convert.NodePool
	Wait     types.Bool     `tfsdk:"wait"`
	Ready    types.Bool     `tfsdk:"ready"`
	Timeouts timeouts.Value `tfsdk:"timeouts"`
}

func (m nodePoolModel) ids() []string { return []string{m.Name.ValueString()} }

func newNodePool(d *definitions) resource.Resource {
	return &nodePool{base: base{kind: "node_pool", keys: []string{"name"}}, definitions: d}
}

// Schema describes the node pool.
func (r *nodePool) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "A NodePool (`karpenter.sh/v1`): which nodes the daemon may launch, from which node class, within " +
			"which limits. The attributes are the fields of the NodePool's spec, those of `spec.template` included, in " +
			"snake case.\n\nThe configuration is checked offline with the NodePool's own definition. Destroying the pool " +
			"waits until its nodes are drained and gone.",
		Attributes: map[string]schema.Attribute{
			"name": objectNameAttribute("NodePool"),
			"node_class": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Name of the node class, `karpenter_node_class.<name>.name`.",
			},
			"labels": schema.MapAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Labels of the nodes, in addition to those that the requirements imply.",
			},
			"annotations": schema.MapAttribute{
				Optional: true, ElementType: types.StringType, MarkdownDescription: "Annotations of the nodes.",
			},
			"taints":         taintsAttribute("Taints of the nodes, for as long as they live."),
			"startup_taints": taintsAttribute("Taints that the nodes begin with and that something else removes, such as a CNI. Pods need not tolerate them."),
			"requirements":   requirementsAttribute(),
			"termination_grace_period": schema.StringAttribute{
				Optional: true, CustomType: fwtype.Duration(),
				MarkdownDescription: "How long a node may drain, such as `1h`. After it pods are deleted whatever their PodDisruptionBudget says. Without it a drain waits for ever.",
				Validators:          []validator.String{validate.Duration()},
			},
			"disruption": disruptionAttribute(),
			"limits": schema.MapAttribute{
				Optional: true, ElementType: fwtype.Quantity(),
				MarkdownDescription: "Bounds on the sum of the pool's capacity by resource, such as `cpu = \"100\"` or `memory = \"400Gi\"`; `nodes` counts nodes.",
				Validators:          []validator.Map{validate.Quantities()},
			},
			"weight": schema.Int32Attribute{
				Optional:            true,
				MarkdownDescription: "1 to 100: of the pools that could serve a pod the heavier is taken. Without it, 0.",
			},
			"wait":     waitAttribute("the NodePool is ready"),
			"ready":    readyAttribute("the NodePool was ready"),
			"timeouts": timeoutsAttribute(ctx, nodePoolTimeout, nodePoolTimeout, drainTimeout),
		},
	}
}

func requirementsAttribute() schema.Attribute {
	return schema.ListNestedAttribute{
		Required: true,
		MarkdownDescription: "What every node's labels must satisfy, all of it: instance types, zones, capacity types, architecture and labels of your own. " +
			"See [well-known labels](https://kubernetes.io/docs/reference/labels-annotations-taints/).",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"key":      schema.StringAttribute{Required: true, MarkdownDescription: "Label, such as `karpenter.sh/capacity-type` or `karpenter.k8s.aws/instance-category`."},
			"operator": schema.StringAttribute{Required: true, MarkdownDescription: "`In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`, `Gte` or `Lte`."},
			"values": schema.SetAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Values: at least one for `In`, one whole number for `Gt`, `Lt`, `Gte` and `Lte`, none for `Exists` and `DoesNotExist`.",
			},
			"min_values": schema.Int32Attribute{
				Optional: true,
				MarkdownDescription: "1 to 50: how many different values of the label the instance types of a launch must have between them, such as " +
					"5 families, so that no launch depends on too few. Of `In` not more than there are `values`. What happens where " +
					"they cannot be had is `min_values_policy` of `karpenter_daemon`.",
			},
		}},
	}
}

func taintsAttribute(description string) schema.Attribute {
	return schema.ListNestedAttribute{
		Optional: true, MarkdownDescription: description,
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"key":    schema.StringAttribute{Required: true, MarkdownDescription: "Key."},
			"value":  schema.StringAttribute{Optional: true, MarkdownDescription: "Value."},
			"effect": schema.StringAttribute{Required: true, MarkdownDescription: "`NoSchedule`, `PreferNoSchedule` or `NoExecute`."},
		}},
	}
}

func disruptionAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true, Computed: true, Default: objectdefault.StaticValue(convert.DefaultDisruption()),
		MarkdownDescription: "When nodes may be removed.",
		Attributes: map[string]schema.Attribute{
			"consolidation_policy": schema.StringAttribute{
				Optional: true, Computed: true, Default: stringdefault.StaticString(string(v1.ConsolidationWhenEmpty)),
				MarkdownDescription: "`WhenEmpty`, the default: nodes without pods (those of DaemonSets aside) are removed.",
			},
			"consolidate_after": schema.StringAttribute{
				Optional: true, Computed: true, CustomType: fwtype.Duration(), Default: stringdefault.StaticString("0s"),
				MarkdownDescription: "How long a node must be empty, such as `30s`, or `Never`. Default `0s`.",
				Validators:          []validator.String{validate.Duration(v1.Never)},
			},
		},
	}
}

// ValidateConfig checks what is known with the NodePool's definition, and looks
// for requirements that leave no value.
func (r *nodePool) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	config, ok := get[nodePoolModel](ctx, req.Config, &resp.Diagnostics)
	if !ok {
		return
	}
	if config.Disruption.IsNull() {
		config.Disruption = convert.DefaultDisruption()
	}
	spec := config.Spec(ctx, &resp.Diagnostics)
	further := (&v1.NodePool{Spec: spec}).Validate()
	resp.Diagnostics.Append(r.definitions.check(ctx, v1.NodePoolKind, &spec, req.Config.Raw, further...)...)
	if !config.Requirements.IsUnknown() && !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(contradictions(spec)...)
	}
}
