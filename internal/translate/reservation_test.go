package translate_test

import (
	"slices"
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

// As Karpenter does, a NodeClaim says the type of its reservation where a pod or its pool
// asks for one.
func TestNodeClaim_SaysTheTypeOfItsReservationWhereItIsAskedFor(t *testing.T) {
	none := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	asking := none.DeepCopy()
	asking.Spec.Template.Spec.Requirements = []v1.Requirement{{Key: label.ReservationType, Operator: "In", Values: []string{"default"}}}
	selecting := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: map[string]string{label.ReservationType: "default"}}}
	requiring := &corev1.Pod{Spec: corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: label.ReservationType, Operator: "Exists"}},
		}}},
	}}}}
	for name, tc := range map[string]struct {
		pool        *v1.NodePool
		pods        []*corev1.Pod
		reservation string
		want        int
	}{
		"nobody asks":      {none, []*corev1.Pod{{}}, "cr-1", 0},
		"a pod selects":    {none, []*corev1.Pod{{}, selecting, requiring}, "cr-1", 1},
		"a pod requires":   {none, []*corev1.Pod{requiring}, "cr-1", 1},
		"the pool asks":    {asking, []*corev1.Pod{selecting}, "cr-1", 1},
		"no reservation":   {none, []*corev1.Pod{selecting}, "", 0},
		"no pod is known ": {none, nil, "cr-1", 0},
	} {
		l := plan.Launch{Pool: "p", CapacityType: label.Reserved, Reservation: tc.reservation, Zones: []string{"a"}, Types: []plan.Choice{{Type: "m5.large"}}}
		claim := translate.NodeClaim(l, tc.pool, v1.AwaitingPodsTaint())
		translate.AskedReservationType(claim, slices.Values(tc.pods))
		got := 0
		for _, r := range claim.Spec.Requirements {
			if r.Key == label.ReservationType && slices.Equal(r.Values, []string{"default"}) {
				got++
			}
		}
		if got != tc.want {
			t.Errorf("%s: %d requirements on the type, want %d: %v", name, got, tc.want, claim.Spec.Requirements)
		}
	}
}

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
