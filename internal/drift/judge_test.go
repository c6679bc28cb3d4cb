package drift_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/drift"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// scene is a NodeClaim that is as its pool and class ask for, and what is known of it.
type scene struct {
	claim    *v1.NodeClaim
	pool     *v1.NodePool
	class    *awsv1.EC2NodeClass
	labels   label.Labels
	sale     drift.Sale
	instance *drift.Instance
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{
		claim:  &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", Annotations: map[string]string{}, Labels: map[string]string{"kubernetes.io/arch": "amd64", label.InstanceType: "m5.large", label.CapacityType: label.Reserved}}},
		pool:   read[v1.NodePool](t, poolText, "", ""),
		class:  read[awsv1.EC2NodeClass](t, classText, "", ""),
		labels: label.FromMap(map[string]string{"kubernetes.io/arch": "amd64", "karpenter.k8s.aws/instance-family": "m5"}),
		sale:   drift.Sold,
		instance: &drift.Instance{
			Image: "ami-amd64", Subnet: "subnet-1", SecurityGroups: []string{"sg-2", "sg-1"}, Reservation: "cr-1",
		},
	}
	s.class.Status = awsv1.EC2NodeClassStatus{
		Subnets:              []awsv1.Subnet{{ID: "subnet-2"}, {ID: "subnet-1"}},
		SecurityGroups:       []awsv1.SecurityGroup{{ID: "sg-1"}, {ID: "sg-2"}},
		CapacityReservations: []awsv1.CapacityReservation{{ID: "cr-1"}},
	}
	for _, arch := range []string{"arm64", "amd64"} {
		s.class.Status.AMIs = append(s.class.Status.AMIs, awsv1.AMI{
			ID: "ami-" + arch, Requirements: []awsv1.AMIRequirement{{Key: label.Arch, Operator: "In", Values: []string{arch}}},
		})
	}
	s.ready()
	s.claim.Status.ImageID = "ami-amd64"
	maps.Copy(s.claim.Annotations, drift.PoolStamp(s.pool))
	maps.Copy(s.claim.Annotations, drift.ClassStamp(s.class))
	return s
}

// ready makes the class ready in its newest version.
func (s *scene) ready() {
	for _, c := range awsv1.ReadyConditions() {
		s.class.Conditions().SetTrue(c, time.Unix(1, 0))
	}
}

// withdraw takes the image out of what the class selects.
func (s *scene) withdraw(image string) {
	s.class.Status.AMIs = slices.DeleteFunc(s.class.Status.AMIs, func(a awsv1.AMI) bool { return a.ID == image })
}

// standardImage is for machines of amd64 without GPUs, and not the one that runs.
func standardImage() awsv1.AMI {
	return awsv1.AMI{ID: "ami-standard", Requirements: []awsv1.AMIRequirement{
		{Key: label.Arch, Operator: "In", Values: []string{"amd64"}},
		{Key: awsv1.LabelInstanceGPUCount, Operator: "DoesNotExist"},
	}}
}

func (s *scene) judge() drift.Verdict {
	return drift.Judge(drift.Evidence{
		Claim: s.claim, Pool: drift.ReadPool(s.pool), Class: drift.ReadClass(s.class),
		TypeLabels: s.labels, Sale: s.sale, Instance: s.instance,
	})
}

func TestJudge_WhatIsAsAskedForHasNotDrifted(t *testing.T) {
	v := newScene(t).judge()
	if v.Reason != "" {
		t.Fatalf("drifted: %s, %s", v.Reason, v.Message)
	}
	for _, reason := range []string{"NodePoolDrifted", "InstanceTypeNotFound", "CapacityReservationDrift", "PlacementGroupDrift"} {
		if !v.Refutes(reason) {
			t.Errorf("does not refute %s", reason)
		}
	}
}

// A launch selects the image by what the type has. A node that was judged by a label of its
// template would be replaced by one like it, without end.
func TestJudge_ALabelOfTheTemplateSelectsNoImage(t *testing.T) {
	s := newScene(t)
	gpus := awsv1.AMI{ID: "ami-nvidia", Requirements: []awsv1.AMIRequirement{{Key: awsv1.LabelInstanceGPUCount, Operator: "Exists"}}}
	s.class.Status.AMIs = slices.Insert(s.class.Status.AMIs, 0, gpus)
	s.claim.Labels[awsv1.LabelInstanceGPUCount] = "1"
	if v := s.judge(); v.Reason != "" {
		t.Errorf("drifted: %s, %s", v.Reason, v.Message)
	}
}

