package moves

import (
	"fmt"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Types t1 to t9 cost 1 to 9 in zone a, and ten times as much in zone b.
func TestCheaper_TheDearestNodesOfAllLaunchesCostLessThanWhatIsFreed(t *testing.T) {
	class := cluster.Class{Name: "default", Ready: true}
	for i := range 9 {
		room := quantity.Resources{MilliCPU: 4000, MemoryBytes: 8 << 30, PodSlots: 30}
		x := catalog.InstanceType{Name: fmt.Sprintf("t%d", i+1), Capacity: room, Allocatable: room, Labels: label.FromMap(map[string]string{label.InstanceType: fmt.Sprintf("t%d", i+1)})}
		for j, zone := range []string{"a", "b"} {
			price := quantity.Money(i+1) * []quantity.Money{1, 10}[j]
			x.Offerings = append(x.Offerings, catalog.Offering{Zone: zone, CapacityType: label.OnDemand, Price: price, Available: true})
		}
		class.Types = append(class.Types, x)
	}
	for _, c := range []struct {
		launches [][2]int // the cheapest and the dearest type of each
		frees    quantity.Money
		want     string // types and zones of each; "" if nothing is to be launched
	}{
		{[][2]int{{1, 3}}, 31, "[t1-t3 ab]"},
		{[][2]int{{1, 3}}, 30, "[t1-t2 ab]"},
		{[][2]int{{1, 1}}, 11, "[t1-t1 ab]"},
		{[][2]int{{1, 3}}, 11, "[t1-t3 a]"}, // three offerings, and not two
		{[][2]int{{1, 3}}, 10, "[t1-t3 a]"},
		{[][2]int{{1, 3}}, 3, "[t1-t2 a]"},
		{[][2]int{{1, 3}}, 2, "[t1-t1 a]"},
		{[][2]int{{1, 3}}, 1, ""},
		{[][2]int{{1, 3}, {5, 9}}, 6, ""},                      // 1 + 5
		{[][2]int{{1, 3}, {5, 9}}, 7, "[t1-t1 a] [t5-t5 a]"},   // 1 + 5 < 7
		{[][2]int{{1, 3}, {5, 9}}, 8, "[t1-t1 a] [t5-t6 a]"},   // what one leaves, the other takes
		{[][2]int{{1, 3}, {5, 9}}, 13, "[t1-t3 a] [t5-t9 a]"},  // 3 + 9 < 13
		{[][2]int{{1, 1}, {1, 9}}, 11, "[t1-t1 a] [t1-t9 a]"},  // 1 + 9 < 11
		{[][2]int{{1, 1}, {1, 9}}, 21, "[t1-t1 ab] [t1-t9 a]"}, // 10 + 9 < 21
	} {
		s, err := cluster.New(cluster.Objects{Classes: []cluster.Class{class}, Pools: []cluster.Pool{{Name: "p", UID: "p", Class: "default", Ready: true}}})
		if err != nil {
			t.Fatal(err)
		}
		fleet := offer.Compile(s.Supply(), offer.Variants{}, 0)
		var actions []plan.Action
		for _, x := range c.launches {
			l := plan.Launch{Pool: "p", CapacityType: label.OnDemand, Zones: []string{"a", "b"}, Labels: fleet.Rows[0].Template}
			for i := x[0]; i <= x[1]; i++ {
				l.Types = append(l.Types, plan.Choice{Type: fmt.Sprintf("t%d", i), Price: quantity.Money(i)})
			}
			actions = append(actions, l)
		}
		got := ""
		if cheaper(fleet, actions, c.frees) {
			for _, a := range actions {
				l := a.(plan.Launch)
				got += fmt.Sprintf(" [%s-%s %s]", l.Types[0].Type, l.Types[len(l.Types)-1].Type, map[int]string{1: l.Zones[0], 2: "ab"}[len(l.Zones)])
			}
			got = got[1:]
		}
		if got != c.want {
			t.Errorf("%v for less than %d: %q, want %q", c.launches, c.frees, got, c.want)
		}
	}
}
