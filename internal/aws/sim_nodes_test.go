package aws_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ekssim"
)

// EKS gives at most 100 names in a page.
func TestSim_NodeGroupsProfilesAndAddonsOfAllPages(t *testing.T) {
	cloud, c := start(t)
	cluster := ekssim.Cluster{Name: "lab"}
	for i := range 130 {
		name := fmt.Sprintf("n-%03d", i)
		cluster.NodeGroups = append(cluster.NodeGroups, ekssim.NodeGroup{Name: name, Desired: i})
		cluster.FargateProfiles, cluster.Addons = append(cluster.FargateProfiles, name), append(cluster.Addons, name)
	}
	cloud.CreateCluster(cluster)
	groups := try[[]aws.NodeGroup](t)(c.NodeGroups(t.Context(), "lab"))
	if len(groups) != 130 || groups[129].Name != "n-129" || groups[129].Desired != 129 {
		t.Errorf("%d node groups", len(groups))
	}
	for what, names := range map[string][]string{
		"profiles": try[[]string](t)(c.FargateProfiles(t.Context(), "lab")), "add-ons": try[[]string](t)(c.Addons(t.Context(), "lab")),
	} {
		if !slices.Equal(names, cluster.Addons) {
			t.Errorf("%s: %v", what, names)
		}
	}
	if _, err := c.NodeGroups(t.Context(), "none"); !errors.Is(err, aws.ErrNotFound) {
		t.Errorf("of no cluster: %v", err)
	}
}

func TestSim_ANodeGroupThatIsDeletedMeanwhileIsLeftOut(t *testing.T) {
	cloud, c := start(t)
	cloud.CreateCluster(ekssim.Cluster{Name: "lab", NodeGroups: []ekssim.NodeGroup{{Name: "a"}, {Name: "b"}}})
	cloud.Faults().Inject(awssim.Fault{Service: "eks", Action: "DescribeNodegroup", Code: "ResourceNotFoundException", Status: 404, Times: 1})
	groups := try[[]aws.NodeGroup](t)(c.NodeGroups(t.Context(), "lab"))
	if len(groups) != 1 || groups[0].Name != "b" {
		t.Errorf("node groups %+v", groups)
	}
}

func TestSim_OIDCProviderHasItsAudiences(t *testing.T) {
	cloud, c := start(t)
	arn := cloud.IAM.SeedOIDCProvider("https://issuer.example/id", "a", "b")
	if got := try[[]string](t)(c.OIDCProvider(t.Context(), arn)); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("audiences %v", got)
	}
	if _, err := c.OIDCProvider(t.Context(), arn+"-2"); !errors.Is(err, aws.ErrNotFound) {
		t.Errorf("of no provider: %v", err)
	}
}
