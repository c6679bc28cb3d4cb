package aws_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws/awstest"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ekssim"
)

var owner = awsspec.Owner{Cluster: "lab", NodePool: "spot", NodeClass: "default"}

// launchable makes what a launch needs, and returns the request.
func launchable(t *testing.T, cloud *awssim.Cloud, admin, c *aws.Clients) aws.LaunchRequest {
	t.Helper()
	ctx := context.Background()
	vpc := cloud.EC2.SeedVPC("10.0.0.0/16", []string{"us-west-2a", "us-west-2b"})
	image := cloud.EC2.SeedImage(ec2sim.Image{Name: "al2023", Arch: "x86_64"})
	try[aws.Role](t)(admin.CreateRole(ctx, aws.Role{Name: "node", TrustPolicy: awsspec.NodeTrust("aws")}))
	try[aws.InstanceProfile](t)(admin.CreateInstanceProfile(ctx, aws.InstanceProfile{Name: "node", Role: "node"}))
	template := awsspec.LaunchTemplate{
		ImageID: image, InstanceProfile: "node", SecurityGroupIDs: []string{vpc.ClusterSecurityGroupID}, UserData: "hello", Spot: true,
		Metadata:     awsspec.Metadata{HTTPEndpoint: "enabled", HTTPProtocolIPv6: "disabled", HTTPTokens: "required", HopLimit: 1},
		BlockDevices: []awsspec.BlockDevice{{DeviceName: "/dev/xvda", SizeGiB: 20, Type: "gp3"}}, Tags: owner.Tags(nil),
	}
	name := try[string](t)(c.EnsureLaunchTemplate(ctx, template))
	if again := try[string](t)(c.EnsureLaunchTemplate(ctx, template)); again != name {
		t.Errorf("the same content has names %q and %q", name, again)
	}
	r := aws.LaunchRequest{
		LaunchTemplate: name, CapacityType: aws.CapacityTypeSpot, ClientToken: awsspec.ClientToken("uid", 1),
		Tags: owner.InstanceTags(nil, "spot-1", "uid"),
	}
	for i, zone := range []string{"us-west-2a", "us-west-2b"} {
		for _, kind := range []string{"m5.large", "m5.xlarge"} {
			r.Overrides = append(r.Overrides, aws.Override{InstanceType: kind, Zone: zone, SubnetID: vpc.SubnetIDs[i], ImageID: image, Priority: 0.1})
		}
	}
	return r
}

func launchOne(t *testing.T, cloud *awssim.Cloud, c *aws.Clients) aws.Launched {
	t.Helper()
	return try[aws.Launched](t)(c.Launch(context.Background(), launchable(t, cloud, c, c)))
}

// daemonOf makes clients with exactly the permissions of the daemon's role, without an
// action that is named.
func daemonOf(t *testing.T, cloud *awssim.Cloud, admin *aws.Clients, without ...string) *aws.Clients {
	t.Helper()
	var arns []string
	for _, p := range awsspec.ControllerPolicies(awsspec.ControllerPolicyInput{
		Partition: "aws", Region: region, Account: account, Cluster: "lab",
		NodeRoleARNs: []string{"arn:aws:iam::123456789012:role/node"}, QueueARN: cloud.SQS.ARN("lab"),
	}) {
		for _, action := range without {
			p.Document = strings.ReplaceAll(p.Document, `"`+cmp.Or(action, "none")+`"`, `"iam:GetUser"`)
		}
		arns = append(arns, try[aws.Policy](t)(admin.CreatePolicy(context.Background(), aws.Policy{Name: p.Name, Document: p.Document})).ARN)
	}
	return awstest.Clients(t, cloud, cloud.IAM.SeedUser("daemon", arns...))
}

