//go:build lab && peer

package peer

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/takeover"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// record is the file that what Karpenter wrote goes to, for the test of internal/lab/e2e.
var record = flag.String("record", "", "file to record the objects in that Karpenter wrote")

// Roles and versions of the two controllers.
const (
	daemonRole       = "karpenterd"
	daemonVersion    = "karpenterd-1" // of the hashes
	karpenterVersion = "v3"           // of the hash of a NodePool
	karpenterClass   = "v6"           // of the hash of an EC2NodeClass
)

// TestPeer_IsTakenOverAndGetsTheClusterBack runs a fleet with Karpenter, goes on with the
// daemon, and gives the cluster back.
func TestPeer_IsTakenOverAndGetsTheClusterBack(t *testing.T) {
	binary := must(toolchain.Self(t.Context(), os.Stderr, "./daemon/cmd/karpenterd"))(t)
	options := demo()
	options.DaemonBinary = binary
	p := startPeerLab(t, options)
	class, pool := p.nodeClass(), smallNodes(nodePool())
	p.apply(t, class, pool)
	must(p.Core.AppsV1().Deployments("default").Create(t.Context(), inflate(), metav1.CreateOptions{}))(t)
	p.scale(t, replicas)
	p.eventually(t, p.allRunOnJoinedNodes)
	p.eventually(t, p.karpenterTagged)
	if *record != "" {
		p.record(t, *record)
	}

	p.stop(t, "karpenter")
	before := p.look(t)
	if len(before.instances) < 3 {
		t.Fatalf("Karpenter runs %d instances, too few to tell anything", len(before.instances))
	}
	began := time.Now()
	p.installDaemon(t)
	p.eventually(t, func(ctx context.Context) error { return p.isOurs(ctx, daemonVersion) })
	p.sweeps(t, 2)
	p.unchanged(t, before, began, "taken over")

	p.scale(t, replicas+20)
	p.eventually(t, func(ctx context.Context) error { return p.run(ctx, replicas+20) })
	if len(p.instances()) <= len(before.instances) {
		t.Errorf("20 more pods run on %d instances, and there were %d", len(p.instances()), len(before.instances))
	}
	p.scale(t, replicas/4)
	p.eventually(t, func(ctx context.Context) error { return p.run(ctx, replicas/4) })
	p.eventually(t, p.noneEmpty)

	p.stop(t, install.DefaultName)
	before = p.look(t)
	began = time.Now()
	tainted := p.taint(t)
	out, err := p.handback(t, binary)
	if err != nil {
		t.Fatalf("handback: %v\n%s", err, out)
	}
	t.Logf("karpenterd handback:\n%s", out)
	p.hasNothingOfOurs(t, tainted)
	p.start(t, "karpenter")
	p.eventually(t, func(ctx context.Context) error { return p.isOurs(ctx, karpenterVersion) })
	p.eventually(t, func(ctx context.Context) error { return p.untainted(ctx, tainted) })
	p.unchanged(t, before, began, "handed back")

	p.endsOne(t)
	p.scale(t, 0)
	p.eventually(t, p.isEmpty)
	for _, o := range []*unstructured.Unstructured{pool, class} {
		p.delete(t, o)
	}
	p.leftNothing(t)
}

// smallNodes has the pool launch nodes of at most 8 CPUs, so that there are several.
func smallNodes(pool *unstructured.Unstructured) *unstructured.Unstructured {
	path := []string{"spec", "template", "spec", "requirements"}
	list, _, _ := unstructured.NestedSlice(pool.Object, path...)
	list = append(list, map[string]any{"key": awsv1.LabelInstanceCPU, "operator": "Lt", "values": []any{"9"}})
	_ = unstructured.SetNestedSlice(pool.Object, list, path...)
	return pool
}

// fleet is what must stay as it is.
type fleet struct {
	instances []string
	claims    map[string]types.UID
	pods      map[types.UID]string // node
}

