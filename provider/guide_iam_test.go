package provider_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// deployerActions reads the table of the guide: by resource, the actions with their service.
func deployerActions(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../templates/guides/iam.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "## What the deployer must be allowed")
	if !found {
		t.Fatal("the guide has no table of the deployer's actions")
	}
	out := map[string][]string{}
	for _, row := range strings.Split(table, "\n") {
		cells := strings.Split(row, "|")
		if len(cells) != 4 || !strings.Contains(cells[2], "`") {
			continue
		}
		service := ""
		for _, word := range regexp.MustCompile("`((?:[a-z0-9]+:)?[A-Z][A-Za-z]+)`").FindAllStringSubmatch(cells[2], -1) {
			prefix, action, has := strings.Cut(word[1], ":")
			if has {
				service = prefix
			} else {
				action = word[1]
			}
			out[strings.TrimSpace(cells[1])] = append(out[strings.TrimSpace(cells[1])], service+":"+action)
		}
	}
	return out
}

// deployWith creates, changes, refreshes and destroys all resources in AWS as a user who may
// do the actions and nothing else.
func deployWith(t *testing.T, actions map[string][]string) {
	t.Helper()
	cloud := startCloud(t)
	var arns []string
	for _, list := range actions {
		policy, err := cloud.clients.CreatePolicy(t.Context(), aws.Policy{
			Name:     fmt.Sprintf("deployer-%d", len(arns)),
			Document: `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["` + strings.Join(list, `","`) + `"],"Resource":"*"}]}`,
		})
		if err != nil {
			t.Fatal(err)
		}
		arns = append(arns, policy.ARN)
	}
	key := cloud.IAM.SeedUser("narrow", arns...)
	t.Setenv("AWS_ACCESS_KEY_ID", key.AccessKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", key.SecretAccessKey)
	h := configured(t, cloud.config())
	const boundary = "arn:aws:iam::aws:policy/AdministratorAccess"
	node := "arn:aws:iam::" + testAccount + ":role/" + theirNodeRole
	_, problems := h.readData("karpenter_cluster", object{"name": testCluster})
	for _, d := range problems { // the cluster has no nodes; all that is asked is allowed
		if strings.Contains(d.Summary+d.Detail, "not authorized") || strings.Contains(d.Summary, "Cannot read") {
			t.Errorf("%s: %s", d.Summary, d.Detail)
		}
	}
	var made []*instance
	for _, r := range []struct {
		kind   string
		states []object // one after the other
	}{
		{"karpenter_node_role", []object{{"cluster_name": testCluster, "tags": object{"a": "1"}, "permissions_boundary": boundary}, {"cluster_name": testCluster, "attach_cni_policy": false, "description": "x"}}},
		{"karpenter_instance_profile", []object{{"name": "nodes", "role": theirNodeRole, "tags": object{"a": "1"}}, {"name": "nodes", "role": theirNodeRole}}},
		{"karpenter_interruption_queue", []object{{"cluster_name": testCluster, "tags": object{"a": "1"}}, {"cluster_name": testCluster, "message_retention_seconds": 600}}},
		{"karpenter_discovery_tags", []object{{"cluster_name": testCluster, "subnet_ids": list{cloud.vpc.SubnetIDs[0]}}, {"cluster_name": testCluster, "subnet_ids": list{cloud.vpc.SubnetIDs[1]}}}},
		{spotRoleKind, []object{{"delete_on_destroy": true}}},
		{"karpenter_controller_role", []object{
			{"cluster_name": testCluster, "node_role_arn": node, "queue_arn": testQueue, "tags": object{"a": "1"}, "permissions_boundary": boundary},
			{"cluster_name": testCluster, "node_role_arn": node + "-2", "identity": "pod_identity", "tags": object{"a": "2"}},
			{"cluster_name": testCluster, "node_role_arn": node + "-2", "identity": "pod_identity"},
		}},
	} {
		resource := h.resource(r.kind)
		for _, config := range r.states {
			if waitsForInstances(r.kind) {
				briefDelete(config)
			}
			wantNoError(t, resource.apply(config))
			resource.settled(config)
		}
		made = append([]*instance{resource}, made...)
	}
	id := cloud.launch(t)
	for _, resource := range made {
		if waitsForInstances(resource.kind) {
			for _, d := range resource.destroy() {
				if !strings.Contains(d.Detail, "(nothing was changed)") || strings.Contains(d.Detail, "not authorized") {
					t.Errorf("while a node runs: %s", d.Detail)
				}
			}
		}
	}
	must(t, cloud.EC2.Terminate(id))
	for _, resource := range made {
		wantNoError(t, resource.destroy())
	}
}

func waitsForInstances(kind string) bool {
	return slices.Contains([]string{"karpenter_node_role", "karpenter_instance_profile", "karpenter_interruption_queue", "karpenter_controller_role"}, kind)
}

// TestGuide_TheDeployerNeedsNoMoreThanTheGuideSays deploys with the actions of the guide.
func TestGuide_TheDeployerNeedsNoMoreThanTheGuideSays(t *testing.T) {
	actions := deployerActions(t)
	if len(actions) < 8 {
		t.Fatalf("rows of the table: %v", actions)
	}
	deployWith(t, actions)
}
