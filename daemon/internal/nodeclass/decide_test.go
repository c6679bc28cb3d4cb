package nodeclass

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
)

func at(minute int) time.Time { return time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC) }

func class() *awsv1.EC2NodeClass {
	discovery := map[string]string{"karpenter.sh/discovery": "lab"}
	return &awsv1.EC2NodeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "u", Generation: 3, ResourceVersion: "7"},
		Spec: awsv1.EC2NodeClassSpec{
			SubnetSelectorTerms:        []awsv1.SubnetSelectorTerm{{Tags: discovery}, {ID: "subnet-9"}},
			SecurityGroupSelectorTerms: []awsv1.SecurityGroupSelectorTerm{{Tags: discovery}, {Name: "nodes"}},
			AMISelectorTerms:           []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}},
			InstanceProfile:            "node",
		},
	}
}

func clusterFacts() facts {
	return facts{region: "us-west-2", cluster: family.Cluster{
		Kubernetes: "1.36",
		Name:       "lab", Endpoint: "https://lab.example", CertificateAuthority: []byte("pem"), ServiceCIDR: "10.100.0.0/16",
	}}
}

func found() observation {
	return observation{
		subnets: []aws.Subnet{{ID: "subnet-b", Zone: "us-west-2b", ZoneID: "usw2-az2", FreeIPs: 9, PublicIPs: true}, {ID: "subnet-a", Zone: "us-west-2a", FreeIPs: 5}},
		groups:  []aws.SecurityGroup{{ID: "sg-1", Name: "nodes"}},
		images: []image{
			{Image: aws.Image{ID: "ami-2", Name: "new", Created: at(5)}, variant: family.Variant{Arch: "arm64", Kind: family.Standard}},
			{Image: aws.Image{ID: "ami-1", Name: "old", Created: at(1), Deprecated: at(9)}, variant: family.Variant{Arch: "amd64", Kind: family.Nvidia}},
		},
		profile: aws.InstanceProfile{Name: "node"},
	}
}

