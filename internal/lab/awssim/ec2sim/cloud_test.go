package ec2sim

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// cloud is a service with a VPC of three zones, an image for each architecture
// and a recorder of what it asked IAM and told the bus.
type cloud struct {
	*Service
	t      *testing.T
	vpc    VPC
	amd64  string
	arm64  string
	refuse func(wire.Access) bool // nil: nothing
	caller wire.Identity

	mu     sync.Mutex
	asked  []wire.Access
	events []wire.Event
}

func testTypes() Offered {
	sold := func(name, arch string, vcpu int, mib int64, cents int64, zones ...string) Type {
		if len(zones) == 0 {
			zones = []string{"us-west-2a", "us-west-2b", "us-west-2c"}
		}
		t := Type{Zones: zones, OnDemand: quantity.Money(cents) * quantity.NanoDollars / 100, Spot: map[string]quantity.Money{}}
		t.Fact = catalog.Fact{
			Name: name, Arch: arch, VCPU: vcpu, MemoryMiB: mib, CPUManufacturer: "intel", ClockMHz: 3100, Hypervisor: "nitro",
			CurrentGeneration: true, ENIs: 3, IPv4PerENI: 10, EBSMbps: 4750, NetworkMbps: 750, UsageClasses: []string{"on-demand", "spot"},
		}
		for i, zone := range zones { // later zones are dearer
			t.Spot[zone] = t.OnDemand * quantity.Money(30+i) / 100
		}
		return t
	}
	zones := []Zone{{"us-west-2a", "usw2-az1"}, {"us-west-2b", "usw2-az2"}, {"us-west-2c", "usw2-az3"}}
	return Offered{zones, []Type{
		sold("m5.large", "amd64", 2, 8192, 10), sold("m5.xlarge", "amd64", 4, 16384, 20), sold("c5.large", "amd64", 2, 4096, 9),
		sold("m6g.large", "arm64", 2, 8192, 8), sold("r5.large", "amd64", 2, 16384, 13, "us-west-2a"),
	}}
}

func newCloud(t *testing.T, change ...func(*Config)) *cloud {
	t.Helper()
	c := &cloud{t: t}
	cfg := Config{
		Region: "us-west-2", Account: "123456789012", Offered: testTypes(), Auth: c, Seed: 7,
		Emit: func(_ context.Context, e wire.Event) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.events = append(c.events, e)
		},
		ResolveProfile: func(name string) (Profile, error) {
			switch name {
			case "nodes":
				return Profile{"nodes", "arn:aws:iam::123456789012:instance-profile/nodes", "AIPA1", "arn:aws:iam::123456789012:role/nodes"}, nil
			case "empty":
				return Profile{Name: "empty", ARN: "arn:aws:iam::123456789012:instance-profile/empty"}, nil
			}
			return Profile{}, errors.New("no such profile")
		},
	}
	for _, fn := range change {
		fn(&cfg)
	}
	c.Service = New(cfg)
	t.Cleanup(c.Close)
	c.vpc = c.SeedVPC("10.0.0.0/16", []string{"us-west-2a", "us-west-2b", "us-west-2c"})
	c.amd64 = c.SeedImage(Image{Name: "al2023-x86_64", Arch: "amd64"})
	c.arm64 = c.SeedImage(Image{Name: "al2023-arm64", Arch: "arm64"})
	return c
}

// Authorize records the question.
func (c *cloud) Authorize(_ context.Context, _ *wire.Request, access wire.Access) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, access)
	if c.refuse != nil && c.refuse(access) {
		return &wire.Error{Code: "UnauthorizedOperation", Message: "You are not authorized to perform this operation: " + access.Action, Status: 403}
	}
	return nil
}

// call serves an action; pairs are parameter names and values in turn.
func (c *cloud) call(action string, pairs ...string) (any, error) {
	form := url.Values{"Action": {action}, "Version": {"2016-11-15"}}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return c.Serve(context.Background(), &wire.Request{Service: "ec2", Action: action, Region: "us-west-2", Form: form, Identity: c.caller})
}

// do is call for actions that must succeed.
func do[T any](c *cloud, action string, pairs ...string) T {
	c.t.Helper()
	answer, err := c.call(action, pairs...)
	if err != nil {
		c.t.Fatalf("%s %v: %v", action, pairs, err)
	}
	return answer.(T)
}

