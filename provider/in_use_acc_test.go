//go:build lab

package provider_test

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
)

// TestAccNodeClass_ARenameIsRefusedUnlessTheNewOneComesFirst gives a class that a pool
// refers to another name: without and with create_before_destroy. P6.
func TestAccNodeClass_ARenameIsRefusedUnlessTheNewOneComesFirst(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			l := startLab(t)
			s := l.somebody(t)
			configure := func(name, ofClass string) string {
				class := strings.Replace(classBlock, `= "default"`, fmt.Sprintf("= %q", name), 1)
				return l.infrastructure() + fmt.Sprintf(daemonBlock, "") + fmt.Sprintf(class, ofClass) + fmt.Sprintf(poolBlock, "")
			}
			const first = "  lifecycle { create_before_destroy = true }"
			ready := func(*terraform.State) error {
				class := s.get(nodeClasses, "", "default")
				if class.GetDeletionTimestamp() != nil {
					return errors.New("the class is being deleted")
				}
				return nil
			}
			run(t, func() error {
				_, err := l.get("apiextensions.k8s.io", "CustomResourceDefinition", "", "nodepools.karpenter.sh")
				return gone("definition", err, notInCluster)
			},
				resource.TestStep{Config: configure("default", "")},
				resource.TestStep{Config: configure("other", ""), ExpectError: regexp.MustCompile(`(?s)"default"\s+was\s+not\s+deleted.*NodePool\s+"default".*create_before_destroy`)},
				resource.TestStep{Config: configure("default", ""), ConfigPlanChecks: planned("karpenter_node_class.this", plancheck.ResourceActionNoop), Check: ready},
				resource.TestStep{Config: configure("default", first)},
				resource.TestStep{Config: configure("other", first), Check: func(*terraform.State) error {
					if !s.gone(nodeClasses, "", "default") || s.gone(nodeClasses, "", "other") {
						return errors.New("the old class is there, or the new one is not")
					}
					return nil
				}},
			)
		})
	}
}

// TestAccDaemon_AnotherNamespaceMovesItWhilePoolsStay changes the namespace of a daemon
// with node classes and pools. P19.
func TestAccDaemon_AnotherNamespaceMovesItWhilePoolsStay(t *testing.T) {
	openTofu(t).use(t)
	l := startLab(t)
	s := l.somebody(t)
	const address = "karpenter_daemon.this"
	configure := func(namespace string) string {
		trusted := strings.Replace(l.infrastructure(), `resource "karpenter_controller_role" "this" {`, "resource \"karpenter_controller_role\" \"this\" {\n  namespace = \""+namespace+"\"", 1)
		return trusted + fmt.Sprintf(daemonBlock, fmt.Sprintf("  namespace = %q", namespace)) + fmt.Sprintf(classBlock, "") + fmt.Sprintf(poolBlock, "")
	}
	pool := s.uidStays(nodePools, "", "default")
	in := func(here, notHere string) resource.TestCheckFunc {
		return resource.ComposeTestCheckFunc(pool, resource.TestCheckResourceAttr(address, "id", here+"/karpenterd"), func(*terraform.State) error {
			if s.gone(deployments, here, "karpenterd") || !s.gone(namespaces, "", notHere) {
				return fmt.Errorf("no daemon in %s, or namespace %s is left", here, notHere)
			}
			return nil
		})
	}
	run(t, func() error {
		_, one := l.get("", "Namespace", "", "karpenter")
		_, other := l.get("", "Namespace", "", "other")
		return errors.Join(gone("namespace", one, notInCluster), gone("namespace", other, notInCluster))
	},
		resource.TestStep{Config: configure("karpenter"), Check: in("karpenter", "other")},
		resource.TestStep{Config: configure("other"), ConfigPlanChecks: planned(address, plancheck.ResourceActionUpdate), Check: in("other", "karpenter")},
		resource.TestStep{Config: configure("karpenter"), ConfigPlanChecks: planned(address, plancheck.ResourceActionUpdate), Check: in("karpenter", "other")},
	)
}

// TestDaemon_AMoveThatIsInterruptedNeverLeavesTwoDaemons breaks off a move to another
// namespace and takes it back.
func TestDaemon_AMoveThatIsInterruptedNeverLeavesTwoDaemons(t *testing.T) {
	l := startLab(t)
	s := l.somebody(t)
	broken := true
	daemon := l.behind(t, func(w http.ResponseWriter, r *http.Request) bool {
		return broken && r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/namespaces/other/deployments") && deny(w)
	}).resource("karpenter_daemon")
	before, after := idle(nil), idle(object{"namespace": "other"})
	wantNoError(t, daemon.apply(before))
	wantError(t, daemon.apply(after), "denied")
	if !s.gone(deployments, "karpenter", "karpenterd") {
		t.Error("the old daemon must end before another one is created")
	}
	broken = false
	wantNoError(t, daemon.read())
	wantNoError(t, daemon.apply(before)) // taken back
	if s.gone(deployments, "karpenter", "karpenterd") || !s.gone(namespaces, "", "other") {
		t.Error("the daemon is not back, or something of the move is left")
	}
	daemon.settled(before)
	broken = true
	wantError(t, daemon.apply(after), "denied")
	broken = false
	wantNoError(t, daemon.read())
	wantNoError(t, daemon.apply(after)) // goes on
	if s.gone(deployments, "other", "karpenterd") || !s.gone(namespaces, "", "karpenter") {
		t.Error("the daemon has not moved, or something is left behind")
	}
	daemon.settled(after)
	wantNoError(t, daemon.destroy())
	if !s.gone(namespaces, "", "other") {
		t.Error("the destroy has left the namespace")
	}
}
