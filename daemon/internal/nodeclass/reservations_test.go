package nodeclass

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

func TestReservations_ListsThoseThatHaveNotEnded(t *testing.T) {
	now := at(10)
	in := func(id, kind string, end time.Time) aws.CapacityReservation {
		return aws.CapacityReservation{ID: id, InstanceType: "m5.large", Zone: "us-west-2a", OwnerID: "123456789012", Match: "targeted", Type: kind, End: end, Available: 1}
	}
	entry := func(id, kind, state string, end time.Time) awsv1.CapacityReservation {
		out := awsv1.CapacityReservation{
			AvailabilityZone: "us-west-2a", ID: id, InstanceMatchCriteria: "targeted", InstanceType: "m5.large", OwnerID: "123456789012",
			ReservationType: kind, State: state,
		}
		if !end.IsZero() {
			out.EndTime = &metav1.Time{Time: end}
		}
		return out
	}
	strange := in("cr-6", "default", time.Time{})
	strange.Match = "by-fax"
	got := reservations([]aws.CapacityReservation{
		in("cr-1", "default", time.Time{}), in("cr-2", "default", now.Add(time.Minute)), in("cr-3", "default", now),
		in("cr-4", "capacity-block", now.Add(41*time.Minute)), in("cr-5", "capacity-block", now.Add(40*time.Minute)),
		strange, in("cr-7", "from-the-future", time.Time{}),
	}, now)
	want := []awsv1.CapacityReservation{
		entry("cr-1", "default", "active", time.Time{}), entry("cr-2", "default", "active", now.Add(time.Minute)),
		entry("cr-4", "capacity-block", "active", now.Add(41*time.Minute)), entry("cr-5", "capacity-block", "expiring", now.Add(40*time.Minute)),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