func (p *peerLab) look(t *testing.T) fleet {
	t.Helper()
	f := fleet{claims: map[string]types.UID{}, pods: map[types.UID]string{}}
	for _, i := range p.instances() {
		f.instances = append(f.instances, i.ID)
	}
	for _, c := range must(p.NodeClaims.List(t.Context(), metav1.ListOptions{}))(t).Items {
		f.claims[c.Name] = c.UID
		if d := c.Conditions().Get(v1.ConditionDrifted); d.IsTrue() {
			t.Errorf("NodeClaim %s has drifted: %s: %s", c.Name, d.Reason, d.Message)
		}
		if c.DeletionTimestamp != nil {
			t.Errorf("NodeClaim %s is being deleted", c.Name)
		}
	}
	for _, x := range must(p.Core.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}))(t).Items {
		if x.DeletionTimestamp != nil {
			t.Errorf("pod %s is being deleted", x.Name)
		}
		f.pods[x.UID] = x.Spec.NodeName
	}
	return f
}

// unchanged checks that nothing was launched, ended or moved.
func (p *peerLab) unchanged(t *testing.T, before fleet, began time.Time, what string) {
	t.Helper()
	after := p.look(t)
	if !slices.Equal(before.instances, after.instances) || !maps.Equal(before.claims, after.claims) || !maps.Equal(before.pods, after.pods) {
		t.Errorf("%s: the fleet was\n%+v\nand is\n%+v", what, before, after)
	}
	calls := map[string]int{}
	for _, c := range p.Cloud.Calls() {
		if c.Time.After(began) && c.ErrorCode == "" {
			calls[c.Action]++
		}
	}
	if calls["CreateFleet"]+calls["RunInstances"]+calls["TerminateInstances"] > 0 {
		t.Errorf("%s: calls %v", what, calls)
	}
	t.Logf("%s: %d instances, %d pods; 0 launched, 0 ended, 0 moved", what, len(after.instances), len(after.pods))
}

// stop scales a controller to nothing and waits until its pods are gone.
func (p *peerLab) stop(t *testing.T, name string) {
	t.Helper()
	p.replicas(t, name, 0)
	p.eventually(t, func(ctx context.Context) error {
		pods, err := p.Core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + name})
		if err != nil || len(pods.Items) > 0 {
			return fmt.Errorf("%d pods of %s are left: %w", len(pods.Items), name, err)
		}
		return nil
	})
}

func (p *peerLab) start(t *testing.T, name string) {
	t.Helper()
	p.replicas(t, name, 1)
}

func (p *peerLab) replicas(t *testing.T, name string, n int) {
	t.Helper()
	must(p.Core.AppsV1().Deployments(namespace).Patch(t.Context(), name, types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n), metav1.PatchOptions{}))(t)
}

// installDaemon installs the daemon in Karpenter's namespace, so that both compete for one
// Lease, beside Karpenter's definitions.
func (p *peerLab) installDaemon(t *testing.T) {
	t.Helper()
	cluster := must(p.aws.Cluster(t.Context(), p.ClusterName))(t)
	role := aws.Role{Name: daemonRole, TrustPolicy: awsspec.IRSATrust(
		strings.TrimPrefix(cluster.Issuer, "https://"), lab.Account, partition, namespace, install.DefaultName)}
	for _, x := range awsspec.ControllerPolicies(awsspec.ControllerPolicyInput{
		Partition: partition, Region: p.Region, Account: lab.Account, Cluster: p.ClusterName,
		NodeRoleARNs: []string{"arn:aws:iam::" + lab.Account + ":role/" + nodeRole},
		QueueARN:     fmt.Sprintf("arn:aws:sqs:%s:%s:%s", p.Region, lab.Account, p.ClusterName),
	}) {
		role.ManagedPolicies = append(role.ManagedPolicies, must(p.aws.CreatePolicy(t.Context(), aws.Policy{Name: x.Name, Document: x.Document}))(t).ARN)
	}
	objects := must(install.Objects(install.Options{
		Namespace: namespace, ServiceAccount: install.DefaultName, Image: install.ReleaseImage("0.0.0").String(), ClusterName: p.ClusterName,
		RoleARN: must(p.aws.CreateRole(t.Context(), role))(t).ARN, Region: p.Region, QueueName: p.ClusterName,
	}))(t)
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "CustomResourceDefinition" })
	p.apply(t, objects...)
}