func TestDecide_FillsTheStatusOfAReadyClass(t *testing.T) {
	got := decide(class(), found(), clusterFacts(), at(10))
	want := awsv1.EC2NodeClassStatus{
		Subnets:         []awsv1.Subnet{{ID: "subnet-b", Zone: "us-west-2b", ZoneID: "usw2-az2", PublicIPs: true}, {ID: "subnet-a", Zone: "us-west-2a"}},
		SecurityGroups:  []awsv1.SecurityGroup{{ID: "sg-1", Name: "nodes"}},
		InstanceProfile: "node",
		AMIs: []awsv1.AMI{
			{ID: "ami-2", Name: "new", Requirements: []awsv1.AMIRequirement{
				{Key: "kubernetes.io/arch", Operator: "In", Values: []string{"arm64"}},
				{Key: "karpenter.k8s.aws/instance-gpu-count", Operator: "DoesNotExist"},
				{Key: "karpenter.k8s.aws/instance-accelerator-count", Operator: "DoesNotExist"},
			}},
			{ID: "ami-1", Name: "old", Deprecated: true, Requirements: []awsv1.AMIRequirement{
				{Key: "kubernetes.io/arch", Operator: "In", Values: []string{"amd64"}},
				{Key: "karpenter.k8s.aws/instance-gpu-count", Operator: "Exists"},
			}},
		},
	}
	conditions := got.Status.Conditions
	got.Status.Conditions = nil
	if diff := cmp.Diff(want, got.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	got.Status.Conditions = conditions
	if !got.Conditions().IsReady() {
		t.Errorf("not ready: %+v", conditions)
	}
}

// A class whose placement group is left out is as ready as before, and says what is left out.
func TestDecide_APlacementGroupKeepsNoClassFromBeingReady(t *testing.T) {
	for reason, selector := range map[string]*awsv1.PlacementGroupSelector{awsv1.ConditionPlacementGroupReady: nil, v1.ReasonUnsupportedField: {Name: "group"}} {
		c := class()
		c.Spec.PlacementGroupSelector = selector
		got := decide(c, found(), clusterFacts(), at(10))
		is, told := got.Conditions().Get(awsv1.ConditionPlacementGroupReady), got.Conditions().Get(v1.ConditionUnsupported).IsTrue()
		if !is.IsTrue() || is.Reason != reason || told != (selector != nil) || !got.Conditions().IsReady() {
			t.Errorf("selector %v: %+v, told: %v", selector, is, told)
		}
	}
}

// A daemon that is new does not make ready classes look as if they had just become so.
func TestDecide_AConditionThatIsNewDoesNotTouchReady(t *testing.T) {
	old := decide(class(), found(), clusterFacts(), at(10))
	old.Status.Conditions = slices.DeleteFunc(old.Status.Conditions, func(c v1.Condition) bool { return c.Type == awsv1.ConditionPlacementGroupReady })
	is := decide(old, found(), clusterFacts(), at(20)).Conditions().Get(v1.ConditionReady)
	if !is.IsTrue() || !is.LastTransitionTime.Time.Equal(at(10)) {
		t.Errorf("Ready is %+v, want as at %s", is, at(10))
	}
}

func TestDecide_NamesWhatIsWrongAndTheRemedy(t *testing.T) {
	refused := &aws.UnauthorizedError{Action: "ec2:DescribeSubnets", Principal: "arn:aws:sts::123456789012:assumed-role/daemon/s"}
	tests := []struct {
		name                       string
		change                     func(*awsv1.EC2NodeClass, *observation, *facts)
		condition, reason, message string
		status                     metav1.ConditionStatus
	}{
		{
			name:      "no subnet",
			change:    func(_ *awsv1.EC2NodeClass, o *observation, _ *facts) { o.subnets = nil },
			condition: awsv1.ConditionSubnetsReady, reason: "SubnetsNotFound",
			message: "spec.subnetSelectorTerms selected no subnet (tags karpenter.sh/discovery=lab; id subnet-9): correct the terms, or tag the subnets",
		},
		{
			name:      "no security group",
			change:    func(_ *awsv1.EC2NodeClass, o *observation, _ *facts) { o.groups = nil },
			condition: awsv1.ConditionSecurityGroupsReady, reason: "SecurityGroupsNotFound",
			message: "(tags karpenter.sh/discovery=lab; name nodes)",
		},
		{
			name:      "no image",
			change:    func(_ *awsv1.EC2NodeClass, o *observation, _ *facts) { o.images = nil },
			condition: awsv1.ConditionAMIsReady, reason: "AMINotFound",
			message: `alias "al2023@latest" has no image for Kubernetes 1.36 (SSM parameter /aws/service/eks/optimized-ami/1.36/`,
		},
		{
			name: "alias of another family",
			change: func(c *awsv1.EC2NodeClass, _ *observation, _ *facts) {
				c.Spec.AMISelectorTerms[0].Alias = "al2023@2026"
			},
			condition: awsv1.ConditionAMIsReady, reason: "UnsupportedAlias", message: "must be al2023@latest or al2023@v<release>",
		},
		{
			name: "a family without images",
			change: func(c *awsv1.EC2NodeClass, o *observation, _ *facts) {
				o.images, c.Spec.AMISelectorTerms[0].Alias = nil, "al2@latest"
			},
			condition: awsv1.ConditionAMIsReady, reason: "AMINotFound", message: `alias "al2@latest" has no image for Kubernetes 1.36 (SSM parameter /aws/service/eks/optimized-ami/1.36/amazon-linux-2/recommended/image_id and those of the other variants): no image of that family is published`,
		},
		{
			name: "user data of another family",
			change: func(c *awsv1.EC2NodeClass, _ *observation, _ *facts) {
				text := "#!/bin/bash\necho hello\n"
				c.Spec.AMIFamily, c.Spec.UserData = "Bottlerocket", &text
			},
			condition: awsv1.ConditionValidationSucceeded, reason: "UserDataInvalid", message: "write settings of Bottlerocket, such as [settings.kernel]",
		},
		{
			name: "no profile",
			change: func(_ *awsv1.EC2NodeClass, o *observation, _ *facts) {
				o.launchErr = fmt.Errorf("instance: %w", aws.ErrProfileUnknown)
			},
			condition: awsv1.ConditionInstanceProfileReady, reason: "InstanceProfileNotFound", message: `instance profile "node" does not exist: create it`,
		},
		{
			name:      "profile without role",
			change:    func(_ *awsv1.EC2NodeClass, o *observation, _ *facts) { o.launchErr = aws.ErrProfileEmpty },
			condition: awsv1.ConditionInstanceProfileReady, reason: "InstanceProfileNotFound", message: "has no role: add the node role",
		},
		{
			name:      "not allowed",
			change:    func(_ *awsv1.EC2NodeClass, o *observation, _ *facts) { o.subnets, o.subnetsErr = nil, refused },
			condition: awsv1.ConditionSubnetsReady, reason: "Unauthorized",
			message: "the daemon is not authorized to perform ec2:DescribeSubnets as arn:aws:sts::123456789012:assumed-role/daemon/s: allow that",
		},
		{
			name:      "a dependency is not ready",
			change:    func(_ *awsv1.EC2NodeClass, o *observation, _ *facts) { o.groups = nil },
			condition: awsv1.ConditionValidationSucceeded, reason: "DependenciesNotReady", message: "condition SecurityGroupsReady is False",
		},
		{
			name:      "a dependency is not known",
			change:    func(_ *awsv1.EC2NodeClass, o *observation, _ *facts) { o.groupsErr = aws.ErrThrottled },
			condition: awsv1.ConditionValidationSucceeded, reason: "DependenciesNotReady", status: metav1.ConditionUnknown, message: "waiting for AWS",
		},
		{
			name: "neither profile nor role",
			change: func(c *awsv1.EC2NodeClass, o *observation, _ *facts) {
				c.Spec.InstanceProfile, o.profile = "", aws.InstanceProfile{}
			},
			condition: awsv1.ConditionInstanceProfileReady, reason: "InstanceProfileNotFound", message: "spec.instanceProfile and spec.role: are missing: name the node role, or an instance profile with it",
		},
		{
			name: "no role",
			change: func(c *awsv1.EC2NodeClass, o *observation, _ *facts) {
				c.Spec.InstanceProfile, c.Spec.Role, o.profile.Role, o.profileErr = "", "team/nodes", "", aws.ErrNotFound
			},
			condition: awsv1.ConditionInstanceProfileReady, reason: "InstanceProfileNotFound", message: `spec.role: role "nodes" does not exist in this account: create it, or correct the name`,
		},
		{
			name: "no role's name",
			change: func(c *awsv1.EC2NodeClass, o *observation, _ *facts) {
				c.Spec.InstanceProfile, c.Spec.Role, o.profile = "", "nodes/", aws.InstanceProfile{}
			},
			condition: awsv1.ConditionInstanceProfileReady, reason: "InstanceProfileNotFound", message: `spec.role: role name ""`,
		},
		{
			name: "somebody else's profile has the name",
			change: func(c *awsv1.EC2NodeClass, o *observation, _ *facts) {
				c.Spec.InstanceProfile, c.Spec.Role, o.profile.Name = "", "nodes", "lab_1"
			},
			condition: awsv1.ConditionInstanceProfileReady, reason: "InstanceProfileConflict",
			message: `spec.role: instance profile "lab_1" has the name of the profile that the daemon makes of role "nodes", but not its tags: delete it if nobody needs it, or name a profile in spec.instanceProfile`,
		},
		{
			name:      "a role's name that IAM does not take",
			change:    func(c *awsv1.EC2NodeClass, _ *observation, _ *facts) { c.Spec.Role = "my nodes" },
			condition: awsv1.ConditionValidationSucceeded, reason: "UnsupportedField", message: "spec.role: no role has such a name: write the name of the role, or its ARN",
		},
		{
			name: "a tag that is not the user's",
			change: func(c *awsv1.EC2NodeClass, _ *observation, _ *facts) {
				c.Spec.Tags = map[string]string{"karpenter.sh/nodepool": "x"}
			},
			condition: awsv1.ConditionValidationSucceeded, reason: "TagValidationFailed", message: `spec.tags: tag key "karpenter.sh/nodepool"`,
		},
		{
			name: "user data too long",
			change: func(c *awsv1.EC2NodeClass, _ *observation, _ *facts) {
				text := "#!/bin/bash\n" + strings.Repeat("#", family.MaxUserDataBytes)
				c.Spec.UserData = &text
			},
			condition: awsv1.ConditionValidationSucceeded, reason: "UserDataSizeLimitExceeded", message: "shorten spec.userData",
		},
		{
			name:      "no service range",
			change:    func(_ *awsv1.EC2NodeClass, _ *observation, f *facts) { f.cluster.ServiceCIDR = "" },
			condition: awsv1.ConditionValidationSucceeded, reason: "ClusterCIDRResolutionFailed", message: `cluster "lab"`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, o, f := class(), found(), clusterFacts()
			tt.change(c, &o, &f)
			got := decide(c, o, f, at(10))
			if tt.status == "" {
				tt.status = metav1.ConditionFalse
			}
			condition := got.Conditions().Get(tt.condition)
			if condition.Status != tt.status || condition.Reason != tt.reason || !strings.Contains(condition.Message, tt.message) {
				t.Errorf("got %s %s: %s", condition.Status, condition.Reason, condition.Message)
			}
			if got.Conditions().Get(v1.ConditionReady).Status == metav1.ConditionTrue {
				t.Error("the class is ready")
			}
		})
	}
}

