package demo

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	namespace = "default"

	reports = "reports"
	ledger  = "ledger" // a Deployment, and its PodDisruptionBudget
)

// services are the names of Deployments of one pod each.
func services() []string { return []string{"orders", "carts", "invoices"} }

// workload is a Deployment of pods that do nothing and end when their grace period does.
type workload struct {
	name        string
	replicas    int32
	cpu, memory string
	only        string // the node pool whose label and taint the pods select and tolerate; "" for none
}

// inflates are the field's usual test: pods of one CPU.
func inflates() []workload {
	return []workload{{name: "inflate", cpu: "1", memory: "1536Mi"}, {name: "inflate-spot", cpu: "1", memory: "1536Mi", only: "spot"}}
}

// service is one of the services. They come one after the other, and each gets a node
// of 8 vCPU, the smallest that holds it. No two of them fit on such a node, but all three
// fit on one of twice the size.
func service(name string) workload {
	return workload{name: name, replicas: 1, cpu: "4500m", memory: "4Gi", only: servicePool}
}

// fillers are reports, which fill the room that the services leave on their nodes.
func fillers() workload {
	return workload{name: reports, replicas: 3, cpu: "3", memory: "3Gi", only: servicePool}
}

func (w workload) deployment() *appsv1.Deployment {
	labels, grace := map[string]string{"app": w.name}, int64(podGrace)
	spec := corev1.PodSpec{
		TerminationGracePeriodSeconds: &grace,
		Containers: []corev1.Container{{
			Name: "pause", Image: "registry.k8s.io/pause:3.10",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(w.cpu), corev1.ResourceMemory: resource.MustParse(w.memory),
			}},
		}},
	}
	if w.only != "" {
		spec.NodeSelector = map[string]string{"node-group-type": w.only}
		spec.Tolerations = []corev1.Toleration{{Key: w.only, Operator: corev1.TolerationOpEqual, Value: "only", Effect: corev1.TaintEffectNoSchedule}}
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: w.name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &w.replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
		},
	}
}

func (d *demo) deploy(ctx context.Context, list ...workload) error {
	for _, w := range list {
		if _, err := d.core.AppsV1().Deployments(namespace).Create(ctx, w.deployment(), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("deployment %s create: %w", w.name, err)
		}
	}
	return nil
}

// deployLedger deploys a pod that nobody may evict.
func (d *demo) deployLedger(ctx context.Context) error {
	least := intstr.FromInt32(1)
	pdb := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: ledger},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &least, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": ledger}}},
	}
	if _, err := d.core.PolicyV1().PodDisruptionBudgets(namespace).Create(ctx, pdb, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("poddisruptionbudget %s create: %w", ledger, err)
	}
	return d.deploy(ctx, workload{name: ledger, replicas: 1, cpu: "1", memory: "1536Mi"})
}

// scale sets the replicas of the Deployments.
func (d *demo) scale(ctx context.Context, replicas int, names ...string) error {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	for _, name := range names {
		if _, err := d.core.AppsV1().Deployments(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("deployment %s scale: %w", name, err)
		}
	}
	return nil
}

// running waits until there are so many pods and all of them run, bound by the real
// scheduler to nodes of the product.
func (d *demo) running(ctx context.Context, want int) error {
	return d.until(ctx, fmt.Sprintf("%d pods to run", want), func() (bool, string, error) {
		pods, err := d.core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, "", fmt.Errorf("pods list: %w", err)
		}
		var run, wait int
		for _, p := range pods.Items {
			if p.DeletionTimestamp == nil && p.Spec.NodeName != "" && p.Status.Phase == corev1.PodRunning {
				run++
			} else {
				wait++
			}
		}
		return run == want && wait == 0, fmt.Sprintf("%d run, %d do not", run, wait), nil
	})
}

// nodeOf is the node of the Deployment's only pod that is not ending.
func (d *demo) nodeOf(ctx context.Context, name string) (string, error) {
	pods, err := d.core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + name})
	if err != nil {
		return "", fmt.Errorf("pods list: %w", err)
	}
	for _, p := range pods.Items {
		if p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning {
			return p.Spec.NodeName, nil
		}
	}
	return "", fmt.Errorf("pod of deployment %s: none runs", name)
}