// isOurs says whether every object has hashes of the version, and under the daemon every
// instance the tag with the uid of its NodeClaim.
func (p *peerLab) isOurs(ctx context.Context, version string) error {
	claims, err := p.NodeClaims.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	pools, err := p.NodePools.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, x := range pools.Items {
		if got := x.Annotations[v1.AnnotationNodePoolHashVersion]; got != version {
			return fmt.Errorf("NodePool %s has a hash of version %q", x.Name, got)
		}
	}
	class := map[string]string{daemonVersion: daemonVersion, karpenterVersion: karpenterClass}[version]
	uids := map[string]bool{}
	for _, c := range claims.Items {
		uids[string(c.UID)] = true
		if got := c.Annotations[v1.AnnotationNodePoolHashVersion]; got != version {
			return fmt.Errorf("NodeClaim %s has a hash of version %q", c.Name, got)
		}
		if got := c.Annotations[awsv1.AnnotationNodeClassHashVersion]; got != class {
			return fmt.Errorf("NodeClaim %s has a hash of its class of version %q", c.Name, got)
		}
	}
	for _, i := range p.instances() {
		if version == daemonVersion && !uids[i.Tags[awsspec.TagNodeClaimUID]] {
			return fmt.Errorf("instance %s has the tags %v", i.ID, i.Tags)
		}
	}
	return nil
}

// karpenterTagged says whether Karpenter has given every instance its second set of tags.
func (p *peerLab) karpenterTagged(context.Context) error {
	for _, i := range p.instances() {
		if i.Tags[awsspec.TagNodeClaim] == "" {
			return fmt.Errorf("instance %s has the tags %v", i.ID, i.Tags)
		}
	}
	return nil
}

// sweeps waits until the daemon has listed the instances as often again.
func (p *peerLab) sweeps(t *testing.T, n int) {
	t.Helper()
	lists := func() (count int) {
		for _, c := range p.Cloud.Calls() {
			if c.Action == "DescribeInstances" && strings.Contains(c.Identity, ":assumed-role/"+daemonRole+"/") {
				count++
			}
		}
		return count
	}
	began := time.Now()
	from := lists()
	p.eventually(t, func(context.Context) error {
		// A sweep every 30 s, and drift lists them, too.
		if got := lists() - from; got < 2*n || time.Since(began) < time.Duration(n)*35*time.Second {
			return fmt.Errorf("instances were listed %d times in %s", got, time.Since(began))
		}
		return nil
	})
}

// run says whether so many pods run, and none else.
func (p *peerLab) run(ctx context.Context, want int) error {
	pods, err := p.Core.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	n := 0
	for _, x := range pods.Items {
		if x.Status.Phase == corev1.PodRunning {
			n++
		}
	}
	if n != want || len(pods.Items) != want {
		return fmt.Errorf("%d of %d pods run, want %d", n, len(pods.Items), want)
	}
	return nil
}

// noneEmpty says whether every node of the pool has a pod, every NodeClaim is up, and every
// instance has a NodeClaim.
func (p *peerLab) noneEmpty(ctx context.Context) error {
	nodes, err := p.nodes(ctx)
	if err != nil {
		return err
	}
	pods, err := p.Core.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	used := map[string]bool{}
	for _, x := range pods.Items {
		used[x.Spec.NodeName] = true
	}
	claims, err := p.NodeClaims.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(used) != len(nodes) || len(nodes) != len(claims.Items) || len(nodes) != len(p.instances()) {
		return fmt.Errorf("%d nodes are used; %d nodes, %d NodeClaims, %d instances", len(used), len(nodes), len(claims.Items), len(p.instances()))
	}
	for name, n := range nodes {
		if slices.ContainsFunc(n.Spec.Taints, func(x corev1.Taint) bool { return strings.Contains(x.Key, "karpenter") }) {
			return fmt.Errorf("node %s has the taints %v", name, n.Spec.Taints)
		}
	}
	return nil
}

