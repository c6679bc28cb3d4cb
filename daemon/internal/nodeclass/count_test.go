package nodeclass_test

import (
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/nodeclass"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/world"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws/awstest"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// A restarted daemon must not pay for other capacity while the reservations in the
// status of a class have room.
func TestCountReservations_FindsThePlacesLeftInReservationsOfTheStatus(t *testing.T) {
	cloud, clients := awstest.Start(t, awssim.Options{})
	zone := catalog.Zone{Name: "us-west-2a", ID: "usw2-az1"}
	facts := []catalog.Fact{{Name: "m5.large", Arch: "amd64", VCPU: 2, MemoryMiB: 8192, ENIs: 3, IPv4PerENI: 10, UsageClasses: []string{label.OnDemand}}}
	market := catalog.Market{Zones: []catalog.Zone{zone}, Offered: map[string][]int{"m5.large": {0}}, OnDemand: map[string]quantity.Money{"m5.large": 1}}
	w := world.New(facts, market, time.Now)
	classes := nodeclass.New(nodeclass.Config{
		Cloud: clients, Objects: w, Logger: hclog.NewNullLogger(), Now: time.Now, Counted: w.ReservationsCounted,
	})
	id := cloud.EC2.SeedReservation(ec2sim.Reservation{InstanceType: "m5.large", Zone: zone.Name, Count: 3})
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "c"}}
	class.Status.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: zone.Name, ZoneID: zone.ID}}
	class.Status.AMIs = []awsv1.AMI{{ID: "ami-1"}}
	class.Status.Conditions = []v1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}}
	class.Status.CapacityReservations = []awsv1.CapacityReservation{{
		ID: id, InstanceType: "m5.large", AvailabilityZone: zone.Name, ReservationType: awsv1.ReservationDefault, State: awsv1.ReservationActive,
	}}
	w.Observe(class)
	left := func() (n int64) {
		c, _ := w.TypesOf("c")
		for _, o := range c.Types[0].Offerings {
			n += o.Left
		}
		return n
	}
	before := left()
	classes.CountReservations(t.Context())
	if after := left(); before != 0 || after != 3 {
		t.Errorf("%d left before the count and %d after it, want 0 and 3", before, after)
	}
}
