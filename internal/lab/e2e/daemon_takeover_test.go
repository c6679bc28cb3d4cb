//go:build lab

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/controlplane"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/takeover"
)

// hashVersion is that of the daemon's hashes.
const hashVersion = "karpenterd-1"

// taken is a cluster that Karpenter ran, by its recording, with nodes of others beside.
type taken struct {
	*daemonLab

	instances []string                // of Karpenter's NodeClaims
	claims    map[string]types.UID    // likewise
	pods      map[types.UID]string    // the nodes of those that run
	others    map[string]*corev1.Node // nodes of others
	orphan    string                  // an instance that Karpenter launched and did not record
	alpha     string                  // an instance of Karpenter's alpha generation
	group     string                  // an instance of a node group
}

// TestTakeOver_WhatKarpenterLeftGoesOn starts the daemon on what Karpenter 1.15 wrote. No
// instance that belongs to anything is launched or ended, no pod moves, and nothing drifts.
// Then it hands the cluster back.
func TestTakeOver_WhatKarpenterLeftGoesOn(t *testing.T) {
	x := restoreKarpenters(t)
	there := x.terminal(t).openGuide(t, "take_over")
	there.charts(t)
	there.installCharts(t, "--take-ownership")
	if out := there.run(t, `kubectl get crd nodepools.karpenter.sh -o jsonpath='{.status.storedVersions}'`); out != `["v1"]` {
		t.Errorf("stored versions: %q", out)
	}
	there.run(t, "stop")
	began := time.Now()
	x.inKarpentersNamespace(t)
	x.installDaemon(t)
	eventually(t, x.isOurs)
	eventually(t, func() error {
		if out, err := there.try(t, "look"); err != nil || out != "" {
			return fmt.Errorf("the guide's look prints %q: %w", out, err)
		}
		return nil
	})
	there.run(t, "write the resources")
	if written := there.must(t, "cat pools.tf"); !strings.Contains(written, "to = karpenter_node_pool.default") || !strings.Contains(written, "to = karpenter_node_class.default") || !strings.Contains(written, "karpenter_daemon.this.id") {
		t.Errorf("the resources of NodePools and EC2NodeClasses:\n%s", written)
	}
	eventually(t, func() error {
		if i := x.find(t, x.orphan); i.State != ec2sim.StateTerminated {
			return fmt.Errorf("the instance that Karpenter did not record is %s", i.State)
		}
		return nil
	})
	x.stayed(t, began)
	x.othersStayed(t)
	x.fitsOnOthers(t)
	there.run(t, "forget")
	if out := there.must(t, "helm list --all --short --namespace "+karpenterNamespace); out != "" {
		t.Errorf("Helm still knows %s", out)
	}
	x.stayed(t, began)

	if out, err := there.bash(t, "karpenterd handback"); err == nil || !strings.Contains(err.Error(), "--replicas=0") {
		t.Errorf("handback beside the daemon: %v\n%s", err, out)
	}
	there.run(t, "stop the daemon")
	if out := there.run(t, "hand back"); !strings.Contains(out, "nodepool default:") || !strings.Contains(out, "nothing was changed") {
		t.Errorf("handback said\n%s", out)
	}
	x.isNobodys(t)
	there.installCharts(t, "") // as the guide says: Helm takes the definitions back
	there.run(t, "start Karpenter")
	x.stayed(t, began)
}

// inKarpentersNamespace has the daemon installed where the guide says, with a role of its own.
func (x *taken) inKarpentersNamespace(t *testing.T) {
	t.Helper()
	role, err := x.aws.GetRole(t.Context(), "controller")
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := x.aws.Cluster(t.Context(), x.ClusterName)
	if err != nil {
		t.Fatal(err)
	}
	role, err = x.aws.CreateRole(t.Context(), aws.Role{
		Name: install.DefaultName, ManagedPolicies: role.ManagedPolicies,
		TrustPolicy: awsspec.IRSATrust(strings.TrimPrefix(cluster.Issuer, "https://"), lab.Account, "aws", karpenterNamespace, install.DefaultName),
	})
	if err != nil {
		t.Fatal(err)
	}
	x.options.Namespace, x.options.ServiceAccount, x.options.RoleARN = karpenterNamespace, install.DefaultName, role.ARN
}

