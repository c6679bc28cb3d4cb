package claim

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

var facts = family.Cluster{Name: "prod", Endpoint: "https://api.example", ServiceCIDR: "172.20.0.0/16", CertificateAuthority: []byte("-----BEGIN CERTIFICATE-----\n")}

// template is the one that the request names.
func (o order) template() awsspec.LaunchTemplate { return o.templateNamed(o.request.LaunchTemplate) }

func (o order) templateNamed(name string) awsspec.LaunchTemplate {
	t, _ := o.by.named(name)
	return t
}

func class() *awsv1.EC2NodeClass {
	c := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	c.Status.InstanceProfile = "nodes"
	c.Status.Subnets = []awsv1.Subnet{{ID: "subnet-big", Zone: "a"}, {ID: "subnet-small", Zone: "a"}, {ID: "subnet-b", Zone: "b"}}
	c.Status.SecurityGroups = []awsv1.SecurityGroup{{ID: "sg-1"}}
	for _, arch := range []string{"amd64", "arm64"} {
		c.Status.AMIs = append(c.Status.AMIs, awsv1.AMI{ID: "ami-" + arch, Requirements: []awsv1.AMIRequirement{{Key: label.Arch, Operator: "In", Values: []string{arch}}}})
	}
	return c
}

func nodeClaim(capacityType string) *v1.NodeClaim {
	c := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "pool-x", UID: "uid-1", Labels: map[string]string{v1.LabelNodePool: "pool", "team": "a"}}}
	c.Spec.Requirements = []v1.Requirement{
		{Key: label.InstanceType, Operator: corev1.NodeSelectorOpIn, Values: []string{"c5.large", "c6g.large"}},
		{Key: label.CapacityType, Operator: corev1.NodeSelectorOpIn, Values: []string{capacityType}},
		{Key: label.Zone, Operator: corev1.NodeSelectorOpIn, Values: []string{"a", "b"}},
	}
	c.Spec.NodeClassRef.Name = "default"
	c.Spec.StartupTaints = []v1.Taint{v1.Taint(v1.AwaitingPodsTaint())}
	return c
}

func instanceTypes() []catalog.InstanceType {
	t := func(name, arch string) catalog.InstanceType {
		x := catalog.InstanceType{Name: name, Labels: label.FromMap(map[string]string{label.InstanceType: name, label.Arch: arch})}
		for _, z := range []string{"a", "b", "c"} {
			for _, ct := range []string{label.OnDemand, label.Spot} {
				x.Offerings = append(x.Offerings, catalog.Offering{Zone: z, CapacityType: ct, Available: true, Price: 1})
			}
		}
		return x
	}
	return []catalog.InstanceType{t("c5.large", "amd64"), t("c6g.large", "arm64"), t("m5.large", "amd64")}
}

func TestMakeOrder_OverridesAreTypesTimesZonesWithTheRightImageAndSubnet(t *testing.T) {
	o, err := makeOrder(nodeClaim(label.Spot), class(), instanceTypes(), facts)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range o.request.Overrides {
		got = append(got, x.InstanceType+" "+x.Zone+" "+x.SubnetID+" "+x.ImageID)
	}
	want := "c5.large a subnet-big ami-amd64, c5.large b subnet-b ami-amd64, c6g.large a subnet-big ami-arm64, c6g.large b subnet-b ami-arm64"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("overrides = %s\nwant        %s", s, want)
	}
	tags := o.request.Tags
	if tags[awsspec.TagNodeClaimUID] != "uid-1" || tags[awsspec.TagNodeClaim] != "pool-x" || tags[awsspec.TagClusterName] != "prod" {
		t.Errorf("tags = %v", tags)
	}
	for _, part := range []string{"team=a", "karpenter.sh/capacity-type=spot", "karpenterd.sh/awaiting-pods", "karpenter.sh/unregistered", "https://api.example"} {
		if !strings.Contains(o.template().UserData, part) {
			t.Errorf("user data lacks %s:\n%s", part, o.template().UserData)
		}
	}
}

