//go:build lab

package provider_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/provider"
)

func notInAWS(err error) bool { return errors.Is(err, aws.ErrNotFound) }

// hcl is the configuration with the provider's block for the cloud before it.
func (c *cloud) hcl(config string, args ...any) string {
	var endpoints strings.Builder
	for _, service := range provider.Services() {
		fmt.Fprintf(&endpoints, "    %s = %q\n", service, c.URL())
	}
	return fmt.Sprintf("provider \"karpenter\" {\n  region = %q\n  endpoints = {\n%s  }\n  default_tags = { tags = { team = \"platform\" } }\n}\n", testRegion, endpoints.String()) +
		fmt.Sprintf(config, args...)
}

// meddle wraps a change that Terraform does not know of. If the change fails, the
// test fails.
func meddle(t *testing.T, do func() error) func() {
	t.Helper()
	return func() {
		t.Helper()
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAccNodeRole(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			cloud := startCloud(t)
			const address, name = "karpenter_node_role.this", "KarpenterNodeRole-" + testCluster
			config := `resource "karpenter_node_role" "this" {
  cluster_name = "` + testCluster + `"
  tags         = { env = %q }
}`
			run(t, func() error {
				_, err := cloud.clients.GetRole(t.Context(), name)
				return gone("role", err, notInAWS)
			},
				resource.TestStep{Config: cloud.hcl(config, "one"), Check: resource.ComposeTestCheckFunc(
					resource.TestCheckResourceAttr(address, "name", name),
					resource.TestCheckResourceAttr(address, "tags_all.team", "platform"),
					resource.TestCheckResourceAttr(address, "managed_policy_arns.#", "4"),
					resource.TestCheckResourceAttrSet(address, "access_entry_arn"))},
				resource.TestStep{
					PreConfig: meddle(t, func() error {
						return cloud.clients.DeleteAccessEntry(t.Context(), testCluster, "arn:aws:iam::"+testAccount+":role/"+name, aws.AnyID)
					}),
					Config: cloud.hcl(config, "one"), ConfigPlanChecks: planned(address, plancheck.ResourceActionUpdate),
				},
				resource.TestStep{Config: cloud.hcl(config, "two"), ConfigPlanChecks: planned(address, plancheck.ResourceActionUpdate)},
				resource.TestStep{ResourceName: address, ImportState: true, ImportStateId: testCluster + "," + name, ImportStateVerify: true, ImportStateVerifyIdentifierAttribute: "name"},
			)
		})
	}
}

func TestAccInstanceProfile(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			cloud := startCloud(t)
			const address = "karpenter_instance_profile.this"
			config := `
resource "karpenter_node_role" "blue" {
  cluster_name = "` + testCluster + `"
  name         = "blue"
}
resource "karpenter_node_role" "green" {
  cluster_name = "` + testCluster + `"
  name         = "green"
}
resource "karpenter_instance_profile" "this" {
  name = "nodes"
  role = karpenter_node_role.%s.name
}`
			run(t, func() error {
				_, err := cloud.clients.GetInstanceProfile(context.WithoutCancel(t.Context()), "nodes")
				return gone("instance profile", err, notInAWS)
			},
				resource.TestStep{Config: cloud.hcl(config, "blue"), Check: resource.TestCheckResourceAttr(address, "role", "blue")},
				resource.TestStep{
					PreConfig: meddle(t, func() error {
						found, err := cloud.clients.GetInstanceProfile(t.Context(), "nodes")
						if err != nil {
							return err
						}
						changed := found
						changed.Role = "green"
						_, err = cloud.clients.UpdateInstanceProfile(t.Context(), found, changed)
						return err
					}),
					Config: cloud.hcl(config, "blue"), ConfigPlanChecks: planned(address, plancheck.ResourceActionUpdate),
				},
				resource.TestStep{Config: cloud.hcl(config, "green"), ConfigPlanChecks: planned(address, plancheck.ResourceActionUpdate)},
				resource.TestStep{ResourceName: address, ImportState: true, ImportStateId: "nodes", ImportStateVerify: true, ImportStateVerifyIdentifierAttribute: "name"},
			)
		})
	}
}

func TestAccDiscoveryTags(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			cloud := startCloud(t)
			const address = "karpenter_discovery_tags.this"
			group := cloud.vpc.ClusterSecurityGroupID
			config := `resource "karpenter_discovery_tags" "this" {
  cluster_name       = "` + testCluster + `"
  subnet_ids         = [%q]
  security_group_ids = ["` + group + `"]
}`
			one, two := cloud.hcl(config, cloud.vpc.SubnetIDs[0]), cloud.hcl(config, cloud.vpc.SubnetIDs[1])
			run(t, func() error {
				tags, err := cloud.clients.NetworkTags(t.Context(), append(cloud.vpc.SubnetIDs, group)...)
				for id, has := range tags {
					if _, there := has[awsspec.TagDiscovery]; there {
						err = errors.Join(err, fmt.Errorf("%s is still tagged", id))
					}
				}
				return err
			},
				resource.TestStep{Config: one, Check: resource.TestCheckResourceAttr(address, "selector_tags."+awsspec.TagDiscovery, testCluster)},
				resource.TestStep{
					PreConfig: meddle(t, func() error {
						return cloud.clients.DeleteNetworkTag(t.Context(), awsspec.TagDiscovery, testCluster, group)
					}),
					Config: one, ConfigPlanChecks: planned(address, plancheck.ResourceActionUpdate),
				},
				resource.TestStep{Config: two, ConfigPlanChecks: planned(address, plancheck.ResourceActionUpdate)},
				resource.TestStep{ResourceName: address, ImportState: true, ImportStateId: testCluster, ImportStateVerify: true, ImportStateVerifyIdentifierAttribute: "cluster_name"},
			)
		})
	}
}

