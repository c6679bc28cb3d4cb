//go:build lab

package provider_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/config"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
)

func notInCluster(err error) bool { return errors.Is(err, kube.ErrNotFound) }

// infrastructure has the AWS resources that daemon, class and pool need.
const infrastructure = `
provider "karpenter" {
  region = "us-west-2"
  eks    = { cluster_name = "lab" }
}
resource "karpenter_node_role" "this" {
  cluster_name = "lab"
}
resource "karpenter_instance_profile" "this" {
  name = "nodes"
  role = karpenter_node_role.this.name
}
resource "karpenter_interruption_queue" "this" {
  cluster_name = "lab"
}
resource "karpenter_controller_role" "this" {
  cluster_name  = "lab"
  node_role_arn = karpenter_node_role.this.arn
  queue_arn     = karpenter_interruption_queue.this.arn
}
resource "karpenter_discovery_tags" "this" {
  cluster_name       = "lab"
  subnet_ids         = [%q]
  security_group_ids = [%q]
}
`

const daemonBlock = `
resource "karpenter_daemon" "this" {
  cluster_name = "lab"
  role_arn     = karpenter_controller_role.this.arn
  queue_name   = karpenter_interruption_queue.this.name
%s
}
`

const classBlock = `
resource "karpenter_node_class" "this" {
  name             = "default"
  daemon           = karpenter_daemon.this.id
  instance_profile = karpenter_instance_profile.this.name

  ami_selector_terms            = [{ alias = "al2023@latest" }]
  subnet_selector_terms         = [{ tags = karpenter_discovery_tags.this.selector_tags }]
  security_group_selector_terms = [{ tags = karpenter_discovery_tags.this.selector_tags }]
%s
}
`

const poolBlock = `
resource "karpenter_node_pool" "this" {
  name         = "default"
  node_class   = karpenter_node_class.this.name
  requirements = [{ key = "karpenter.sh/capacity-type", operator = "In", values = ["on-demand"] }]
%s
}
`

func (l *theLab) infrastructure() string {
	return fmt.Sprintf(infrastructure, l.VPC.SubnetIDs[0], l.VPC.ClusterSecurityGroupID)
}

// patch changes an object as somebody with kubectl would.
func (l *theLab) patch(gvr schema.GroupVersionResource, namespace, name, patch string) error {
	client, err := dynamic.NewForConfig(l.AdminConfig)
	if err != nil {
		return err
	}
	_, err = client.Resource(gvr).Namespace(namespace).Patch(context.Background(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "kubectl-edit"})
	return err
}

func (l *theLab) get(group, kind, namespace, name string) (*unstructured.Unstructured, error) {
	return l.kube.Get(context.Background(), kube.Ref{GroupVersionKind: schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}, Namespace: namespace, Name: name})
}

// daemonMachinesHCL has what the daemon is told of all instances, otherwise than by default.
const daemonMachinesHCL = `
  reserved_enis              = 1
  vm_memory_overhead_percent = 0.05
  cluster_ca_bundle          = "` + authority + `"
  isolated_vpc               = true
  log_keys                   = "hclog"
`

