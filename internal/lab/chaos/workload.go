package chaos

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/deploy"
)

const (
	className = "default"
	namespace = "default" // of the pods
	// apps is how many Deployments are scaled. Two more stay as they are: guarded has a
	// PodDisruptionBudget, and pinned must not be disrupted.
	apps            = 3
	guarded, pinned = "guarded", "pinned"
	fixedReplicas   = 3
	// budget is how many nodes of a pool may be disrupted at once.
	budget = 2
)

// pools are one of on-demand instances and one of spot instances, too.
func pools() []*unstructured.Unstructured {
	term := func(key string, values ...any) any {
		return map[string]any{"key": key, "operator": "In", "values": values}
	}
	pool := func(name string, capacity ...any) *unstructured.Unstructured {
		return deploy.Declare(v1.Group, v1.NodePoolKind, name, map[string]any{
			"disruption": map[string]any{
				"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "5s",
				"budgets": []any{map[string]any{"nodes": fmt.Sprint(budget)}},
			},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"pool": name}},
				"spec": map[string]any{
					"nodeClassRef": map[string]any{"group": awsv1.Group, "kind": awsv1.EC2NodeClassKind, "name": className},
					"requirements": []any{
						term(v1.LabelCapacityType, capacity...), term("karpenter.k8s.aws/instance-category", "c", "m", "r"), term("kubernetes.io/arch", "amd64"),
					},
				},
			},
		})
	}
	return []*unstructured.Unstructured{pool("steady", "on-demand"), pool("mixed", "spot", "on-demand")}
}

func appName(i int) string { return fmt.Sprintf("app-%d", i) }

// deployments are those that are scaled, of pods of several shapes, and those that are not.
func deployments() []*appsv1.Deployment {
	shapes := []struct {
		cpu, memory, pool string
	}{{"1", "1Gi", "steady"}, {"500m", "2Gi", "mixed"}, {"2", "1Gi", "mixed"}}
	var out []*appsv1.Deployment
	for i := range apps {
		out = append(out, deployment(appName(i), shapes[i].cpu, shapes[i].memory, shapes[i].pool, 2))
	}
	out = append(out, deployment(guarded, "1", "1Gi", "mixed", fixedReplicas), deployment(pinned, "500m", "1Gi", "steady", fixedReplicas))
	out[len(out)-1].Spec.Template.Annotations = map[string]string{v1.AnnotationDoNotDisrupt: "true"}
	return out
}

func deployment(name, cpu, memory, pool string, replicas int32) *appsv1.Deployment {
	labels, grace := map[string]string{"app": name}, int64(2)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: &grace, NodeSelector: map[string]string{"pool": pool},
				Containers: []corev1.Container{{Name: "app", Image: "registry.k8s.io/pause:3.10", Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)},
				}}},
			}},
		},
	}
}

// createWorkload creates the Deployments and the PodDisruptionBudget.
func (r *run) createWorkload(ctx context.Context) error {
	for _, d := range deployments() {
		if _, err := r.core.AppsV1().Deployments(namespace).Create(ctx, d, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("deployment %s create: %w", d.Name, err)
		}
	}
	one := intstr.FromInt32(1)
	_, err := r.core.PolicyV1().PodDisruptionBudgets(namespace).Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: guarded},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": guarded}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("pod disruption budget create: %w", err)
	}
	return nil
}

// scale sets the replicas of a Deployment.
func (r *run) scale(ctx context.Context, app, replicas int) error {
	_, err := r.core.AppsV1().Deployments(namespace).Patch(ctx, appName(app), types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("deployment %s scale: %w", appName(app), err)
	}
	return nil
}

// allRun says what does not run yet; empty where all pods do.
func (r *run) allRun(ctx context.Context) (string, error) {
	list, err := r.core.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, d := range list.Items {
		if d.Generation != d.Status.ObservedGeneration || d.Status.ReadyReplicas != *d.Spec.Replicas || d.Status.Replicas != *d.Spec.Replicas {
			return fmt.Sprintf("deployment %s has %d of %d pods, %d ready", d.Name, d.Status.Replicas, *d.Spec.Replicas, d.Status.ReadyReplicas), nil
		}
	}
	return "", nil
}
