package world_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/world"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Each count has the time at which EC2 was asked, so that later launches can be
// subtracted from it. The same count again changes nothing.
func TestWorld_ReservationsHaveEC2sCountOfFreePlaces(t *testing.T) {
	zone := catalog.Zone{Name: "us-west-2a", ID: "usw2-az1"}
	facts := []catalog.Fact{{Name: "m5.large", Arch: "amd64", VCPU: 2, MemoryMiB: 8192, ENIs: 3, IPv4PerENI: 10, UsageClasses: []string{label.OnDemand}}}
	market := catalog.Market{Zones: []catalog.Zone{zone}, Offered: map[string][]int{"m5.large": {0}}, OnDemand: map[string]quantity.Money{"m5.large": 1}}
	start := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	w := world.New(facts, market, func() time.Time { return start })
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "c"}}
	class.Status.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: zone.Name, ZoneID: zone.ID}}
	class.Status.AMIs = []awsv1.AMI{{ID: "ami-1"}}
	class.Status.Conditions = []v1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}}
	class.Status.CapacityReservations = []awsv1.CapacityReservation{{
		ID: "cr-1", InstanceType: "m5.large", AvailabilityZone: zone.Name, ReservationType: "default", State: "active",
	}}
	w.Observe(class)
	<-w.Changed()
	look := func() catalog.Offering {
		t.Helper()
		s, faults := w.Snapshot()
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		for _, o := range s.Classes()[0].Types[0].Offerings {
			if o.CapacityType == label.Reserved {
				return o
			}
		}
		t.Fatal("no reserved offering")
		return catalog.Offering{}
	}
	if o := look(); o.Left != 0 {
		t.Errorf("before EC2 was asked: %+v", o)
	}
	asked := start.Add(90500 * time.Millisecond)
	w.ReservationsCounted(asked, map[string]int64{"cr-1": 2})
	select {
	case <-w.Changed():
	default:
		t.Error("the first count is not announced as a change")
	}
	first := look()
	if first.Left != 2 || !first.Counted.Before(asked.Add(-time.Second)) || first.Counted.Before(asked.Add(-time.Minute)) {
		t.Errorf("%+v, asked at %v", first, asked)
	}
	same, _ := w.Snapshot()
	w.ReservationsCounted(asked.Add(time.Minute), map[string]int64{"cr-1": 2})
	if again, _ := w.Snapshot(); !again.Same(same) {
		t.Error("the same count again made another snapshot")
	}

	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n", Labels: map[string]string{label.Reservation: "cr-1"}}}
	claim.Spec.NodeClassRef = v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: "c"}
	claim.Conditions().SetTrue(v1.ConditionLaunched, asked.Add(time.Minute))
	w.Observe(claim)
	w.ReservationsCounted(asked.Add(2*time.Minute), map[string]int64{"cr-1": 2})
	if o := look(); !o.Counted.After(claim.Conditions().Get(v1.ConditionLaunched).LastTransitionTime.Time) {
		t.Errorf("%+v: the instance that was launched before this count is not in it", o)
	}
}