func TestJudge_EveryReasonSaysWhatDiffers(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*scene)
		reason  drift.Reason
		message string
	}{
		"template": {
			func(s *scene) {
				s.pool.Spec.Template.Spec.Taints = nil
				s.pool.Spec.Template.ObjectMeta.Labels["team"] = "api"
			},
			drift.NodePoolDrifted, "NodePool web has another template than when the NodeClaim was made: labels, taints",
		},
		"template found by Karpenter": {
			func(s *scene) { s.claim.Annotations[v1.AnnotationNodePoolHash] = "123" },
			drift.NodePoolDrifted, "NodePool web has another template than when the NodeClaim was made: so Karpenter found before karpenterd took over",
		},
		"requirement": {
			func(s *scene) { s.pool.Spec.Template.Spec.Requirements[0].Values = []string{"arm64"} },
			drift.RequirementsDrifted, "NodePool web requires kubernetes.io/arch In [arm64]; the label is amd64",
		},
		"requirement on a label that no such instance has": {
			func(s *scene) {
				s.pool.Spec.Template.Spec.Requirements[0] = v1.Requirement{Key: "karpenter.k8s.aws/instance-gpu-name", Operator: "In", Values: []string{"t4"}}
			},
			drift.RequirementsDrifted, "NodePool web requires karpenter.k8s.aws/instance-gpu-name In [t4]; the label is absent",
		},
		"requirement on a label of the user": {
			func(s *scene) {
				s.pool.Spec.Template.Spec.Requirements[0] = v1.Requirement{Key: "example.com/team", Operator: "Exists"}
			},
			drift.RequirementsDrifted, "NodePool web requires example.com/team Exists; the label is absent",
		},
		"instance type": {
			func(s *scene) { s.sale = drift.NotSold },
			drift.InstanceTypeNotFound, "EC2 no longer offers instance type m5.large in this region",
		},
		"instance type in its zone": {
			func(s *scene) {
				s.sale = drift.NotSoldInZone
				s.claim.Labels["topology.kubernetes.io/zone"] = "us-west-2d"
			},
			drift.InstanceTypeNotFound, "EC2 no longer offers instance type m5.large in zone us-west-2d",
		},
		"class": {
			func(s *scene) { s.class.Spec.Tags["team"] = "api"; s.class.Spec.UserData = nil },
			drift.NodeClassDrift, "EC2NodeClass default has another spec than when the instance was launched: tags, userData",
		},
		"image": {
			func(s *scene) { s.claim.Status.ImageID = "ami-arm64" },
			drift.AMIDrift, "the instance runs image ami-arm64, EC2NodeClass default selects ami-amd64",
		},
		"image withdrawn for the architecture": {
			func(s *scene) { s.withdraw("ami-amd64") },
			drift.AMIDrift, "the instance runs image ami-amd64, EC2NodeClass default selects no image for instance type m5.large",
		},
		"image withdrawn, and the catalogue has the type no more": {
			// A class's view has no types without an image.
			func(s *scene) {
				s.withdraw("ami-amd64")
				s.labels = nil
				s.claim.Labels[awsv1.LabelInstanceCPU], s.claim.Labels[awsv1.LabelInstanceMemory] = "2", "8192"
			},
			drift.AMIDrift, "the instance runs image ami-amd64, EC2NodeClass default selects no image for instance type m5.large",
		},
		"image withdrawn for GPUs": {
			func(s *scene) {
				s.class.Status.AMIs = []awsv1.AMI{standardImage()}
				s.labels = s.labels.With(awsv1.LabelInstanceGPUCount, "1")
			},
			drift.AMIDrift, "the instance runs image ami-amd64, EC2NodeClass default selects no image for instance type m5.large",
		},
		"image withdrawn for all but GPUs": {
			func(s *scene) {
				image := standardImage()
				image.Requirements[1].Operator = "Exists"
				s.class.Status.AMIs = []awsv1.AMI{image}
			},
			drift.AMIDrift, "the instance runs image ami-amd64, EC2NodeClass default selects no image for instance type m5.large",
		},
		"security groups": {
			func(s *scene) { s.instance.SecurityGroups = []string{"sg-2", "sg-3"} },
			drift.SecurityGroupDrift, "the instance has security groups sg-2 sg-3, EC2NodeClass default selects sg-1 sg-2",
		},
		"subnet": {
			func(s *scene) { s.instance.Subnet = "subnet-3" },
			drift.SubnetDrift, "the instance is in subnet subnet-3, EC2NodeClass default selects subnet-1 subnet-2",
		},
		"reservation": {
			func(s *scene) { s.instance.Reservation = "cr-2" },
			drift.CapacityReservationDrift, "the instance is in capacity reservation cr-2, which EC2NodeClass default does not select",
		},
		"class without reservations": {
			func(s *scene) {
				s.class.Spec.CapacityReservationSelectorTerms, s.class.Status.CapacityReservations = nil, nil
			},
			drift.CapacityReservationDrift, "the instance is in capacity reservation cr-1, which EC2NodeClass default does not select",
		},
	} {
		s := newScene(t)
		c.change(s)
		if v := s.judge(); v.Reason != c.reason || v.Message != c.message {
			t.Errorf("%s: %q, %q; want %q, %q", name, v.Reason, v.Message, c.reason, c.message)
		}
	}
}

