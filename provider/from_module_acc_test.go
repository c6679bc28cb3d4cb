//go:build lab

package provider_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	framework "github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	ofprovider "github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/provider"
)

// awsStandIn stands for the provider aws, with the kinds of resources that
// testdata/standin/karpenter has.
type awsStandIn struct {
	*standIn
	kinds map[string]*standIn
}

func newAWSStandIn() awsStandIn {
	s := awsStandIn{&standIn{name: "aws"}, map[string]*standIn{}}
	for _, kind := range []string{
		"sqs_queue", "sqs_queue_policy", "cloudwatch_event_rule", "iam_role", "iam_role_policy_attachment", "eks_access_entry", "eks_pod_identity_association",
	} {
		s.kinds[kind] = &standIn{name: "aws", kind: "aws_" + kind}
	}
	return s
}

func (s awsStandIn) Resources(context.Context) []func() ofprovider.Resource {
	var all []func() ofprovider.Resource
	for _, kind := range s.kinds {
		all = append(all, func() ofprovider.Resource { return standInResource{kind} })
	}
	return all
}

var _ framework.Provider = awsStandIn{}

// moduleWorkspace is a folder with the stand-in of the module.
func moduleWorkspace(t *testing.T, cli cli, of awsStandIn) workspace {
	t.Helper()
	w := workspace{cli, t.TempDir(), map[string]func() (tfprotov6.ProviderServer, error){
		"karpenter": providerserver.NewProtocol6WithError(provider.New("1.2.3", releaseDigest)()),
		"aws":       providerserver.NewProtocol6WithError(of),
	}}
	must(t, os.CopyFS(filepath.Join(w.dir, "module"), os.DirFS("testdata/standin/karpenter")))
	return w
}

const moduleBlock = "terraform {\n  required_providers {\n    aws = { source = \"karpenterd/aws\" }\n    karpenter = { source = \"karpenterd/karpenter\" }\n  }\n}\n"

// moduleNames are how the guide names what has other names here.
func moduleNames(text string) string {
	return strings.NewReplacer("Karpenter-my-cluster-20260101000000000000000001", "Karpenter-lab-1", "my-cluster", testCluster).Replace(text)
}

// TestAccModule_TheGuidesBlocksLeaveTheModule applies the blocks as they are written, in the
// place of the module.
func TestAccModule_TheGuidesBlocksLeaveTheModule(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			cloud, other := furnished(t), newAWSStandIn()
			w := moduleWorkspace(t, cli, other)
			write := func(text string) {
				must(t, os.WriteFile(filepath.Join(w.dir, "main.tf"), []byte(moduleBlock+cloud.hcl("%s", text)), 0o600))
				w.must(t, "init")
			}
			write("module \"karpenter\" {\n  source = \"./module\"\n}\n")
			w.must(t, "apply", "-auto-approve")
			role, err := cloud.clients.CreateRole(t.Context(), aws.Role{Name: "Karpenter-lab-1", TrustPolicy: awsspec.NodeTrust("aws"), ManagedPolicies: []string{"arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"}})
			must(t, err)
			entry, err := cloud.clients.CreateAccessEntry(t.Context(), aws.AccessEntry{Cluster: testCluster, PrincipalARN: role.ARN, Type: "EC2_LINUX"})
			must(t, err)
			queue, err := cloud.clients.CreateQueue(t.Context(), aws.Queue{Name: "Karpenter-lab"})
			must(t, err)

			block := guideBlocks(t, "from_terraform_aws_eks")["leave the module"]
			if block == "" {
				t.Fatal("the guide has no such block")
			}
			write(moduleNames(block))
			w.must(t, "apply", "-auto-approve")
			deleted := map[string]int{}
			for kind, of := range other.kinds {
				for _, call := range of.since() {
					if call == "delete" {
						deleted[kind]++
					}
				}
			}
			if deleted["iam_role"] != 1 || deleted["iam_role_policy_attachment"] != 1 || deleted["cloudwatch_event_rule"] != 2 || deleted["eks_pod_identity_association"] != 1 || len(deleted) != 4 {
				t.Errorf("destroyed of the module: %v", deleted)
			}
			if printed, code, err := w.run(t, []int{0, 2}, "plan", "-detailed-exitcode"); err != nil || code != 0 {
				t.Errorf("the next plan is not empty: %v\n%s", err, printed)
			}
			roleNow, err := cloud.clients.GetRole(t.Context(), role.Name)
			must(t, err)
			queueNow, err := cloud.clients.GetQueue(t.Context(), queue.Name)
			must(t, err)
			entryNow, err := cloud.clients.GetAccessEntry(t.Context(), testCluster, role.ARN)
			must(t, err)
			if roleNow.ID != role.ID || queueNow.ID != queue.ID || entryNow.ARN != entry.ARN {
				t.Error("the role, the queue or the access entry was made anew")
			}
		})
	}
}