func TestMakeOrder_EqualClaimsGiveEqualRequestsAndOthersOthers(t *testing.T) {
	asked := func(change func(*v1.NodeClaim, *awsv1.EC2NodeClass)) string {
		c, k := nodeClaim(label.OnDemand), class()
		if change != nil {
			change(c, k)
		}
		o, err := makeOrder(c, k, instanceTypes(), facts)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%+v", o.request)
	}
	same := asked(nil)
	if asked(nil) != same {
		t.Error("the same request differs")
	}
	for name, change := range map[string]func(*v1.NodeClaim, *awsv1.EC2NodeClass){
		"subnets": func(_ *v1.NodeClaim, k *awsv1.EC2NodeClass) { k.Status.Subnets = k.Status.Subnets[1:] },
		"context": func(_ *v1.NodeClaim, k *awsv1.EC2NodeClass) { s := "context-1"; k.Spec.Context = &s },
		"instance store": func(_ *v1.NodeClaim, k *awsv1.EC2NodeClass) {
			s := "RAID0"
			k.Spec.InstanceStorePolicy = &s
		},
		"userData": func(_ *v1.NodeClaim, k *awsv1.EC2NodeClass) { s := "#!/bin/sh\necho hi\n"; k.Spec.UserData = &s },
		"kubelet": func(_ *v1.NodeClaim, k *awsv1.EC2NodeClass) {
			n := int32(10)
			k.Spec.Kubelet = &awsv1.KubeletConfiguration{PodsPerCore: &n}
		},
		"kubelet's DNS": func(_ *v1.NodeClaim, k *awsv1.EC2NodeClass) {
			k.Spec.Kubelet = &awsv1.KubeletConfiguration{ClusterDNS: []string{"169.254.20.10"}}
		},
		"a further setting of the kubelet": func(_ *v1.NodeClaim, k *awsv1.EC2NodeClass) {
			k.Spec.Kubelet = &awsv1.KubeletConfiguration{Further: map[string]json.RawMessage{"imageMaximumGCAge": json.RawMessage(`"10m"`)}}
		},
		"zones": func(c *v1.NodeClaim, _ *awsv1.EC2NodeClass) { c.Spec.Requirements[2].Values = []string{"a"} },
	} {
		if asked(change) == same {
			t.Errorf("%s: another request is the same", name)
		}
	}
}

// Where network interfaces are reserved, no image finds the planned number of pods by itself, and
// it differs from type to type. A class that says it has it for all types.
func TestMakeOrder_KubeletsAreToldThePlannedPodsWhereTheImageCountsOthers(t *testing.T) {
	types := instanceTypes()
	types[0].MaxPods, types[1].MaxPods, types[2].MaxPods = 20, 11, 20
	for images, told := range map[string]string{"AL2023": `"maxPods": %d`, "AL2": `--max-pods=%d`, "Bottlerocket": "max-pods = %d"} {
		k := class()
		k.Spec.AMIFamily = images
		o, err := makeOrder(nodeClaim(label.OnDemand), k, types, facts)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range o.request.Overrides {
			want := fmt.Sprintf(told, map[string]int{"c5.large": 20, "c6g.large": 11}[x.InstanceType])
			if got := o.templateNamed(cmp.Or(x.LaunchTemplate, o.request.LaunchTemplate)).UserData; !strings.Contains(got, want) {
				t.Errorf("%s, %s: user data lacks %s:\n%s", images, x.InstanceType, want, got)
			}
		}
		if len(o.request.Templates()) != 2 {
			t.Errorf("%s: the request has the templates %q", images, o.request.Templates())
		}
	}
	plain, err := makeOrder(nodeClaim(label.OnDemand), class(), instanceTypes(), facts)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plain.template().UserData, "maxPods") || len(plain.request.Templates()) != 1 {
		t.Errorf("where nothing is reserved, %d templates and user data\n%s", len(plain.request.Templates()), plain.template().UserData)
	}
}

// With expressions, the plan counts on other numbers for each instance type.
func TestMakeOrder_EachInstanceTypeIsToldThePodsThatArePlanned(t *testing.T) {
	k, types := class(), instanceTypes()
	k.Spec.Kubelet = &awsv1.KubeletConfiguration{MaxPods: awsv1.PodExpression("vcpus * 10")}
	types[0].Kubelet, types[1].Kubelet = `{"maxPods":17}`, `{"maxPods":8}`
	o, err := makeOrder(nodeClaim(label.Spot), k, types, facts)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.request.Templates()) != 2 {
		t.Fatalf("launch templates %q", o.request.Templates())
	}
	for _, x := range o.request.Overrides {
		name := cmp.Or(x.LaunchTemplate, o.request.LaunchTemplate)
		want := map[string]string{"c5.large": `"maxPods": 17`, "c6g.large": `"maxPods": 8`}[x.InstanceType]
		if !strings.Contains(o.templateNamed(name).UserData, want) {
			t.Errorf("%s: launch template %q has no %s", x.InstanceType, name, want)
		}
		other := x
		if other.LaunchTemplate = ""; x.LaunchTemplate == "" {
			other.LaunchTemplate = "another"
		}
		if !o.allows(x) || o.allows(other) {
			t.Errorf("%s: its launch template is allowed %v, another one %v", x.InstanceType, o.allows(x), o.allows(other))
		}
	}
}