func TestAccDaemon(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			l := startLab(t)
			const address = "karpenter_daemon.this"

			configure := func(more string) string { return l.infrastructure() + fmt.Sprintf(daemonBlock, more) }
			run(t, func() error {
				_, err := l.get("", "Namespace", "", "karpenter")
				_, crd := l.get("apiextensions.k8s.io", "CustomResourceDefinition", "", "nodepools.karpenter.sh")
				return errors.Join(gone("namespace", err, notInCluster), gone("definition", crd, notInCluster))
			},
				resource.TestStep{Config: configure(""), Check: resource.ComposeTestCheckFunc(
					resource.TestCheckResourceAttr(address, "id", "karpenter/karpenterd"),
					resource.TestCheckResourceAttr(address, "image_reference", "ghcr.io/karpenterd/karpenterd@"+releaseDigest))},
				resource.TestStep{
					PreConfig: meddle(t, func() error {
						return l.patch(deployments, "karpenter", "karpenterd", `{"spec":{"replicas":1}}`)
					}),
					Config: configure(""), ConfigPlanChecks: planned(address, plancheck.ResourceActionUpdate),
				},
				resource.TestStep{
					PreConfig: meddle(t, func() error {
						return l.patch(schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}, "", "karpenterd", `{"rules":[]}`)
					}),
					Config: configure(""), ConfigPlanChecks: planned(address, plancheck.ResourceActionUpdate),
				},
				resource.TestStep{Config: configure(daemonPodsHCL + "  log_level = \"debug\"\n  preference_policy = \"Ignore\"\n  min_values_policy = \"BestEffort\"\n  node_cost = 0.01\n  scheduler_config = \"podTopologySpread: {}\"\n  labels = { team = \"platform\" }\n" + daemonMachinesHCL), ConfigPlanChecks: planned(address, plancheck.ResourceActionUpdate)},
				resource.TestStep{ResourceName: address, ImportState: true, ImportStateId: "karpenter", ImportStateVerify: true, ImportStateVerifyIdentifierAttribute: "id"},
				resource.TestStep{ // an object that only the daemon can finish keeps the daemon
					PreConfig: meddle(t, l.strayClass),
					Config:    configure(""), Destroy: true, ExpectError: regexp.MustCompile(`(?s)EC2NodeClass.*stray.*Delete\s+these\s+objects\s+first`),
				},
				resource.TestStep{
					PreConfig: meddle(t, func() error { return l.kube.Delete(t.Context(), l.stray(), "") }),
					Config:    configure(""),
				},
			)
		})
	}
}

func (l *theLab) stray() kube.Ref {
	return kube.Ref{GroupVersionKind: schema.GroupVersionKind{Group: "karpenter.k8s.aws", Version: "v1", Kind: "EC2NodeClass"}, Name: "stray"}
}

// strayClass makes a node class that is in no configuration.
func (l *theLab) strayClass() error {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"instanceProfile":            "nodes",
		"amiSelectorTerms":           []any{map[string]any{"alias": "al2023@latest"}},
		"subnetSelectorTerms":        []any{map[string]any{"id": l.VPC.SubnetIDs[0]}},
		"securityGroupSelectorTerms": []any{map[string]any{"id": l.VPC.ClusterSecurityGroupID}},
	}}}
	obj.SetGroupVersionKind(l.stray().GroupVersionKind)
	obj.SetName("stray")
	_, err := l.kube.Apply(context.Background(), obj, false)
	return err
}

