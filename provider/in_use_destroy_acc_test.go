//go:build lab

package provider_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
)

// withoutReferences is everything of a cluster as terraform plan -generate-config-out writes
// it: nothing refers to anything else.
const withoutReferences = `
provider "karpenter" {
  region = "us-west-2"
  eks    = { cluster_name = "lab" }
}
resource "karpenter_node_role" "x" {
  cluster_name = "lab"
}
resource "karpenter_instance_profile" "x" {
  name = "nodes"
  role = "KarpenterNodeRole-lab"
}
resource "karpenter_interruption_queue" "x" {
  cluster_name = "lab"
}
resource "karpenter_controller_role" "x" {
  cluster_name  = "lab"
  node_role_arn = "arn:aws:iam::%[1]s:role/KarpenterNodeRole-lab"
  queue_arn     = "arn:aws:sqs:us-west-2:%[1]s:lab"
}
resource "karpenter_discovery_tags" "x" {
  cluster_name       = "lab"
  subnet_ids         = [%[2]q]
  security_group_ids = [%[3]q]
}
resource "karpenter_daemon" "x" {
  cluster_name = "lab"
  role_arn     = "arn:aws:iam::%[1]s:role/KarpenterControllerRole-lab"
  queue_name   = "lab"
}
resource "karpenter_node_class" "x" {
  name                          = "default"
  instance_profile              = "nodes"
  ami_selector_terms            = [{ alias = "al2023@latest" }]
  subnet_selector_terms         = [{ tags = { "karpenter.sh/discovery" = "lab" } }]
  security_group_selector_terms = [{ tags = { "karpenter.sh/discovery" = "lab" } }]
}
resource "karpenter_node_pool" "x" {
  name         = "default"
  node_class   = "default"
  requirements = [{ key = "karpenter.sh/capacity-type", operator = "In", values = ["on-demand"] }]
}
`

// importIDs are the ids of withoutReferences.
func importIDs() map[string]string {
	return map[string]string{
		"karpenter_node_role": "lab,KarpenterNodeRole-lab", "karpenter_instance_profile": "nodes", "karpenter_interruption_queue": "lab,lab",
		"karpenter_controller_role": "lab,KarpenterControllerRole-lab", "karpenter_discovery_tags": "lab", "karpenter_daemon": "karpenter",
		"karpenter_node_class": "default", "karpenter_node_pool": "default",
	}
}

// makeAll makes what withoutReferences imports, in the order that references would set.
func (l *theLab) makeAll(t *testing.T) {
	t.Helper()
	h := configured(t, object{"region": l.Region, "eks": object{"cluster_name": l.ClusterName}})
	arn := func(of, rest string) string { return "arn:aws:" + of + ":" + lab.Account + ":" + rest }
	tags := list{object{"tags": object{"karpenter.sh/discovery": "lab"}}}
	for _, r := range []struct {
		kind   string
		config object
	}{
		{"karpenter_node_role", object{"cluster_name": "lab"}},
		{"karpenter_instance_profile", object{"name": "nodes", "role": "KarpenterNodeRole-lab"}},
		{"karpenter_interruption_queue", object{"cluster_name": "lab"}},
		{"karpenter_controller_role", object{"cluster_name": "lab", "node_role_arn": arn("iam:", "role/KarpenterNodeRole-lab"), "queue_arn": arn("sqs:us-west-2", "lab")}},
		{"karpenter_discovery_tags", object{"cluster_name": "lab", "subnet_ids": list{l.VPC.SubnetIDs[0]}, "security_group_ids": list{l.VPC.ClusterSecurityGroupID}}},
		{"karpenter_daemon", object{"cluster_name": "lab", "role_arn": arn("iam:", "role/KarpenterControllerRole-lab"), "queue_name": "lab"}},
		{"karpenter_node_class", object{"name": "default", "instance_profile": "nodes", "ami_selector_terms": list{object{"alias": "al2023@latest"}}, "subnet_selector_terms": tags, "security_group_selector_terms": tags}},
		{"karpenter_node_pool", object{"name": "default", "node_class": "default", "requirements": list{object{"key": "karpenter.sh/capacity-type", "operator": "In", "values": list{"on-demand"}}}}},
	} {
		wantNoError(t, h.resource(r.kind).apply(r.config))
	}
}

// nothingLeft fails if something of withoutReferences is left in AWS or in the cluster. An
// import does not say whose the daemon's namespace is, so it stays.
func (l *theLab) nothingLeft() error {
	ctx := context.Background()
	_, role := l.aws.GetRole(ctx, "KarpenterNodeRole-lab")
	_, controller := l.aws.GetRole(ctx, "KarpenterControllerRole-lab")
	_, profile := l.aws.GetInstanceProfile(ctx, "nodes")
	_, queue := l.aws.GetQueue(ctx, "lab")
	_, daemon := l.get("apps", "Deployment", "karpenter", "karpenterd")
	_, definition := l.get("apiextensions.k8s.io", "CustomResourceDefinition", "", "nodepools.karpenter.sh")
	left, err := l.aws.Leftovers(ctx, l.ClusterName)
	if err == nil && !left.None() {
		err = errors.New(left.String())
	}
	return errors.Join(err, gone("node role", role, notInAWS), gone("controller role", controller, notInAWS), gone("instance profile", profile, notInAWS), gone("queue", queue, notInAWS),
		gone("daemon", daemon, notInCluster), gone("definition", definition, notInCluster))
}