// The policies allow what is asked about a launch; without one of the actions EC2 says so,
// and nothing is made by asking.
func TestSim_ALaunchIsAskedAboutWithoutLaunching(t *testing.T) {
	for _, x := range []struct {
		missing  string
		existing bool // a launch template
	}{
		{"", true},
		{"ec2:CreateLaunchTemplate", true},
		{"ec2:CreateFleet", true},
		{"", false},
		{"ec2:CreateLaunchTemplate", false},
		{"ec2:RunInstances", false},
		{"iam:PassRole", false},
	} {
		ctx := context.Background()
		cloud, admin := start(t)
		r := launchable(t, cloud, admin, admin)
		c := daemonOf(t, cloud, admin, x.missing)
		groups, encrypted := try[[]aws.SecurityGroup](t)(admin.SecurityGroups(ctx, []aws.Selector{{Name: "*"}})), true
		trial := aws.Trial{
			InstanceType: "m5.large", Subnets: []string{r.Overrides[0].SubnetID, r.Overrides[2].SubnetID}, Tags: owner.InstanceTags(nil, "any", "any"),
			Template: awsspec.LaunchTemplate{
				ImageID: r.Overrides[0].ImageID, InstanceProfile: "node", SecurityGroupIDs: []string{groups[0].ID}, Tags: owner.Tags(nil),
				BlockDevices: []awsspec.BlockDevice{{DeviceName: "/dev/xvda", SizeGiB: 20, Type: "gp3", Encrypted: &encrypted}},
			},
		}
		if x.existing {
			trial.Existing = r.LaunchTemplate
		}
		err := c.MayLaunch(ctx, trial)
		var refused *aws.UnauthorizedError
		if errors.As(err, &refused) != (x.missing != "") || refused != nil && refused.Action != x.missing || x.missing == "" && err != nil {
			t.Errorf("%+v: %v", x, err)
		}
		if instances := try[[]aws.Instance](t)(admin.Instances(ctx, map[string]string{awsspec.TagNodePool: "*"})); len(instances) > 0 {
			t.Errorf("%+v: instances %+v", x, instances)
		}
		if templates := try[[]string](t)(admin.LaunchTemplates(ctx, map[string]string{awsspec.TagNodePool: "*"})); len(templates) != 1 {
			t.Errorf("%+v: templates %q, want the one that was there", x, templates)
		}
		trial.Template.InstanceProfile, trial.Named = "young", true
		for _, trial.Existing = range []string{r.LaunchTemplate, ""} {
			if err := admin.MayLaunch(ctx, trial); !errors.Is(err, aws.ErrProfileUnknown) {
				t.Errorf("a profile that EC2 does not know, with launch template %q: %v", trial.Existing, err)
			}
		}
		cloud.Faults().Inject(awssim.Fault{Service: "iam", Action: "AddRoleToInstanceProfile", Code: "ServiceFailure", Status: 400, Times: 1})
		if half, err := admin.CreateInstanceProfile(ctx, aws.InstanceProfile{Name: "empty", Path: "/", Role: "node"}); err == nil || half.ID == "" {
			t.Fatalf("made %+v: %v", half, err)
		}
		trial.Template.InstanceProfile = "empty"
		if err := admin.MayLaunch(ctx, trial); !errors.Is(err, aws.ErrProfileEmpty) {
			t.Errorf("a profile without a role: %v", err)
		}
	}
}

// Types that need other user data are launched by one request all the same.
func TestSim_AnInstanceHasTheTemplateOfItsOverride(t *testing.T) {
	cloud, admin := start(t)
	c := daemonOf(t, cloud, admin)
	ctx := context.Background()
	r := launchable(t, cloud, admin, c)
	groups := try[[]aws.SecurityGroup](t)(admin.SecurityGroups(ctx, []aws.Selector{{Name: "*"}}))
	other := try[string](t)(c.EnsureLaunchTemplate(ctx, awsspec.LaunchTemplate{
		ImageID: r.Overrides[0].ImageID, InstanceProfile: "node", SecurityGroupIDs: []string{groups[0].ID}, UserData: "other", Spot: true, Tags: owner.Tags(nil),
	}))
	for i := range r.Overrides {
		if r.Overrides[i].InstanceType == "m5.xlarge" {
			r.Overrides[i].LaunchTemplate = other
		}
	}
	try[aws.Launched](t)(c.Launch(ctx, r))
	r.Overrides, r.ClientToken = r.Overrides[1:2], awsspec.ClientToken("uid", 2)
	try[aws.Launched](t)(c.Launch(ctx, r))
	seen := map[string]bool{}
	for _, i := range cloud.EC2.Instances() {
		if want := map[string]string{"m5.large": "hello", "m5.xlarge": "other"}[i.Type]; i.UserData != want {
			t.Errorf("%s has user data %q, want %q", i.Type, i.UserData, want)
		}
		seen[i.Type] = true
	}
	if !seen["m5.xlarge"] {
		t.Errorf("launched %v", seen)
	}
}

