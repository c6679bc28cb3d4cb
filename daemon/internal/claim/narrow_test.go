package claim

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// everyType is what a region sells, and a class with a subnet in each of its zones.
func everyType(t *testing.T) ([]catalog.InstanceType, *awsv1.EC2NodeClass) {
	t.Helper()
	facts, market, err := embedded.Load("us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	k := class()
	k.Status.Subnets = nil
	for _, z := range market.Zones {
		k.Status.Subnets = append(k.Status.Subnets, awsv1.Subnet{ID: "subnet-0123456789abcdef0", Zone: z.Name})
	}
	return catalog.Build(facts, market, catalog.Settings{Zones: market.Zones}), k
}

// asking is a NodeClaim that somebody has written by hand, with these requirements.
func asking(rs ...v1.Requirement) *v1.NodeClaim {
	c := nodeClaim(label.OnDemand)
	c.Spec.Requirements = rs
	return c
}

// prices returns the price of each type of the overrides in its cheapest zone.
func prices(overrides []aws.Override) map[string]float64 {
	out := map[string]float64{}
	for _, o := range overrides {
		if before, there := out[o.InstanceType]; !there || o.Priority < before {
			out[o.InstanceType] = o.Priority
		}
	}
	return out
}

func TestMakeOrder_ARequestNeverHasMoreThanTheCheapestSixtyTypes(t *testing.T) {
	types, k := everyType(t)
	spot := v1.Requirement{Key: label.CapacityType, Operator: corev1.NodeSelectorOpIn, Values: []string{label.Spot}}
	arm := v1.Requirement{Key: label.Arch, Operator: corev1.NodeSelectorOpIn, Values: []string{"arm64"}}
	for name, claim := range map[string]*v1.NodeClaim{"no requirement": asking(), "spot": asking(spot), "arm64": asking(arm)} {
		o, err := makeOrder(claim, k, types, facts)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		data, err := json.Marshal(frozen{Began: time.Now(), Request: o.request})
		if err != nil {
			t.Fatal(err)
		}
		kept, all := prices(o.request.Overrides), prices(o.every)
		if len(kept) != mostTypes || len(all) < 2*mostTypes || len(data) > 128<<10 {
			t.Errorf("%s: %d of %d types in %d bytes", name, len(kept), len(all), len(data))
		}
		dearest := 0.0
		for _, price := range kept {
			dearest = max(dearest, price)
		}
		for x, price := range all {
			if _, is := kept[x]; !is && price > 0 && price < dearest {
				t.Errorf("%s: %s at %f is left out, the dearest type is at %f", name, x, price, dearest)
			}
		}
		places := 0
		for _, x := range o.every {
			if _, is := kept[x.InstanceType]; is {
				places++
			}
		}
		if places != len(o.request.Overrides) {
			t.Errorf("%s: %d of %d zones of the types", name, len(o.request.Overrides), places)
		}
	}
}

func TestMakeOrder_TheSixtyTypesMeetMinValues(t *testing.T) {
	types, k := everyType(t)
	for key, n := range map[string]int{catalog.LabelFamily: 50, label.InstanceType: 50, label.Zone: len(k.Status.Subnets), label.Arch: 2} {
		o, err := makeOrder(asking(v1.Requirement{Key: key, Operator: corev1.NodeSelectorOpExists, MinValues: &n}), k, types, facts)
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]bool{}
		for _, x := range o.request.Overrides {
			value, _ := valueOf(x, o.types, key)
			values[value] = true
		}
		if len(values) < n || len(prices(o.request.Overrides)) != mostTypes {
			t.Errorf("%s: %d values of %d, %d types", key, len(values), n, len(prices(o.request.Overrides)))
		}
	}
}

func TestMakeOrder_ANodeClaimGetsTypesThatMeetWhatItAsksFor(t *testing.T) {
	types, k := everyType(t)
	claim := asking(v1.Requirement{Key: label.Arch, Operator: corev1.NodeSelectorOpIn, Values: []string{"arm64"}},
		v1.Requirement{Key: catalog.LabelGPUName, Operator: corev1.NodeSelectorOpDoesNotExist})
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("30")}
	o, err := makeOrder(claim, k, types, facts)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range o.every {
		arch, _ := o.types[x.InstanceType].Labels.Get(label.Arch)
		if cpu := o.types[x.InstanceType].Allocatable.MilliCPU; arch != "arm64" || cpu < 30_000 {
			t.Errorf("%s: %s, %dm CPU", x.InstanceType, arch, cpu)
		}
	}
	claim.Spec.Resources.Requests[corev1.ResourceCPU] = resource.MustParse("100000")
	if _, err := makeOrder(claim, k, types, facts); err == nil || !strings.Contains(err.Error(), "no instance type of EC2NodeClass "+k.Name+" holds what it requests (100000000m cpu)") {
		t.Errorf("no type holds what it requests: %v", err)
	}
	claim.Spec.Requirements = append(claim.Spec.Requirements, v1.Requirement{Key: label.InstanceType, Operator: corev1.NodeSelectorOpIn, Values: []string{"m7g.large"}})
	if _, err := makeOrder(claim, k, types, facts); err != nil {
		t.Errorf("the plan has chosen the type: %v", err)
	}
}

