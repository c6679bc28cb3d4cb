//go:build lab

package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAccNodeClass_RoleAndInstanceProfileTakeTurns gives a class a role, and an
// instance profile in its place. The class is changed and never replaced, also if
// somebody else has changed it. Each apply waits until the daemon has found or made the
// profile.
func TestAccNodeClass_RoleAndInstanceProfileTakeTurns(t *testing.T) {
	openTofu(t).use(t)
	l := startLab(t)
	const address = "karpenter_node_class.this"
	const profile = "instance_profile = karpenter_instance_profile.this.name"
	withProfile := l.infrastructure() + fmt.Sprintf(daemonBlock, "") + fmt.Sprintf(classBlock, "")
	withRole := strings.Replace(withProfile, profile, "role = karpenter_node_role.this.name", 1)
	if withRole == withProfile {
		t.Fatalf("no %q", profile)
	}
	s := l.somebody(t)
	stays := s.uidStays(nodeClasses, "", "default")
	check := func(set, value, unset string, field ...string) resource.TestCheckFunc {
		live := func(*terraform.State) error {
			spec, _, err := unstructured.NestedMap(s.get(nodeClasses, "", "default").Object, "spec")
			if _, other := spec[field[1]]; err != nil || spec[field[0]] != value || other {
				return fmt.Errorf("spec %v, want %s %q and no %s (%w)", spec, field[0], value, field[1], err)
			}
			return nil
		}
		return resource.ComposeTestCheckFunc(stays, live, resource.TestCheckResourceAttr(address, set, value), resource.TestCheckNoResourceAttr(address, unset))
	}
	hasRole := check("role", "KarpenterNodeRole-lab", "instance_profile", "role", "instanceProfile")
	hasProfile := check("instance_profile", "nodes", "role", "instanceProfile", "role")
	update := planned(address, plancheck.ResourceActionUpdate)
	meddled := func(patch string) func() {
		return meddle(t, func() error { return l.patch(nodeClasses, "", "default", patch) })
	}
	run(t, func() error {
		_, err := l.get("apiextensions.k8s.io", "CustomResourceDefinition", "", "nodepools.karpenter.sh")
		return gone("definition", err, notInCluster)
	},
		resource.TestStep{Config: withRole, ConfigPlanChecks: planned(address, plancheck.ResourceActionCreate), Check: hasRole},
		resource.TestStep{
			ResourceName: address, ImportState: true, ImportStateId: "default", ImportStateVerify: true,
			ImportStateVerifyIdentifierAttribute: "name", ImportStateVerifyIgnore: []string{"daemon"},
		},
		resource.TestStep{PreConfig: meddled(`{"spec":{"role":"other"}}`), Config: withRole, ConfigPlanChecks: update, Check: hasRole},
		resource.TestStep{PreConfig: meddled(`{"spec":{"role":null,"instanceProfile":"other"}}`), Config: withRole, ConfigPlanChecks: update, Check: hasRole},
		resource.TestStep{Config: withProfile, ConfigPlanChecks: update, Check: hasProfile},
		resource.TestStep{PreConfig: meddled(`{"spec":{"role":"other","instanceProfile":null}}`), Config: withProfile, ConfigPlanChecks: update, Check: hasProfile},
		resource.TestStep{Config: withRole, ConfigPlanChecks: update, Check: hasRole},
		resource.TestStep{Config: withProfile, ConfigPlanChecks: update, Check: hasProfile},
	)
}

