//go:build lab

package provider_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// uidStays records an object's UID, and later fails if the UID is another.
func (s somebody) uidStays(gvr schema.GroupVersionResource, namespace, name string) func(*terraform.State) error {
	known := ""
	return func(*terraform.State) error {
		uid := string(s.get(gvr, namespace, name).GetUID())
		if known != "" && known != uid {
			return fmt.Errorf("%s %q was replaced", gvr.Resource, name)
		}
		known = uid
		return nil
	}
}

// controllersRun waits until the cluster's controllers have seen a Deployment: in a cluster that
// has just started they are long in coming, and a short wait would end before them.
func (l *theLab) controllersRun(t *testing.T) {
	t.Helper()
	must(t, errors.Join(l.deploy(t, 0), l.kube.Delete(t.Context(), workload(), "")))
}

// TestAccReady_ADaemonThatDoesNotStartInTimeIsNotReplaced creates a daemon whose
// image does not exist. The apply ends with a warning. The next apply continues to
// wait and says why. With the right image, the same Deployment goes on.
func TestAccReady_ADaemonThatDoesNotStartInTimeIsNotReplaced(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			l := startLab(t)
			l.controllersRun(t)
			const address = "karpenter_daemon.this"
			stays := l.somebody(t).uidStays(deployments, "karpenter", "karpenterd")
			config := func(more string) string { return l.infrastructure() + fmt.Sprintf(daemonBlock, more) }
			broken := config("  image = { registry = \"example.com\", repository = \"no-such-image\", tag = \"1\" }\n  timeouts = { create = \"15s\", update = \"15s\" }")
			run(t, func() error {
				_, err := l.get("", "Namespace", "", "karpenter")
				return gone("namespace", err, notInCluster)
			},
				resource.TestStep{
					Config: broken, ExpectNonEmptyPlan: true,
					Check: resource.ComposeTestCheckFunc(stays, resource.TestCheckResourceAttr(address, "ready", "false")),
				},
				resource.TestStep{
					Config: broken, ConfigPlanChecks: planned(address, plancheck.ResourceActionUpdate),
					ExpectError: regexp.MustCompile(`(?s)karpenter_daemon.*0 available.*container`),
				},
				resource.TestStep{
					Config: config(""), ConfigPlanChecks: planned(address, plancheck.ResourceActionUpdate),
					Check: resource.ComposeTestCheckFunc(stays, resource.TestCheckResourceAttr(address, "ready", "true")),
				},
			)
		})
	}
}

// TestAccReady_AClassAndAPoolThatAreNotReadyInTimeAreNotReplaced is the same test for
// a node class whose subnets do not exist, and for the pool that uses the class.
func TestAccReady_AClassAndAPoolThatAreNotReadyInTimeAreNotReplaced(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			l := startLab(t)
			const class, pool = "karpenter_node_class.this", "karpenter_node_pool.this"
			const short = `  timeouts = { create = "30s", update = "30s" }`
			s := l.somebody(t)
			stays := resource.ComposeTestCheckFunc(s.uidStays(nodeClasses, "", "default"), s.uidStays(nodePools, "", "default"))
			base := l.infrastructure() + fmt.Sprintf(daemonBlock, "")
			nothing := regexp.MustCompile(`subnet_selector_terms += .*`).ReplaceAllString(classBlock, `subnet_selector_terms = [{ tags = { no = "such" } }]`)
			broken := base + fmt.Sprintf(nothing, short) + fmt.Sprintf(poolBlock, short)
			whole := base + fmt.Sprintf(classBlock, "") + fmt.Sprintf(poolBlock, "")
			update := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(class, plancheck.ResourceActionUpdate), plancheck.ExpectResourceAction(pool, plancheck.ResourceActionUpdate),
			}}
			ready := func(is string) resource.TestCheckFunc {
				return resource.ComposeTestCheckFunc(stays, resource.TestCheckResourceAttr(class, "ready", is), resource.TestCheckResourceAttr(pool, "ready", is))
			}
			run(t, l.nothingRuns,
				resource.TestStep{Config: broken, ExpectNonEmptyPlan: true, Check: ready("false")},
				resource.TestStep{Config: broken, ConfigPlanChecks: update, ExpectError: regexp.MustCompile(`(?s)karpenter_node_class.*default.*SubnetsNotFound`)},
				resource.TestStep{Config: whole, ConfigPlanChecks: update, Check: ready("true")},
			)
		})
	}
}

// TestReady_TheWarningSaysWhyAndWhatIsNext checks the text that a user reads after a
// creation whose wait ran out.
func TestReady_TheWarningSaysWhyAndWhatIsNext(t *testing.T) {
	l := startLab(t)
	l.controllersRun(t)
	h := configured(t, object{"region": l.Region, "eks": object{"cluster_name": l.ClusterName}})
	daemon := h.resource("karpenter_daemon")
	config := daemonConfig()
	config["image"], config["timeouts"] = object{"registry": "example.com", "repository": "no-such-image", "tag": "1"}, object{"create": "30s"}
	diags := daemon.apply(config)
	defer func() { wantNoError(t, daemon.destroy()) }()
	wantNoError(t, diags)
	var warnings []string
	for _, d := range diags {
		if d.Severity == tfprotov6.DiagnosticSeverityWarning {
			warnings = append(warnings, d.Summary+": "+d.Detail)
		}
	}
	if len(warnings) != 1 {
		t.Fatalf("%d warnings: %q", len(warnings), warnings)
	}
	for _, part := range []string{`karpenter_daemon "karpenter"`, "was created", "0 available", "no-such-image", "nothing is replaced", "next apply continues to wait"} {
		if !strings.Contains(warnings[0], part) {
			t.Errorf("the warning lacks %q: %s", part, warnings[0])
		}
	}
}

// TestForeign_DestroyWithoutRefreshLeavesWhatSomebodyPutInPlace destroys with a state
// that does not know that somebody has replaced the pool.
func TestForeign_DestroyWithoutRefreshLeavesWhatSomebodyPutInPlace(t *testing.T) {
	l := startLab(t)
	s := l.somebody(t)
	h := configured(t, object{"region": l.Region, "eks": object{"cluster_name": l.ClusterName}})
	config := daemonConfig()
	config["wait"] = false
	daemon := h.resource("karpenter_daemon")
	wantNoError(t, daemon.apply(config))
	defer func() { wantNoError(t, daemon.destroy()) }()
	pool := h.resource("karpenter_node_pool")
	of := poolConfig(nil)
	of["wait"] = false
	wantNoError(t, pool.apply(of))
	ours := s.get(nodePools, "", "spot")
	theirs := map[string]any{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "spot"}, "spec": ours.Object["spec"]}
	if err := errors.Join(s.remove(nodePools, "", "spot"), s.create(nodePools, "", theirs)); err != nil {
		t.Fatal(err)
	}
	before := s.look(nodePools, "", "spot")
	of["weight"] = 3
	wantError(t, pool.apply(of), `NodePool "spot"`, "was not created by this configuration", "terraform state rm")
	wantNoError(t, pool.destroy())
	if err := s.unchanged(before, nodePools, "", "spot"); err != nil {
		t.Error(err)
	}
	if err := s.remove(nodePools, "", "spot"); err != nil {
		t.Fatal(err)
	}
}
