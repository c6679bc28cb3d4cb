package convert

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

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

type requirement struct {
	Key       types.String `tfsdk:"key"`
	Operator  types.String `tfsdk:"operator"`
	Values    types.Set    `tfsdk:"values"`
	MinValues types.Int32  `tfsdk:"min_values"`
}

type taint struct {
	Key    types.String `tfsdk:"key"`
	Value  types.String `tfsdk:"value"`
	Effect types.String `tfsdk:"effect"`
}

type disruption struct {
	ConsolidationPolicy types.String `tfsdk:"consolidation_policy"`
	ConsolidateAfter    fwtype.Value `tfsdk:"consolidate_after"`
	Budgets             types.List   `tfsdk:"budgets"`
}

type budget struct {
	Nodes    types.String `tfsdk:"nodes"`
	Reasons  types.Set    `tfsdk:"reasons"`
	Schedule types.String `tfsdk:"schedule"`
	Duration fwtype.Value `tfsdk:"duration"`
}

// RequirementType is the type of an element of requirements.
func RequirementType() types.ObjectType {
	return types.ObjectType{AttrTypes: map[string]attr.Type{
		"key": types.StringType, "operator": types.StringType, "values": types.SetType{ElemType: types.StringType},
		"min_values": types.Int32Type,
	}}
}

// TaintType is the type of an element of taints and startup_taints.
func TaintType() types.ObjectType {
	return types.ObjectType{AttrTypes: map[string]attr.Type{
		"key": types.StringType, "value": types.StringType, "effect": types.StringType,
	}}
}

// DisruptionType is the type of disruption.
func DisruptionType() types.ObjectType {
	return types.ObjectType{AttrTypes: map[string]attr.Type{
		"consolidation_policy": types.StringType, "consolidate_after": fwtype.Duration(),
		"budgets": types.ListType{ElemType: BudgetType()},
	}}
}

// BudgetType is the type of an element of budgets.
func BudgetType() types.ObjectType {
	return types.ObjectType{AttrTypes: map[string]attr.Type{
		"nodes": types.StringType, "reasons": types.SetType{ElemType: types.StringType}, "schedule": types.StringType, "duration": fwtype.Duration(),
	}}
}

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
func (p NodePool) Spec(ctx context.Context, diags *diag.Diagnostics) v1.NodePoolSpec {
	spec := v1.NodePoolSpec{
		Template: v1.NodeTemplate{
			ObjectMeta: v1.TemplateMeta{Labels: Strings(p.Labels), Annotations: Strings(p.Annotations)},
			Spec: v1.NodeTemplateSpec{NodeSpec: v1.NodeSpec{
				Taints:                 taints(ctx, p.Taints, diags),
				StartupTaints:          taints(ctx, p.StartupTaints, diags),
				Requirements:           requirements(ctx, p.Requirements, diags),
				NodeClassRef:           v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: p.NodeClass.ValueString()},
				TerminationGracePeriod: Duration(p.TerminationGracePeriod),
				ExpireAfter:            pointer(p.ExpireAfter, nillable(p.ExpireAfter)),
			}},
		},
		Limits: Limits(p.Limits),
		Weight: pointer(p.Weight, p.Weight.ValueInt32()), Replicas: pointer(p.Replicas, p.Replicas.ValueInt64()),
	}
	if d := object[disruption](ctx, p.Disruption, diags); d != nil {
		spec.Disruption = v1.Disruption{
			ConsolidationPolicy: v1.ConsolidationPolicy(d.ConsolidationPolicy.ValueString()),
			ConsolidateAfter:    nillable(d.ConsolidateAfter),
			Budgets:             budgets(ctx, d.Budgets, diags),
		}
	}
	return spec
}

