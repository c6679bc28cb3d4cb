package claim

import (
	"testing"

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