// restoreKarpenters starts a laboratory with the recording in it, one NodeClaim more that
// Karpenter had not launched, and an instance that it had not recorded.
func restoreKarpenters(t *testing.T) *taken {
	t.Helper()
	x := &taken{daemonLab: startDaemonLab(t, lab.Options{}), claims: map[string]types.UID{}, pods: map[types.UID]string{}, others: map[string]*corev1.Node{}}
	definitions, err := install.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	x.apply(t, definitions...)
	recording, err := takeover.Read()
	if err != nil {
		t.Fatal(err)
	}
	var made takeover.Restored
	eventually(t, func() error { // the definitions were applied a moment ago
		if _, err := x.NodeClaims.List(t.Context(), metav1.ListOptions{}); err != nil {
			return err
		}
		_, err := x.Core.CoreV1().ServiceAccounts("default").Get(t.Context(), "default", metav1.GetOptions{}) // pods need it
		return err
	})
	if made, err = recording.Restore(t.Context(), x.Lab, "node"); err != nil {
		t.Fatal(err)
	}
	x.instances = slices.Sorted(maps.Values(made.Instances))
	list, err := x.NodeClaims.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != len(x.instances) || len(list.Items) == 0 {
		t.Fatalf("%d NodeClaims, %d instances: %v", len(list.Items), len(x.instances), err)
	}
	for _, c := range list.Items {
		x.claims[c.Name] = c.UID
	}
	x.unlaunched(t, list.Items[0])
	x.orphan = x.launchTagged(t, awsspec.Owner{Cluster: x.ClusterName, NodePool: list.Items[0].Labels[v1.LabelNodePool], NodeClass: list.Items[0].Spec.NodeClassRef.Name}.Tags(nil))
	x.alpha = x.launchTagged(t, map[string]string{awsspec.TagClusterPrefix + x.ClusterName: awsspec.TagOwned, "karpenter.sh/provisioner-name": "default"})
	x.group = x.launchTagged(t, map[string]string{awsspec.TagClusterPrefix + x.ClusterName: awsspec.TagOwned, "eks:nodegroup-name": "workers", "k8s.io/cluster-autoscaler/enabled": "true"})
	x.addOthers(t)
	x.settle(t)
	return x
}

// unlaunched creates the NodeClaim as Karpenter makes it, before it has called EC2.
func (x *taken) unlaunched(t *testing.T, like v1.NodeClaim) {
	t.Helper()
	c := like.DeepCopy()
	c.ObjectMeta = metav1.ObjectMeta{
		Name: "default-unlaunched", Labels: like.Labels, Annotations: like.Annotations, Finalizers: like.Finalizers, OwnerReferences: like.OwnerReferences,
	}
	c.Status = v1.NodeClaimStatus{}
	if _, err := x.NodeClaims.Create(t.Context(), c, metav1.CreateOptions{FieldManager: "karpenter"}); err != nil {
		t.Fatal(err)
	}
}

// addOthers adds an empty node of a node group and one of the alpha generation, which has
// the finalizer that Karpenter puts on nodes.
func (x *taken) addOthers(t *testing.T) {
	t.Helper()
	x.others["group"] = x.addNode(t, "group", "2", x.group, map[string]string{labelNodeGroup: "default"})
	x.others["alpha"] = x.addNode(t, "alpha", "2", x.alpha, map[string]string{provisionerName: "default"}, v1.FinalizerTermination)
}

// labelNodeGroup is on the nodes of EKS's node groups.
const labelNodeGroup = "eks.amazonaws.com/nodegroup"

// addNode adds the node of an instance that is not the daemon's, with so many CPUs.
func (d *daemonLab) addNode(t *testing.T, name, cpus, instance string, labels map[string]string, finalizers ...string) *corev1.Node {
	t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Annotations: map[string]string{controlplane.NodeAnnotation: controlplane.NodeAnnotationValue}, Finalizers: finalizers,
		Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux", corev1.LabelTopologyZone: d.Region + "a"},
	}}
	maps.Copy(n.Labels, labels)
	n.Spec.ProviderID = awsspec.ProviderID(d.Region+"a", instance)
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpus), corev1.ResourceMemory: resource.MustParse("8Gi"),
		corev1.ResourcePods: resource.MustParse("20"), corev1.ResourceEphemeralStorage: resource.MustParse("20Gi"),
	}
	n.Status.Capacity, n.Status.Allocatable = room, room
	made, err := d.Admin.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"capacity": room, "allocatable": room}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Admin.CoreV1().Nodes().PatchStatus(t.Context(), name, patch); err != nil {
		t.Fatal(err)
	}
	return made
}

