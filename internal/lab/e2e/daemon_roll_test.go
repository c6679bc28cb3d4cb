//go:build lab

package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
)

// old is a cluster with two nodes that Karpenter 0.31 launched, of two Provisioners, and the
// node of a node group.
type old struct {
	*daemonLab
	*terminal

	instances map[string]string // of the nodes alpha and other
	group     string            // the instance of node group
}

// TestRoll_PodsOfOldNodesGetNodesOfTheDaemon moves the pods of nodes that others launched to
// nodes of the daemon, by the commands of two guides. The old controllers do not run.
func TestRoll_PodsOfOldNodesGetNodesOfTheDaemon(t *testing.T) {
	d := startDaemonLab(t, lab.Options{Progress: os.Stderr})
	x := &old{daemonLab: d, terminal: d.terminal(t), instances: map[string]string{}}
	alpha, scaler, legacy := x.openGuide(t, "from_v1alpha5"), x.openGuide(t, "from_cluster_autoscaler"), x.openGuide(t, "legacy")
	legacy.run(t, "define")
	legacy.run(t, "karpenterd definitions --legacy | kubectl apply --server-side --force-conflicts -f -")
	x.declare(t)
	alpha.run(t, "convert")
	x.installDaemon(t)
	legacy.run(t, "kubectl -n karpenter rollout restart deployment karpenterd")
	x.must(t, "kubectl -n karpenter rollout status deployment karpenterd --timeout=1m")
	x.furnish(t)
	alpha.run(t, "no new nodes")
	x.apply31(t)
	x.rolled(t, alpha)
	x.removed(t, alpha)
	x.moved(t, scaler)
}

// declare adds the objects of the old controller.
func (x *old) declare(t *testing.T) {
	t.Helper()
	eventually(t, func() error {
		_, err := x.Provisioners.List(t.Context(), metav1.ListOptions{})
		return err
	})
	x.applyLegacy(t, "testdata/roll.yaml")
	x.webhook(t)
}

// furnish adds the nodes and their pods, once the daemon runs: nothing runs on these nodes,
// whatever is bound to them. Each Deployment fits on one of the nodes only.
func (x *old) furnish(t *testing.T) {
	t.Helper()
	x.group = x.launchTagged(t, map[string]string{awsspec.TagClusterPrefix + x.ClusterName: awsspec.TagOwned, "eks:nodegroup-name": "workers"})
	x.addNode(t, "group", "4", x.group, map[string]string{labelNodeGroup: "workers"})
	x.run(t, "web", "3")
	x.runsOn(t, "web", "group")
	for name, provisioner := range map[string]string{"alpha": "default", "other": "other"} {
		x.instances[name] = x.launchTagged(t, map[string]string{awsspec.TagClusterPrefix + x.ClusterName: awsspec.TagOwned, provisionerName: provisioner})
		x.addNode(t, name, "2", x.instances[name], map[string]string{provisionerName: provisioner}, v1.FinalizerTermination)
		x.run(t, name, "1500m")
		x.runsOn(t, name, name)
	}
}

// webhook adds one of the webhooks of 0.31, which nobody answers.
func (x *old) webhook(t *testing.T) {
	t.Helper()
	x.must(t, `kubectl apply -f - <<-'END'
		apiVersion: admissionregistration.k8s.io/v1
		kind: ValidatingWebhookConfiguration
		metadata: {name: validation.webhook.karpenter.sh}
		webhooks: [{name: validation.webhook.karpenter.sh, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:1/"}}]
	END`)
}

