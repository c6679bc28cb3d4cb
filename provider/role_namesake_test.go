package provider_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// TestRole_OfANamesakeInAnotherRegionIsNeitherTakenUpNorToBeImported has the role of a cluster
// of the same name in the way, which is equal in all but its region.
func TestRole_OfANamesakeInAnotherRegionIsNeitherTakenUpNorToBeImported(t *testing.T) {
	node, controller := object{"cluster_name": testCluster}, object{"cluster_name": testCluster, "node_role_arn": testNodeRole}
	elsewhere := map[string]string{"team": "platform", awsspec.TagClusterName: testCluster, awsspec.TagRegion: "eu-west-1"}
	for name, tt := range map[string]struct {
		kind, role string
		config     object
		meddle     func(*aws.Role)
		says       []string
		imports    bool
	}{
		"nodes": {"karpenter_node_role", theirNodeRole, node, func(r *aws.Role) { r.Tags = elsewhere }, []string{
			`cluster "lab" in eu-west-1`, `name = "KarpenterNodeRole-lab-us-west-2"`, "Do not import",
		}, false},
		"daemon": {"karpenter_controller_role", theirControllerRole, controller, func(r *aws.Role) { r.Tags = elsewhere }, []string{
			`cluster "lab" in eu-west-1`, `name = "KarpenterControllerRole-lab-us-west-2"`, "Do not import",
		}, false},
		"daemon, by its trust": {"karpenter_controller_role", theirControllerRole, controller, func(r *aws.Role) {
			r.Tags = map[string]string{"team": "platform"}
			r.TrustPolicy = awsspec.IRSATrust("oidc.eks.eu-west-1.amazonaws.com/id/OTHER", testAccount, "aws", "karpenter", "karpenter")
		}, []string{"a cluster in eu-west-1", "Do not import"}, false},
		"pods, by their trust": {"karpenter_controller_role", theirControllerRole, controller, func(r *aws.Role) {
			r.Tags = map[string]string{"team": "platform"}
			r.TrustPolicy = awsspec.PodIdentityTrust(awsspec.ClusterARN("aws", "eu-west-1", testAccount, testCluster), "karpenter", "karpenter")
		}, []string{`cluster "lab" in eu-west-1`, "Do not import"}, false},
		"another cluster": {"karpenter_node_role", theirNodeRole, node, func(r *aws.Role) {
			r.Tags = map[string]string{awsspec.TagClusterName: "other", awsspec.TagRegion: testRegion}
		}, []string{`cluster "other" in us-west-2`, "Do not import"}, false},
		"nobody knows": {"karpenter_node_role", theirNodeRole, node, func(r *aws.Role) { r.Tags = map[string]string{"team": "platform"} }, []string{
			"already exists", `name = "KarpenterNodeRole-lab-us-west-2"`, "From Karpenter, and back", "import {", `id = "lab,KarpenterNodeRole-lab"`,
		}, true},
		"ours": {"karpenter_node_role", theirNodeRole, node, func(r *aws.Role) { r.Description = "meddled" }, []string{`cluster "lab" in us-west-2`, "import {"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := startCloud(t)
			h := configured(t, cloud.config())
			forgotten(t, h, tt.kind, tt.config)
			must(t, cloud.meddleWithRole(t.Context(), tt.role, func(r *aws.Role) { *r = withoutTags(r); tt.meddle(r) }))
			before, err := cloud.clients.GetRole(t.Context(), tt.role)
			must(t, err)
			again := h.again(cloud.config()).resource(tt.kind)
			diags := again.apply(tt.config)
			wantError(t, diags, tt.says...)
			wantNothingMade(t, again)
			if after, err := cloud.clients.GetRole(t.Context(), tt.role); err != nil || !cmp.Equal(before, after) {
				t.Errorf("the role has changed: %s, %v", cmp.Diff(before, after), err)
			}
		})
	}
}

// withoutTags is the role with the tags that it has, to be changed.
func withoutTags(r *aws.Role) aws.Role {
	out := *r
	out.Tags = maps.Clone(r.Tags)
	return out
}

// TestRole_SaysWhoseItIsAndNothingOfThatIsShown makes roles, updates and imports them.
func TestRole_SaysWhoseItIsAndNothingOfThatIsShown(t *testing.T) {
	for kind, config := range map[string]object{
		"karpenter_node_role": {"cluster_name": testCluster}, "karpenter_controller_role": {"cluster_name": testCluster, "node_role_arn": testNodeRole},
	} {
		t.Run(kind, func(t *testing.T) {
			cloud := startCloud(t)
			h := configured(t, cloud.config())
			role := h.resource(kind)
			wantNoError(t, role.apply(config))
			role.settled(config)
			marks := func() {
				t.Helper()
				found, err := cloud.clients.GetRole(t.Context(), role.text("name"))
				if err != nil || found.Tags[awsspec.TagRegion] != testRegion || found.Tags[awsspec.TagClusterName] != testCluster {
					t.Errorf("the role has the tags %v, %v", found.Tags, err)
				}
			}
			marks()
			copied, diags := h.imported(kind, testCluster+","+role.text("name"))
			wantNoError(t, diags)
			copied.settled(config)
			tagged := with(config, object{"tags": object{"env": "test"}})
			wantNoError(t, copied.apply(tagged))
			copied.settled(tagged)
			marks()
			own := with(config, object{"tags": object{awsspec.TagRegion: "mine"}})
			wantNoError(t, copied.apply(own))
			copied.settled(own)
		})
	}
}