func (p *peerLab) handback(t *testing.T, binary string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), binary, "handback")
	c.Env = append(os.Environ(), "KUBECONFIG="+p.Kubeconfig)
	out, err := c.CombinedOutput()
	return string(out), err
}

// taint puts the taint for leaving nodes on a node, as somebody whom handing back does not
// take for the daemon or Karpenter, and without the condition of its NodeClaim.
func (p *peerLab) taint(t *testing.T) (node string) {
	t.Helper()
	for node = range must(p.nodes(t.Context()))(t) {
		break
	}
	body := must(json.Marshal(map[string]any{"spec": map[string]any{"taints": []corev1.Taint{v1.DisruptedTaint()}}}))(t)
	must(p.Core.CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, body, metav1.PatchOptions{FieldManager: "kubectl"}))(t)
	return node
}

// untainted says whether Karpenter has taken the taint off.
func (p *peerLab) untainted(ctx context.Context, node string) error {
	n, err := p.Core.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil || len(n.Spec.Taints) > 0 {
		return fmt.Errorf("node %s has the taints %v: %w", node, n.Spec.Taints, err)
	}
	return nil
}

// hasNothingOfOurs checks that no object has a finalizer, taint, annotation or condition that
// only the daemon would remove. The tainted node keeps what somebody else has set.
func (p *peerLab) hasNothingOfOurs(t *testing.T, tainted string) {
	t.Helper()
	check := func(kind string, o metav1.Object) {
		for key := range o.GetAnnotations() {
			if strings.HasPrefix(key, v1.OwnDomain+"/") {
				t.Errorf("%s %s has the annotation %s", kind, o.GetName(), key)
			}
		}
	}
	for _, x := range must(p.NodePools.List(t.Context(), metav1.ListOptions{}))(t).Items {
		check("NodePool", &x)
		if len(x.Finalizers) > 0 {
			t.Errorf("NodePool %s has the finalizers %v", x.Name, x.Finalizers)
		}
		for _, own := range []string{v1.ConditionDisrupting, v1.ConditionUnsupported} {
			if c := x.Conditions().Get(own); c.Type != "" {
				t.Errorf("NodePool %s has the condition %+v", x.Name, c)
			}
		}
	}
	for _, x := range must(p.EC2NodeClasses.List(t.Context(), metav1.ListOptions{}))(t).Items {
		for _, own := range []string{awsv1.ConditionLaunchPermitted, awsv1.ConditionCatalogueCurrent, v1.ConditionUnsupported} {
			if c := x.Conditions().Get(own); c.Type != "" {
				t.Errorf("EC2NodeClass %s has the condition %+v", x.Name, c)
			}
		}
	}
	for _, x := range must(p.NodeClaims.List(t.Context(), metav1.ListOptions{}))(t).Items {
		check("NodeClaim", &x)
	}
	for _, x := range must(p.nodes(t.Context()))(t) {
		check("Node", &x)
		if disrupted := v1.DisruptedTaint(); len(x.Spec.Taints) > 0 && (x.Name != tainted || len(x.Spec.Taints) > 1 || !x.Spec.Taints[0].MatchTaint(&disrupted)) {
			t.Errorf("Node %s has the taints %v", x.Name, x.Spec.Taints)
		}
	}
}