func TestAccNodeClassAndPool(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			l := startLab(t)
			const class, pool = "karpenter_node_class.this", "karpenter_node_pool.this"
			configure := func(ofClass, ofPool string) string {
				return l.infrastructure() + fmt.Sprintf(daemonBlock, "") + fmt.Sprintf(classBlock, ofClass) + fmt.Sprintf(poolBlock, ofPool)
			}
			both := func(action plancheck.ResourceActionType) resource.ConfigPlanChecks {
				return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(class, action), plancheck.ExpectResourceAction(pool, action),
				}}
			}
			const moreOfClass = `
  tags                  = { env = "test" }
  detailed_monitoring   = true
  kubelet = {
    cluster_dns                     = ["10.100.0.10"]
    max_pods                        = 50
    pods_per_core                   = 10
    system_reserved                 = { cpu = "100m", memory = "0.1Gi" }
    kube_reserved                   = { ephemeral-storage = "2Gi" }
    eviction_hard                   = { "memory.available" = "5%", "nodefs.inodesFree" = "10%" }
    eviction_soft                   = { "memory.available" = "1Gi" }
    eviction_soft_grace_period      = { "memory.available" = "90s" }
    eviction_max_pod_grace_period   = 60
    image_gc_high_threshold_percent = 70
    image_gc_low_threshold_percent  = 0
    cpu_cfs_quota                   = false
  }
  capacity_reservation_selector_terms = [{ tags = { team = "*" }, instance_match_criteria = "open" }]
  metadata_options      = { http_put_response_hop_limit = 2 }
  block_device_mappings = [{ device_name = "/dev/xvda", ebs = { volume_size = "40Gi", volume_type = "gp3" } }]
  user_data             = "#!/bin/sh\necho hello\n"`
			const moreOfPool = `
  labels                   = { team = "platform" }
  annotations              = { note = "hello" }
  taints                   = [{ key = "a", value = "b", effect = "NoSchedule" }]
  limits                   = { cpu = "1000m", memory = "1024Mi" }
  weight                   = 10
  termination_grace_period = "60s"
  expire_after             = "60m"
  disruption = {
    consolidation_policy = "WhenEmpty"
    consolidate_after    = "1h"
    budgets              = [{ nodes = "5" }, { nodes = "0", reasons = ["Drifted"], schedule = "TZ=Europe/Paris 0 9 * * mon-fri", duration = "8h" }]
  }`
			run(t, func() error {
				_, err := l.get("apiextensions.k8s.io", "CustomResourceDefinition", "", "nodepools.karpenter.sh")
				return errors.Join(gone("definition", err, notInCluster), l.nothingRuns(), l.kube.Delete(context.Background(), workload(), ""))
			},
				resource.TestStep{Config: configure("", ""), ConfigPlanChecks: both(plancheck.ResourceActionCreate)},
				resource.TestStep{
					PreConfig: meddle(t, func() error {
						return errors.Join(
							l.patch(nodeClasses, "", "default", `{"spec":{"instanceProfile":"other"}}`),
							l.patch(nodePools, "", "default", `{"spec":{"disruption":{"consolidateAfter":"Never"}}}`))
					}),
					Config: configure("", ""), ConfigPlanChecks: both(plancheck.ResourceActionUpdate),
				},
				resource.TestStep{ // fields that the configuration does not have
					PreConfig: meddle(t, func() error {
						return errors.Join(
							l.patch(nodeClasses, "", "default", `{"spec":{"detailedMonitoring":true,"tags":{"theirs":"1"}}}`),
							l.patch(nodePools, "", "default", `{"spec":{"weight":99,"limits":{"cpu":"1"}}}`))
					}),
					Config: configure("", ""), ConfigPlanChecks: both(plancheck.ResourceActionUpdate),
				},
				resource.TestStep{Config: configure(moreOfClass, moreOfPool), ConfigPlanChecks: both(plancheck.ResourceActionUpdate)},
				resource.TestStep{
					ResourceName: class, ImportState: true, ImportStateId: "default", ImportStateVerify: true,
					ImportStateVerifyIdentifierAttribute: "name", ImportStateVerifyIgnore: []string{"daemon"},
				},
				resource.TestStep{
					ResourceName: pool, ImportState: true, ImportStateId: "default", ImportStateVerify: true,
					ImportStateVerifyIdentifierAttribute: "name", ImportStateVerifyIgnore: []string{"limits", "termination_grace_period", "expire_after", "disruption"},
				},
				resource.TestStep{Config: configure("", ""), ConfigPlanChecks: both(plancheck.ResourceActionUpdate)}, // removed again
				resource.TestStep{ // there is a node when everything is destroyed
					Config: configure("", ""),
					Check:  func(*terraform.State) error { return l.launch(t) },
				},
			)
		})
	}
}

func workload() kube.Ref {
	return kube.Ref{GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "default", Name: "inflate"}
}

// launch makes a Deployment of one pod, which ends fast, and waits until a node was launched
// for it; change alters the pod's spec.
func (l *theLab) launch(t *testing.T, change ...func(pod map[string]any)) error {
	t.Helper()
	return l.deploy(t, 1, change...)
}

