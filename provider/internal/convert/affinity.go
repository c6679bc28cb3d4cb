package convert

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type affinity struct {
	Node    types.Object `tfsdk:"node_affinity"`
	Pod     types.Object `tfsdk:"pod_affinity"`
	PodAnti types.Object `tfsdk:"pod_anti_affinity"`
}

// terms are those of one kind of affinity.
type terms struct {
	Required  types.List `tfsdk:"required"`
	Preferred types.List `tfsdk:"preferred"`
}

type nodeTerm struct {
	Expressions types.List `tfsdk:"match_expressions"`
}

type weightedNodeTerm struct {
	Weight      types.Int32 `tfsdk:"weight"`
	Expressions types.List  `tfsdk:"match_expressions"`
}

type podTerm struct {
	TopologyKey types.String `tfsdk:"topology_key"`
	Labels      types.Map    `tfsdk:"match_labels"`
	Expressions types.List   `tfsdk:"match_expressions"`
	Namespaces  types.Set    `tfsdk:"namespaces"`
}

type weightedPodTerm struct {
	Weight      types.Int32  `tfsdk:"weight"`
	TopologyKey types.String `tfsdk:"topology_key"`
	Labels      types.Map    `tfsdk:"match_labels"`
	Expressions types.List   `tfsdk:"match_expressions"`
	Namespaces  types.Set    `tfsdk:"namespaces"`
}

type expression struct {
	Key      types.String `tfsdk:"key"`
	Operator types.String `tfsdk:"operator"`
	Values   types.Set    `tfsdk:"values"`
}

func expressionType() types.ObjectType {
	return objectType(map[string]attr.Type{"key": types.StringType, "operator": types.StringType, "values": types.SetType{ElemType: types.StringType}})
}

func nodeTermType(weighted bool) types.ObjectType {
	attributes := map[string]attr.Type{"match_expressions": types.ListType{ElemType: expressionType()}}
	if weighted {
		attributes["weight"] = types.Int32Type
	}
	return objectType(attributes)
}

func podTermType(weighted bool) types.ObjectType {
	attributes := map[string]attr.Type{
		"topology_key": types.StringType, "match_labels": types.MapType{ElemType: types.StringType},
		"match_expressions": types.ListType{ElemType: expressionType()}, "namespaces": types.SetType{ElemType: types.StringType},
	}
	if weighted {
		attributes["weight"] = types.Int32Type
	}
	return objectType(attributes)
}

// termsType is the type of one kind of affinity, whose terms have the type of term.
func termsType(term func(weighted bool) types.ObjectType) types.ObjectType {
	return objectType(map[string]attr.Type{"required": types.ListType{ElemType: term(false)}, "preferred": types.ListType{ElemType: term(true)}})
}

func affinityType() types.ObjectType {
	return objectType(map[string]attr.Type{
		"node_affinity": termsType(nodeTermType), "pod_affinity": termsType(podTermType), "pod_anti_affinity": termsType(podTermType),
	})
}

// affinityOptions is nil for an absent attribute.
func affinityOptions(ctx context.Context, o types.Object, diags *diag.Diagnostics) *corev1.Affinity {
	given := object[affinity](ctx, o, diags)
	if given == nil {
		return nil
	}
	out := &corev1.Affinity{NodeAffinity: nodeAffinity(ctx, given.Node, diags)}
	if required, preferred, there := podAffinity(ctx, given.Pod, diags); there {
		out.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required, PreferredDuringSchedulingIgnoredDuringExecution: preferred}
	}
	if required, preferred, there := podAffinity(ctx, given.PodAnti, diags); there {
		out.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required, PreferredDuringSchedulingIgnoredDuringExecution: preferred}
	}
	return out
}

func nodeAffinity(ctx context.Context, o types.Object, diags *diag.Diagnostics) *corev1.NodeAffinity {
	given := object[terms](ctx, o, diags)
	if given == nil {
		return nil
	}
	out := &corev1.NodeAffinity{}
	for _, t := range elements[nodeTerm](ctx, given.Required, diags) {
		if out.RequiredDuringSchedulingIgnoredDuringExecution == nil {
			out.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{}
		}
		selector := out.RequiredDuringSchedulingIgnoredDuringExecution
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, nodeSelectorTerm(ctx, t.Expressions, diags))
	}
	for _, t := range elements[weightedNodeTerm](ctx, given.Preferred, diags) {
		out.PreferredDuringSchedulingIgnoredDuringExecution = append(out.PreferredDuringSchedulingIgnoredDuringExecution,
			corev1.PreferredSchedulingTerm{Weight: t.Weight.ValueInt32(), Preference: nodeSelectorTerm(ctx, t.Expressions, diags)})
	}
	return out
}

func nodeSelectorTerm(ctx context.Context, expressions types.List, diags *diag.Diagnostics) corev1.NodeSelectorTerm {
	var out corev1.NodeSelectorTerm
	for _, e := range elements[expression](ctx, expressions, diags) {
		out.MatchExpressions = append(out.MatchExpressions, corev1.NodeSelectorRequirement{
			Key: e.Key.ValueString(), Operator: corev1.NodeSelectorOperator(e.Operator.ValueString()), Values: setStrings(e.Values),
		})
	}
	return out
}