// endsOne deletes a NodeClaim and waits until it and its instance are gone.
func (p *peerLab) endsOne(t *testing.T) {
	t.Helper()
	claims := must(p.NodeClaims.List(t.Context(), metav1.ListOptions{}))(t).Items
	one := claims[0]
	if err := p.NodeClaims.Delete(t.Context(), one.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.eventually(t, func(ctx context.Context) error {
		list, err := p.NodeClaims.List(ctx, metav1.ListOptions{})
		if err != nil || slices.ContainsFunc(list.Items, func(c v1.NodeClaim) bool { return c.UID == one.UID }) {
			return fmt.Errorf("NodeClaim %s is left: %w", one.Name, err)
		}
		if slices.ContainsFunc(p.instances(), func(i ec2sim.Instance) bool { return strings.HasSuffix(one.Status.ProviderID, "/"+i.ID) }) {
			return fmt.Errorf("the instance of NodeClaim %s runs", one.Name)
		}
		return nil
	})
}

// record writes what Karpenter has written to the file.
func (p *peerLab) record(t *testing.T, file string) {
	t.Helper()
	r := takeover.Recording{Karpenter: findRelease(t).version}
	for _, kind := range []schema.GroupVersionKind{
		awsv1.GroupVersion().WithKind(awsv1.EC2NodeClassKind), v1.GroupVersion().WithKind(v1.NodePoolKind), v1.GroupVersion().WithKind(v1.NodeClaimKind),
		corev1.SchemeGroupVersion.WithKind("Node"),
	} {
		for _, o := range must(p.applier.List(t.Context(), kind, "", ""))(t) {
			if _, pooled := o.GetLabels()[v1.LabelNodePool]; kind.Kind == "Node" && !pooled {
				continue
			}
			o.SetManagedFields(nil)
			unstructured.RemoveNestedField(o.Object, "status", "images")
			r.Objects = append(r.Objects, o.Object)
		}
	}
	for _, x := range must(p.Core.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}))(t).Items {
		r.Pods = append(r.Pods, takeover.Pod{Name: x.Name, Node: x.Spec.NodeName})
	}
	for _, i := range p.instances() {
		r.Instances = append(r.Instances, takeover.Instance{
			ID: i.ID, Type: i.Type, Zone: i.Zone, ImageName: i.ImageName, Image: i.ImageID, Subnet: i.SubnetID, SecurityGroups: i.SecurityGroupIDs, Tags: i.Tags,
		})
	}
	r.LaunchTemplates, r.Profiles = p.launchTemplates(t), p.profiles(t)
	raw, err := json.MarshalIndent(r, "", " ")
	if err == nil {
		err = os.WriteFile(file, append(raw, '\n'), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// launchTemplates are Karpenter's.
func (p *peerLab) launchTemplates(t *testing.T) (out []takeover.LaunchTemplate) {
	t.Helper()
	sdk := must(config.LoadDefaultConfig(t.Context()))(t)
	found := must(ec2.NewFromConfig(sdk).DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{}))(t)
	for _, x := range found.LaunchTemplates {
		tags := map[string]string{}
		for _, tag := range x.Tags {
			tags[*tag.Key] = *tag.Value
		}
		out = append(out, takeover.LaunchTemplate{Name: *x.LaunchTemplateName, Tags: tags})
	}
	return out
}

// profiles are Karpenter's.
func (p *peerLab) profiles(t *testing.T) (out []takeover.Profile) {
	t.Helper()
	client := iam.NewFromConfig(must(config.LoadDefaultConfig(t.Context()))(t))
	for _, x := range must(client.ListInstanceProfiles(t.Context(), &iam.ListInstanceProfilesInput{}))(t).InstanceProfiles {
		tags := map[string]string{}
		for _, tag := range must(client.ListInstanceProfileTags(t.Context(), &iam.ListInstanceProfileTagsInput{InstanceProfileName: x.InstanceProfileName}))(t).Tags {
			tags[*tag.Key] = *tag.Value
		}
		out = append(out, takeover.Profile{Name: *x.InstanceProfileName, Path: *x.Path, Role: *x.Roles[0].RoleName, Tags: tags})
	}
	return out
}