// TestAccDestroy_WithoutReferencesWaitsForTheNodesAndLeavesNothing imports everything, and
// destroys it side by side while nodes run. Each node keeps what it needs until it is gone.
func TestAccDestroy_WithoutReferencesWaitsForTheNodesAndLeavesNothing(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			l := startLab(t)
			s := l.somebody(t)
			l.makeAll(t)
			imports := ""
			for kind, id := range importIDs() {
				imports += fmt.Sprintf("import {\n  to = %s.x\n  id = %q\n}\n", kind, id)
			}
			config := fmt.Sprintf(withoutReferences, lab.Account, l.VPC.SubnetIDs[0], l.VPC.ClusterSecurityGroupID)
			var watched *watch
			run(t, func() error {
				return errors.Join(l.nothingLeft(), watched.end(), l.kubeDeleteWorkload(), s.removeNamespace("karpenter"))
			},
				resource.TestStep{Config: config + imports, Check: func(*terraform.State) error {
					err := l.launch(t)
					watched = l.watchNodes(t)
					return err
				}},
			)
		})
	}
}

// watch looks again and again whether each instance of a node pool has what its node needs.
type watch struct {
	mu     sync.Mutex
	faults map[string]error
	looks  int
	cancel context.CancelFunc
	ended  chan struct{}
}

// end returns what was seen.
func (w *watch) end() error {
	if w == nil {
		return errors.New("nobody has watched the nodes")
	}
	w.cancel()
	<-w.ended
	w.mu.Lock()
	defer w.mu.Unlock()
	var faults []error
	for _, fault := range w.faults {
		faults = append(faults, fault)
	}
	if w.looks == 0 {
		faults = append(faults, errors.New("no instance was seen"))
	}
	return errors.Join(faults...)
}

func (l *theLab) watchNodes(t *testing.T) *watch {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	w := &watch{faults: map[string]error{}, cancel: cancel, ended: make(chan struct{})}
	t.Cleanup(cancel)
	go func() {
		defer close(w.ended)
		for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
			for _, i := range l.Cloud.EC2.Instances() {
				if i.Tags[awsspec.TagNodePool] == "" || i.State != ec2sim.StateRunning {
					continue
				}
				err := l.whole(ctx, i.ProfileARN)
				if err != nil && ctx.Err() == nil {
					// IAM gives a profile another role in two calls.
					time.Sleep(time.Second)
					err = l.whole(ctx, i.ProfileARN)
				}
				w.mu.Lock()
				w.looks++
				if err != nil && ctx.Err() == nil && l.instanceRuns(i.ID) {
					w.faults[i.ID] = fmt.Errorf("instance %s runs: %w", i.ID, err)
				}
				w.mu.Unlock()
			}
		}
	}()
	return w
}

// whole fails if the instance profile, its role or the access entry of its role is gone.
func (l *theLab) whole(ctx context.Context, profile string) error {
	found, err := l.aws.GetInstanceProfile(ctx, awsspec.RoleName(profile))
	if err == nil && found.Role == "" {
		err = fmt.Errorf("instance profile %q has no role", found.Name)
	}
	if err == nil {
		_, err = l.aws.GetRole(ctx, found.Role)
	}
	if err == nil {
		_, err = l.aws.GetAccessEntry(ctx, l.ClusterName, found.RoleARN)
	}
	return err
}

// instanceRuns tells whether the instance still runs.
func (l *theLab) instanceRuns(id string) bool {
	for _, i := range l.Cloud.EC2.Instances() {
		if i.ID == id {
			return i.State == ec2sim.StateRunning
		}
	}
	return false
}

// The instance profile of a configuration: with the name of the role, as in the quick start,
// and with a name of its own.
const (
	profileOfRole = "resource \"karpenter_instance_profile\" \"this\" {\n  name = karpenter_node_role.this.name\n  role = karpenter_node_role.this.name\n  lifecycle { create_before_destroy = true }\n}"
	profileOfOwn  = "resource \"karpenter_instance_profile\" \"this\" {\n  name = \"nodes\"\n  role = karpenter_node_role.this.name\n}"
)