func TestDecide_NamesWhatIsUnsupportedWhileTheClassIsReady(t *testing.T) {
	c := class()
	one, enabled := int32(1), "enabled"
	c.Spec.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: "x"}
	c.Spec.IPPrefixCount = &one
	c.Spec.NetworkInterfaces = []awsv1.NetworkInterface{{InterfaceType: "interface"}}
	c.Spec.ConnectionTracking = &awsv1.ConnectionTracking{UDPTimeout: &one}
	c.Spec.CPUOptions = &awsv1.CPUOptions{NestedVirtualization: &enabled}
	c.Spec.AMIFamily = "AL2023" // the alias's own
	got := decide(c, found(), clusterFacts(), at(10))
	condition := got.Conditions().Get(v1.ConditionUnsupported)
	if !condition.IsTrue() || condition.Reason != "UnsupportedField" || !got.Conditions().IsReady() {
		t.Errorf("%+v, ready %v", condition, got.Conditions().IsReady())
	}
	for _, field := range []string{"placementGroupSelector", "ipPrefixCount", "networkInterfaces", "connectionTracking", "cpuOptions"} {
		if !strings.Contains(condition.Message, "spec."+field+": ") {
			t.Errorf("%s is not named: %s", field, condition.Message)
		}
	}
	got.Spec = class().Spec
	if got = decide(got, found(), clusterFacts(), at(20)); got.Conditions().Get(v1.ConditionUnsupported).Type != "" || !got.Conditions().IsReady() {
		t.Errorf("after the fields are gone: %+v", got.Status.Conditions)
	}
}