func TestMakeOrder_NothingToLaunchIsAnErrorThatNamesBothObjects(t *testing.T) {
	c := nodeClaim(label.OnDemand)
	c.Spec.Requirements[2].Values = []string{"nowhere"}
	_, err := makeOrder(c, class(), instanceTypes(), facts)
	if err == nil || !strings.Contains(err.Error(), "nodeclaim pool-x: EC2NodeClass default has no subnet, image and offering") {
		t.Errorf("error = %v", err)
	}
}

func TestMakeOrder_UserDataAndVolumesAreThoseOfTheImageFamily(t *testing.T) {
	text := "[settings.kernel]\nlockdown = \"integrity\"\n"
	for family, want := range map[string]struct {
		text    string
		devices []string
	}{
		"AL2023":       {"node.eks.aws/v1alpha1", []string{"/dev/xvda"}},
		"AL2":          {"/etc/eks/bootstrap.sh 'prod'", []string{"/dev/xvda"}},
		"Bottlerocket": {"cluster-name = 'prod'", []string{"/dev/xvda", "/dev/xvdb"}},
		"Custom":       {text, nil},
	} {
		c := class()
		c.Spec.AMIFamily, c.Spec.UserData, c.Spec.BlockDeviceMappings = family, &text, nil
		o, err := makeOrder(nodeClaim(label.OnDemand), c, instanceTypes(), facts)
		if err != nil {
			t.Fatal(err)
		}
		var devices []string
		for _, d := range o.template().BlockDevices {
			devices = append(devices, d.DeviceName)
		}
		if !strings.Contains(o.template().UserData, want.text) || !slices.Equal(devices, want.devices) || family == "Custom" && o.template().UserData != text {
			t.Errorf("%s: volumes %v, user data\n%s", family, devices, o.template().UserData)
		}
	}
}

func TestMakeOrder_WhatALaunchWroteOntoTheClaimDoesNotChangeTheRequest(t *testing.T) {
	before, err := makeOrder(nodeClaim(label.OnDemand), class(), instanceTypes(), facts)
	if err != nil {
		t.Fatal(err)
	}
	c := nodeClaim(label.OnDemand)
	for _, l := range instanceTypes()[0].Labels {
		c.Labels[l.Key] = l.Value
	}
	c.Labels[label.Zone], c.Labels[label.ZoneID], c.Labels[label.CapacityType] = "a", "z-1", label.OnDemand
	after, err := makeOrder(c, class(), instanceTypes(), facts)
	if err != nil || !reflect.DeepEqual(after.request, before.request) {
		t.Errorf("a retry after a lost status write would be another request (%v):\n%s\n%s", err, before.template().UserData, after.template().UserData)
	}
	c.Labels = nil
	if _, err := makeOrder(c, class(), instanceTypes(), facts); err != nil {
		t.Errorf("a NodeClaim without labels: %v", err)
	}
}