// Which types are the cheapest changes with each spot price.
func TestAttempt_StandsWhenOtherTypesHaveBecomeTheCheapest(t *testing.T) {
	types, k := everyType(t)
	o, err := makeOrder(asking(), k, types, facts)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Unix(1000, 0)
	a := attempt{number: 1, frozen: &frozen{Began: began, Request: o.request}}
	for i := range types {
		for j := range types[i].Offerings {
			types[i].Offerings[j].Price = 1_000_000_000_000 - types[i].Offerings[j].Price
		}
	}
	other, err := makeOrder(asking(), k, types, facts)
	if err != nil {
		t.Fatal(err)
	}
	if reflect.DeepEqual(unpriced(o.request), unpriced(other.request)) || o.request.LaunchTemplate != other.request.LaunchTemplate {
		t.Fatal("the prices change nothing, or the launch template")
	}
	if !a.stands(other, began.Add(2*listingLag)) {
		t.Error("another attempt because of prices")
	}
	k.Status.Subnets[0].ID = "subnet-other"
	if other, err = makeOrder(asking(), k, types, facts); err != nil || a.stands(other, began.Add(2*listingLag)) {
		t.Error("no other attempt for another subnet", fmt.Sprint(err))
	}
}

// Subnets in thirty zones, local ones too; fifty long tags; as many annotations as a NodePool
// may give; and a move of twelve nodes with long names.
func TestMakeOrder_AllAnnotationsOfANodeClaimFitIntoIt(t *testing.T) {
	types, k := everyType(t)
	for len(k.Status.Subnets) < 30 {
		zone := fmt.Sprintf("us-east-1-bos-%02da", len(k.Status.Subnets))
		k.Status.Subnets = append(k.Status.Subnets, awsv1.Subnet{ID: "subnet-0123456789abcdef0", Zone: zone})
		for i := range types {
			o := types[i].Offerings[0]
			o.Zone, o.CapacityType = zone, label.OnDemand
			types[i].Offerings = append(types[i].Offerings, o)
		}
	}
	k.Spec.Tags = map[string]string{}
	for i := range 40 {
		k.Spec.Tags[fmt.Sprintf("%03d%s", i, strings.Repeat("k", 125))] = strings.Repeat("v", 256)
	}
	onDemand := asking(v1.Requirement{Key: label.CapacityType, Operator: corev1.NodeSelectorOpIn, Values: []string{label.OnDemand}})
	o, err := makeOrder(onDemand, k, types, facts)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(frozen{Began: time.Now(), Request: o.request})
	if err != nil {
		t.Fatal(err)
	}
	move := cluster.Move{ID: "0123456789abcdef", Count: 12, Reason: "Underutilized"}
	for i := range 12 {
		move.Sources = append(move.Sources, cluster.Source{Claim: fmt.Sprintf("%063d", i), UID: "01234567-89ab-cdef-0123-456789abcdef"})
	}
	const mostOfThePool, planned = 96 << 10, 750 * 24 // the most pods that a node holds, each of another kind
	if n := len(o.request.Overrides); n > mostOverrides || n < mostOverrides*9/10 {
		t.Errorf("%d overrides", n)
	}
	if all := len(data) + len(translate.FormatMove(move)) + mostOfThePool + planned; all > 250<<10 {
		t.Errorf("%d bytes of annotations, %d of them of the request", all, len(data))
	}
	began := time.Unix(1000, 0)
	a := attempt{number: 1, frozen: &frozen{Began: began, Request: o.request}}
	for i := range types {
		for j := range types[i].Offerings {
			types[i].Offerings[j].Price = 1_000_000_000_000 - types[i].Offerings[j].Price
		}
	}
	if other, err := makeOrder(onDemand, k, types, facts); err != nil || !a.stands(other, began.Add(2*listingLag)) {
		t.Error("another attempt because of prices", err)
	}
}

