//go:build lab && peer

package peer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

const replicas = 40

// TestPeer_ProvisionsAndEmpties is the whole life of a fleet under Karpenter's
// own controller, with the figures that ours are compared with.
func TestPeer_ProvisionsAndEmpties(t *testing.T) {
	p := startPeerLab(t, demo())
	class, pool := p.nodeClass(), nodePool()
	p.apply(t, class, pool)
	for _, o := range []*unstructured.Unstructured{class, pool} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		must(p.applier.Wait(ctx, kube.RefOf(o), kube.ConditionTrue("Ready")))(t)
		cancel()
	}
	must(p.Core.AppsV1().Deployments("default").Create(t.Context(), inflate(), metav1.CreateOptions{}))(t)

	up := p.scale(t, replicas)
	p.eventually(t, p.allRunOnJoinedNodes)
	running := time.Since(up)
	first, last, launches := p.fleets(up)
	t.Logf("Karpenter: %d pods of 1 CPU: first CreateFleet %.2f s and last %.2f s after the scale-up (%d calls); all run after %.2f s (boot %s of it)",
		replicas, first.Seconds(), last.Seconds(), launches, running.Seconds(), bootDelay)
	p.logFleet(t)

	down := p.scale(t, 0)
	p.eventually(t, p.isEmpty)
	t.Logf("Karpenter: emptied %.2f s after the scale-down", time.Since(down).Seconds())

	for _, o := range []*unstructured.Unstructured{pool, class} {
		p.delete(t, o)
	}
	p.leftNothing(t)
	p.callsAreItsOwn(t)
}

// nodeClass is as in Karpenter's documentation, its role for the controller to
// make an instance profile of.
func (p *peerLab) nodeClass() *unstructured.Unstructured {
	discovery := []any{map[string]any{"tags": map[string]any{"karpenter.sh/discovery": p.ClusterName}}}
	return object("karpenter.k8s.aws/v1", "EC2NodeClass", map[string]any{
		"role": nodeRole, "amiSelectorTerms": []any{map[string]any{"alias": "al2023@latest"}},
		"subnetSelectorTerms": discovery, "securityGroupSelectorTerms": discovery,
	})
}

// nodePool has the requirements of the quickstart's on-demand pool.
func nodePool() *unstructured.Unstructured {
	requirement := func(key, operator string, values ...any) any {
		return map[string]any{"key": key, "operator": operator, "values": values}
	}
	return object("karpenter.sh/v1", "NodePool", map[string]any{
		"template": map[string]any{"spec": map[string]any{
			"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
			"requirements": []any{
				requirement("karpenter.sh/capacity-type", "In", "on-demand"),
				requirement("karpenter.k8s.aws/instance-category", "In", "c", "m", "r"),
				requirement("karpenter.k8s.aws/instance-generation", "Gt", "4"),
				requirement("kubernetes.io/arch", "In", "amd64"),
			},
		}},
		"disruption": map[string]any{"consolidationPolicy": "WhenEmpty", "consolidateAfter": "0s", "budgets": []any{map[string]any{"nodes": "100%"}}},
		"limits":     map[string]any{"cpu": "200"},
	})
}

func object(apiVersion, kind string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "default"}, "spec": spec,
	}}
}

// inflate is the demo's on-demand workload.
func inflate() *appsv1.Deployment {
	zero, grace, labels := int32(0), int64(2), map[string]string{"app": "inflate"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "inflate"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &zero, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: &grace,
				Containers: []corev1.Container{{
					Name: "inflate", Image: "registry.k8s.io/pause:3.10",
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
						corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1536Mi"),
					}},
				}},
			}},
		},
	}
}

// scale sets the Deployment's replicas and returns when.
func (p *peerLab) scale(t *testing.T, n int) time.Time {
	t.Helper()
	at := time.Now()
	must(p.Core.AppsV1().Deployments("default").Patch(t.Context(), "inflate", types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n), metav1.PatchOptions{}))(t)
	return at
}

// eventually polls until check has no complaint, or fails with the last one.
func (p *peerLab) eventually(t *testing.T, check func(context.Context) error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := check(t.Context())
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %v", patience, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// nodes are those of the pool, by name.
func (p *peerLab) nodes(ctx context.Context) (map[string]corev1.Node, error) {
	list, err := p.Core.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "karpenter.sh/nodepool=default"})
	if err != nil {
		return nil, err
	}
	out := map[string]corev1.Node{}
	for _, n := range list.Items {
		out[n.Name] = n
	}
	return out, nil
}

func (p *peerLab) allRunOnJoinedNodes(ctx context.Context) error {
	nodes, err := p.nodes(ctx)
	if err != nil {
		return err
	}
	pods, err := p.Core.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	run := 0
	for _, x := range pods.Items {
		if n, joined := nodes[x.Spec.NodeName]; joined && x.Status.Phase == corev1.PodRunning && n.Labels["karpenter.sh/initialized"] == "true" {
			run++
		}
	}
	if run != replicas || len(pods.Items) != replicas {
		return fmt.Errorf("%d of %d pods run on initialized nodes; %d nodes, %d instances", run, len(pods.Items), len(nodes), len(p.instances()))
	}
	return nil
}

// instances are those that are not on their way out.
func (p *peerLab) instances() []ec2sim.Instance {
	return slices.DeleteFunc(p.Cloud.EC2.Instances(), func(i ec2sim.Instance) bool {
		return i.State != ec2sim.StatePending && i.State != ec2sim.StateRunning
	})
}

