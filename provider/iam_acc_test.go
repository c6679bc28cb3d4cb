//go:build lab

package provider_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// TestAccControllerRole_PodIdentity moves a role from IRSA to Pod Identity and back, and
// imports it.
func TestAccControllerRole_PodIdentity(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			cloud := startCloud(t)
			const address = "karpenter_controller_role.this"
			config := `
resource "karpenter_controller_role" "this" {
  cluster_name           = "` + testCluster + `"
  node_role_arn          = "` + testNodeRole + `"
  identity               = %q
  description            = "the daemon"
  max_session_duration   = 7200
}`
			run(t, func() error {
				_, err := cloud.clients.FindPodAssociation(t.Context(), testCluster, "karpenter", "karpenter")
				return gone("association", err, notInAWS)
			},
				resource.TestStep{Config: cloud.hcl(config, "irsa"), Check: resource.ComposeTestCheckFunc(
					resource.TestCheckNoResourceAttr(address, "association_id"), resource.TestCheckResourceAttr(address, "policy_arns.%", "3"))},
				resource.TestStep{
					Config: cloud.hcl(config, "pod_identity"), ConfigPlanChecks: planned(address, plancheck.ResourceActionUpdate),
					Check: resource.ComposeTestCheckFunc(resource.TestCheckResourceAttrSet(address, "association_id"), resource.TestCheckNoResourceAttr(address, "oidc_issuer")),
				},
				resource.TestStep{
					PreConfig: meddle(t, func() error {
						a, err := cloud.clients.FindPodAssociation(t.Context(), testCluster, "karpenter", "karpenter")
						if err != nil {
							return err
						}
						return cloud.clients.DeletePodAssociation(t.Context(), testCluster, a.ID)
					}),
					Config: cloud.hcl(config, "pod_identity"), ConfigPlanChecks: planned(address, plancheck.ResourceActionUpdate),
				},
				resource.TestStep{ResourceName: address, ImportState: true, ImportStateId: testCluster + "," + theirControllerRole, ImportStateVerify: true, ImportStateVerifyIdentifierAttribute: "name"},
				resource.TestStep{Config: cloud.hcl(config, "irsa"), ConfigPlanChecks: planned(address, plancheck.ResourceActionUpdate)},
				resource.TestStep{Config: cloud.hcl(config, "pod_identity"), ConfigPlanChecks: planned(address, plancheck.ResourceActionUpdate)},
			)
		})
	}
}

// TestAccNodeRole_Existing gives an access entry to a role that the same apply makes under
// another resource, so that its ARN is unknown in the plan, and changes the entry's type.
func TestAccNodeRole_Existing(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			cloud := startCloud(t)
			theirs := existingRole(t, cloud)
			const address = "karpenter_node_role.this"
			config := `
resource "terraform_data" "role" {
  input = "` + theirs.ARN + `"
}
resource "karpenter_node_role" "this" {
  cluster_name      = "` + testCluster + `"
  existing_role_arn = terraform_data.role.output
  access_entry      = { type = %q }
}`
			run(t, func() error {
				_, err := cloud.clients.GetAccessEntry(t.Context(), testCluster, theirs.ARN)
				return gone("access entry", err, notInAWS)
			},
				resource.TestStep{Config: cloud.hcl(config, "EC2_LINUX"), Check: resource.ComposeTestCheckFunc(
					resource.TestCheckResourceAttr(address, "name", theirs.Name), resource.TestCheckResourceAttr(address, "arn", theirs.ARN),
					resource.TestCheckNoResourceAttr(address, "description"), resource.TestCheckResourceAttrSet(address, "access_entry_arn"))},
				resource.TestStep{Config: cloud.hcl(config, "EC2_WINDOWS"), ConfigPlanChecks: planned(address, plancheck.ResourceActionUpdate)},
				resource.TestStep{ResourceName: address, ImportState: true, ImportStateId: testCluster + "," + theirs.ARN, ImportStateVerify: true, ImportStateVerifyIdentifierAttribute: "name"},
			)
		})
	}
}

func TestAccSpotServiceLinkedRole(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			cloud := startCloud(t)
			const address = spotRoleKind + ".this"
			config := `resource "` + spotRoleKind + `" "this" {
  delete_on_destroy = %t
}`
			run(t, func() error {
				_, err := cloud.spotRole(t)
				return gone("role", err, notInAWS)
			},
				resource.TestStep{Config: cloud.hcl(`resource "` + spotRoleKind + `" "this" {}`), Check: resource.ComposeTestCheckFunc(
					resource.TestCheckResourceAttr(address, "name", awsspec.SpotRoleName), resource.TestCheckResourceAttr(address, "adopted", "false"))},
				resource.TestStep{ResourceName: address, ImportState: true, ImportStateId: awsspec.SpotRoleName, ImportStateVerify: true, ImportStateVerifyIdentifierAttribute: "name"},
				resource.TestStep{Config: cloud.hcl(config, true), ConfigPlanChecks: planned(address, plancheck.ResourceActionUpdate)},
			)
		})
	}
}
