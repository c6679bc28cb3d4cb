package ec2sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/iamsim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

const (
	controllerRole = "arn:aws:iam::123456789012:role/controller"
	nodeRole       = "arn:aws:iam::123456789012:role/nodes"
	trustEC2       = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`
)

// guarded is a cloud whose IAM is the simulated one, called by a role that has
// the controller's own policies.
func guarded(t *testing.T) *cloud {
	t.Helper()
	iam := iamsim.New(iamsim.Config{Account: "123456789012", Now: time.Now})
	admin := iam.SeedUser("admin", iamsim.AdministratorAccess).Identity
	do := func(action string, pairs ...string) {
		form := url.Values{"Action": {action}}
		for i := 0; i < len(pairs); i += 2 {
			form.Set(pairs[i], pairs[i+1])
		}
		if _, err := iam.Serve(context.Background(), &wire.Request{Service: "iam", Action: action, Form: form, Identity: admin}); err != nil {
			t.Fatalf("%s: %v", action, err)
		}
	}
	for _, name := range []string{"nodes", "controller"} {
		do("CreateRole", "RoleName", name, "AssumeRolePolicyDocument", trustEC2)
	}
	do("CreateInstanceProfile", "InstanceProfileName", "nodes")
	do("AddRoleToInstanceProfile", "InstanceProfileName", "nodes", "RoleName", "nodes")
	for _, p := range awsspec.ControllerPolicies(awsspec.ControllerPolicyInput{Partition: "aws", Region: "us-west-2", Account: "123456789012", Cluster: "lab", NodeRoleARNs: []string{nodeRole}}) {
		do("PutRolePolicy", "RoleName", "controller", "PolicyName", p.Name, "PolicyDocument", p.Document)
	}
	c := newCloud(t, func(cfg *Config) {
		cfg.Auth = iam
		cfg.ResolveProfile = func(name string) (Profile, error) {
			p, err := iam.Profile(name)
			return Profile{Name: p.Name, ARN: p.ARN, ID: p.ID, RoleARN: p.RoleARN}, err
		}
	})
	c.caller = wire.Identity{ARN: "arn:aws:sts::123456789012:assumed-role/controller/s", Account: "123456789012", Principal: controllerRole}
	return c
}

// owned are the parameters that tag one resource type as the product does.
func owned(prefix, kind string) []string {
	pairs := []string{prefix + ".ResourceType", kind}
	for n, pair := range [][2]string{{"kubernetes.io/cluster/lab", "owned"}, {"eks:eks-cluster-name", "lab"}, {"karpenter.sh/nodepool", "default"}} {
		at := prefix + ".Tag." + string(rune('1'+n))
		pairs = append(pairs, at+".Key", pair[0], at+".Value", pair[1])
	}
	return pairs
}

func TestIAM_ControllersPolicyAllowsItsLaunchAndNoOther(t *testing.T) {
	c := guarded(t)
	c.template("lt-a", append(owned("TagSpecification.1", "launch-template"), owned("LaunchTemplateData.TagSpecification.1", "network-interface")...)...)
	pairs := append(c.overrides("m5.large@a"), "TargetCapacitySpecification.TotalTargetCapacity", "1")
	for n, kind := range []string{"fleet", "instance", "volume"} {
		pairs = append(pairs, owned("TagSpecification."+string(rune('1'+n)), kind)...)
	}
	answer := do[fleetAnswer](c, "CreateFleet", pairs...)
	if launched(answer) != "m5.large@a x1" {
		t.Fatalf("launched %q, errors %+v", launched(answer), answer.Errors)
	}
	mine := answer.Instances[0].IDs[0]

	c.refused("UnauthorizedOperation", "CreateFleet", append(pairs, "TagSpecification.1.Tag.1.Value", "shared")...)
	c.refused("UnauthorizedOperation", "CreateLaunchTemplate", "LaunchTemplateName", "lt-b", "LaunchTemplateData.ImageId", c.amd64)
	bare := do[fleetAnswer](c, "CreateFleet", append(pairs, "TagSpecification.2.Tag.3.Key", "team")...)
	if len(bare.Instances) != 0 || errorCodes(bare)[0] != "UnauthorizedOperation" {
		t.Errorf("an instance without the product's tags was launched: %+v", bare)
	}
	c.refused("UnauthorizedOperation", "DescribeVolumes")

	controller := c.caller
	c.caller = wire.Identity{Account: "123456789012", Principal: "arn:aws:iam::123456789012:user/admin"}
	foreign := do[reservationItem](c, "RunInstances", "MinCount", "1", "MaxCount", "1", "InstanceType", "m5.large", "ImageId", c.amd64, "SubnetId", c.vpc.SubnetIDs[0]).Instances[0].ID
	c.caller = controller
	c.refused("UnauthorizedOperation", "TerminateInstances", "InstanceId.1", foreign)
	c.refused("UnauthorizedOperation", "TerminateInstances", "InstanceId.1", mine, "InstanceId.2", foreign)
	do[terminateAnswer](c, "TerminateInstances", "InstanceId.1", mine)
}

// ownedFleet are the parameters of a fleet of one instance, all of whose things have the
// product's tags.
func ownedFleet(c *cloud, capacityType string) []string {
	pairs := append(c.overrides("m5.large@a"), "TargetCapacitySpecification.TotalTargetCapacity", "1", "TargetCapacitySpecification.DefaultTargetCapacityType", capacityType)
	for n, kind := range []string{"fleet", "instance", "volume"} {
		pairs = append(pairs, owned("TagSpecification."+string(rune('1'+n)), kind)...)
	}
	return pairs
}

// ownedTemplate makes a template with the product's tags on all that it is for.
func ownedTemplate(c *cloud, more ...string) {
	pairs := append(owned("TagSpecification.1", "launch-template"), owned("LaunchTemplateData.TagSpecification.1", "network-interface")...)
	c.template("lt-a", append(pairs, more...)...)
}

func TestIAM_IsAskedAboutEveryResourceOfALaunch(t *testing.T) {
	const run, fleet, tags = "ec2:RunInstances", "ec2:CreateFleet", "ec2:CreateTags"
	uses, makes := []string{"image", "subnet", "security-group", "launch-template"}, []string{"instance", "volume", "network-interface"}
	withSnapshot := []string{"LaunchTemplateData.BlockDeviceMapping.1.Ebs.SnapshotId", "snap-0123456789abcdef0"}
	for name, c := range map[string]struct {
		capacityType string
		data         []string
		reserved     bool
		also         map[string][]string
	}{
		"on demand":       {capacityType: onDemand},
		"from a snapshot": {capacityType: onDemand, data: withSnapshot, also: map[string][]string{run: {"snapshot"}, fleet: {"snapshot"}}},
		"reserved":        {capacityType: onDemand, reserved: true, also: map[string][]string{run: {"capacity-reservation"}, fleet: {"capacity-reservation"}}},
		"spot": {
			capacityType: spot, data: owned("LaunchTemplateData.TagSpecification.2", "spot-instances-request"),
			also: map[string][]string{run: {"spot-instances-request"}, tags: {"spot-instances-request"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := newCloud(t)
			data := c.data
			if c.reserved {
				data = in(cloud.SeedReservation(Reservation{InstanceType: "m5.large", Zone: "us-west-2a", Count: 1, OwnerID: "210987654321"}))
			}
			ownedTemplate(cloud, data...)
			cloud.asked = nil
			if answer := do[fleetAnswer](cloud, "CreateFleet", ownedFleet(cloud, c.capacityType)...); len(answer.Instances) != 1 {
				t.Fatalf("%+v", answer)
			}
			got := map[string][]string{}
			for _, a := range cloud.asked {
				for _, r := range a.Resources {
					parts := strings.SplitN(r.ARN, ":", 6)
					kind, _, _ := strings.Cut(parts[5], "/")
					if kind == "capacity-reservation" && parts[4] != "210987654321" {
						t.Errorf("the reservation of another account is %s", r.ARN)
					}
					if !slices.Contains(got[a.Action], kind) {
						got[a.Action] = append(got[a.Action], kind)
					}
				}
			}
			want := map[string][]string{
				run: slices.Concat(uses, makes), fleet: slices.Concat(uses, []string{"fleet", "instance", "volume"}),
				tags: {"fleet", "instance", "volume", "network-interface"}, "iam:PassRole": {"role"},
			}
			for action, kinds := range c.also {
				want[action] = append(want[action], kinds...)
			}
			for action := range want {
				slices.Sort(want[action])
				slices.Sort(got[action])
			}
			if !maps.EqualFunc(got, want, slices.Equal) {
				t.Errorf("asked\n%v\nwant\n%v", got, want)
			}
		})
	}
}

func TestIAM_ControllersPolicyAllowsEachKindOfLaunch(t *testing.T) {
	for name, c := range map[string]struct {
		capacityType string
		data         []string
		reserved     bool
	}{
		"from a snapshot": {capacityType: onDemand, data: []string{"LaunchTemplateData.BlockDeviceMapping.1.Ebs.SnapshotId", "snap-0123456789abcdef0"}},
		"reserved":        {capacityType: onDemand, reserved: true},
		"spot":            {capacityType: spot, data: owned("LaunchTemplateData.TagSpecification.2", "spot-instances-request")},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := guarded(t)
			data := c.data
			if c.reserved {
				data = in(cloud.SeedReservation(Reservation{InstanceType: "m5.large", Zone: "us-west-2a", Count: 1, OwnerID: "210987654321"}))
			}
			ownedTemplate(cloud, data...)
			if answer := do[fleetAnswer](cloud, "CreateFleet", ownedFleet(cloud, c.capacityType)...); len(answer.Instances) != 1 {
				t.Errorf("%+v", answer.Errors)
			}
		})
	}
}

// Accounts deny launches by the condition keys of EC2, in boundaries and in policies of their
// organization.
func TestIAM_ADenialByAConditionKeyHolds(t *testing.T) {
	for key, value := range map[string]string{
		"ec2:InstanceType": "m5.*", "ec2:InstanceMarketType": "on-demand", "ec2:InstanceProfile": "*:instance-profile/nodes", "ec2:AvailabilityZone": "us-west-2a",
		"ec2:Tenancy": "default", "ec2:EbsOptimized": "false", "ec2:RootDeviceType": "ebs", "ec2:MetadataHttpTokens": "optional", "ec2:MetadataHttpEndpoint": "enabled",
		"ec2:VolumeSize": "30", "ec2:VolumeType": "gp3", "ec2:Encrypted": "false", "ec2:ParentSnapshot": "*/snap-0123456789abcdef0",
		"ec2:Subnet": "*:subnet/*", "ec2:Vpc": "*:vpc/*", "ec2:AssociatePublicIpAddress": "true",
		"ec2:Owner": "amazon", "ec2:Public": "true", "ec2:ImageType": "machine", "ec2:LaunchTemplate": "*:launch-template/lt-*", "ec2:Region": "us-west-2",
		"aws:RequestTag/karpenter.sh/nodepool": "default", "aws:ResourceTag/karpenter.sh/nodepool": "default", "ec2:ResourceTag/karpenter.sh/nodepool": "default",
	} {
		for _, action := range []string{"ec2:RunInstances", "ec2:CreateFleet"} {
			if action == "ec2:CreateFleet" && (key == "ec2:Subnet" || key == "ec2:AssociatePublicIpAddress") {
				continue // of network interfaces, for which a fleet has no tags of its own
			}
			cloud := guarded(t)
			ownedTemplate(cloud,
				"LaunchTemplateData.BlockDeviceMapping.1.Ebs.SnapshotId", "snap-0123456789abcdef0", "LaunchTemplateData.MetadataOptions.HttpTokens", "optional",
				"LaunchTemplateData.NetworkInterface.1.AssociatePublicIpAddress", "true")
			iam, _ := cloud.cfg.Auth.(*iamsim.Service)
			form := url.Values{"Action": {"PutRolePolicy"}, "RoleName": {"controller"}, "PolicyName": {"deny"}, "PolicyDocument": {fmt.Sprintf(
				`{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":%q,"Resource":"*","Condition":{"StringLike":{%q:%q}}}]}`, action, key, value)}}
			if _, err := iam.Serve(t.Context(), &wire.Request{Service: "iam", Action: "PutRolePolicy", Form: form, Identity: iam.SeedUser("other", iamsim.AdministratorAccess).Identity}); err != nil {
				t.Fatal(err)
			}
			answer, err := cloud.call("CreateFleet", ownedFleet(cloud, onDemand)...)
			var refused *wire.Error
			if fleet, ok := answer.(fleetAnswer); ok && len(fleet.Instances) > 0 || err != nil && (!errors.As(err, &refused) || refused.Code != "UnauthorizedOperation") {
				t.Errorf("%s is denied where %s is like %s, and was allowed: %+v, %v", action, key, value, answer, err)
			}
		}
	}
}

func TestIAM_TerminationsAreDeniedByTheKeysOfTheInstance(t *testing.T) {
	cloud := newCloud(t)
	ownedTemplate(cloud)
	id := do[fleetAnswer](cloud, "CreateFleet", ownedFleet(cloud, onDemand)...).Instances[0].IDs[0]
	do[terminateAnswer](cloud, "TerminateInstances", "InstanceId.1", id)
	asked := cloud.asks("ec2:TerminateInstances", ":instance/"+id)
	for key, want := range map[string]string{"ec2:InstanceType": "m5.large", "ec2:AvailabilityZone": "us-west-2a", "ec2:RootDeviceType": "ebs", "ec2:Tenancy": "default"} {
		if got := asked.Conditions[key]; !slices.Equal(got, []string{want}) {
			t.Errorf("%s is %v, want %s", key, got, want)
		}
	}
	if asked.Resources[0].Tags["karpenter.sh/nodepool"] != "default" {
		t.Errorf("IAM does not see the tags of the instance: %v", asked.Resources)
	}
}
