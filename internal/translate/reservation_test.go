package translate_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// The reservation is on the NodeClaim from its beginning, as a requirement, and
// on its label once EC2 has launched into it.
func TestClaim_KnowsItsReservationBeforeAndAfterTheLaunch(t *testing.T) {
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	pool.Spec.Template.Spec.Requirements = []v1.Requirement{{Key: label.Reservation, Operator: "Exists"}}
	l := plan.Launch{Pool: "p", CapacityType: label.Reserved, Reservation: "cr-1", Zones: []string{"a"}, Types: []plan.Choice{{Type: "m5.large"}}}
	claim := translate.NodeClaim(l, pool, v1.AwaitingPodsTaint())
	asked := 0
	for _, r := range claim.Spec.Requirements {
		if r.Key == label.Reservation {
			asked++
		}
	}
	if got, err := translate.Claim(claim); err != nil || got.Reservation != "cr-1" || asked != 1 {
		t.Errorf("before the launch: %q, %d requirements, %v", got.Reservation, asked, err)
	}
	l.CapacityType, l.Reservation = label.OnDemand, ""
	if got, err := translate.Claim(translate.NodeClaim(l, pool, v1.AwaitingPodsTaint())); err != nil || got.Reservation != "" {
		t.Errorf("on demand: %q, %v", got.Reservation, err)
	}

	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	claim.Conditions().SetTrue(v1.ConditionLaunched, at)
	claim.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	claim.Labels = map[string]string{label.Reservation: "cr-1"}
	got, err := translate.Claim(claim)
	if err != nil || got.Reservation != "cr-1" || !got.LaunchedAt.Equal(at) || got.Capacity.MilliCPU != 2000 {
		t.Errorf("launched: %+v, %v", got, err)
	}
	delete(claim.Labels, label.Reservation)
	if got, err := translate.Claim(claim); err != nil || got.Reservation != "" {
		t.Errorf("when the reservation has ended: %q, %v", got.Reservation, err)
	}
}

func TestClass_OffersReservationsWithWhatIsLeftOfThem(t *testing.T) {
	zone := catalog.Zone{Name: "us-west-2a", ID: "usw2-az1"}
	facts := []catalog.Fact{{Name: "m5.large", Arch: "amd64", VCPU: 2, MemoryMiB: 8192, ENIs: 3, IPv4PerENI: 10, UsageClasses: []string{label.OnDemand}}}
	market := catalog.Market{Zones: []catalog.Zone{zone}, Offered: map[string][]int{"m5.large": {0}}, OnDemand: map[string]quantity.Money{"m5.large": 1}}
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
	class.Status.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: zone.Name, ZoneID: zone.ID}}
	class.Status.AMIs = []awsv1.AMI{{ID: "ami-1"}}
	class.Status.Conditions = []v1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}}
	in := func(id, kind, state string, interruptible bool) awsv1.CapacityReservation {
		return awsv1.CapacityReservation{
			ID: id, InstanceType: "m5.large", AvailabilityZone: zone.Name, ReservationType: kind, State: state, Interruptible: interruptible,
		}
	}
	class.Status.CapacityReservations = []awsv1.CapacityReservation{
		in("cr-1", "default", "active", false), in("cr-2", "default", "active", false), in("cr-3", "capacity-block", "active", false),
		in("cr-4", "default", "expiring", false), in("cr-5", "default", "active", true),
	}
	counted := time.Unix(1000, 0)
	got := translate.Class(class, facts, market, map[string]translate.Room{"cr-1": {Left: 3, Counted: counted}}, catalog.DefaultOverhead())
	left := map[string]int64{}
	for _, o := range got.Types[0].Offerings {
		if o.CapacityType == label.Reserved {
			left[o.Reservation] = o.Left
			if o.Reservation == "cr-1" && !o.Counted.Equal(counted) {
				t.Errorf("%+v", o)
			}
		}
	}
	if len(left) != 2 || left["cr-1"] != 3 || left["cr-2"] != 0 {
		t.Errorf("offers %v, want 3 left of cr-1 and none of cr-2, of which it is not known", left)
	}
}