// What is not known is no drift, and does not end the drift that was found before.
func TestJudge_WhatIsNotKnownIsNoVerdict(t *testing.T) {
	now := metav1.Now()
	for name, c := range map[string]struct {
		change func(*scene)
		open   []drift.Reason // not refuted
	}{
		"pool deleted": {
			func(s *scene) { s.pool.DeletionTimestamp = &now; s.pool.Spec.Template.Spec.Taints = nil },
			[]drift.Reason{drift.NodePoolDrifted, drift.RequirementsDrifted},
		},
		"pool invalid": {
			func(s *scene) {
				s.pool.Spec.Template.Spec.Requirements[0].Operator = "Near"
				s.pool.Spec.Template.Spec.Taints = nil
			},
			[]drift.Reason{drift.NodePoolDrifted, drift.RequirementsDrifted},
		},
		"hash of Karpenter on the pool's side": {
			func(s *scene) {
				s.claim.Annotations[v1.AnnotationNodePoolHashVersion], s.claim.Annotations[v1.AnnotationNodePoolHash] = "v3", "1"
			},
			[]drift.Reason{drift.NodePoolDrifted},
		},
		"class without hash": {
			func(s *scene) {
				delete(s.claim.Annotations, awsv1.AnnotationNodeClassHash)
				delete(s.claim.Annotations, awsv1.AnnotationNodeClassHashVersion)
			},
			[]drift.Reason{drift.NodeClassDrift},
		},
		"label of a type that the catalogue does not know": {
			func(s *scene) {
				s.labels = nil
				s.pool.Spec.Template.Spec.Requirements[0] = v1.Requirement{Key: "karpenter.k8s.aws/instance-family", Operator: "In", Values: []string{"c5"}}
			},
			[]drift.Reason{drift.RequirementsDrifted},
		},
		"zone that nobody has written": {
			func(s *scene) {
				s.pool.Spec.Template.Spec.Requirements[0] = v1.Requirement{Key: label.ZoneID, Operator: "In", Values: []string{"use1-az1"}}
			},
			[]drift.Reason{drift.RequirementsDrifted},
		},
		"sale unknown": {
			func(s *scene) { s.sale = drift.SaleUnknown },
			[]drift.Reason{drift.InstanceTypeNotFound},
		},
		"class not ready in its newest version": {
			func(s *scene) {
				s.class.Generation = 2
				s.class.Spec.UserData = nil
				s.class.Status.AMIs = nil
				s.instance.Subnet = "subnet-3"
			},
			[]drift.Reason{drift.NodeClassDrift, drift.AMIDrift, drift.SecurityGroupDrift, drift.SubnetDrift, drift.CapacityReservationDrift},
		},
		"class deleted": {
			func(s *scene) { s.class.DeletionTimestamp = &now; s.class.Spec.UserData = nil },
			[]drift.Reason{drift.NodeClassDrift, drift.AMIDrift, drift.SecurityGroupDrift, drift.SubnetDrift, drift.CapacityReservationDrift},
		},
		"no image is selected": {
			func(s *scene) { s.class.Status.AMIs = nil },
			[]drift.Reason{drift.AMIDrift},
		},
		"no image fits, and nothing is known of the type": {
			func(s *scene) { s.withdraw("ami-amd64"); s.labels = nil; delete(s.claim.Labels, label.Arch) },
			[]drift.Reason{drift.RequirementsDrifted, drift.AMIDrift},
		},
		"nobody says whether the type has a GPU": {
			func(s *scene) { s.class.Status.AMIs, s.labels = []awsv1.AMI{standardImage()}, nil },
			[]drift.Reason{drift.AMIDrift},
		},
		"nobody says whether the type has a GPU, and an image is for those": {
			func(s *scene) {
				image := standardImage()
				image.Requirements[1].Operator = "Exists"
				s.class.Status.AMIs, s.labels = []awsv1.AMI{image}, nil
			},
			[]drift.Reason{drift.AMIDrift},
		},
		"images that could not be looked for": {
			func(s *scene) {
				s.withdraw("ami-amd64")
				s.class.Conditions().Set(awsv1.ConditionAMIsReady, metav1.ConditionFalse, awsv1.ReasonUnauthorized, "", time.Unix(2, 0))
			},
			[]drift.Reason{drift.NodeClassDrift, drift.AMIDrift, drift.SecurityGroupDrift, drift.SubnetDrift, drift.CapacityReservationDrift},
		},
		"an image with a requirement that cannot be read": {
			func(s *scene) { s.class.Status.AMIs[1].Requirements[0].Operator = "Near" },
			[]drift.Reason{drift.AMIDrift},
		},
		"nothing selected": {
			func(s *scene) {
				s.class.Status.SecurityGroups, s.class.Status.Subnets, s.class.Status.CapacityReservations = nil, nil, nil
			},
			[]drift.Reason{drift.SecurityGroupDrift, drift.SubnetDrift, drift.CapacityReservationDrift},
		},
		"instance not listed": {
			func(s *scene) { s.instance = nil },
			[]drift.Reason{drift.SecurityGroupDrift, drift.SubnetDrift, drift.CapacityReservationDrift},
		},
		"instance listed without its network": {
			func(s *scene) { s.instance.Subnet, s.instance.SecurityGroups = "", nil },
			[]drift.Reason{drift.SecurityGroupDrift, drift.SubnetDrift},
		},
	} {
		s := newScene(t)
		c.change(s)
		v := s.judge()
		if v.Reason != "" {
			t.Errorf("%s: drifted: %s, %s", name, v.Reason, v.Message)
		}
		var got []string
		for _, r := range []drift.Reason{
			drift.NodePoolDrifted, drift.RequirementsDrifted, drift.InstanceTypeNotFound, drift.NodeClassDrift,
			drift.AMIDrift, drift.SecurityGroupDrift, drift.SubnetDrift, drift.CapacityReservationDrift,
		} {
			if !v.Refutes(string(r)) {
				got = append(got, string(r))
			}
		}
		var want []string
		for _, r := range c.open {
			want = append(want, string(r))
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: open are %v, want %v", name, got, want)
		}
		if v.Refutes("PlacementGroupDrift") {
			t.Errorf("%s: refutes a reason of another program without having seen all", name)
		}
	}
}