// EC2 takes so many launch templates for a fleet, and each type may need one of its own.
func TestMakeOrder_ARequestNeverHasMoreLaunchTemplatesThanEC2Takes(t *testing.T) {
	types, k := everyType(t)
	k.Spec.Kubelet = &awsv1.KubeletConfiguration{MaxPods: awsv1.PodExpression("vcpus * 10")}
	for i := range types {
		types[i].Kubelet = fmt.Sprintf(`{"maxPods":%d}`, 20+i)
	}
	o, err := makeOrder(asking(), k, types, facts)
	if err != nil {
		t.Fatal(err)
	}
	if n, of := len(o.request.Templates()), len(prices(o.request.Overrides)); n != mostTemplates || of != mostTemplates {
		t.Errorf("%d launch templates for %d types, want %d of each", n, of, mostTemplates)
	}
	for name := range prices(o.request.Overrides) {
		if _, there := o.types[name]; !there {
			t.Errorf("%s is no type of the order", name)
		}
	}
}

// Whoever writes NodeClaims says what may be launched in all the ways of requirements, or says
// nothing. EC2 is asked for nothing else, and for what Karpenter would choose of it.
func TestMakeOrder_WhatANodeClaimAdmitsDecidesHowAndWhereItIsLaunched(t *testing.T) {
	in := func(key string, values ...string) v1.Requirement {
		return v1.Requirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
	}
	not := func(key string, values ...string) v1.Requirement {
		return v1.Requirement{Key: key, Operator: corev1.NodeSelectorOpNotIn, Values: values}
	}
	is := func(key string, operator corev1.NodeSelectorOperator) v1.Requirement {
		return v1.Requirement{Key: key, Operator: operator}
	}
	for name, x := range map[string]struct {
		requirements []v1.Requirement
		noSpot       bool
		capacity     string // "" is an error
		zones        string
	}{
		"nothing said":                   {nil, false, label.Spot, "abc"},
		"nothing said, no spot":          {nil, true, label.OnDemand, "abc"},
		"both":                           {[]v1.Requirement{in(label.CapacityType, label.OnDemand, label.Spot)}, false, label.Spot, "abc"},
		"both, no spot":                  {[]v1.Requirement{in(label.CapacityType, label.OnDemand, label.Spot)}, true, label.OnDemand, "abc"},
		"any":                            {[]v1.Requirement{is(label.CapacityType, corev1.NodeSelectorOpExists)}, false, label.Spot, "abc"},
		"not spot":                       {[]v1.Requirement{not(label.CapacityType, label.Spot)}, false, label.OnDemand, "abc"},
		"not on-demand":                  {[]v1.Requirement{not(label.CapacityType, label.OnDemand)}, false, label.Spot, "abc"},
		"not on-demand, no spot":         {[]v1.Requirement{not(label.CapacityType, label.OnDemand)}, true, "", ""},
		"spot, no spot":                  {[]v1.Requirement{in(label.CapacityType, label.Spot)}, true, "", ""},
		"reserved or on-demand":          {[]v1.Requirement{in(label.CapacityType, label.Reserved, label.OnDemand)}, false, label.OnDemand, "abc"},
		"reserved alone":                 {[]v1.Requirement{in(label.CapacityType, label.Reserved)}, false, "", ""},
		"none of those that there are":   {[]v1.Requirement{in(label.CapacityType, "donated")}, false, "", ""},
		"not one of those":               {[]v1.Requirement{is(label.CapacityType, corev1.NodeSelectorOpDoesNotExist)}, false, "", ""},
		"a zone":                         {[]v1.Requirement{in(label.Zone, "b")}, false, label.Spot, "b"},
		"a zone by its id":               {[]v1.Requirement{in(label.ZoneID, "id-b")}, false, label.Spot, "b"},
		"not a zone by its id":           {[]v1.Requirement{not(label.ZoneID, "id-b")}, false, label.Spot, "ac"},
		"a zone by an id that is none":   {[]v1.Requirement{in(label.ZoneID, "b")}, false, "", ""},
		"a zone by its older name":       {[]v1.Requirement{in("failure-domain.beta.kubernetes.io/zone", "b")}, false, label.Spot, "b"},
		"name and id of different zones": {[]v1.Requirement{in(label.Zone, "a"), in(label.ZoneID, "id-b")}, false, "", ""},
		"spot in a zone without it":      {[]v1.Requirement{in(label.Zone, "c"), in(label.InstanceType, "od.large")}, false, label.OnDemand, "c"},
		"a label that no type has":       {[]v1.Requirement{is(catalog.LabelGPUName, corev1.NodeSelectorOpExists)}, false, "", ""},
		"a value that no type has":       {[]v1.Requirement{in(catalog.LabelFamily, "zz9")}, false, "", ""},
		"not a label that no type has":   {[]v1.Requirement{is(catalog.LabelGPUName, corev1.NodeSelectorOpDoesNotExist)}, false, label.Spot, "abc"},
		"a label of the user's":          {[]v1.Requirement{is("example.com/team", corev1.NodeSelectorOpExists)}, false, label.Spot, "abc"},
	} {
		t.Run(name, func(t *testing.T) {
			k, types := class(), instanceTypes()[:1]
			k.Status.Subnets = nil
			od := types[0]
			od.Name, od.Labels, od.Offerings = "od.large", od.Labels.With(label.InstanceType, "od.large"), nil
			for _, zone := range []string{"a", "b", "c"} {
				k.Status.Subnets = append(k.Status.Subnets, awsv1.Subnet{ID: "subnet-" + zone, Zone: zone, ZoneID: "id-" + zone})
				od.Offerings = append(od.Offerings, catalog.Offering{Zone: zone, CapacityType: label.OnDemand, Available: true, Price: 1})
			}
			types = append(types, od)
			for i := range types[0].Offerings {
				o := &types[0].Offerings[i]
				o.Available = o.Available && !(x.noSpot && o.CapacityType == label.Spot)
			}
			o, err := makeOrder(asking(x.requirements...), k, types, facts)
			if (err != nil) != (x.capacity == "") {
				t.Fatalf("error %v", err)
			}
			zones := map[string]bool{}
			for _, place := range o.request.Overrides {
				zones[place.Zone] = true
				if !o.allows(place) {
					t.Errorf("a request for %+v would not be believed", place)
				}
			}
			if o.request.CapacityType != x.capacity && err == nil || strings.Join(slices.Sorted(maps.Keys(zones)), "") != x.zones {
				t.Errorf("%s in %v", o.request.CapacityType, zones)
			}
		})
	}
}