// deploy makes that Deployment of so many pods, and waits until they are ready.
func (l *theLab) deploy(t *testing.T, replicas int64, change ...func(pod map[string]any)) error {
	t.Helper()
	labels := map[string]any{"app": "inflate"}
	pod := map[string]any{"terminationGracePeriodSeconds": int64(1), "containers": []any{map[string]any{
		"name": "pause", "image": "pause", "resources": map[string]any{"requests": map[string]any{"cpu": "1"}},
	}}}
	for _, f := range change {
		f(pod)
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"replicas": replicas, "selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": pod},
	}}}
	obj.SetGroupVersionKind(workload().GroupVersionKind)
	obj.SetNamespace("default")
	obj.SetName("inflate")
	if _, err := l.kube.Apply(t.Context(), obj, false); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := l.kube.Wait(ctx, workload(), kube.RolledOut)
	return err
}

// nothingRuns fails while an instance that the daemon launched is alive.
func (l *theLab) nothingRuns() error {
	for _, i := range l.Cloud.EC2.Instances() {
		if i.Tags["karpenter.sh/nodepool"] != "" && i.State != ec2sim.StateTerminated && i.State != ec2sim.StateShuttingDown {
			return fmt.Errorf("instance %s is %s", i.ID, i.State)
		}
	}
	return nil
}

// TestAccQuickstart applies the quick start, with the node pool of README's first page in it.
func TestAccQuickstart(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			l := startLab(t)
			variables := config.Variables{"cluster_name": config.StringVariable(l.ClusterName), "region": config.StringVariable(l.Region)}
			t.Cleanup(func() { must(t, l.endSpotRole(context.Background())) })
			run(t, func() error {
				_, err := l.get("apiextensions.k8s.io", "CustomResourceDefinition", "", "nodepools.karpenter.sh")
				return gone("definition", err, notInCluster)
			},
				resource.TestStep{Config: quickstart(t) + firstPage(t), ConfigVariables: variables},
			)
		})
	}
}

// firstPage is the configuration that README shows first.
func firstPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	must(t, err)
	_, rest, found := strings.Cut(string(text), "```terraform\n")
	block, _, ended := strings.Cut(rest, "```")
	if !found || !ended || !strings.Contains(block, "resource \"karpenter_node_pool\"") {
		t.Fatalf("README shows no node pool: %q", block)
	}
	return block
}

// TestAccKubernetesAccess reaches the cluster by address and credentials.
func TestAccKubernetesAccess(t *testing.T) {
	openTofu(t).use(t)
	l := startLab(t)
	token, _, err := l.aws.EKSTokenSource(l.ClusterName).Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	config := func(token string) string {
		return fmt.Sprintf(`
provider "karpenter" {
  region     = "us-west-2"
  kubernetes = { host = %q, cluster_ca_certificate = %q, token = %q }
}
resource "karpenter_daemon" "this" {
  cluster_name = "lab"
  role_arn     = "arn:aws:iam::123456789012:role/none"
  wait         = false
}`, l.Endpoint, l.CA, token)
	}
	run(t, func() error {
		_, err := l.get("", "Namespace", "", "karpenter")
		return gone("namespace", err, notInCluster)
	},
		resource.TestStep{Config: config("wrong"), ExpectError: regexp.MustCompile(`(?s)karpenter_daemon.*token\s+or\s+client\s+certificate`)},
		resource.TestStep{Config: config(token), Check: resource.TestCheckResourceAttr("karpenter_daemon.this", "id", "karpenter/karpenterd")},
	)
}

// quickstart is the example without its terraform block: the test gives the provider
// itself.
func quickstart(t testing.TB) string {
	t.Helper()
	files, err := filepath.Glob("../examples/quickstart/*.tf")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(regexp.MustCompile(`(?s)\nterraform \{.*?\n\}\n`).ReplaceAll(text, nil))
	}
	return all.String()
}
