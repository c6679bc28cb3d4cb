//go:build lab

package provider_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
)

// TestAccNewCluster_LetsGoOfTheOldOneAndTouchesNothing deletes the cluster and creates it
// again under the same address, at first with a class of somebody else that has our name.
func TestAccNewCluster_LetsGoOfTheOldOneAndTouchesNothing(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			const address = "karpenter_node_class.this"
			server := startAPIServer(t)
			config := func(more string) string {
				return fmt.Sprintf(`
provider "karpenter" {
  kubernetes = {
    host                   = %q
    token                  = "t"
    cluster_ca_certificate = %q
  }
%s
}

resource "karpenter_node_class" "this" {
  name             = "default"
  instance_profile = "nodes"
  wait             = false

  ami_selector_terms            = [{ alias = "al2023@latest" }]
  subnet_selector_terms         = [{ id = "subnet-0123456789abcdef0" }]
  security_group_selector_terms = [{ id = "sg-0123456789abcdef0" }]
}
`, server.URL, server.authority(), more)
			}
			const accept = "  accept_new_cluster = true"
			untouched := func() error {
				for _, request := range server.requests() {
					if !strings.HasPrefix(request, "GET ") {
						return errors.New("the new cluster saw " + request)
					}
				}
				return nil
			}
			run(t, func() error {
				if n := server.count(); n > 0 {
					return fmt.Errorf("%d classes are left", n)
				}
				return nil
			},
				resource.TestStep{Config: config("")},
				resource.TestStep{
					PreConfig: func() {
						server.recreate("22222222-2222-2222-2222-222222222222")
						server.forget()
					},
					Config: config(""), ExpectError: regexp.MustCompile(`(?s)another\s+cluster.*accept_new_cluster\s+=\s+true`),
				},
				resource.TestStep{
					Config: config(accept), ExpectError: regexp.MustCompile(`(?s)EC2NodeClass\s+"default"\s+already\s+exists`),
				},
				resource.TestStep{
					PreConfig: meddle(t, func() error {
						err := untouched()
						server.empty()
						return err
					}),
					Config: config(accept), ConfigPlanChecks: planned(address, plancheck.ResourceActionCreate),
					Check: func(*terraform.State) error {
						if n := server.count(); n != 1 {
							return fmt.Errorf("the new cluster has %d classes", n)
						}
						return nil
					},
				},
				resource.TestStep{Config: config(""), ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}},
			)
		})
	}
}
