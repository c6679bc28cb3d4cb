package convert

import (
	"context"
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwtype"
)

// NodePool has the attributes of a node pool that are its spec.
type NodePool struct {
	NodeClass              types.String `tfsdk:"node_class"`
	Labels                 types.Map    `tfsdk:"labels"`
	Annotations            types.Map    `tfsdk:"annotations"`
	Taints                 types.List   `tfsdk:"taints"`
	StartupTaints          types.List   `tfsdk:"startup_taints"`
	Requirements           types.List   `tfsdk:"requirements"`
	TerminationGracePeriod fwtype.Value `tfsdk:"termination_grace_period"`
	ExpireAfter            fwtype.Value `tfsdk:"expire_after"`
	Disruption             types.Object `tfsdk:"disruption"`
	Limits                 types.Map    `tfsdk:"limits"`
	Weight                 types.Int32  `tfsdk:"weight"`
	Replicas               types.Int64  `tfsdk:"replicas"`
}

// DisruptionType is the type of disruption.
func DisruptionType() types.ObjectType { return objectTypeOf(reflect.TypeFor[v1.Disruption]()) }

// BudgetType is the type of an element of budgets.
func BudgetType() types.ObjectType { return objectTypeOf(reflect.TypeFor[v1.Budget]()) }

// DefaultExpireAfter is the API's default of expire_after.
const DefaultExpireAfter = "720h"

// DefaultBudgets is the default of budgets: a tenth of the pool's nodes.
func DefaultBudgets() types.List {
	return types.ListValueMust(BudgetType(), []attr.Value{types.ObjectValueMust(BudgetType().AttrTypes, map[string]attr.Value{
		"nodes": types.StringValue("10%"), "reasons": types.SetNull(types.StringType), "schedule": types.StringNull(), "duration": fwtype.Duration().Null(),
	})})
}

// DefaultDisruption is the default of disruption: the API's own defaults.
func DefaultDisruption() types.Object {
	return types.ObjectValueMust(DisruptionType().AttrTypes, map[string]attr.Value{
		"consolidation_policy": types.StringValue(string(v1.ConsolidationWhenEmptyOrUnderutilized)),
		"consolidate_after":    fwtype.Duration().Value("0s"),
		"budgets":              DefaultBudgets(),
	})
}

// Spec is the wire form.
func (p NodePool) Spec(diags *diag.Diagnostics) v1.NodePoolSpec {
	var spec v1.NodePoolSpec
	write(p, diags, poolParts(&spec)...)
	spec.Template.Spec.NodeClassRef = v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: p.NodeClass.ValueString()}
	return spec
}

// NodePoolOf is the reverse of Spec. An attribute that means the same as in prior
// keeps its form from prior.
func NodePoolOf(ctx context.Context, spec v1.NodePoolSpec, prior NodePool, diags *diag.Diagnostics) NodePool {
	was := prior.Spec(diags)
	read(ctx, &prior, diags, poolParts(&was), poolParts(&spec))
	prior.NodeClass = types.StringValue(spec.Template.Spec.NodeClassRef.Name)
	return prior
}

// poolParts are those of a spec whose fields are attributes of a node pool.
func poolParts(spec *v1.NodePoolSpec) []any {
	return []any{spec, &spec.Template.ObjectMeta, &spec.Template.Spec.NodeSpec}
}