// A label that only a requirement of the NodeClaim asks for is on its node: pods select it, and the
// NodeClaim would not meet its own requirements. Retries send the same request.
func TestLaunch_ANodeHasTheLabelsThatItsNodeClaimRequires(t *testing.T) {
	in := func(key string, values ...string) v1.Requirement {
		return v1.Requirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
	}
	for name, x := range map[string]struct {
		requirement v1.Requirement
		want        string
	}{
		"one value":               {in("example.com/group", "blue"), "blue"},
		"several values":          {in("example.com/group", "red", "blue"), "red"},
		"without a domain":        {in("group", "blue"), "blue"},
		"a label that is there":   {in("team", "b", "a"), "a"},
		"of the core":             {in("node.kubernetes.io/group", "blue"), "blue"},
		"any value":               {v1.Requirement{Key: "group", Operator: corev1.NodeSelectorOpExists}, ""},
		"no value":                {v1.Requirement{Key: "group", Operator: corev1.NodeSelectorOpDoesNotExist}, ""},
		"another value":           {v1.Requirement{Key: "group", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"blue"}}, ""},
		"of Karpenter":            {in("karpenter.sh/registered", "true"), ""},
		"what an instance is":     {in("karpenter.k8s.aws/instance-tenancy", "default"), "default"},
		"what an instance is not": {in("karpenter.k8s.aws/capacity-reservation-id", "cr-1"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLaunching(t)
			c := l.claims["pool-x"].DeepCopy()
			c.Spec.Requirements = append(c.Spec.Requirements, x.requirement)
			l.put(t, c)
			l.Observe(c)
			before, err := makeOrder(c, l.class, instanceTypes(), facts)
			if err != nil {
				t.Fatal(err)
			}
			l.ec2.answer = nil
			l.ec2.launched = aws.Launched{InstanceID: "i-1", InstanceType: "c5.large", Zone: "a", CapacityType: label.OnDemand}
			if _, err := l.controller.Reconcile(t.Context(), "pool-x"); err != nil {
				t.Fatal(err)
			}
			after := l.claims["pool-x"]
			if got := after.Labels[x.requirement.Key]; got != x.want {
				t.Errorf("the NodeClaim has %q, want %q", got, x.want)
			}
			if got := after.Labels[label.NodeClass]; got != "default" || !strings.Contains(before.template().UserData, label.NodeClass+"=default") {
				t.Errorf("the class is %q, and of the kubelet\n%s", got, before.template().UserData)
			}
			again, err := makeOrder(after, l.class, instanceTypes(), facts)
			if err != nil || !reflect.DeepEqual(again.request, before.request) {
				t.Errorf("a retry would be another request: %v", err)
			}
			ofKubelets := strings.Contains(x.requirement.Key, "kubernetes.io/") // which may not give themselves all of these
			if custom := !label.OfInstance(x.requirement.Key) && !ofKubelets; custom && x.want != "" && !strings.Contains(before.template().UserData, x.requirement.Key+"="+x.want) {
				t.Errorf("the kubelet is not told:\n%s", before.template().UserData)
			}
		})
	}
}