// refused is call for actions that must fail with the code.
func (c *cloud) refused(code, action string, pairs ...string) {
	c.t.Helper()
	_, err := c.call(action, pairs...)
	var known *wire.Error
	if !errors.As(err, &known) || known.Code != code {
		c.t.Errorf("%s %v: got error %v, want code %s", action, pairs, err, code)
	}
}

// template makes a launch template as the daemon would, with further data.
func (c *cloud) template(name string, data ...string) {
	c.t.Helper()
	pairs := []string{
		"LaunchTemplateName", name,
		"TagSpecification.1.ResourceType", "launch-template", "TagSpecification.1.Tag.1.Key", "karpenter.sh/nodepool", "TagSpecification.1.Tag.1.Value", "default",
		"LaunchTemplateData.IamInstanceProfile.Name", "nodes", "LaunchTemplateData.UserData", base64.StdEncoding.EncodeToString([]byte("hello")),
		"LaunchTemplateData.ImageId", c.amd64, "LaunchTemplateData.NetworkInterface.1.DeviceIndex", "0",
		"LaunchTemplateData.NetworkInterface.1.SecurityGroupId.1", c.vpc.ClusterSecurityGroupID,
		"LaunchTemplateData.BlockDeviceMapping.1.DeviceName", "/dev/xvda", "LaunchTemplateData.BlockDeviceMapping.1.Ebs.VolumeSize", "30",
		"LaunchTemplateData.TagSpecification.1.ResourceType", "network-interface",
		"LaunchTemplateData.TagSpecification.1.Tag.1.Key", "team", "LaunchTemplateData.TagSpecification.1.Tag.1.Value", "a",
	}
	do[templateAnswer](c, "CreateLaunchTemplate", append(pairs, data...)...)
}

// overrides are the parameters of a fleet request with type@zone pools.
func (c *cloud) overrides(pools ...string) []string {
	pairs := []string{
		"Type", "instant", "LaunchTemplateConfigs.1.LaunchTemplateSpecification.LaunchTemplateName", "lt-a",
		"LaunchTemplateConfigs.1.LaunchTemplateSpecification.Version", "$Latest",
		"TagSpecification.1.ResourceType", "instance", "TagSpecification.1.Tag.1.Key", "karpenter.sh/nodepool", "TagSpecification.1.Tag.1.Value", "default",
		"TagSpecification.2.ResourceType", "fleet", "TagSpecification.2.Tag.1.Key", "karpenter.sh/nodepool", "TagSpecification.2.Tag.1.Value", "default",
	}
	for n, pool := range pools {
		name, zone, _ := strings.Cut(pool, "@")
		prefix := fmt.Sprintf("LaunchTemplateConfigs.1.Overrides.%d.", n+1)
		pairs = append(pairs, prefix+"InstanceType", name, prefix+"SubnetId", c.vpc.SubnetIDs[zone[0]-'a'], prefix+"Priority", fmt.Sprint(len(pools)-n))
	}
	return pairs
}

func (c *cloud) fleet(capacityType, strategy string, target int, pools []string, more ...string) fleetAnswer {
	c.t.Helper()
	option := "OnDemandOptions.AllocationStrategy"
	if capacityType == spot {
		option = "SpotOptions.AllocationStrategy"
	}
	pairs := append(c.overrides(pools...), "TargetCapacitySpecification.TotalTargetCapacity", fmt.Sprint(target),
		"TargetCapacitySpecification.DefaultTargetCapacityType", capacityType, option, strategy)
	return do[fleetAnswer](c, "CreateFleet", append(pairs, more...)...)
}

// launched names the pools of the answer as type@zone x count.
func launched(answer fleetAnswer) string {
	var out []string
	for _, i := range answer.Instances {
		out = append(out, fmt.Sprintf("%s@%s x%d", i.InstanceType, i.Zone[len(i.Zone)-1:], len(i.IDs)))
	}
	return strings.Join(out, " ")
}

func errorCodes(answer fleetAnswer) []string {
	var out []string
	for _, e := range answer.Errors {
		out = append(out, e.Code)
	}
	return out
}

func (c *cloud) asks(action, arnPart string) *wire.Access {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range slices.Backward(c.asked) {
		if a.Action == action && slices.ContainsFunc(a.Resources, func(r wire.Resource) bool { return strings.Contains(r.ARN, arnPart) }) {
			return &a
		}
	}
	return nil
}