// settle waits until all nodes are Ready and all pods run.
func (x *taken) settle(t *testing.T) {
	t.Helper()
	eventually(t, func() error {
		nodes, err := x.Core.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, n := range nodes.Items {
			if strings.HasPrefix(n.Name, "bootstrap-") {
				continue // the laboratory's own
			}
			if !slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
			}) || len(n.Spec.Taints) > 0 {
				return fmt.Errorf("node %s is not ready, or has the taints %v", n.Name, n.Spec.Taints)
			}
		}
		pods, err := x.Core.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(pods.Items) == 0 {
			return fmt.Errorf("%d pods: %w", len(pods.Items), err)
		}
		for _, p := range pods.Items {
			if p.Status.Phase != corev1.PodRunning {
				return fmt.Errorf("pod %s is %s", p.Name, p.Status.Phase)
			}
			x.pods[p.UID] = p.Spec.NodeName
		}
		return nil
	})
	for name := range x.others {
		n, err := x.Core.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		x.others[name] = n
	}
}

func (x *taken) find(t *testing.T, id string) ec2sim.Instance {
	t.Helper()
	all := x.Cloud.EC2.Instances()
	i := slices.IndexFunc(all, func(i ec2sim.Instance) bool { return i.ID == id })
	if i < 0 {
		t.Fatalf("instance %s is unknown", id)
	}
	return all[i]
}

// isOurs says whether everything has the daemon's hashes and tags, and the NodeClaim
// without an instance is gone.
func (x *taken) isOurs() error {
	ctx := context.Background()
	pools, err := x.NodePools.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, p := range pools.Items {
		if p.Annotations[v1.AnnotationNodePoolHashVersion] != hashVersion || !slices.Contains(p.Finalizers, v1.FinalizerTermination) {
			return fmt.Errorf("NodePool %s has the annotations %v and the finalizers %v", p.Name, p.Annotations, p.Finalizers)
		}
	}
	list, err := x.NodeClaims.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, c := range list.Items {
		if c.Annotations[v1.AnnotationNodePoolHashVersion] != hashVersion || c.Annotations[awsv1.AnnotationNodeClassHashVersion] != hashVersion {
			return fmt.Errorf("NodeClaim %s has the annotations %v", c.Name, c.Annotations)
		}
	}
	if len(list.Items) != len(x.claims) {
		return fmt.Errorf("%d NodeClaims, want %d", len(list.Items), len(x.claims))
	}
	tagged := 0
	for _, i := range x.Cloud.EC2.Instances() {
		if uid, there := x.claims[i.Tags[awsspec.TagNodeClaim]]; there && i.Tags[awsspec.TagNodeClaimUID] == string(uid) {
			tagged++
		}
	}
	if tagged != len(x.instances) {
		return fmt.Errorf("%d of %d instances have the tags of their NodeClaim", tagged, len(x.instances))
	}
	return nil
}

// stayed checks that since then nothing was launched, moved or found to drift, and nothing
// ended but the instance that Karpenter had not recorded.
func (x *taken) stayed(t *testing.T, began time.Time) {
	t.Helper()
	for _, id := range append(slices.Clone(x.instances), x.alpha, x.group) {
		if i := x.find(t, id); i.State != ec2sim.StateRunning {
			t.Errorf("instance %s is %s", id, i.State)
		}
	}
	calls := map[string]int{}
	for _, c := range x.Cloud.Calls() {
		if c.Time.After(began) && c.ErrorCode == "" {
			calls[c.Action]++
		}
	}
	if calls["CreateFleet"] > 0 || calls["TerminateInstances"] != 1 || x.find(t, x.orphan).State != ec2sim.StateTerminated {
		t.Errorf("calls since the daemon started: %v", calls)
	}
	list, err := x.NodeClaims.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list.Items {
		if d := c.Conditions().Get(v1.ConditionDrifted); d.IsTrue() || x.claims[c.Name] != c.UID || c.DeletionTimestamp != nil {
			t.Errorf("NodeClaim %s: %s %s, deleted %v", c.Name, d.Reason, d.Message, c.DeletionTimestamp)
		}
	}
	for uid, node := range x.running(t) {
		if was, there := x.pods[uid]; there && was != node {
			t.Errorf("a pod of node %s is on node %s", was, node)
		}
	}
	for uid, node := range x.pods {
		if x.running(t)[uid] != node {
			t.Errorf("a pod of node %s is gone", node)
		}
	}
	templates, err := x.ec2Templates(t)
	if recording, fault := takeover.Read(); err != nil || fault != nil || templates < len(recording.LaunchTemplates) {
		t.Errorf("%d launch templates are left: %v, %v", templates, err, fault)
	}
}

