//go:build lab

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
)

const testNamespace = "default"

// deploy creates a Deployment of pods that ask for one CPU on nodes of the pool.
func (d *daemonLab) deploy(t *testing.T, p pool, replicas int32, change ...func(*corev1.PodTemplateSpec)) {
	t.Helper()
	grace := int64(0)
	labels := map[string]string{"app": p.name}
	spec := corev1.PodSpec{
		TerminationGracePeriodSeconds: &grace, NodeSelector: map[string]string{"e2e": p.name},
		Containers: []corev1.Container{{
			Name: "inflate", Image: "registry.k8s.io/pause:3.10",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
		}},
	}
	if p.spot {
		spec.NodeSelector["node-group-type"] = "spot"
		spec.Tolerations = []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpEqual, Value: "only", Effect: corev1.TaintEffectNoSchedule}}
	}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec}
	for _, f := range change {
		f(&template)
	}
	_, err := d.Core.AppsV1().Deployments(testNamespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: p.name},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func (d *daemonLab) scale(t *testing.T, p pool, replicas int) {
	t.Helper()
	_, err := d.Core.AppsV1().Deployments(testNamespace).Patch(t.Context(), p.name, types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// pods lists the pods of the pool's Deployment that are not on their way out.
func (d *daemonLab) pods(ctx context.Context, p pool) ([]corev1.Pod, error) {
	list, err := d.Core.CoreV1().Pods(testNamespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + p.name})
	if err != nil {
		return nil, err
	}
	var out []corev1.Pod
	for _, x := range list.Items {
		if x.DeletionTimestamp == nil {
			out = append(out, x)
		}
	}
	return out, nil
}

// running waits until the Deployment has n pods and all of them run on nodes of
// the pool.
func (d *daemonLab) running(t *testing.T, p pool, n int) []corev1.Pod {
	t.Helper()
	var found []corev1.Pod
	d.eventually(t, func(ctx context.Context) error {
		var err error
		if found, err = d.pods(ctx, p); err != nil {
			return err
		}
		var waiting []string
		for _, x := range found {
			if x.Status.Phase != corev1.PodRunning {
				why := ""
				for _, c := range x.Status.Conditions {
					why += c.Message
				}
				waiting = append(waiting, fmt.Sprintf("%s %s on %q nominated for %q: %s", x.Name, x.Status.Phase, x.Spec.NodeName, x.Status.NominatedNodeName, why))
			}
		}
		if len(found) != n || len(waiting) > 0 {
			return fmt.Errorf("%d pods, want %d; not running: %s", len(found), n, strings.Join(waiting, ", "))
		}
		return nil
	})
	return found
}

// claims lists the pool's NodeClaims.
func (d *daemonLab) claims(ctx context.Context, p pool) ([]v1.NodeClaim, error) {
	list, err := d.NodeClaims.List(ctx, metav1.ListOptions{LabelSelector: v1.LabelNodePool + "=" + p.name})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// instances are those of the pool that EC2 knows and that are not going.
func (d *daemonLab) instances(p pool) []ec2sim.Instance {
	var out []ec2sim.Instance
	for _, i := range d.Cloud.EC2.Instances() {
		if i.Tags[awsspec.TagNodePool] == p.name && (i.State == ec2sim.StatePending || i.State == ec2sim.StateRunning) {
			out = append(out, i)
		}
	}
	return out
}

// empty waits until the pool has no NodeClaim, node and instance.
func (d *daemonLab) empty(t *testing.T, p pool) {
	t.Helper()
	d.eventually(t, func(ctx context.Context) error {
		claims, err := d.claims(ctx, p)
		if err != nil {
			return err
		}
		nodes, err := d.Core.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: v1.LabelNodePool + "=" + p.name})
		if err != nil {
			return err
		}
		if n := len(claims) + len(nodes.Items) + len(d.instances(p)); n > 0 {
			return fmt.Errorf("%d NodeClaims, %d nodes, %d instances are left", len(claims), len(nodes.Items), len(d.instances(p)))
		}
		return nil
	})
}