func TestSim_InstanceLifeWithTheDaemonsPermissions(t *testing.T) {
	cloud, admin := start(t)
	c := daemonOf(t, cloud, admin)
	ctx := context.Background()
	r := launchable(t, cloud, admin, c)

	got := try[aws.Launched](t)(c.Launch(ctx, r))
	if got.InstanceID == "" || got.InstanceType == "" || got.Zone == "" || got.SubnetID == "" || got.ImageID != r.Overrides[0].ImageID || got.CapacityType != "spot" {
		t.Errorf("got %+v", got)
	}
	if again := try[aws.Launched](t)(c.Launch(ctx, r)); again.InstanceID != got.InstanceID {
		t.Errorf("the same token launched %s and %s", got.InstanceID, again.InstanceID)
	}
	other := r
	other.Overrides = r.Overrides[:1]
	if _, err := c.Launch(ctx, other); !errors.Is(err, aws.ErrIdempotentParameterMismatch) {
		t.Errorf("the token with other parameters: %v", err)
	}

	mine := map[string]string{awsspec.TagNodeClaimUID: "uid", awsspec.TagNodePool: "*"}
	instances := try[[]aws.Instance](t)(c.Instances(ctx, mine))
	if len(instances) != 1 || instances[0].ID != got.InstanceID || instances[0].CapacityType != "spot" || instances[0].Gone() {
		t.Fatalf("got %+v", instances)
	}
	instance := try[aws.Instance](t)(c.Instance(ctx, got.InstanceID))
	if instance.Tags[awsspec.TagNodeClaimUID] != "uid" || instance.Type != got.InstanceType || instance.Zone != got.Zone ||
		instance.SubnetID != got.SubnetID || instance.ImageID != got.ImageID || len(instance.SecurityGroupIDs) != 1 || instance.SecurityGroupIDs[0] == "" {
		t.Errorf("got %+v", instance)
	}
	if err := c.NameInstance(ctx, got.InstanceID, "node-1"); err != nil || try[aws.Instance](t)(c.Instance(ctx, got.InstanceID)).Tags["Name"] != "node-1" {
		t.Errorf("the instance's name: %v", err)
	}
	if _, err := c.Instance(ctx, "i-00000000000000000"); !errors.Is(err, aws.ErrNotFound) {
		t.Errorf("an instance that does not exist: %v", err)
	}
	for range 2 {
		if err := c.Terminate(ctx, got.InstanceID, "i-00000000000000000"); err != nil {
			t.Errorf("terminate: %v", err)
		}
	}
	if instance := try[aws.Instance](t)(c.Instance(ctx, got.InstanceID)); !instance.Gone() {
		t.Errorf("after the terminate: %+v", instance)
	}

	templates := try[[]string](t)(c.LaunchTemplates(ctx, map[string]string{awsspec.TagClusterName: "lab", awsspec.TagNodeClass: "default"}))
	if len(templates) != 1 || templates[0] != r.LaunchTemplate {
		t.Errorf("templates %v", templates)
	}
	for range 2 {
		if err := c.DeleteLaunchTemplate(ctx, r.LaunchTemplate); err != nil {
			t.Errorf("delete template: %v", err)
		}
	}
	r.ClientToken = awsspec.ClientToken("uid", 2)
	if _, err := c.Launch(ctx, r); !errors.Is(err, aws.ErrLaunchTemplateNotFound) {
		t.Errorf("a launch without its template: %v", err)
	}
}

func TestSim_LackOfCapacityNamesItsOfferings(t *testing.T) {
	cloud, c := start(t)
	ctx := context.Background()
	r := launchable(t, cloud, c, c)
	for _, kind := range []string{"m5.large", "m5.xlarge"} {
		cloud.EC2.SetCapacity("spot", kind, "us-west-2a", 0)
		cloud.EC2.SetCapacity("spot", kind, "us-west-2b", 0)
	}
	_, err := c.Launch(ctx, r)
	var lack *aws.InsufficientCapacityError
	if !errors.As(err, &lack) || len(lack.Offerings) == 0 {
		t.Fatalf("got %v", err)
	}
	for _, o := range lack.Offerings {
		if o.InstanceType == "" || o.Zone == "" || o.CapacityType != "spot" || o.Code != "InsufficientInstanceCapacity" {
			t.Errorf("offering %+v", o)
		}
	}
	cloud.EC2.SetCapacity("spot", "m5.xlarge", "us-west-2b", 5)
	if _, err := c.Launch(ctx, r); !errors.As(err, &lack) {
		t.Errorf("the same token after capacity came back: %v; EC2 replays the failure", err)
	}
	r.ClientToken = awsspec.ClientToken("uid", 2)
	got := try[aws.Launched](t)(c.Launch(ctx, r))
	if got.InstanceType != "m5.xlarge" || got.Zone != "us-west-2b" {
		t.Errorf("got %+v", got)
	}
}