func podAffinity(ctx context.Context, o types.Object, diags *diag.Diagnostics) (required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm, there bool) {
	given := object[terms](ctx, o, diags)
	if given == nil {
		return nil, nil, false
	}
	for _, t := range elements[podTerm](ctx, given.Required, diags) {
		required = append(required, podAffinityTerm(ctx, t, diags))
	}
	for _, t := range elements[weightedPodTerm](ctx, given.Preferred, diags) {
		term := podTerm{TopologyKey: t.TopologyKey, Labels: t.Labels, Expressions: t.Expressions, Namespaces: t.Namespaces}
		preferred = append(preferred, corev1.WeightedPodAffinityTerm{Weight: t.Weight.ValueInt32(), PodAffinityTerm: podAffinityTerm(ctx, term, diags)})
	}
	return required, preferred, true
}

func podAffinityTerm(ctx context.Context, t podTerm, diags *diag.Diagnostics) corev1.PodAffinityTerm {
	selector := &metav1.LabelSelector{MatchLabels: Strings(t.Labels)}
	for _, e := range elements[expression](ctx, t.Expressions, diags) {
		selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: e.Key.ValueString(), Operator: metav1.LabelSelectorOperator(e.Operator.ValueString()), Values: setStrings(e.Values),
		})
	}
	return corev1.PodAffinityTerm{LabelSelector: selector, TopologyKey: t.TopologyKey.ValueString(), Namespaces: setStrings(t.Namespaces)}
}

// affinityOf is the reverse of affinityOptions; null for nothing. What the attribute cannot
// say is left out.
func affinityOf(ctx context.Context, a *corev1.Affinity, diags *diag.Diagnostics) types.Object {
	if a == nil || a.NodeAffinity == nil && a.PodAffinity == nil && a.PodAntiAffinity == nil {
		return types.ObjectNull(affinityType().AttrTypes)
	}
	out := affinity{
		Node: nodeAffinityOf(ctx, a.NodeAffinity, diags), Pod: types.ObjectNull(termsType(podTermType).AttrTypes), PodAnti: types.ObjectNull(termsType(podTermType).AttrTypes),
	}
	if p := a.PodAffinity; p != nil {
		out.Pod = podAffinityOf(ctx, p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution, diags)
	}
	if p := a.PodAntiAffinity; p != nil {
		out.PodAnti = podAffinityOf(ctx, p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution, diags)
	}
	return objectOf(ctx, affinityType().AttrTypes, &out, diags)
}

func nodeAffinityOf(ctx context.Context, a *corev1.NodeAffinity, diags *diag.Diagnostics) types.Object {
	of := termsType(nodeTermType).AttrTypes
	if a == nil {
		return types.ObjectNull(of)
	}
	expressions := func(t corev1.NodeSelectorTerm) types.List {
		return list(ctx, expressionType(), func(r corev1.NodeSelectorRequirement) expression {
			return expressionOf(r.Key, string(r.Operator), r.Values)
		}, diags)(t.MatchExpressions)
	}
	var required []corev1.NodeSelectorTerm
	if s := a.RequiredDuringSchedulingIgnoredDuringExecution; s != nil {
		required = s.NodeSelectorTerms
	}
	return objectOf(ctx, of, &terms{
		Required: list(ctx, nodeTermType(false), func(t corev1.NodeSelectorTerm) nodeTerm { return nodeTerm{Expressions: expressions(t)} }, diags)(required),
		Preferred: list(ctx, nodeTermType(true), func(t corev1.PreferredSchedulingTerm) weightedNodeTerm {
			return weightedNodeTerm{Weight: types.Int32Value(t.Weight), Expressions: expressions(t.Preference)}
		}, diags)(a.PreferredDuringSchedulingIgnoredDuringExecution),
	}, diags)
}

func podAffinityOf(ctx context.Context, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm, diags *diag.Diagnostics) types.Object {
	term := func(t corev1.PodAffinityTerm) podTerm {
		var selector metav1.LabelSelector
		if t.LabelSelector != nil {
			selector = *t.LabelSelector
		}
		return podTerm{
			TopologyKey: types.StringValue(t.TopologyKey), Labels: StringMap(selector.MatchLabels), Namespaces: stringSet(t.Namespaces),
			Expressions: list(ctx, expressionType(), func(r metav1.LabelSelectorRequirement) expression {
				return expressionOf(r.Key, string(r.Operator), r.Values)
			}, diags)(selector.MatchExpressions),
		}
	}
	return objectOf(ctx, termsType(podTermType).AttrTypes, &terms{
		Required: list(ctx, podTermType(false), term, diags)(required),
		Preferred: list(ctx, podTermType(true), func(t corev1.WeightedPodAffinityTerm) weightedPodTerm {
			inner := term(t.PodAffinityTerm)
			return weightedPodTerm{
				Weight: types.Int32Value(t.Weight), TopologyKey: inner.TopologyKey, Labels: inner.Labels, Expressions: inner.Expressions, Namespaces: inner.Namespaces,
			}
		}, diags)(preferred),
	}, diags)
}

func expressionOf(key, operator string, values []string) expression {
	return expression{Key: types.StringValue(key), Operator: types.StringValue(operator), Values: stringSet(values)}
}
