package aws_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

func TestSim_InstanceProfilesAreListedByPathOverAllPages(t *testing.T) {
	_, c := start(t)
	ctx := context.Background()
	try[aws.Role](t)(c.CreateRole(ctx, aws.Role{Name: "node", TrustPolicy: awsspec.NodeTrust("aws")}))
	const many = 101 // IAM lists a hundred on a page
	for i := range many {
		try[aws.InstanceProfile](t)(c.CreateInstanceProfile(ctx, aws.InstanceProfile{Name: fmt.Sprintf("p%03d", i), Path: "/a/b/", Role: "node"}))
	}
	try[aws.InstanceProfile](t)(c.CreateInstanceProfile(ctx, aws.InstanceProfile{Name: "elsewhere", Path: "/c/", Role: "node"}))
	found := try[[]aws.InstanceProfile](t)(c.InstanceProfiles(ctx, "/a/"))
	if len(found) != many || found[100].Name != "p100" || found[100].Path != "/a/b/" || found[100].Role != "node" || found[100].ID == "" || found[100].Created.IsZero() {
		t.Errorf("%d profiles, the last %+v", len(found), found[len(found)-1])
	}
	if found := try[[]aws.InstanceProfile](t)(c.InstanceProfiles(ctx, "/d/")); len(found) > 0 {
		t.Errorf("found %+v", found)
	}
}

func TestSim_DaemonsPermissionsEndAtTheProfilesOfItsCluster(t *testing.T) {
	cloud, admin := start(t)
	c := daemonOf(t, cloud, admin)
	ctx := context.Background()
	for _, name := range []string{"node", "other"} {
		try[aws.Role](t)(admin.CreateRole(ctx, aws.Role{Name: name, TrustPolicy: awsspec.NodeTrust("aws")}))
	}
	of := func(change func(*awsspec.NodeProfile)) aws.InstanceProfile {
		p := awsspec.NodeProfile{Region: region, Cluster: "lab", NodeClass: "default", NodeClassUID: "u", Role: "node"}
		change(&p)
		return aws.InstanceProfile{Name: p.Name(), Path: p.Path(), Role: p.Role, Tags: p.Tags(map[string]string{"team": "web"})}
	}
	own := of(func(*awsspec.NodeProfile) {})
	made := try[aws.InstanceProfile](t)(c.CreateInstanceProfile(ctx, own))
	for name, p := range map[string]aws.InstanceProfile{
		"another cluster":   of(func(p *awsspec.NodeProfile) { p.Cluster = "other" }),
		"another region":    of(func(p *awsspec.NodeProfile) { p.Region = "us-east-1" }),
		"the root path":     {Name: "a", Role: "node", Tags: own.Tags},
		"no tags":           {Name: "b", Path: own.Path, Role: "node"},
		"another's tags":    {Name: "c", Path: own.Path, Role: "node", Tags: of(func(p *awsspec.NodeProfile) { p.Cluster = "other" }).Tags},
		"another's path":    {Name: "d", Path: "/karpenter/" + region + "/lab-2/u/", Role: "node", Tags: own.Tags},
		"tags without role": {Name: "e", Path: own.Path, Tags: map[string]string{"kubernetes.io/cluster/lab": "owned"}},
	} {
		if _, err := c.CreateInstanceProfile(ctx, p); !errors.Is(err, aws.ErrUnauthorized) {
			t.Errorf("%s: made: %v", name, err)
		}
	}
	foreign := try[aws.InstanceProfile](t)(admin.CreateInstanceProfile(ctx, aws.InstanceProfile{Name: "foreign", Role: "node", Tags: map[string]string{"team": "web"}}))
	tagged, moved := foreign, foreign
	tagged.Tags = own.Tags
	moved.Role = ""
	for name, want := range map[string]aws.InstanceProfile{"tagged": tagged, "role taken away": moved} {
		if _, err := c.UpdateInstanceProfile(ctx, foreign, want); !errors.Is(err, aws.ErrUnauthorized) {
			t.Errorf("foreign profile %s: %v", name, err)
		}
	}
	if err := c.DeleteInstanceProfile(ctx, foreign.Name, foreign.ID); !errors.Is(err, aws.ErrUnauthorized) {
		t.Errorf("foreign profile deleted: %v", err)
	}
	secret := made
	secret.Role = "other"
	if _, err := c.UpdateInstanceProfile(ctx, made, secret); !errors.Is(err, aws.ErrUnauthorized) {
		t.Errorf("a role that is not the node's was given: %v", err)
	}
	try[[]aws.InstanceProfile](t)(c.InstanceProfiles(ctx, awsspec.ProfilePath(region, "lab")))
	if err := c.DeleteInstanceProfile(ctx, made.Name, made.ID); err != nil {
		t.Errorf("own profile: %v", err)
	}
}

func TestSim_AnInstanceProfileKeepsItsRoleWhileTheNewOneDoesNotExist(t *testing.T) {
	cloud, c := start(t)
	ctx := context.Background()
	try[aws.Role](t)(c.CreateRole(ctx, aws.Role{Name: "node", TrustPolicy: awsspec.NodeTrust("aws")}))
	made := try[aws.InstanceProfile](t)(c.CreateInstanceProfile(ctx, aws.InstanceProfile{Name: "p", Role: "node"}))
	want := made
	want.Role = "absent"
	if _, err := c.UpdateInstanceProfile(ctx, made, want); !errors.Is(err, aws.ErrNotFound) {
		t.Errorf("a role that does not exist was given: %v", err)
	}
	for _, call := range cloud.Calls() {
		if call.Action == "RemoveRoleFromInstanceProfile" {
			t.Error("the instances were without a role")
		}
	}
}