func TestSim_AnAnswerThatWasLostIsGivenAgain(t *testing.T) {
	cloud, c := start(t)
	r := launchable(t, cloud, c, c)
	cloud.Faults().Inject(awssim.Fault{Service: "ec2", Action: "CreateFleet", DropResponse: true, Times: 1})
	got := try[aws.Launched](t)(c.Launch(context.Background(), r))
	if n := len(cloud.EC2.Instances()); n != 1 || cloud.EC2.Instances()[0].ID != got.InstanceID {
		t.Errorf("%d instances, launched %+v", n, got)
	}
}

func TestSim_TheDaemonMayReadWhatItDecidesBy(t *testing.T) {
	cloud, admin := start(t)
	ctx := t.Context()
	cloud.CreateCluster(ekssim.Cluster{Name: "lab", Version: "1.36"})
	queue := try[aws.Queue](t)(admin.CreateQueue(ctx, aws.Queue{Name: "lab"}))
	c := daemonOf(t, cloud, admin)
	r := launchable(t, cloud, admin, c)
	parameter := "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id"
	cloud.SSM.Seed(parameter, r.Overrides[0].ImageID)

	try[aws.Cluster](t)(c.Cluster(ctx, "lab"))
	if subnets := try[[]aws.Subnet](t)(c.Subnets(ctx, []aws.Selector{{ID: r.Overrides[0].SubnetID}})); len(subnets) != 1 {
		t.Errorf("subnets %+v", subnets)
	}
	try[[]aws.SecurityGroup](t)(c.SecurityGroups(ctx, []aws.Selector{{Name: "none"}}))
	if images := try[[]aws.Image](t)(c.Images(ctx, []aws.ImageSelector{{ID: try[string](t)(c.Parameter(ctx, parameter))}})); len(images) != 1 {
		t.Errorf("images %+v", images)
	}
	try[aws.InstanceProfile](t)(c.GetInstanceProfile(ctx, "node"))
	if url := try[string](t)(c.QueueURL(ctx, "lab")); url != queue.URL {
		t.Errorf("queue at %s, want %s", url, queue.URL)
	}
	if _, err := c.GetRole(ctx, "node"); !errors.Is(err, aws.ErrUnauthorized) {
		t.Errorf("the daemon may read roles too: %v", err)
	}
}

// Karpenter's instances lack the tags of a NodeClaim that the daemon finds instances by. The
// daemon may set them on what was launched for this cluster, and on nothing else.
func TestSim_OnlyInstancesOfTheClusterGetTheTagsOfANodeClaim(t *testing.T) {
	karpenters := owner.Tags(nil)
	for name, x := range map[string]struct {
		tags    map[string]string
		allowed bool
	}{
		"Karpenter's":             {karpenters, true},
		"of the alpha generation": {map[string]string{awsspec.TagClusterPrefix + owner.Cluster: awsspec.TagOwned, "karpenter.sh/provisioner-name": "default"}, false},
		"of a node group":         {map[string]string{awsspec.TagClusterPrefix + owner.Cluster: awsspec.TagOwned}, false},
		"of another cluster":      {awsspec.Owner{Cluster: "other", NodePool: "p", NodeClass: "c"}.Tags(nil), false},
		"of nobody":               {map[string]string{"team": "a"}, false},
	} {
		ctx := context.Background()
		cloud, admin := start(t)
		r := launchable(t, cloud, admin, admin)
		c := daemonOf(t, cloud, admin)
		r.Tags = x.tags
		made := try[aws.Launched](t)(admin.Launch(ctx, r))
		err := c.OwnInstance(ctx, made.InstanceID, "claim", "uid")
		if x.allowed != (err == nil) || !x.allowed && !errors.Is(err, aws.ErrUnauthorized) {
			t.Errorf("%s: %v", name, err)
		}
		tags := try[aws.Instance](t)(admin.Instance(ctx, made.InstanceID)).Tags
		if (tags[awsspec.TagNodeClaimUID] == "uid" && tags[awsspec.TagNodeClaim] == "claim") != x.allowed {
			t.Errorf("%s: tags %v", name, tags)
		}
	}
}