func TestRestamp_TakingOverDriftsNothing(t *testing.T) {
	s := newScene(t)
	s.claim.Annotations = map[string]string{
		v1.AnnotationNodePoolHash: "123", v1.AnnotationNodePoolHashVersion: "v3",
		awsv1.AnnotationNodeClassHash: "456", awsv1.AnnotationNodeClassHashVersion: "v5",
	}
	maps.Copy(s.claim.Annotations, drift.Restamp(s.claim, drift.ReadPool(s.pool), drift.ReadClass(s.class)))
	if v := s.judge(); v.Reason != "" || !v.Refutes(string(drift.NodePoolDrifted)) || !v.Refutes(string(drift.NodeClassDrift)) {
		t.Errorf("after taking over: %+v", v)
	}
	if again := drift.Restamp(s.claim, drift.ReadPool(s.pool), drift.ReadClass(s.class)); len(again) > 0 {
		t.Errorf("stamped again: %v", again)
	}
}

func TestRestamp_WhatKarpenterFoundDriftedStaysDrifted(t *testing.T) {
	for _, reason := range []drift.Reason{drift.NodePoolDrifted, drift.NodeClassDrift} {
		s := newScene(t)
		s.claim.Annotations = map[string]string{
			v1.AnnotationNodePoolHash: "123", v1.AnnotationNodePoolHashVersion: "v3",
			awsv1.AnnotationNodeClassHash: "456", awsv1.AnnotationNodeClassHashVersion: "v5",
		}
		s.claim.Conditions().Set(v1.ConditionDrifted, metav1.ConditionTrue, string(reason), "", time.Unix(1, 0))
		maps.Copy(s.claim.Annotations, drift.Restamp(s.claim, drift.ReadPool(s.pool), drift.ReadClass(s.class)))
		if v := s.judge(); v.Reason != reason {
			t.Errorf("%s becomes %q", reason, v.Reason)
		}
	}
}

func TestRestamp_WaitsUntilPoolAndClassAreReady(t *testing.T) {
	s := newScene(t)
	s.claim.Annotations = nil
	if got := drift.Restamp(s.claim, nil, nil); len(got) > 0 {
		t.Errorf("stamped %v", got)
	}
}
