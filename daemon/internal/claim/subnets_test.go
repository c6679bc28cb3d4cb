package claim

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// known is what the decision core is told of capacity.
type known struct{ of engine.Shortages }

func (k *known) Shortages(s engine.Shortages) { k.of = s }

func full(subnet, zone string) []aws.OfferingFailure {
	var out []aws.OfferingFailure
	for _, x := range []string{"c5.large", "c6g.large"} {
		out = append(out, aws.OfferingFailure{
			OfferingKey: catalog.OfferingKey{InstanceType: x, Zone: zone, CapacityType: label.OnDemand}, Code: "InsufficientFreeAddressesInSubnet", Subnet: subnet,
		})
	}
	return out
}

// A zone has capacity as long as one of its subnets has an address.
func TestLaunch_AFullSubnetLeavesTheOthersOfItsZone(t *testing.T) {
	l, told := newLaunching(t), &known{}
	l.controller.Scarcity = told
	claim, _ := l.NodeClaim("pool-x")
	l.controller.tried(claim, catalog.OfferingKey{}, full("subnet-big", "a"))
	if len(told.of.Unavailable) > 0 {
		t.Errorf("left out: %v", told.of.Unavailable)
	}
	if r := l.try(t); r.Overrides[0].Zone != "a" || r.Overrides[0].SubnetID != "subnet-small" {
		t.Errorf("launched into %+v", r.Overrides)
	}
}

func TestLaunch_AZoneIsLeftOutWhenAllItsSubnetsAreFull(t *testing.T) {
	l, told := newLaunching(t), &known{}
	l.controller.Scarcity = told
	claim, _ := l.NodeClaim("pool-x")
	l.controller.tried(claim, catalog.OfferingKey{}, full("subnet-big", "a"))
	l.controller.tried(claim, catalog.OfferingKey{}, full("subnet-small", "a"))
	if len(told.of.Unavailable) != 2 || told.of.Unavailable[0].Zone != "a" {
		t.Errorf("left out: %v", told.of.Unavailable)
	}
	l.now = l.now.Add(subnetPause)
	if r := l.try(t); r.Overrides[0].SubnetID != "subnet-big" {
		t.Errorf("after the pause launched into %+v", r.Overrides)
	}
}

// EC2 counts addresses once a minute, and a burst of launches is over in seconds.
func TestLaunch_ABurstGoesToTheSubnetsOfItsZoneByTheirFreeAddressesLessThoseOfLaunches(t *testing.T) {
	l := newLaunching(t)
	l.free, l.asked = map[string]int64{"subnet-big": 100, "subnet-small": 70, "subnet-b": 5}, l.now
	l.ec2.answer = errLost
	launch := func(name string, pods int) string {
		c := nodeClaim(label.OnDemand)
		c.Name, c.UID, c.Finalizers = name, types.UID("uid-"+name), []string{v1.FinalizerTermination}
		c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(int64(pods), resource.DecimalSI)}
		l.put(t, c)
		l.Observe(c)
		before := len(l.ec2.requests)
		_, _ = l.controller.Reconcile(t.Context(), name) // fails, as l.ec2.answer says
		if len(l.ec2.requests) == before {
			t.Fatalf("%s: no call", name)
		}
		for _, o := range l.ec2.requests[before].Overrides {
			if o.Zone == "a" {
				return o.SubnetID
			}
		}
		return ""
	}
	is := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: launched into %s, want %s", what, got, want)
		}
	}
	is("the first launch", launch("pool-1", 19), "subnet-big")
	l.controller.subnets.lands("uid-pool-1", "subnet-big", l.now)
	is("80 are left, of 100", launch("pool-2", 19), "subnet-big")
	l.controller.subnets.lands("uid-pool-2", "subnet-big", l.now)
	is("60 are left, and 70 in the other one", launch("pool-3", 19), "subnet-small")
	l.controller.subnets.lands("uid-pool-3", "", l.now)
	is("nothing was launched there", launch("pool-4", 19), "subnet-small")
	is("and the answer of that one is lost: 50 are left there", launch("pool-5", 19), "subnet-big")
	l.controller.subnets.lands("uid-pool-5", "subnet-big", l.now)
	l.now = l.now.Add(addressLag + time.Second)
	l.asked, l.free["subnet-big"] = l.now, 71
	is("EC2 has counted all but the last", launch("pool-6", 0), "subnet-big")
}

// The replacement of an instance that EC2 takes back must not go into the pool that is being
// reclaimed.
func TestWarned_ASpotOfferingIsAvoidedForAWhile(t *testing.T) {
	l, told := newLaunching(t), &known{}
	l.controller.Scarcity = told
	warned := nodeClaim(label.Spot)
	warned.Labels = map[string]string{label.InstanceType: "c5.large", label.Zone: "a", label.CapacityType: label.Spot}
	l.controller.Warned(warned)
	key := catalog.OfferingKey{InstanceType: "c5.large", Zone: "a", CapacityType: label.Spot}
	if _, why, out := told.of.Shut("pool", key, l.now); !out || why.Code != "SpotInterruptionWarning" {
		t.Errorf("left out: %v, by %+v", out, why)
	}
	for _, other := range []catalog.OfferingKey{
		{InstanceType: "c5.large", Zone: "b", CapacityType: label.Spot}, {InstanceType: "c5.large", Zone: "a", CapacityType: label.OnDemand},
	} {
		if _, _, out := told.of.Shut("pool", other, l.now); out {
			t.Errorf("%v is left out, too", other)
		}
	}
	if _, _, out := told.of.Shut("pool", key, l.now.Add(subnetPause)); out {
		t.Error("it is left out for more than 3 minutes")
	}
	told.of = engine.Shortages{}
	warned.Labels[label.CapacityType] = label.OnDemand // a scheduled change
	l.controller.Warned(warned)
	if len(told.of.Unavailable) > 0 {
		t.Errorf("on demand: left out %v", told.of.Unavailable)
	}
}