// A NodeClaim with a reservation asks EC2 for that reservation and nothing else.
func TestMakeOrder_GoesIntoItsReservationOnly(t *testing.T) {
	types := instanceTypes()
	for _, id := range []string{"cr-1", "cr-2"} {
		types[0].Offerings = append(types[0].Offerings, catalog.Offering{Zone: "a", CapacityType: label.Reserved, Reservation: id, Available: true})
	}
	claim := nodeClaim(label.Reserved)
	if _, err := makeOrder(claim, class(), types, facts); err == nil || !strings.Contains(err.Error(), label.Reservation) {
		t.Errorf("without a reservation: %v", err)
	}
	ask := func(id string) order {
		asks := v1.Requirement{Key: label.Reservation, Operator: corev1.NodeSelectorOpIn, Values: []string{id}}
		claim.Spec.Requirements = slices.Concat(nodeClaim(label.Reserved).Spec.Requirements, []v1.Requirement{asks})
		o, err := makeOrder(claim, class(), types, facts)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	o := ask("cr-1")
	if r := o.request; len(r.Overrides) != 1 || r.Overrides[0].InstanceType != "c5.large" || r.CapacityType != label.Reserved || r.Reservation != "cr-1" || o.template().Reservation != "cr-1" {
		t.Errorf("request %+v, template for %q", o.request, o.template().Reservation)
	}
	if reflect.DeepEqual(o.request, ask("cr-2").request) || o.template().Name() == ask("cr-2").template().Name() {
		t.Error("two reservations share a request or a template")
	}
	before := ask("cr-1").request
	claim.Labels[label.Reservation], claim.Labels[label.ReservationType] = "cr-1", "default"
	again, err := makeOrder(claim, class(), types, facts)
	if err != nil || !reflect.DeepEqual(again.request, before) {
		t.Errorf("with the labels of its instance a retry is another request: %v", err)
	}
}

// The launch must not be tried for ever: the pods need another node.
func TestMakeOrder_SaysThatItsReservationHasEnded(t *testing.T) {
	claim := nodeClaim(label.Reserved)
	claim.Spec.Requirements = append(claim.Spec.Requirements, v1.Requirement{Key: label.Reservation, Operator: corev1.NodeSelectorOpIn, Values: []string{"cr-1"}})
	if _, err := makeOrder(claim, class(), instanceTypes(), facts); !errors.Is(err, errReservationEnded) || !strings.Contains(err.Error(), "cr-1") {
		t.Errorf("got %v", err)
	}
}

func TestBoughtAs_AReservationCountsBeforeEC2ShowsIt(t *testing.T) {
	now := time.Unix(10_000, 0)
	r := aws.LaunchRequest{CapacityType: label.Reserved, Reservation: "cr-1"}
	young := aws.Instance{CapacityType: label.OnDemand, LaunchTime: now.Add(-time.Second)}
	if kind, id := boughtAs(r, young, now); kind != label.Reserved || id != "cr-1" {
		t.Errorf("a young instance: %s %q", kind, id)
	}
	if kind, id := boughtAs(r, young, now.Add(time.Hour)); kind != label.OnDemand || id != "" {
		t.Errorf("an instance whose reservation has ended: %s %q", kind, id)
	}
	if kind, id := boughtAs(aws.LaunchRequest{CapacityType: label.Spot}, aws.Instance{CapacityType: label.Spot, LaunchTime: now}, now); kind != label.Spot || id != "" {
		t.Errorf("spot: %s %q", kind, id)
	}
}

// Only a template of dedicated hardware has another name, and no label of it gets into user
// data, where it would turn a retry into another request.
func TestMakeOrder_LaunchesWithTheTenancyOfTheClaim(t *testing.T) {
	ordered := func(requirement []string, labelled string) (order, error) {
		claim := nodeClaim(label.OnDemand)
		if requirement != nil {
			claim.Spec.Requirements = append(claim.Spec.Requirements, v1.Requirement{Key: label.Tenancy, Operator: corev1.NodeSelectorOpIn, Values: requirement})
		}
		if labelled != "" {
			claim.Labels[label.Tenancy] = labelled
		}
		return makeOrder(claim, class(), instanceTypes(), facts)
	}
	usual, err := ordered(nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		requirement []string
		label       string
		want        string
	}{
		"label of the pool": {nil, label.SharedTenancy, label.SharedTenancy}, "both admitted": {[]string{label.Dedicated, label.SharedTenancy}, "", label.SharedTenancy},
		"dedicated": {[]string{label.Dedicated}, label.Dedicated, label.Dedicated}, "written by hand": {[]string{label.Dedicated}, "", label.Dedicated},
	} {
		o, err := ordered(c.requirement, c.label)
		if err != nil || o.tenancy != c.want || o.template().Dedicated != (c.want == label.Dedicated) || (o.template().Name() == usual.template().Name()) != (c.want == label.SharedTenancy) {
			t.Errorf("%s: tenancy %q, template %+v, %v; want %s", name, o.tenancy, o.template(), err, c.want)
		}
		if strings.Contains(o.template().UserData, label.Tenancy) {
			t.Errorf("%s: the user data has the tenancy", name)
		}
	}
	if _, err := ordered([]string{"host"}, ""); err == nil || !strings.Contains(err.Error(), "dedicated hosts are not supported") {
		t.Errorf("host: %v", err)
	}
}