// TestAccNodeClass_KubeletSettingsComeAndGo takes settings away one by one, and finds
// what somebody else sets.
func TestAccNodeClass_KubeletSettingsComeAndGo(t *testing.T) {
	openTofu(t).use(t)
	l := startLab(t)
	const address = "karpenter_node_class.this"
	s := l.somebody(t)
	configure := func(kubelet string) string {
		return l.infrastructure() + fmt.Sprintf(daemonBlock, "") + fmt.Sprintf(classBlock, "  wait = false\n  kubelet = "+kubelet)
	}
	live := func(want map[string]any) resource.TestCheckFunc {
		return func(*terraform.State) error {
			got, _, err := unstructured.NestedMap(s.get(nodeClasses, "", "default").Object, "spec", "kubelet")
			if err != nil || !cmp.Equal(got, want) {
				return fmt.Errorf("kubelet %v, want %v (%w)", got, want, err)
			}
			return nil
		}
	}
	update := planned(address, plancheck.ResourceActionUpdate)
	soft := configure(`{ max_pods = 50, eviction_soft = { "memory.available" = "5%" }, eviction_soft_grace_period = { "memory.available" = "90s" } }`)
	hasSoft := live(map[string]any{"maxPods": int64(50), "evictionSoft": map[string]any{"memory.available": "5%"}, "evictionSoftGracePeriod": map[string]any{"memory.available": "90s"}})
	extra := configure(`{ max_pods = "min(50, max_pods)", extra = { imageMaximumGCAge = "10m", podPidsLimit = 1024, featureGates = { NodeSwap = true }, allowedUnsafeSysctls = ["net.core.somaxconn"] } }`)
	hasExtra := live(map[string]any{
		"maxPods": "min(50, max_pods)", "imageMaximumGCAge": "10m", "podPidsLimit": int64(1024), "featureGates": map[string]any{"NodeSwap": true}, "allowedUnsafeSysctls": []any{"net.core.somaxconn"},
	})
	run(t, func() error {
		_, err := l.get("apiextensions.k8s.io", "CustomResourceDefinition", "", "nodepools.karpenter.sh")
		return gone("definition", err, notInCluster)
	},
		resource.TestStep{Config: soft, Check: hasSoft},
		resource.TestStep{ // a signal more
			PreConfig: meddle(t, func() error {
				return l.patch(nodeClasses, "", "default", `{"spec":{"kubelet":{"evictionSoft":{"pid.available":"5%"},"evictionSoftGracePeriod":{"pid.available":"1m"},"cpuCFSQuota":false}}}`)
			}),
			Config: soft, ConfigPlanChecks: update, Check: hasSoft,
		},
		resource.TestStep{ // both thresholds, of which the configuration then has one
			PreConfig: meddle(t, func() error {
				return l.patch(nodeClasses, "", "default", `{"spec":{"kubelet":{"imageGCHighThresholdPercent":50,"imageGCLowThresholdPercent":40}}}`)
			}),
			Config: configure(`{ image_gc_low_threshold_percent = 60, system_reserved = { cpu = "100m", memory = "1Gi" } }`), ConfigPlanChecks: update,
			Check: live(map[string]any{"imageGCLowThresholdPercent": int64(60), "systemReserved": map[string]any{"cpu": "100m", "memory": "1Gi"}}),
		},
		resource.TestStep{
			Config: configure(`{ system_reserved = { memory = "1Gi" } }`), ConfigPlanChecks: update,
			Check: live(map[string]any{"systemReserved": map[string]any{"memory": "1Gi"}}),
		},
		resource.TestStep{
			Config: configure(`{ cpu_cfs_quota = false, system_reserved = {} }`), ConfigPlanChecks: update,
			Check: live(map[string]any{"cpuCFSQuota": false}),
		},
		resource.TestStep{Config: extra, ConfigPlanChecks: update, Check: hasExtra},
		resource.TestStep{ // one of another value, and one more
			PreConfig: meddle(t, func() error {
				return l.patch(nodeClasses, "", "default", `{"spec":{"kubelet":{"imageMaximumGCAge":"20m","serializeImagePulls":false}}}`)
			}),
			Config: extra, ConfigPlanChecks: update, Check: hasExtra,
		},
		resource.TestStep{Config: configure("null"), ConfigPlanChecks: update, Check: live(nil)},
	)
}