func TestAccInterruptionQueue(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			cloud := startCloud(t)
			const address = "karpenter_interruption_queue.this"
			config := `resource "karpenter_interruption_queue" "this" {
  cluster_name = "` + testCluster + `"
  tags         = { env = %q }
}`
			run(t, func() error {
				_, err := cloud.clients.GetQueue(t.Context(), testCluster)
				return gone("queue", err, notInAWS)
			},
				resource.TestStep{Config: cloud.hcl(config, "one"), Check: resource.ComposeTestCheckFunc(
					resource.TestCheckResourceAttr(address, "rules.%", "5"),
					resource.TestCheckResourceAttr(address, "message_retention_seconds", "300"))},
				resource.TestStep{
					PreConfig: meddle(t, func() error {
						return cloud.clients.DeleteRule(t.Context(), awsspec.EventRules(testCluster)[0].Name, aws.AnyID)
					}),
					Config: cloud.hcl(config, "one"), ConfigPlanChecks: planned(address, plancheck.ResourceActionUpdate),
				},
				resource.TestStep{Config: cloud.hcl(config, "two"), ConfigPlanChecks: planned(address, plancheck.ResourceActionUpdate)},
				resource.TestStep{ResourceName: address, ImportState: true, ImportStateId: testCluster + "," + testCluster, ImportStateVerify: true, ImportStateVerifyIdentifierAttribute: "name"},
			)
		})
	}
}

func TestAccControllerRole(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			cloud := startCloud(t)
			const address, name = "karpenter_controller_role.this", "KarpenterControllerRole-" + testCluster
			config := `
resource "karpenter_node_role" "this" {
  cluster_name = "` + testCluster + `"
}
resource "karpenter_interruption_queue" "this" {
  cluster_name = "` + testCluster + `"
}
resource "karpenter_controller_role" "this" {
  cluster_name  = "` + testCluster + `"
  node_role_arn = karpenter_node_role.this.arn
  queue_arn     = %s
}`
			const withQueue = "karpenter_interruption_queue.this.arn"
			run(t, func() error {
				_, err := cloud.clients.GetRole(t.Context(), name)
				return gone("role", err, notInAWS)
			},
				resource.TestStep{Config: cloud.hcl(config, withQueue), Check: resource.ComposeTestCheckFunc(
					resource.TestCheckResourceAttr(address, "policies.%", "4"),
					resource.TestCheckResourceAttr(address, "oidc_issuer", testIssuer))},
				resource.TestStep{
					PreConfig: meddle(t, func() error {
						found, err := cloud.clients.GetRole(t.Context(), name)
						if err != nil {
							return err
						}
						changed := found
						changed.ManagedPolicies = found.ManagedPolicies[1:]
						_, err = cloud.clients.UpdateRole(t.Context(), found, changed)
						return err
					}),
					Config: cloud.hcl(config, withQueue), ConfigPlanChecks: planned(address, plancheck.ResourceActionUpdate),
				},
				resource.TestStep{
					Config: cloud.hcl(config, "null"), ConfigPlanChecks: planned(address, plancheck.ResourceActionUpdate),
					Check: resource.TestCheckResourceAttr(address, "policies.%", "3"),
				},
				resource.TestStep{ResourceName: address, ImportState: true, ImportStateId: testCluster + "," + name, ImportStateVerify: true, ImportStateVerifyIdentifierAttribute: "name"},
			)
		})
	}
}

// TestAccProvider_ConfiguredByWhatTheSameApplyMakes plans while the provider's
// region is unknown, and applies when the region is known.
func TestAccProvider_ConfiguredByWhatTheSameApplyMakes(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			cloud := startCloud(t)
			config := strings.Replace(cloud.hcl(`
resource "terraform_data" "made" {
  input = { region = "`+testRegion+`", team = "platform" }
}
resource "karpenter_node_role" "this" {
  cluster_name = "`+testCluster+`"
}`), fmt.Sprintf("%q", testRegion), "terraform_data.made.output.region", 1)
			config = strings.Replace(config, `team = "platform"`, "team = terraform_data.made.output.team", 1)
			run(t, func() error { return nil }, resource.TestStep{
				Config: config,
				Check: resource.ComposeTestCheckFunc(
					resource.TestCheckResourceAttr("karpenter_node_role.this", "tags_all.team", "platform"),
					resource.TestCheckResourceAttr("karpenter_node_role.this", "managed_policy_arns.#", "4")),
			})
		})
	}
}