func TestDecide_IsNotReadyWhereIgnoringAFieldWouldDoHarm(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*awsv1.EC2NodeClassSpec)
		want   string
	}{
		"no role's name": {func(s *awsv1.EC2NodeClassSpec) { s.Role, s.InstanceProfile = "role/", "" }, "spec.role: no role has such a name"},
		"another family": {func(s *awsv1.EC2NodeClassSpec) { s.AMIFamily = "Windows2022" }, "spec.amiFamily: there are no nodes with Windows"},
		"profile by ARN": {func(s *awsv1.EC2NodeClassSpec) { s.InstanceProfile = "arn:aws:iam::1:instance-profile/x" }, "spec.instanceProfile: no instance profile has such a name"},
		"no pods":        {func(s *awsv1.EC2NodeClassSpec) { s.Kubelet = &awsv1.KubeletConfiguration{MaxPods: awsv1.Pods(0)} }, "spec.kubelet.maxPods: nodes without room for pods"},
		"no field": {func(s *awsv1.EC2NodeClassSpec) {
			s.Kubelet = &awsv1.KubeletConfiguration{Further: map[string]json.RawMessage{"imageMaximumAge": json.RawMessage(`"1m"`)}}
		}, "spec.kubelet.imageMaximumAge: the configuration of a kubelet"},
		"no expression": {func(s *awsv1.EC2NodeClassSpec) {
			s.Kubelet = &awsv1.KubeletConfiguration{MaxPods: awsv1.PodExpression("cores")}
		}, `spec.kubelet.maxPods: "cores" is no expression for a number: `},
		"no result": {func(*awsv1.EC2NodeClassSpec) {}, "spec.kubelet.maxPods: the expression has no result"},
		"no spec":   {func(s *awsv1.EC2NodeClassSpec) { *s = awsv1.EC2NodeClassSpec{} }, "condition SubnetsReady is False"},
	} {
		class, o := class(), found()
		c.change(&class.Spec)
		switch name {
		case "no spec":
			o = observation{}
		case "no result":
			o.expressions = errors.New("spec.kubelet.maxPods: the expression has no result for the instance type x: division by zero")
		}
		got := decide(class, o, clusterFacts(), at(10))
		condition := got.Conditions().Get(awsv1.ConditionValidationSucceeded)
		if !condition.IsFalse() || !strings.Contains(condition.Message, c.want) || !got.Conditions().Get(v1.ConditionReady).IsFalse() {
			t.Errorf("%s: %s %s: %s", name, condition.Status, condition.Reason, condition.Message)
		}
	}
}

