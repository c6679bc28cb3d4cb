//go:build lab

package provider_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/config"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ekssim"
	"github.com/karpenterd/terraform-provider-karpenter/provider"
)

const clusterAddress = "data.karpenter_cluster.this"

// TestAccClusterData_TheExampleAppliesAlone runs the example with nothing but the provider's
// block before it.
func TestAccClusterData_TheExampleAppliesAlone(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			text, err := os.ReadFile("../examples/data-sources/" + clusterKind + "/data-source.tf")
			must(t, err)
			r := newExampleRun(t)
			defer r.close()
			before := r.inAWS()
			run(t, func() error { return errors.Join(same("AWS", before, r.inAWS()), r.nothingRuns()) }, resource.TestStep{
				Config: r.hcl + string(text), ConfigVariables: config.Variables{},
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue(clusterAddress, tfjsonpath.New("endpoint"), knownvalue.StringExact(r.Endpoint)),
					statecheck.ExpectKnownValue(clusterAddress, tfjsonpath.New("identity"), knownvalue.StringExact("irsa")),
					statecheck.ExpectKnownValue(clusterAddress, tfjsonpath.New("subnet_ids"), knownvalue.SetSizeExact(len(r.VPC.SubnetIDs))),
					statecheck.ExpectKnownValue(clusterAddress, tfjsonpath.New("node_groups").AtSliceIndex(0).AtMapKey("desired_size"), knownvalue.Int64Exact(2)),
					statecheck.ExpectKnownValue(clusterAddress, tfjsonpath.New("karpenter_installed"), knownvalue.Bool(false)),
				},
			})
		})
	}
}

// TestAccClusterData_FailsInThePlan holds that nothing is made before.
func TestAccClusterData_FailsInThePlan(t *testing.T) {
	openTofu(t).use(t)
	cloud := startCloud(t)
	before := cloud.Inventory()
	cloud.EKS.Change(testCluster, func(k *ekssim.Cluster) { k.Issuer = "" })
	run(t, func() error {
		if n := len(cloud.Inventory()); n != len(before) {
			return errors.New("something was made")
		}
		return nil
	}, resource.TestStep{
		Config:   cloud.hcl("%s", "data \"karpenter_cluster\" \"this\" {\n  name = \"lab\"\n}\nresource \"karpenter_interruption_queue\" \"this\" {\n  cluster_name = data.karpenter_cluster.this.name\n}\n"),
		PlanOnly: true, ExpectError: regexp.MustCompile(`(?s)cannot get an IAM role.*no\s+nodes for the daemon`),
	})
}

// TestAccClusterData_IsReadInTheApplyIfTheNameIsNotKnown: the cluster may be made by then.
func TestAccClusterData_IsReadInTheApplyIfTheNameIsNotKnown(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			cloud := furnished(t)
			run(t, func() error { return nil }, resource.TestStep{
				Config: cloud.hcl("%s", "resource \"terraform_data\" \"cluster\" {\n  input = \"lab\"\n}\ndata \"karpenter_cluster\" \"this\" {\n  name = terraform_data.cluster.output\n}\n"),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(clusterAddress, plancheck.ResourceActionRead),
					plancheck.ExpectUnknownValue(clusterAddress, tfjsonpath.New("vpc_id")),
				}},
				ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectKnownValue(clusterAddress, tfjsonpath.New("vpc_id"), knownvalue.StringExact(cloud.vpc.ID))},
			})
		})
	}
}

// TestAccClusterData_ADestroyWithoutRefreshDoesNotReadIt: the pages name it as the way out of
// a cluster that lacks something.
func TestAccClusterData_ADestroyWithoutRefreshDoesNotReadIt(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			cloud := furnished(t)
			before := cloud.Inventory()
			w := workspace{cli, t.TempDir(), map[string]func() (tfprotov6.ProviderServer, error){
				"karpenter": providerserver.NewProtocol6WithError(provider.New("1.2.3", releaseDigest)()),
			}}
			text := source + cloud.hcl("%s", "data \"karpenter_cluster\" \"this\" {\n  name = \"lab\"\n}\n"+
				"resource \"karpenter_discovery_tags\" \"this\" {\n  cluster_name = \"lab\"\n  subnet_ids = data.karpenter_cluster.this.subnet_ids\n}\n")
			must(t, os.WriteFile(filepath.Join(w.dir, "main.tf"), []byte(text), 0o600))
			w.must(t, "init")
			w.must(t, "apply", "-auto-approve")
			cloud.DeleteCluster(testCluster)
			if printed, code, _ := w.run(t, []int{0, 1}, "destroy", "-auto-approve"); code != 1 || !strings.Contains(string(printed), "does not exist") {
				t.Errorf("a destroy with a refresh ended with %d: %s", code, printed)
			}
			w.must(t, "destroy", "-auto-approve", "-refresh=false")
			if diff := cmp.Diff(before, cloud.Inventory()); diff != "" {
				t.Errorf("the destroy has left: %s", diff)
			}
		})
	}
}

// TestAccQuickstart_WithPodIdentityTheDaemonNamesNoRole plans it for a cluster without an OIDC
// provider.
func TestAccQuickstart_WithPodIdentityTheDaemonNamesNoRole(t *testing.T) {
	openTofu(t).use(t)
	cloud := furnished(t)
	cloud.EKS.Change(testCluster, func(k *ekssim.Cluster) { k.Issuer, k.Addons = "", []string{"eks-pod-identity-agent"} })
	t.Setenv("AWS_ENDPOINT_URL", cloud.URL())
	t.Setenv("AWS_ENDPOINT_URL_STS", cloud.URL())
	run(t, func() error { return nil }, resource.TestStep{
		Config:          quickstart(t),
		ConfigVariables: config.Variables{"cluster_name": config.StringVariable(testCluster), "region": config.StringVariable(testRegion)},
		PlanOnly:        true, ExpectNonEmptyPlan: true,
		ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPostRefresh: []plancheck.PlanCheck{
			plancheck.ExpectKnownValue("karpenter_controller_role.this", tfjsonpath.New("identity"), knownvalue.StringExact("pod_identity")),
			plancheck.ExpectKnownValue("karpenter_daemon.this", tfjsonpath.New("role_arn"), knownvalue.Null()),
		}},
	})
}