// run creates a Deployment of one pod.
func (x *old) run(t *testing.T, name, cpu string) {
	t.Helper()
	one, grace, labels := int32(1), int64(podGrace), map[string]string{"app": name}
	_, err := x.Core.AppsV1().Deployments(testNamespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{TerminationGracePeriodSeconds: &grace, Containers: []corev1.Container{{
				Name: "c", Image: "registry.k8s.io/pause:3.10", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
			}}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// runsOn waits until the only pod of the Deployment runs on the node; on one of the daemon's
// if node is empty.
func (x *old) runsOn(t *testing.T, name, node string) {
	t.Helper()
	eventually(t, func() error {
		pods, err := x.pods(t.Context(), pool{name: name})
		if err != nil || len(pods) != 1 {
			return fmt.Errorf("%d pods of %s: %w", len(pods), name, err)
		}
		on := pods[0].Spec.NodeName
		if pods[0].Status.Phase != corev1.PodRunning || node != "" && on != node {
			return fmt.Errorf("pod %s is %s on %q", pods[0].Name, pods[0].Status.Phase, on)
		}
		if node == "" {
			n, err := x.Core.CoreV1().Nodes().Get(t.Context(), on, metav1.GetOptions{})
			if err != nil || n.Labels[v1.LabelNodePool] != "default" {
				return fmt.Errorf("pod %s is on %s: %w", pods[0].Name, on, err)
			}
		}
		return nil
	})
}

// apply31 checks what the commands have left of the Provisioner, and applies the pools.
func (x *old) apply31(t *testing.T) {
	t.Helper()
	p, err := x.Provisioners.Get(t.Context(), "default", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if limit, _, _ := unstructured.NestedString(p.Object, "spec", "limits", "resources", "cpu"); limit != "1" {
		t.Errorf("the limit of the Provisioner is %q", limit)
	}
	x.must(t, "kubectl apply -f v1.yaml")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := x.applier.Wait(ctx, kube.RefOf(pool{name: "default"}.object()), kube.ConditionTrue("Ready")); err != nil {
		t.Fatal(err, "\n", x.logTail())
	}
}

// rolled deletes the node of a Provisioner, and what nobody answers for any more, of both.
func (x *old) rolled(t *testing.T, g guide) {
	t.Helper()
	g.run(t, "roll")
	for name := range x.instances {
		n, err := x.Core.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if deleted := n.DeletionTimestamp != nil; deleted != (name == "alpha") || !n.Spec.Unschedulable || len(n.Finalizers) != 1 {
			t.Errorf("node %s: deleted %v, spec %+v, finalizers %v", name, deleted, n.Spec, n.Finalizers)
		}
		x.ends(t, name, ec2sim.StateRunning)
	}
	for name, id := range x.instances {
		g.run(t, "without the old controller", "NODE", name, "INSTANCE", id)
		if _, err := x.Core.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("node %s: %v", name, err)
		}
		x.runsOn(t, name, "")
	}
	if out := g.run(t, "kubectl get nodes -l karpenter.sh/provisioner-name"); out != "" {
		t.Errorf("nodes are left:\n%s", out)
	}
}

// ends checks the state of a node's instance.
func (x *old) ends(t *testing.T, node string, state ec2sim.State) {
	t.Helper()
	for _, i := range x.Cloud.EC2.Instances() {
		if i.ID == x.instances[node] && i.State != state {
			t.Errorf("the instance of node %s is %s", node, i.State)
		}
	}
}

// removed takes the rest of the old controller away.
func (x *old) removed(t *testing.T, g guide) {
	t.Helper()
	g.run(t, "webhooks")
	g.run(t, "kubectl delete crd provisioners.karpenter.sh machines.karpenter.sh awsnodetemplates.karpenter.k8s.aws --ignore-not-found")
	out := x.must(t, "kubectl get crd,validatingwebhookconfigurations -o name")
	for _, gone := range []string{"provisioners.karpenter.sh", "awsnodetemplates.karpenter.k8s.aws", "validation.webhook.karpenter.sh"} {
		if strings.Contains(out, gone) {
			t.Errorf("%s is left of\n%s", gone, out)
		}
	}
	if !strings.Contains(out, "nodepools.karpenter.sh") {
		t.Errorf("NodePools are gone:\n%s", out)
	}
}

// moved empties the node group.
func (x *old) moved(t *testing.T, g guide) {
	t.Helper()
	g.run(t, "move")
	x.runsOn(t, "web", "")
	g.run(t, "kubectl drain -l eks.amazonaws.com/nodegroup=workers --ignore-daemonsets --delete-emptydir-data")
	n, err := x.Core.CoreV1().Nodes().Get(t.Context(), "group", metav1.GetOptions{})
	if err != nil || !n.Spec.Unschedulable || n.DeletionTimestamp != nil {
		t.Errorf("node group: %v, %+v", err, n.Spec)
	}
	for _, i := range x.Cloud.EC2.Instances() {
		if i.ID == x.group && i.State != ec2sim.StateRunning {
			t.Errorf("the instance of the node group is %s", i.State)
		}
	}
}