func TestDecide_TemporaryErrorsLeaveTheStatus(t *testing.T) {
	ready := decide(class(), found(), clusterFacts(), at(10))
	broken := observation{subnetsErr: aws.ErrThrottled, groupsErr: aws.ErrUnreachable, imagesErr: errors.New("timeout"), profileErr: aws.ErrThrottled}
	got := decide(ready, broken, clusterFacts(), at(20))
	if diff := cmp.Diff(ready.Status, got.Status); diff != "" {
		t.Errorf("status changed (-before +after):\n%s", diff)
	}
	changed := ready.DeepCopy()
	changed.Generation++
	if got := decide(changed, broken, clusterFacts(), at(20)); got.Conditions().IsReady() {
		t.Error("what was found for an older generation counts for the new one")
	}
}

func TestDecide_DoesNotChangeItsInput(t *testing.T) {
	c := class()
	decide(c, found(), clusterFacts(), at(10))
	if diff := cmp.Diff(class(), c); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

func TestDecide_AProfileAtTheRootPathIsUsedAndSaysWhatIsNotCollected(t *testing.T) {
	c, o := class(), found()
	c.Spec.InstanceProfile, c.Spec.Role = "", "arn:aws:iam::123456789012:role/team/nodes"
	for path, want := range map[string]string{
		"/karpenter/us-west-2/lab/u/": "",
		"/":                           `instance profile "lab_1" is at path /, where profiles of earlier roles of the class are not collected: to have new profiles at /karpenter/us-west-2/lab/u/, allow iam:CreateInstanceProfile and iam:TagInstanceProfile there`,
	} {
		o.profile = aws.InstanceProfile{Name: "lab_1", Path: path, Role: "nodes", Tags: clusterFacts().profileOf(c).Tags(nil)}
		got := decide(c, o, clusterFacts(), at(10))
		condition := got.Conditions().Get(awsv1.ConditionInstanceProfileReady)
		if !condition.IsTrue() || condition.Reason != awsv1.ConditionInstanceProfileReady || !strings.HasPrefix(condition.Message, want) || (want == "") != (condition.Message == "") {
			t.Errorf("at %s: %+v", path, condition)
		}
		if !got.Conditions().IsReady() || got.Status.InstanceProfile != "lab_1" {
			t.Errorf("at %s: profile %q, %+v", path, got.Status.InstanceProfile, got.Status.Conditions)
		}
	}
}