// TestAccNodeRole_ARenameCutsNobodyOff gives the node role another name while a node runs.
func TestAccNodeRole_ARenameCutsNobodyOff(t *testing.T) {
	openTofu(t).use(t)
	for shape, profile := range map[string]string{"profile named after the role": profileOfRole, "profile of its own name": profileOfOwn} {
		t.Run(shape, func(t *testing.T) {
			l := startLab(t)
			config := func(role string) string {
				text := strings.Replace(l.infrastructure(), profileOfOwn, profile, 1)
				text = strings.Replace(text, "resource \"karpenter_node_role\" \"this\" {", fmt.Sprintf("resource \"karpenter_node_role\" \"this\" {\n  name = %q\n  lifecycle { create_before_destroy = true }", role), 1)
				return text + fmt.Sprintf(daemonBlock, "") + fmt.Sprintf(classBlock, "") + fmt.Sprintf(poolBlock, "")
			}
			var watched *watch
			run(t, func() error { return errors.Join(l.nothingRuns(), l.kubeDeleteWorkload()) },
				resource.TestStep{Config: config("nodes-1"), Check: func(*terraform.State) error {
					err := l.launch(t)
					watched = l.watchNodes(t)
					return err
				}},
				resource.TestStep{Config: config("nodes-2"), Check: func(*terraform.State) error {
					_, old := l.aws.GetRole(context.Background(), "nodes-1")
					return errors.Join(gone("the old role", old, notInAWS), watched.end(), l.runs())
				}},
			)
		})
	}
}

// TestAccInstanceProfile_ARenameIsRefusedUnlessTheNewOneComesFirst renames an instance profile
// under a running node.
func TestAccInstanceProfile_ARenameIsRefusedUnlessTheNewOneComesFirst(t *testing.T) {
	openTofu(t).use(t)
	l := startLab(t)
	config := func(name, more string) string {
		text := strings.Replace(l.infrastructure(), "  name = \"nodes\"\n", fmt.Sprintf("  name = %q\n%s", name, more), 1)
		return text + fmt.Sprintf(daemonBlock, "") + fmt.Sprintf(classBlock, "") + fmt.Sprintf(poolBlock, "")
	}
	const brief, first = "  timeouts = { delete = \"5s\" }\n", "  lifecycle { create_before_destroy = true }\n"
	run(t, func() error { return errors.Join(l.nothingRuns(), l.kubeDeleteWorkload()) },
		resource.TestStep{Config: config("nodes", brief), Check: func(*terraform.State) error { return l.launch(t) }},
		resource.TestStep{Config: config("other", brief), ExpectError: regexp.MustCompile(`(?s)instances\s+have\s+the\s+instance\s+profile.*1\s+instance:\s+i-.*create_before_destroy`)},
		resource.TestStep{Config: config("nodes", ""), ConfigPlanChecks: planned("karpenter_node_role.this", plancheck.ResourceActionNoop)},
		resource.TestStep{Config: config("other", first), Check: func(*terraform.State) error {
			_, old := l.aws.GetInstanceProfile(context.Background(), "nodes")
			return gone("the old instance profile", old, notInAWS)
		}},
	)
}

// TestAccRename_OfQueueAndControllerRoleGoesOnWhileNodesRun renames both, each in the way that
// the guide says. No instance ends.
func TestAccRename_OfQueueAndControllerRoleGoesOnWhileNodesRun(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			l := startLab(t)
			// What create_before_destroy has, gives it to what it refers to: the queue must be renamed before.
			const first = "\n  lifecycle { create_before_destroy = true }"
			config := func(queue, role, lifecycle string) string {
				text := strings.Replace(l.infrastructure(), "resource \"karpenter_interruption_queue\" \"this\" {", fmt.Sprintf("resource \"karpenter_interruption_queue\" \"this\" {\n  name = %q", queue), 1)
				text = strings.Replace(text, "resource \"karpenter_controller_role\" \"this\" {", fmt.Sprintf("resource \"karpenter_controller_role\" \"this\" {\n  name = %q%s", role, lifecycle), 1)
				return text + fmt.Sprintf(daemonBlock, "") + fmt.Sprintf(classBlock, "") + fmt.Sprintf(poolBlock, "")
			}
			var id string
			alive := func(*terraform.State) error {
				if !l.instanceRuns(id) {
					return fmt.Errorf("instance %s has ended", id)
				}
				return nil
			}
			run(t, func() error { return errors.Join(l.nothingRuns(), l.kubeDeleteWorkload()) },
				resource.TestStep{Config: config("one", "one", ""), Check: func(*terraform.State) error {
					err := l.launch(t)
					instances, listErr := l.aws.PoolInstances(context.Background(), l.ClusterName)
					if err = errors.Join(err, listErr); err == nil {
						id = instances[0].ID
					}
					return err
				}},
				resource.TestStep{Config: config("two", "one", ""), ConfigPlanChecks: planned("karpenter_interruption_queue.this", plancheck.ResourceActionDestroyBeforeCreate), Check: alive},
				resource.TestStep{Config: config("two", "two", first), ConfigPlanChecks: planned("karpenter_controller_role.this", plancheck.ResourceActionCreateBeforeDestroy), Check: alive},
			)
			if _, err := l.aws.GetRole(t.Context(), "one"); !errors.Is(err, aws.ErrNotFound) {
				t.Errorf("the old role is left: %v", err)
			}
		})
	}
}
