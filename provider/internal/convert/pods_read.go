package convert

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwtype"
)

// restarted is the annotation of kubectl rollout restart: it asks for nothing that lasts.
const restarted = "kubectl.kubernetes.io/restartedAt"

// PodsOf reads the attributes back from what the installation makes of them: the Deployment,
// its first container, and the PodDisruptionBudget and the NetworkPolicy, nil if there is none.
// What is as by default is null.
func PodsOf(ctx context.Context, d *appsv1.Deployment, budget *policyv1.PodDisruptionBudget, network *networkingv1.NetworkPolicy, diags *diag.Diagnostics) Pods {
	pod := d.Spec.Template.Spec
	container := pod.Containers[0]
	out := Pods{
		Resources: resourcesOf(ctx, container.Resources, diags), Tolerations: types.ListNull(tolerationType()), NodeSelector: StringMap(pod.NodeSelector),
		Affinity: affinityOf(ctx, install.UserAffinity(pod.Affinity, d.Spec.Selector), diags), PriorityClassName: types.StringValue(pod.PriorityClassName),
		PodLabels:           StringMap(beyond(d.Spec.Template.Labels, d.Labels)),
		PodAnnotations:      StringMap(beyond(d.Spec.Template.Annotations, d.Annotations, install.ChecksumAnnotation, restarted)),
		PodDisruptionBudget: budgetAttributeOf(ctx, budget, diags), MetricsNamespaces: types.SetNull(types.StringType),
	}
	if names := install.UserMetricsNamespaces(network); names != nil {
		if out.MetricsNamespaces = stringSet(names); len(names) == 0 {
			out.MetricsNamespaces = types.SetValueMust(types.StringType, nil)
		}
	}
	if !equality.Semantic.DeepEqual(pod.Tolerations, install.DefaultTolerations()) {
		out.Tolerations = list(ctx, tolerationType(), tolerationOf, diags)(pod.Tolerations)
		if len(pod.Tolerations) == 0 {
			out.Tolerations = types.ListValueMust(tolerationType(), nil)
		}
	}
	var secrets []string
	for _, secret := range pod.ImagePullSecrets {
		secrets = append(secrets, secret.Name)
	}
	out.ImagePullSecrets = stringSet(secrets)
	environment := map[string]string{}
	for _, variable := range container.Env {
		if !slices.Contains(install.Settings(), variable.Name) && variable.ValueFrom == nil {
			environment[variable.Name] = variable.Value
		}
	}
	out.Environment = StringMap(environment)
	for _, port := range container.Ports {
		switch port.Name {
		case install.MetricsPortName:
			out.MetricsPort = types.Int32Value(port.ContainerPort)
		case install.HealthPortName:
			out.HealthProbePort = types.Int32Value(port.ContainerPort)
		}
	}
	return out
}

// beyond gives what m has and base lacks, or has with another value, without the keys.
func beyond(m, base map[string]string, except ...string) map[string]string {
	out := maps.Clone(m)
	maps.DeleteFunc(out, func(key, value string) bool {
		same, there := base[key]
		return there && same == value || slices.Contains(except, key)
	})
	return out
}

// Common gives what all of the maps have, with equal values.
func Common(first map[string]string, others ...map[string]string) map[string]string {
	out := maps.Clone(first)
	maps.DeleteFunc(out, func(key, value string) bool {
		return slices.ContainsFunc(others, func(other map[string]string) bool {
			has, there := other[key]
			return !there || has != value
		})
	})
	return out
}

func resourcesOf(ctx context.Context, r corev1.ResourceRequirements, diags *diag.Diagnostics) types.Object {
	usual := install.DefaultResources()
	amountsOf := func(list, usual corev1.ResourceList) types.Object {
		if equality.Semantic.DeepEqual(list, usual) {
			return types.ObjectNull(amountsType().AttrTypes)
		}
		value := func(name corev1.ResourceName) fwtype.Value {
			q, there := list[name]
			if !there {
				return fwtype.Quantity().Null()
			}
			return fwtype.Quantity().Value(q.String())
		}
		return objectOf(ctx, amountsType().AttrTypes, &amounts{CPU: value(corev1.ResourceCPU), Memory: value(corev1.ResourceMemory)}, diags)
	}
	out := resources{Requests: amountsOf(r.Requests, usual.Requests), Limits: amountsOf(r.Limits, usual.Limits)}
	if out.Requests.IsNull() && out.Limits.IsNull() {
		return types.ObjectNull(resourcesType().AttrTypes)
	}
	return objectOf(ctx, resourcesType().AttrTypes, &out, diags)
}

func budgetAttributeOf(ctx context.Context, budget *policyv1.PodDisruptionBudget, diags *diag.Diagnostics) types.Object {
	of := podDisruptionBudgetType().AttrTypes
	out := podDisruptionBudget{Enabled: types.BoolValue(true)}
	switch {
	case budget == nil:
		out.Enabled = types.BoolValue(false)
	case budget.Spec.MinAvailable != nil:
		out.MinAvailable = types.StringValue(budget.Spec.MinAvailable.String())
	case budget.Spec.MaxUnavailable == nil || budget.Spec.MaxUnavailable.String() == install.DefaultMaxUnavailable:
		return types.ObjectNull(of)
	default:
		out.MaxUnavailable = types.StringValue(budget.Spec.MaxUnavailable.String())
	}
	return objectOf(ctx, of, &out, diags)
}