func (x *taken) running(t *testing.T) map[types.UID]string {
	t.Helper()
	pods, err := x.Core.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[types.UID]string{}
	for _, p := range pods.Items {
		if p.DeletionTimestamp == nil {
			out[p.UID] = p.Spec.NodeName
		}
	}
	return out
}

// othersStayed checks that nobody has written to the nodes of others.
func (x *taken) othersStayed(t *testing.T) {
	t.Helper()
	for name, before := range x.others {
		after, err := x.Core.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for what, pair := range map[string][2]any{
			"labels": {before.Labels, after.Labels}, "annotations": {before.Annotations, after.Annotations},
			"finalizers": {before.Finalizers, after.Finalizers}, "spec": {before.Spec, after.Spec},
		} {
			was, _ := json.Marshal(pair[0])
			is, _ := json.Marshal(pair[1])
			if !bytes.Equal(was, is) {
				t.Errorf("%s of node %s: %s, before %s", what, name, is, was)
			}
		}
	}
}

// fitsOnOthers creates a pod for each node of others, which fits nowhere else, and checks
// that it runs there.
func (x *taken) fitsOnOthers(t *testing.T) {
	t.Helper()
	for name := range x.others {
		_, err := x.Core.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "on-" + name},
			Spec: corev1.PodSpec{
				NodeSelector: map[string]string{corev1.LabelHostname: name},
				Containers: []corev1.Container{{Name: "c", Image: "registry.k8s.io/pause:3.10", Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
				}}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, func() error {
			p, err := x.Core.CoreV1().Pods("default").Get(t.Context(), "on-"+name, metav1.GetOptions{})
			if err != nil || p.Status.Phase != corev1.PodRunning {
				return fmt.Errorf("pod on-%s is %s: %w", name, p.Status.Phase, err)
			}
			return nil
		})
	}
}

// isNobodys checks that no object has anything that only the daemon would remove.
func (x *taken) isNobodys(t *testing.T) {
	t.Helper()
	pools, err := x.NodePools.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pools.Items[0].Finalizers) > 0 {
		t.Errorf("NodePool: finalizers %v, %v", pools.Items[0].Finalizers, err)
	}
	for _, own := range []string{v1.ConditionDisrupting, v1.ConditionUnsupported} {
		if c := pools.Items[0].Conditions().Get(own); c.Type != "" {
			t.Errorf("NodePool has the condition %+v", c)
		}
	}
	classes, err := x.EC2NodeClasses.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range classes.Items {
		for _, own := range []string{awsv1.ConditionLaunchPermitted, awsv1.ConditionCatalogueCurrent, v1.ConditionUnsupported} {
			if c := classes.Items[i].Conditions().Get(own); c.Type != "" {
				t.Errorf("EC2NodeClass %s has the condition %+v", classes.Items[i].Name, c)
			}
		}
	}
	own := v1.OwnDomain + "/"
	list, err := x.NodeClaims.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list.Items {
		for key := range c.Annotations {
			if strings.HasPrefix(key, own) {
				t.Errorf("NodeClaim %s has the annotation %s", c.Name, key)
			}
		}
	}
	nodes, err := x.Core.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes.Items {
		if slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return strings.HasPrefix(t.Key, own) }) {
			t.Errorf("Node %s has the taints %v", n.Name, n.Spec.Taints)
		}
	}
	x.othersStayed(t)
}

// ec2Templates counts the launch templates.
func (x *taken) ec2Templates(t *testing.T) (int, error) {
	t.Helper()
	found, err := x.ec2().DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{})
	if err != nil {
		return 0, err
	}
	return len(found.LaunchTemplates), nil
}
