package ec2sim

import (
	"context"
	"net/url"
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
