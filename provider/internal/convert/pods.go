package convert

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwtype"
)

// Pods has the attributes of the daemon that say how its pods are run.
type Pods struct {
	Resources           types.Object `tfsdk:"resources"`
	Tolerations         types.List   `tfsdk:"tolerations"`
	NodeSelector        types.Map    `tfsdk:"node_selector"`
	Affinity            types.Object `tfsdk:"affinity"`
	PriorityClassName   types.String `tfsdk:"priority_class_name"`
	ImagePullSecrets    types.Set    `tfsdk:"image_pull_secrets"`
	Environment         types.Map    `tfsdk:"environment"`
	PodLabels           types.Map    `tfsdk:"pod_labels"`
	PodAnnotations      types.Map    `tfsdk:"pod_annotations"`
	MetricsPort         types.Int32  `tfsdk:"metrics_port"`
	HealthProbePort     types.Int32  `tfsdk:"health_probe_port"`
	MetricsNamespaces   types.Set    `tfsdk:"metrics_namespaces"`
	PodDisruptionBudget types.Object `tfsdk:"pod_disruption_budget"`
}

// Values are the attributes, for a look whether all are known.
func (p Pods) Values() []attr.Value {
	return []attr.Value{
		p.Resources, p.Tolerations, p.NodeSelector, p.Affinity, p.PriorityClassName, p.ImagePullSecrets, p.Environment,
		p.PodLabels, p.PodAnnotations, p.MetricsPort, p.HealthProbePort, p.MetricsNamespaces, p.PodDisruptionBudget,
	}
}

type resources struct {
	Requests types.Object `tfsdk:"requests"`
	Limits   types.Object `tfsdk:"limits"`
}

type amounts struct {
	CPU    fwtype.Value `tfsdk:"cpu"`
	Memory fwtype.Value `tfsdk:"memory"`
}

type toleration struct {
	Key      types.String `tfsdk:"key"`
	Operator types.String `tfsdk:"operator"`
	Value    types.String `tfsdk:"value"`
	Effect   types.String `tfsdk:"effect"`
	Seconds  types.Int64  `tfsdk:"toleration_seconds"`
}

type podDisruptionBudget struct {
	Enabled        types.Bool   `tfsdk:"enabled"`
	MaxUnavailable types.String `tfsdk:"max_unavailable"`
	MinAvailable   types.String `tfsdk:"min_available"`
}

func amountsType() types.ObjectType {
	return objectType(map[string]attr.Type{"cpu": fwtype.Quantity(), "memory": fwtype.Quantity()})
}

func resourcesType() types.ObjectType {
	return objectType(map[string]attr.Type{"requests": amountsType(), "limits": amountsType()})
}

func tolerationType() types.ObjectType {
	return objectType(map[string]attr.Type{
		"key": types.StringType, "operator": types.StringType, "value": types.StringType, "effect": types.StringType, "toleration_seconds": types.Int64Type,
	})
}

func podDisruptionBudgetType() types.ObjectType {
	return objectType(map[string]attr.Type{"enabled": types.BoolType, "max_unavailable": types.StringType, "min_available": types.StringType})
}

// Install gives the options of the installation. Unknown values count as absent.
func (p Pods) Install(ctx context.Context, diags *diag.Diagnostics) install.Pods {
	var readers []string
	if known(p.MetricsNamespaces) {
		readers = append([]string{}, setStrings(p.MetricsNamespaces)...)
	}
	return install.Pods{
		MetricsNamespaces: readers,
		Resources:         p.resources(ctx, diags), Tolerations: p.tolerations(ctx, diags), NodeSelector: Strings(p.NodeSelector),
		Affinity: affinityOptions(ctx, p.Affinity, diags), PriorityClass: pointer(p.PriorityClassName, p.PriorityClassName.ValueString()),
		PullSecrets: setStrings(p.ImagePullSecrets), Environment: Strings(p.Environment),
		PodLabels: Strings(p.PodLabels), PodAnnotations: Strings(p.PodAnnotations),
		MetricsPort: p.MetricsPort.ValueInt32(), HealthPort: p.HealthProbePort.ValueInt32(), Budget: p.Budget(ctx, diags),
	}
}

// resources are the defaults, with requests or limits replaced as a whole where they are given.
func (p Pods) resources(ctx context.Context, diags *diag.Diagnostics) *corev1.ResourceRequirements {
	given := object[resources](ctx, p.Resources, diags)
	if given == nil {
		return nil
	}
	out := install.DefaultResources()
	if known(given.Requests) {
		out.Requests = quantities(ctx, given.Requests, diags)
	}
	if known(given.Limits) {
		out.Limits = quantities(ctx, given.Limits, diags)
	}
	return &out
}

func quantities(ctx context.Context, o types.Object, diags *diag.Diagnostics) corev1.ResourceList {
	given, out := object[amounts](ctx, o, diags), corev1.ResourceList{}
	for name, value := range map[corev1.ResourceName]fwtype.Value{corev1.ResourceCPU: given.CPU, corev1.ResourceMemory: given.Memory} {
		if !known(value) {
			continue
		}
		q, err := resource.ParseQuantity(value.ValueString())
		if err != nil {
			diags.AddError("Invalid value", string(name)+" of resources: "+err.Error()+".")
			continue
		}
		out[name] = q
	}
	return out
}

// tolerations are nil if none are given, which stands for the default, and empty if there
// are to be none.
func (p Pods) tolerations(ctx context.Context, diags *diag.Diagnostics) []corev1.Toleration {
	if !known(p.Tolerations) {
		return nil
	}
	out := []corev1.Toleration{}
	for _, t := range elements[toleration](ctx, p.Tolerations, diags) {
		out = append(out, corev1.Toleration{
			Key: t.Key.ValueString(), Operator: corev1.TolerationOperator(t.Operator.ValueString()), Value: t.Value.ValueString(),
			Effect: corev1.TaintEffect(t.Effect.ValueString()), TolerationSeconds: pointer(t.Seconds, t.Seconds.ValueInt64()),
		})
	}
	return out
}

// Budget gives the options of the PodDisruptionBudget.
func (p Pods) Budget(ctx context.Context, diags *diag.Diagnostics) install.Budget {
	given := object[podDisruptionBudget](ctx, p.PodDisruptionBudget, diags)
	if given == nil {
		return install.Budget{}
	}
	return install.Budget{
		None:           known(given.Enabled) && !given.Enabled.ValueBool(),
		MaxUnavailable: given.MaxUnavailable.ValueString(), MinAvailable: given.MinAvailable.ValueString(),
	}
}

func tolerationOf(t corev1.Toleration) toleration {
	operator := t.Operator
	if operator == "" {
		operator = corev1.TolerationOpEqual
	}
	return toleration{
		Key: stringValue(t.Key), Operator: types.StringValue(string(operator)), Value: stringValue(t.Value),
		Effect: stringValue(string(t.Effect)), Seconds: types.Int64PointerValue(t.TolerationSeconds),
	}
}
