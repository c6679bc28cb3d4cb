package demo

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const namespace = "default"

// inflate is the field's usual test: pods of one CPU that do nothing and end when their
// grace period does. The spot
// one selects and tolerates what the quickstart's spot pool has.
func inflate(name string, spot bool) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	zero, grace := int32(0), int64(podGrace)
	spec := corev1.PodSpec{
		TerminationGracePeriodSeconds: &grace,
		Containers: []corev1.Container{{
			Name: "inflate", Image: "registry.k8s.io/pause:3.10",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1536Mi"),
			}},
		}},
	}
	if spot {
		spec.NodeSelector = map[string]string{"node-group-type": "spot"}
		spec.Tolerations = []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpEqual, Value: "only", Effect: corev1.TaintEffectNoSchedule}}
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &zero, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
		},
	}
}

func (d *demo) createDeployments(ctx context.Context) error {
	for _, deployment := range []*appsv1.Deployment{inflate("inflate", false), inflate("inflate-spot", true)} {
		if _, err := d.core.AppsV1().Deployments(namespace).Create(ctx, deployment, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("deployment %s create: %w", deployment.Name, err)
		}
	}
	return nil
}

func (d *demo) scale(ctx context.Context, replicas int) error {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	for _, name := range []string{"inflate", "inflate-spot"} {
		if _, err := d.core.AppsV1().Deployments(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("deployment %s scale: %w", name, err)
		}
	}
	return nil
}

// running waits until every replica of both Deployments runs, bound by the real
// scheduler to nodes of the product.
func (d *demo) running(ctx context.Context, replicas int) error {
	return d.until(ctx, fmt.Sprintf("2 x %d pods to run", replicas), func() (bool, string, error) {
		pods, err := d.core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, "", fmt.Errorf("pods list: %w", err)
		}
		var run, wait int
		for _, p := range pods.Items {
			switch {
			case p.DeletionTimestamp != nil:
				wait++
			case p.Spec.NodeName != "" && p.Status.Phase == corev1.PodRunning:
				run++
			default:
				wait++
			}
		}
		return run == 2*replicas && wait == 0, fmt.Sprintf("%d run, %d do not", run, wait), nil
	})
}