// fleets tells when after began CreateFleet was called for real.
func (p *peerLab) fleets(began time.Time) (first, last time.Duration, calls int) {
	for _, c := range p.Cloud.Calls() {
		if c.Action == "CreateFleet" && c.ErrorCode == "" && c.Time.After(began) {
			if at := c.Time.Sub(began); calls == 0 || at < first {
				first = at
			}
			last = max(last, c.Time.Sub(began))
			calls++
		}
	}
	return first, last, calls
}

// logFleet prints what runs and what it costs by the catalogue's prices.
func (p *peerLab) logFleet(t *testing.T) {
	t.Helper()
	facts, market, err := embedded.Load(p.Region)
	if err != nil {
		t.Fatal(err)
	}
	prices := map[string]quantity.Money{}
	for _, x := range catalog.Build(facts, market, catalog.Settings{Zones: market.Zones}) {
		for _, o := range x.Offerings {
			if o.CapacityType == "on-demand" {
				prices[x.Name+" "+o.Zone] = o.Price
			}
		}
	}
	var total quantity.Money
	count := map[string]int{}
	for _, i := range p.instances() {
		price, ok := prices[i.Type+" "+i.Zone]
		if !ok || i.Spot {
			t.Errorf("instance %s: %s in %s is no on-demand offering with a price", i.ID, i.Type, i.Zone)
		}
		total += price
		count[i.Type]++
	}
	var fleet []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		fleet = append(fleet, fmt.Sprintf("%d x %s", count[name], name))
	}
	t.Logf("Karpenter: %d instances (%s), %s/h on demand", len(p.instances()), strings.Join(fleet, ", "), total.Dollars())
}

func (p *peerLab) isEmpty(ctx context.Context) error {
	claims, err := p.NodeClaims.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	nodes, err := p.nodes(ctx)
	if err != nil {
		return err
	}
	if n := len(claims.Items) + len(nodes) + len(p.instances()); n > 0 {
		return fmt.Errorf("%d NodeClaims, %d nodes, %d instances are left", len(claims.Items), len(nodes), len(p.instances()))
	}
	return nil
}

func (p *peerLab) delete(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := p.applier.Delete(ctx, kube.RefOf(o), ""); err != nil {
		t.Fatal(err)
	}
	if err := p.applier.WaitGone(ctx, kube.RefOf(o), "", nil); err != nil {
		t.Fatal(err)
	}
}

// leftNothing checks through the API that the controller took away what it made.
func (p *peerLab) leftNothing(t *testing.T) {
	t.Helper()
	sdk := must(config.LoadDefaultConfig(t.Context()))(t)
	templates := must(ec2.NewFromConfig(sdk).DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{}))(t)
	for _, x := range templates.LaunchTemplates {
		t.Errorf("launch template %s is left", *x.LaunchTemplateName)
	}
	profiles := must(iam.NewFromConfig(sdk).ListInstanceProfiles(t.Context(), &iam.ListInstanceProfilesInput{}))(t)
	for _, x := range profiles.InstanceProfiles {
		t.Errorf("instance profile %s is left", *x.InstanceProfileName)
	}
}

// refusals are the errors that the controller asks for: whether a name is free, and whether it
// may. The last ones are of what EC2 shows some seconds after it was made, and the laboratory, too.
func refusals() []string {
	return []string{
		"ec2 CreateFleet: DryRunOperation", "ec2 RunInstances: DryRunOperation", "ec2 DescribeInstanceTypes: DryRunOperation",
		"ec2 DescribeLaunchTemplates: InvalidLaunchTemplateName.NotFoundException", "iam GetInstanceProfile: NoSuchEntity",
		"ec2 CreateFleet: InvalidLaunchTemplateName.NotFoundException", "ec2 CreateLaunchTemplate: InvalidLaunchTemplateName.AlreadyExistsException",
		"ec2 DescribeInstances: InvalidInstanceID.NotFound", "ec2 RunInstances: InvalidParameterValue", // of an instance profile
	}
}

// callsAreItsOwn checks that the controller came in by its role and its service
// account alone, and that the cloud refused it nothing else.
func (p *peerLab) callsAreItsOwn(t *testing.T) {
	t.Helper()
	role := "arn:aws:sts::" + lab.Account + ":assumed-role/" + control + "/"
	calls := map[string]int{}
	for _, c := range p.Cloud.Calls() {
		if !strings.HasPrefix(c.Identity, role) {
			continue
		}
		calls[c.Service+" "+c.Action]++
		if what := c.Service + " " + c.Action + ": " + c.ErrorCode; c.ErrorCode != "" && !slices.Contains(refusals(), what) {
			t.Errorf("the cloud refused the controller %s", what)
		}
	}
	for _, what := range []string{"ec2 CreateFleet", "ec2 TerminateInstances", "iam CreateInstanceProfile", "sqs ReceiveMessage", "ssm GetParameter", "pricing GetProducts"} {
		if calls[what] == 0 {
			t.Errorf("%s was not called as %s", what, role)
		}
	}
	for agent, n := range must(p.AdminUserAgents())(t) {
		if strings.HasPrefix(agent, "karpenter/") {
			t.Errorf("%d requests of %q came with the administrator's token", n, agent)
		}
	}
}
