package aws_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ekssim"
)

func TestSim_ClusterAndAccessEntryLife(t *testing.T) {
	cloud, c := start(t)
	ctx := context.Background()
	vpc := cloud.EC2.SeedVPC("10.0.0.0/16", []string{"us-west-2a"})
	cloud.CreateCluster(ekssim.Cluster{
		Name: "lab", Version: "1.36", Endpoint: "https://127.0.0.1:1", CA: []byte("pem"), Issuer: "https://oidc.example/id/1",
		ServiceCIDR: "10.100.0.0/16", VPCID: vpc.ID, SubnetIDs: vpc.SubnetIDs, ClusterSecurityGroupID: vpc.ClusterSecurityGroupID,
	})
	if _, err := c.Cluster(ctx, "other"); !errors.Is(err, aws.ErrNotFound) {
		t.Errorf("a cluster that does not exist: %v", err)
	}
	cluster := try[aws.Cluster](t)(c.Cluster(ctx, "lab"))
	if cluster.Version != "1.36" || string(cluster.CertificateAuthority) != "pem" || cluster.ServiceCIDR != "10.100.0.0/16" ||
		cluster.Issuer != "https://oidc.example/id/1" || cluster.SecurityGroupID != vpc.ClusterSecurityGroupID || cluster.VPCID != vpc.ID {
		t.Errorf("got %+v", cluster)
	}

	want := aws.AccessEntry{Cluster: "lab", PrincipalARN: "arn:aws:iam::123456789012:role/node", Type: "EC2_LINUX", Tags: map[string]string{"a": "1", "b": "2"}}
	if _, err := c.CreateAccessEntry(ctx, want); err == nil || !strings.Contains(err.Error(), "still failing after 200ms") {
		t.Errorf("an entry for a role that does not exist: %v", err)
	}
	try[aws.Role](t)(c.CreateRole(ctx, aws.Role{Name: "node", TrustPolicy: awsspec.NodeTrust("aws")}))
	entry := try[aws.AccessEntry](t)(c.CreateAccessEntry(ctx, want))
	if entry.ARN == "" || entry.Type != "EC2_LINUX" || !slices.Contains(entry.Groups, "system:nodes") {
		t.Errorf("got %+v", entry)
	}
	if _, err := c.CreateAccessEntry(ctx, want); !errors.Is(err, aws.ErrConflict) {
		t.Errorf("a second entry: %v", err)
	}
	changed := want
	changed.Tags = map[string]string{"a": "2"}
	entry = try[aws.AccessEntry](t)(c.UpdateAccessEntryTags(ctx, want, changed))
	if len(entry.Tags) != 1 || entry.Tags["a"] != "2" {
		t.Errorf("tags %v", entry.Tags)
	}
	for range 2 {
		if err := c.DeleteAccessEntry(ctx, "lab", want.PrincipalARN, aws.AnyID); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	if _, err := c.GetAccessEntry(ctx, "lab", want.PrincipalARN); !errors.Is(err, aws.ErrNotFound) {
		t.Errorf("after the delete: %v", err)
	}
}

func TestSim_ClusterTokenIsWhoTheCallerIs(t *testing.T) {
	cloud, c := start(t)
	cloud.CreateCluster(ekssim.Cluster{Name: "lab", Version: "1.36"})
	arn := try[aws.Identity](t)(c.Identity(context.Background())).ARN
	if err := cloud.EKS.CreateAccessEntry("lab", arn, []string{"admins"}); err != nil {
		t.Fatal(err)
	}
	token, _, err := c.EKSTokenSource("lab").Token(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	user, groups, _, err := cloud.VerifyClusterToken(context.Background(), "lab", token)
	if err != nil || user != arn || !slices.Contains(groups, "admins") {
		t.Errorf("got %q in %q, %v", user, groups, err)
	}
	if _, _, _, err := cloud.VerifyClusterToken(context.Background(), "other", token); err == nil {
		t.Error("the token is good for another cluster")
	}
}

func TestSim_NetworkTagsAreNeverTakenFromOthers(t *testing.T) {
	cloud, c := start(t)
	ctx := context.Background()
	vpc := cloud.EC2.SeedVPC("10.0.0.0/16", []string{"us-west-2a", "us-west-2b", "us-west-2c"})
	a, b, group := vpc.SubnetIDs[0], vpc.SubnetIDs[1], vpc.ClusterSecurityGroupID
	const key = "karpenter.sh/discovery"
	tagged := try[[]string](t)(c.CreateNetworkTag(ctx, key, "lab", a))
	if !slices.Equal(tagged, []string{a}) {
		t.Errorf("tagged %v", tagged)
	}
	tagged = try[[]string](t)(c.CreateNetworkTag(ctx, key, "lab", a, b, group))
	if slices.Contains(tagged, a) || len(tagged) != 2 {
		t.Errorf("tagged %v; the first was tagged before", tagged)
	}
	_, err := c.CreateNetworkTag(ctx, key, "other", a, vpc.SubnetIDs[2])
	if !errors.Is(err, aws.ErrConflict) || !strings.Contains(err.Error(), a) || !strings.Contains(err.Error(), `"lab"`) {
		t.Errorf("a tag of another cluster: %v", err)
	}
	if _, err := c.CreateNetworkTag(ctx, key, "lab", "subnet-0000"); !errors.Is(err, aws.ErrNotFound) {
		t.Errorf("a subnet that does not exist: %v", err)
	}
	if _, err := c.CreateNetworkTag(ctx, key, "lab", "vpc-1"); err == nil || !strings.Contains(err.Error(), "neither a subnet") {
		t.Errorf("neither subnet nor group: %v", err)
	}
	tags := try[map[string]map[string]string](t)(c.NetworkTags(ctx, a, b, group, vpc.SubnetIDs[2], "subnet-0000"))
	if tags[a][key] != "lab" || tags[group][key] != "lab" || tags[vpc.SubnetIDs[2]][key] != "" || len(tags) != 4 {
		t.Errorf("got %v", tags)
	}
	if err := c.DeleteNetworkTag(ctx, key, "other", a); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.DeleteNetworkTag(ctx, key, "lab", b, group, "subnet-0000"); err != nil {
			t.Fatal(err)
		}
	}
	tags = try[map[string]map[string]string](t)(c.NetworkTags(ctx, a, b, group))
	if tags[a][key] != "lab" || tags[b][key] != "" || tags[group][key] != "" {
		t.Errorf("after the deletes: %v", tags)
	}

	subnets := try[[]aws.Subnet](t)(c.Subnets(ctx, []aws.Selector{{Tags: map[string]string{key: "lab"}}, {ID: vpc.SubnetIDs[2]}, {ID: a}}))
	if len(subnets) != 2 || subnets[0].FreeIPs == 0 || subnets[0].Zone == "" || subnets[0].VPCID != vpc.ID {
		t.Errorf("subnets %+v", subnets)
	}
	if groups := try[[]aws.SecurityGroup](t)(c.SecurityGroups(ctx, []aws.Selector{{Tags: map[string]string{key: "*"}}, {Name: "no-such-group"}})); len(groups) != 0 {
		t.Errorf("groups %+v", groups)
	}
	if groups := try[[]aws.SecurityGroup](t)(c.SecurityGroups(ctx, []aws.Selector{{ID: group}})); len(groups) != 1 || groups[0].Name == "" {
		t.Errorf("groups %+v", groups)
	}
}

func TestSim_SubnetsSayWhetherInstancesGetAPublicAddress(t *testing.T) {
	cloud, c := start(t)
	vpc := cloud.EC2.SeedVPC("10.0.0.0/16", []string{"us-west-2a"})
	for _, public := range []bool{true, false} {
		id := cloud.EC2.SeedSubnet(ec2sim.SubnetSpec{VPCID: vpc.ID, Zone: "us-west-2a", CIDR: map[bool]string{true: "10.0.200.0/24", false: "10.0.201.0/24"}[public], MapPublicIPOnLaunch: public})
		if got := try[[]aws.Subnet](t)(c.Subnets(t.Context(), []aws.Selector{{ID: id}})); len(got) != 1 || got[0].PublicIPs != public {
			t.Errorf("public %t: %+v", public, got)
		}
	}
}

func TestSim_QueueAndRulesCarryEvents(t *testing.T) {
	cloud, c := start(t)
	ctx := context.Background()
	arn := cloud.SQS.ARN("lab")
	want := aws.Queue{
		Name: "lab", Policy: awsspec.QueuePolicy(arn, "aws"), MessageRetention: 300 * time.Second, Tags: map[string]string{"a": "1"},
	}
	queue := try[aws.Queue](t)(c.CreateQueue(ctx, want))
	if queue.ARN != arn || !aws.SameJSON(queue.Policy, want.Policy) || queue.MessageRetention != want.MessageRetention || queue.Tags["a"] != "1" {
		t.Errorf("got %+v", queue)
	}
	if _, err := c.CreateQueue(ctx, want); !errors.Is(err, aws.ErrConflict) {
		t.Errorf("a second queue of the name: %v", err)
	}
	changed := want
	changed.MessageRetention, changed.Tags = 600*time.Second, map[string]string{"b": "2"}
	queue = try[aws.Queue](t)(c.UpdateQueue(ctx, want, changed))
	if queue.MessageRetention != 600*time.Second || len(queue.Tags) != 1 || queue.Tags["b"] != "2" {
		t.Errorf("after the update: %+v", queue)
	}

	for _, r := range awsspec.EventRules("lab") {
		rule := aws.Rule{Name: r.Name, Description: r.Description, Pattern: r.Pattern, TargetID: awsspec.QueueTargetID, TargetARN: queue.ARN, Tags: map[string]string{"a": "1"}}
		made := try[aws.Rule](t)(c.CreateRule(ctx, rule))
		if _, err := c.CreateRule(ctx, rule); !errors.Is(err, aws.ErrConflict) {
			t.Errorf("a second rule of the name: %v", err)
		}
		have := try[aws.Rule](t)(c.GetRule(ctx, r.Name, awsspec.QueueTargetID))
		if have.ARN != made.ARN || have.TargetARN != queue.ARN || !have.Enabled || have.Tags["a"] != "1" || !aws.SameJSON(have.Pattern, r.Pattern) {
			t.Errorf("got %+v", have)
		}
		altered := rule
		altered.Description, altered.Tags = "changed", nil
		if have = try[aws.Rule](t)(c.UpdateRule(ctx, rule, altered)); have.Description != "changed" || len(have.Tags) != 0 {
			t.Errorf("after the update: %+v", have)
		}
	}

	id := launchOne(t, cloud, c).InstanceID
	if err := cloud.EC2.WarnSpot(id); err != nil {
		t.Fatal(err)
	}
	messages := receive(t, c, queue.URL, "EC2 Spot Instance Interruption Warning")
	if !strings.Contains(messages[0].Body, id) {
		t.Errorf("message %s", messages[0].Body)
	}

	for _, r := range awsspec.EventRules("lab") {
		for range 2 {
			if err := c.DeleteRule(ctx, r.Name, aws.AnyID); err != nil {
				t.Errorf("delete rule: %v", err)
			}
		}
	}
	for range 2 {
		if err := c.DeleteQueue(ctx, "lab", aws.AnyID); err != nil {
			t.Errorf("delete queue: %v", err)
		}
	}
	if _, err := c.GetQueue(ctx, "lab"); !errors.Is(err, aws.ErrNotFound) {
		t.Errorf("after the delete: %v", err)
	}
}

// receive returns the messages with the detail-type, and deletes all others.
func receive(t *testing.T, c *aws.Clients, url, detailType string) []aws.Message {
	t.Helper()
	for range 10 {
		messages := try[[]aws.Message](t)(c.Receive(context.Background(), url))
		var receipts []string
		var wanted []aws.Message
		for _, m := range messages {
			receipts = append(receipts, m.Receipt)
			if strings.Contains(m.Body, detailType) {
				wanted = append(wanted, m)
			}
		}
		if err := c.DeleteMessages(context.Background(), url, receipts...); err != nil {
			t.Fatal(err)
		}
		if len(wanted) > 0 {
			return wanted
		}
	}
	t.Fatalf("no message about %q came", detailType)
	return nil
}

func TestSim_ImagesAreSelectedByAllOfATermAndFoundOnce(t *testing.T) {
	cloud, c := start(t)
	own := func(name, arch string, tags map[string]string) string {
		return cloud.EC2.SeedImage(ec2sim.Image{Name: name, Arch: arch, OwnerID: "111122223333", Tags: tags})
	}
	a, b := own("team-a-1", "amd64", map[string]string{"team": "a"}), own("team-a-2", "arm64", map[string]string{"team": "a", "stage": "test"})
	eks := cloud.EC2.SeedImage(ec2sim.Image{Name: "team-of-amazon", Arch: "amd64"})
	other := cloud.EC2.SeedImage(ec2sim.Image{Name: "team-of-others", Arch: "amd64", OwnerID: "444455556666", Tags: map[string]string{"team": "b"}})
	for name, x := range map[string]struct {
		terms []aws.ImageSelector
		want  []string
	}{
		"id, and the same by name":         {[]aws.ImageSelector{{ID: a}, {Name: "team-a-1", Owner: "111122223333"}}, []string{a}},
		"a name among those of Amazon":     {[]aws.ImageSelector{{Name: "team-of-*"}}, []string{eks}},
		"a name of an owner":               {[]aws.ImageSelector{{Name: "team-*", Owner: "444455556666"}}, []string{other}},
		"tags":                             {[]aws.ImageSelector{{Tags: map[string]string{"team": "a"}}}, []string{a, b}},
		"any value":                        {[]aws.ImageSelector{{Tags: map[string]string{"team": "*"}}}, []string{a, b, other}},
		"all tags":                         {[]aws.ImageSelector{{Tags: map[string]string{"team": "a", "stage": "test"}}}, []string{b}},
		"an owner alone":                   {[]aws.ImageSelector{{Owner: "111122223333"}}, []string{a, b}},
		"one that does not exist":          {[]aws.ImageSelector{{ID: "ami-00000000"}}, nil},
		"several terms":                    {[]aws.ImageSelector{{ID: other}, {Tags: map[string]string{"stage": "test"}}}, []string{b, other}},
		"a name and tags that do not meet": {[]aws.ImageSelector{{Name: "team-a-1", Owner: "111122223333", Tags: map[string]string{"stage": "test"}}}, nil},
	} {
		var got []string
		for _, i := range try[[]aws.Image](t)(c.Images(t.Context(), x.terms)) {
			if got = append(got, i.ID); i.Arch != "amd64" && i.Arch != "arm64" {
				t.Errorf("%s: %+v", name, i)
			}
		}
		slices.Sort(got)
		slices.Sort(x.want)
		if !slices.Equal(got, x.want) {
			t.Errorf("%s: got %v, want %v", name, got, x.want)
		}
	}
}

func TestSim_ImagesByParameter(t *testing.T) {
	cloud, c := start(t)
	ctx := context.Background()
	id := cloud.EC2.SeedImage(ec2sim.Image{Name: "amazon-eks-node-al2023-arm64-standard-1.36-v20260101", Arch: "arm64"})
	name := "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/arm64/standard/recommended/image_id"
	cloud.SSM.Seed(name, id)
	if got := try[string](t)(c.Parameter(ctx, name)); got != id {
		t.Errorf("got %q", got)
	}
	if _, err := c.Parameter(ctx, name+"x"); !errors.Is(err, aws.ErrNotFound) {
		t.Errorf("a parameter that does not exist: %v", err)
	}
	images := try[[]aws.Image](t)(c.Images(ctx, []aws.ImageSelector{{ID: id}, {ID: "ami-00000000"}}))
	if len(images) != 1 || images[0].Created.IsZero() {
		t.Errorf("got %+v", images)
	}
}