// NodePoolOf is the reverse of Spec. An attribute that means the same as in prior
// keeps its form from prior.
func NodePoolOf(ctx context.Context, spec v1.NodePoolSpec, prior NodePool, diags *diag.Diagnostics) NodePool {
	was := prior.Spec(ctx, diags)
	before, now := was.Template.Spec.NodeSpec, spec.Template.Spec.NodeSpec
	return NodePool{
		NodeClass:              types.StringValue(now.NodeClassRef.Name),
		Labels:                 keep(was.Template.ObjectMeta.Labels, spec.Template.ObjectMeta.Labels, prior.Labels, StringMap),
		Annotations:            keep(was.Template.ObjectMeta.Annotations, spec.Template.ObjectMeta.Annotations, prior.Annotations, StringMap),
		Taints:                 keep(before.Taints, now.Taints, prior.Taints, list(ctx, TaintType(), taintOf, diags)),
		StartupTaints:          keep(before.StartupTaints, now.StartupTaints, prior.StartupTaints, list(ctx, TaintType(), taintOf, diags)),
		Requirements:           requirementsOf(ctx, before.Requirements, now.Requirements, prior.Requirements, diags),
		TerminationGracePeriod: keep(before.TerminationGracePeriod, now.TerminationGracePeriod, prior.TerminationGracePeriod, DurationValue),
		ExpireAfter:            keep(before.ExpireAfter, now.ExpireAfter, prior.ExpireAfter, nillableValue),
		Limits:                 keep(was.Limits, spec.Limits, prior.Limits, LimitsMap),
		Weight:                 types.Int32PointerValue(spec.Weight),
		Replicas:               types.Int64PointerValue(spec.Replicas),
		Disruption: keep(was.Disruption, spec.Disruption, prior.Disruption, func(d v1.Disruption) types.Object {
			return objectOf(ctx, DisruptionType().AttrTypes, &disruption{
				ConsolidationPolicy: types.StringValue(string(d.ConsolidationPolicy)),
				ConsolidateAfter:    nillableValue(&d.ConsolidateAfter),
				Budgets:             list(ctx, BudgetType(), budgetOf, diags)(d.Budgets),
			}, diags)
		}),
	}
}

func requirements(ctx context.Context, l types.List, diags *diag.Diagnostics) []v1.Requirement {
	out := []v1.Requirement{} // the field is required, even as an empty list
	for _, r := range elements[requirement](ctx, l, diags) {
		out = append(out, v1.Requirement{
			Key: r.Key.ValueString(), Operator: corev1.NodeSelectorOperator(r.Operator.ValueString()), Values: setStrings(r.Values),
			MinValues: pointer(r.MinValues, int(r.MinValues.ValueInt32())),
		})
	}
	return out
}

// requirementsOf is the reverse of requirements. The attribute is required, so it is an empty list
// where an import finds none.
func requirementsOf(ctx context.Context, was, found []v1.Requirement, prior types.List, diags *diag.Diagnostics) types.List {
	convert := list(ctx, RequirementType(), requirementOf, diags)
	if len(found) == 0 && prior.IsNull() {
		return types.ListValueMust(RequirementType(), []attr.Value{})
	}
	return keep(was, found, prior, convert)
}

func requirementOf(r v1.Requirement) requirement {
	out := requirement{Key: types.StringValue(r.Key), Operator: types.StringValue(string(r.Operator)), Values: stringSet(r.Values)}
	if r.MinValues != nil {
		out.MinValues = types.Int32Value(int32(*r.MinValues)) // 1 to 50: the definition says so
	}
	return out
}

func budgets(ctx context.Context, l types.List, diags *diag.Diagnostics) []v1.Budget {
	var out []v1.Budget
	for _, b := range elements[budget](ctx, l, diags) {
		x := v1.Budget{Nodes: b.Nodes.ValueString(), Schedule: pointer(b.Schedule, b.Schedule.ValueString()), Duration: Duration(b.Duration)}
		for _, r := range setStrings(b.Reasons) {
			x.Reasons = append(x.Reasons, v1.DisruptionReason(r))
		}
		out = append(out, x)
	}
	return out
}

func budgetOf(b v1.Budget) budget {
	out := budget{Nodes: types.StringValue(b.Nodes), Schedule: types.StringPointerValue(b.Schedule), Duration: DurationValue(b.Duration)}
	var reasons []string
	for _, r := range b.Reasons {
		reasons = append(reasons, string(r))
	}
	out.Reasons = stringSet(reasons)
	return out
}

func taints(ctx context.Context, l types.List, diags *diag.Diagnostics) []v1.Taint {
	var out []v1.Taint
	for _, t := range elements[taint](ctx, l, diags) {
		out = append(out, v1.Taint{Key: t.Key.ValueString(), Value: t.Value.ValueString(), Effect: corev1.TaintEffect(t.Effect.ValueString())})
	}
	return out
}

func taintOf(t v1.Taint) taint {
	return taint{Key: types.StringValue(t.Key), Value: stringValue(t.Value), Effect: types.StringValue(string(t.Effect))}
}