// TestAccModule_TheGuidesBlockKeepsTheModule plans the block beside the module.
func TestAccModule_TheGuidesBlockKeepsTheModule(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			cloud := furnished(t)
			w := moduleWorkspace(t, cli, newAWSStandIn())
			text := "module \"karpenter\" {\n  source = \"./module\"\n}\n" + moduleNames(guideBlocks(t, "from_terraform_aws_eks")["keep the module"])
			config := strings.Replace(cloud.hcl("%s", text), "provider \"karpenter\" {\n", "provider \"karpenter\" {\n  eks = { cluster_name = \"lab\" }\n", 1)
			must(t, os.WriteFile(filepath.Join(w.dir, "main.tf"), []byte(moduleBlock+config), 0o600))
			w.must(t, "init")
			if printed := string(w.must(t, "plan")); !strings.Contains(printed, "karpenter_daemon.this will be created") || !strings.Contains(printed, "karpenter_controller_role.this will be created") {
				t.Error(printed)
			}
		})
	}
}

// TestModule_TheGuideHasEachInputAndOutput holds the tables of the guide to what the module
// declares, by name.
func TestModule_TheGuideHasEachInputAndOutput(t *testing.T) {
	text, err := os.ReadFile("../templates/guides/from_terraform_aws_eks.md")
	must(t, err)
	_, tables, _ := strings.Cut(string(text), "## Inputs")
	var rows []string
	for _, line := range strings.Split(tables, "\n") {
		if cells := strings.Split(line, "|"); len(cells) == 4 {
			for _, name := range strings.Split(cells[1], ",") {
				if len(strings.TrimSpace(cells[2])) > 2 {
					rows = append(rows, strings.Trim(name, " `"))
				}
			}
		}
	}
	for _, name := range moduleInputsAndOutputs() {
		if !slices.Contains(rows, name) {
			t.Errorf("the guide lacks %s", name)
		}
	}
}

// moduleInputsAndOutputs are the names that version 21 of modules/karpenter declares.
func moduleInputsAndOutputs() []string {
	return strings.Fields(`create tags cluster_name region create_iam_role enable_inline_policy iam_role_name iam_role_use_name_prefix iam_role_path
		iam_role_description iam_role_max_session_duration iam_role_permissions_boundary_arn iam_role_tags iam_policy_name iam_policy_use_name_prefix
		iam_policy_path iam_policy_description iam_role_override_assume_policy_documents iam_role_source_assume_policy_documents iam_policy_statements
		iam_role_policies ami_id_ssm_parameter_arns create_pod_identity_association namespace service_account enable_spot_termination queue_name
		queue_managed_sse_enabled queue_kms_master_key_id queue_kms_data_key_reuse_period_seconds queue_policy_statements create_node_iam_role
		cluster_ip_family node_iam_role_arn node_iam_role_name node_iam_role_use_name_prefix node_iam_role_path node_iam_role_description
		node_iam_role_max_session_duration node_iam_role_permissions_boundary node_iam_role_attach_cni_policy node_iam_role_additional_policies
		node_iam_role_tags create_access_entry access_entry_type create_instance_profile rule_name_prefix
		iam_role_arn iam_role_unique_id queue_arn queue_url event_rules node_access_entry_arn node_iam_role_unique_id
		instance_profile_arn instance_profile_id instance_profile_name instance_profile_unique`)
}
