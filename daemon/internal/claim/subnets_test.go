package claim

import (
	"errors"
	"fmt"
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

// counted is launching where EC2 has said how many addresses the subnets have.
func counted(t *testing.T, free map[string]int64) launching {
	t.Helper()
	l := newLaunching(t)
	l.controller.Scarcity = &known{}
	l.free, l.asked = free, l.now
	return l
}

// add adds a NodeClaim for so many pods.
func (l launching) add(t *testing.T, name string, pods int64) *v1.NodeClaim {
	t.Helper()
	c := nodeClaim(label.OnDemand)
	c.Name, c.UID, c.Finalizers = name, types.UID("uid-"+name), []string{v1.FinalizerTermination}
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(pods, resource.DecimalSI)}
	l.put(t, c)
	l.Observe(c)
	return c
}

// into launches a NodeClaim for so many pods, with EC2's answer, and returns the subnet of zone a.
func (l launching) into(t *testing.T, name string, pods int64) string {
	t.Helper()
	l.add(t, name, pods)
	before := len(l.ec2.requests)
	_, _ = l.controller.Reconcile(t.Context(), name) // fails, where EC2's answer says so
	if len(l.ec2.requests) == before {
		t.Fatalf("%s: no call", name)
	}
	return inZoneA(l.ec2.requests[before])
}

func inZoneA(r aws.LaunchRequest) string {
	for _, o := range r.Overrides {
		if o.Zone == "a" {
			return o.SubnetID
		}
	}
	return ""
}

func (l launching) taken(subnet string) int64 {
	s := &l.controller.subnets
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken(subnet, l.asked, "")
}

// EC2 counts addresses once a minute, and a burst of launches is over in seconds.
func TestLaunch_ABurstGoesToTheSubnetsOfItsZoneByTheirFreeAddressesLessThoseOfLaunches(t *testing.T) {
	l := counted(t, map[string]int64{"subnet-big": 100, "subnet-small": 70, "subnet-b": 5})
	launched := func(name, subnet string) {
		l.controller.subnets.note(types.UID("uid-"+name), flight{[]string{subnet}, 20, l.now})
	}
	is := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: launched into %s, want %s", what, got, want)
		}
	}
	is("the first launch", l.into(t, "pool-1", 19), "subnet-big")
	launched("pool-1", "subnet-big")
	is("80 are left, of 100", l.into(t, "pool-2", 19), "subnet-big")
	launched("pool-2", "subnet-big")
	is("60 are left, and 70 in the other one", l.into(t, "pool-3", 19), "subnet-small")
	l.controller.subnets.forget("uid-pool-3")
	is("nothing was launched there", l.into(t, "pool-4", 19), "subnet-small")
	is("and the answer of that one is lost: 50 are left there", l.into(t, "pool-5", 19), "subnet-big")
	l.now = l.now.Add(addressLag + time.Second)
	l.asked, l.free["subnet-big"] = l.now, 71
	is("EC2 has counted all", l.into(t, "pool-6", 0), "subnet-big")
}

// Between the choice of a subnet and the call lies a write, and many NodeClaims are between them.
func TestLaunch_NodeClaimsThatAreLaunchedTogetherGoToDifferentSubnets(t *testing.T) {
	l := counted(t, map[string]int64{"subnet-big": 100, "subnet-small": 99, "subnet-b": 5})
	into := map[string]int{}
	for i := range mostCalls {
		o, err := l.controller.order(l.add(t, fmt.Sprint("pool-", i), 19))
		if err != nil {
			t.Fatal(err)
		}
		into[inZoneA(o.request)]++
	}
	if into["subnet-big"] != mostCalls/2 || into["subnet-small"] != mostCalls/2 {
		t.Errorf("%v, want half of them in each", into)
	}
}

func TestLaunch_WhatOthersLaunchIsNoReasonForAnotherAttempt(t *testing.T) {
	l := counted(t, map[string]int64{"subnet-big": 100, "subnet-small": 90, "subnet-b": 5})
	first := l.try(t)
	l.controller.subnets.note("other", flight{[]string{"subnet-big"}, 20, l.now})
	l.now = l.now.Add(listingLag)
	if again := l.try(t); again.ClientToken != first.ClientToken || inZoneA(*again) != "subnet-big" {
		t.Errorf("retried with token %s in %s, first %s in %s", again.ClientToken, inZoneA(*again), first.ClientToken, inZoneA(*first))
	}
}

func TestLaunch_OfWhichEC2SaysThatNothingWasLaunchedTakesNoAddresses(t *testing.T) {
	for what, answer := range map[string]error{
		"refused":     fmt.Errorf("instance launch: %w: %w", aws.ErrNothingLaunched, errors.New("UnauthorizedOperation")),
		"no capacity": &aws.InsufficientCapacityError{Offerings: full("subnet-b", "b")},
	} {
		l := counted(t, map[string]int64{"subnet-big": 100, "subnet-small": 70, "subnet-b": 5})
		l.ec2.answer = answer
		l.into(t, "pool-1", 19)
		if n := l.taken("subnet-big"); n != 0 {
			t.Errorf("%s: %d addresses count as taken", what, n)
		}
	}
}

func TestLaunch_AnInstanceThatARestartedDaemonFindsTakesAddresses(t *testing.T) {
	l := counted(t, map[string]int64{"subnet-big": 100, "subnet-small": 90, "subnet-b": 5})
	l.try(t)                          // the answer is lost
	l.controller.subnets.flying = nil // as after a restart
	l.ec2.answer = nil
	l.ec2.instances = []aws.Instance{{ID: "i-1", Zone: "a", Type: "c5.large", SubnetID: "subnet-big", State: "pending", LaunchTime: l.now}}
	l.try(t)
	if n := l.taken("subnet-big"); n == 0 {
		t.Error("an instance of a second ago takes no addresses")
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
