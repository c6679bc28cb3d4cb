//go:build lab

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
)

const testNamespace = "default"

// deploy creates a Deployment of pods that ask for one CPU and a GiB on nodes of the pool.
func (d *daemonLab) deploy(t *testing.T, p pool, replicas int32, change ...func(*corev1.PodTemplateSpec)) {
	t.Helper()
	grace := int64(podGrace)
	labels := map[string]string{"app": p.name}
	spec := corev1.PodSpec{
		TerminationGracePeriodSeconds: &grace, NodeSelector: map[string]string{"e2e": p.name},
		Containers: []corev1.Container{{
			Name: "inflate", Image: "registry.k8s.io/pause:3.10",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi"),
			}},
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
	eventually(t, func() error {
		var err error
		if found, err = d.pods(t.Context(), p); err != nil {
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

// everLaunched are all instances that the pool has had.
func (d *daemonLab) everLaunched(p pool) []ec2sim.Instance {
	return slices.DeleteFunc(d.Cloud.EC2.Instances(), func(i ec2sim.Instance) bool { return i.Tags[awsspec.TagNodePool] != p.name })
}

// instances are those of the pool that are not going.
func (d *daemonLab) instances(p pool) []ec2sim.Instance {
	return slices.DeleteFunc(d.everLaunched(p), func(i ec2sim.Instance) bool {
		return i.State != ec2sim.StatePending && i.State != ec2sim.StateRunning
	})
}

// oneInstanceEach checks that every NodeClaim has exactly one instance and
// every instance a NodeClaim, and that no instance was launched in vain.
func (d *daemonLab) oneInstanceEach(t *testing.T, p pool) []v1.NodeClaim {
	t.Helper()
	claims, err := d.claims(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	instances := d.instances(p)
	of := map[string][]string{}
	for _, i := range instances {
		of[i.Tags[awsspec.TagNodeClaimUID]] = append(of[i.Tags[awsspec.TagNodeClaimUID]], i.ID)
	}
	for _, c := range claims {
		if ids := of[string(c.UID)]; len(ids) != 1 || !strings.HasSuffix(c.Status.ProviderID, "/"+ids[0]) {
			t.Errorf("NodeClaim %s (%s) has the instances %v, want one", c.Name, c.Status.ProviderID, ids)
		}
		delete(of, string(c.UID))
	}
	if len(of) > 0 {
		t.Errorf("instances without NodeClaim: %v", of)
	}
	if all := d.everLaunched(p); len(all) != len(instances) {
		t.Errorf("%d instances were launched and %d are used", len(all), len(instances))
	}
	return claims
}

// theOne is the pool's only NodeClaim, which has joined.
func (d *daemonLab) theOne(t *testing.T, p pool) (v1.NodeClaim, ec2sim.Instance) {
	t.Helper()
	claims, err := d.claims(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	instances := d.instances(p)
	if len(claims) != 1 || len(instances) != 1 || claims[0].Status.NodeName == "" {
		t.Fatalf("%d NodeClaims and %d instances, want one that has joined: %+v", len(claims), len(instances), claims)
	}
	return claims[0], instances[0]
}

// gone waits until the NodeClaim, its node and its instance are no more.
func (d *daemonLab) gone(t *testing.T, c v1.NodeClaim) {
	t.Helper()
	eventually(t, func() error {
		claim, err := d.NodeClaims.Get(t.Context(), c.Name, metav1.GetOptions{})
		if err == nil {
			return fmt.Errorf("NodeClaim %s is still there: %+v", c.Name, claim.Status.Conditions)
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
		if _, err = d.Core.CoreV1().Nodes().Get(t.Context(), c.Status.NodeName, metav1.GetOptions{}); err == nil {
			return fmt.Errorf("node %s is still there", c.Status.NodeName)
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
		for _, i := range d.Cloud.EC2.Instances() {
			if strings.HasSuffix(c.Status.ProviderID, "/"+i.ID) && (i.State == ec2sim.StatePending || i.State == ec2sim.StateRunning) {
				return fmt.Errorf("instance %s is %s", i.ID, i.State)
			}
		}
		return nil
	})
}

// empties waits until the pool has no NodeClaim, node and instance. Its nodes go one after the
// other, as its budget lets one of ten go at once.
func (d *daemonLab) empties(t *testing.T, p pool) {
	t.Helper()
	eventually(t, func() error {
		claims, err := d.claims(t.Context(), p)
		if err != nil {
			return err
		}
		nodes, err := d.Core.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: v1.LabelNodePool + "=" + p.name})
		if err != nil {
			return err
		}
		if n := len(claims) + len(nodes.Items) + len(d.instances(p)); n > 0 {
			return fmt.Errorf("%d NodeClaims, %d nodes, %d instances are left", len(claims), len(nodes.Items), len(d.instances(p)))
		}
		return nil
	})
}
