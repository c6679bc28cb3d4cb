//go:build lab

package provider_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// minValuesPool waits for nothing: it needs only the definitions.
const minValuesPool = `
provider "karpenter" {
  region = "us-west-2"
  eks    = { cluster_name = "lab" }
}
resource "karpenter_daemon" "this" {
  cluster_name = "lab"
  role_arn     = "arn:aws:iam::123456789012:role/none"
  wait         = false
}
resource "karpenter_node_pool" "this" {
  name         = "default"
  node_class   = "none"
  wait         = false
  requirements = [{ key = "karpenter.k8s.aws/instance-category", operator = "In", values = ["c", "m", "r"]%s }]
  depends_on   = [karpenter_daemon.this]
}
`

func TestAccNodePool_MinValuesAreDeclaredWatchedAndImported(t *testing.T) {
	openTofu(t).use(t)
	l := startLab(t)
	const pool, attribute = "karpenter_node_pool.this", "requirements.0.min_values"
	live := func(want any) resource.TestCheckFunc {
		return func(*terraform.State) error {
			obj, err := l.get("karpenter.sh", "NodePool", "", "default")
			if err != nil {
				return err
			}
			all, _, err := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "requirements")
			if err == nil && (len(all) != 1 || all[0].(map[string]any)["minValues"] != want) {
				err = fmt.Errorf("requirements %v, want minValues %v", all, want)
			}
			return err
		}
	}
	two := fmt.Sprintf(minValuesPool, ", min_values = 2")
	run(t, func() error {
		_, err := l.get("apiextensions.k8s.io", "CustomResourceDefinition", "", "nodepools.karpenter.sh")
		return gone("definition", err, notInCluster)
	},
		resource.TestStep{Config: two, Check: resource.ComposeTestCheckFunc(resource.TestCheckResourceAttr(pool, attribute, "2"), live(int64(2)))},
		resource.TestStep{
			PreConfig: meddle(t, func() error {
				return l.patch(schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"}, "", "default",
					`{"spec":{"template":{"spec":{"requirements":[{"key":"karpenter.k8s.aws/instance-category","operator":"In","values":["c","m","r"],"minValues":3}]}}}}`)
			}),
			Config: two, ConfigPlanChecks: planned(pool, plancheck.ResourceActionUpdate), Check: live(int64(2)),
		},
		resource.TestStep{
			ResourceName: pool, ImportState: true, ImportStateId: "default", ImportStateVerify: true,
			ImportStateVerifyIdentifierAttribute: "name", ImportStateVerifyIgnore: []string{"wait", "ready"},
		},
		resource.TestStep{Config: fmt.Sprintf(minValuesPool, ""), ConfigPlanChecks: planned(pool, plancheck.ResourceActionUpdate), Check: live(nil)},
	)
}
