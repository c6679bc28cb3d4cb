package world_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/world"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// A price of a zone that no class uses is no news.
func TestSell_OnlyClassesForWhichAPriceChangesAreNews(t *testing.T) {
	a, b := catalog.Zone{Name: "us-west-2a", ID: "usw2-az1"}, catalog.Zone{Name: "us-west-2b", ID: "usw2-az2"}
	facts := []catalog.Fact{{Name: "m5.large", Arch: "amd64", VCPU: 2, MemoryMiB: 8192, ENIs: 3, IPv4PerENI: 10, UsageClasses: []string{label.Spot}}}
	prices := func(inA, inB quantity.Money) catalog.Market {
		return catalog.Market{
			Zones: []catalog.Zone{a, b}, Offered: map[string][]int{"m5.large": {0, 1}}, Spot: map[string][]quantity.Money{"m5.large": {inA, inB}},
		}
	}
	w := world.New(facts, prices(10, 20), time.Now)
	for name, zone := range map[string]catalog.Zone{"in-a": a, "in-b": b} {
		class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
		class.Status.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: zone.Name, ZoneID: zone.ID}}
		class.Status.AMIs = []awsv1.AMI{{ID: "ami-1"}}
		class.Status.Conditions = []v1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}}
		w.Observe(class)
	}
	if got := w.Zones(); len(got) != 2 || got[0] != a || got[1] != b {
		t.Errorf("zones %v", got)
	}
	look := func() map[string]quantity.Money {
		t.Helper()
		s, faults := w.Snapshot()
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		out := map[string]quantity.Money{}
		for _, c := range s.Classes() {
			out[c.Name] = c.Types[0].Offerings[0].Price
		}
		return out
	}
	look()
	<-w.Changed()
	before, _ := w.Snapshot()
	w.Sell(facts, prices(10, 20))
	select {
	case <-w.Changed():
		t.Error("the same prices are announced as news")
	default:
	}
	if after, _ := w.Snapshot(); after.Supply() != before.Supply() {
		t.Error("the same prices change what the decision core sees")
	}
	w.Sell(facts, prices(1009, 20))
	look()
	<-w.Changed()
	for _, small := range []quantity.Money{1019, 999} { // one part in a hundred
		w.Sell(facts, prices(small, 20))
		select {
		case <-w.Changed():
			t.Errorf("%d is announced after 1009", small)
		default:
		}
	}
	w.Sell(facts, prices(1020, 20)) // small changes add up
	<-w.Changed()
	if got := look(); got["in-a"] != 1020 {
		t.Errorf("prices %v", got)
	}
	w.Sell(facts, prices(10, 25))
	select {
	case <-w.Changed():
	default:
		t.Error("another price is not announced")
	}
	if got := look(); got["in-a"] != 10 || got["in-b"] != 25 {
		t.Errorf("prices %v", got)
	}
}
