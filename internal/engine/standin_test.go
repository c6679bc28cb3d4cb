package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// standsIn makes the prices of the type ones that stand in for those that nobody knows.
func (w *world) standsIn(name string) {
	for i := range w.objects.Classes[0].Types {
		t := &w.objects.Classes[0].Types[i]
		for j := range t.Offerings {
			t.Offerings[j].StandIn = t.Offerings[j].StandIn || t.Name == name
		}
	}
}

// A price that nobody knows is good enough to launch by, and the text says what it is.
func TestStep_LaunchesAtAStandInAndSaysSo(t *testing.T) {
	w := newWorld(t)
	w.standsIn("c5.large")
	out := w.pods("web", 1, 900).step()
	launches := of[plan.Launch](out)
	if len(launches) != 1 || launches[0].Types[0] != (plan.Choice{Type: "c5.large", Price: 85_000_000, StandIn: true}) {
		t.Fatalf("launches %+v", launches)
	}
	if text := launches[0].Why.Explain(); !strings.Contains(text, "$0.0850 (a stand-in, as nobody knows the price)") {
		t.Errorf("why: %s", text)
	}
}

// A node of $0.17 with one small pod is to be replaced by one of $0.085, if both prices are known.
func TestStep_NoNodeIsReplacedToSaveMoneyByAStandIn(t *testing.T) {
	for name, c := range map[string]struct {
		standIn  string
		launched int
	}{
		"both are known":                   {"", 1},
		"that of the node is not known":    {"c5.xlarge", 0},
		"that of the new one is not known": {"c5.large", 0},
		"that of another type":             {"m5.xlarge", 1},
	} {
		w := newWorld(t)
		w.objects.Pools[0].Disruption = saving()
		w.policy.LeastSaving, w.policy.PodMove, w.policy.MoveTime = 1, 1, 1
		w.pods("big", 1, 3000).pods("small", 1, 500).running()
		w.drop(func(p cluster.Pod) bool { return p.Name == "big-00" })
		w.now = w.now.Add(time.Hour)
		w.standsIn(c.standIn)
		launched := 0
		w.settle(30, func(o engine.Output) {
			for _, l := range of[plan.Launch](o) {
				launched++
				for _, x := range l.Types {
					if x.StandIn {
						t.Errorf("%s: the launch that saves money may become %+v", name, x)
					}
				}
			}
		})
		if launched != c.launched {
			t.Errorf("%s: %d launches, want %d", name, launched, c.launched)
		}
	}
}

// What a node costs at all is saved for sure if its pods run elsewhere without it.
func TestStep_NodesWhosePodsFitElsewhereGoWhateverTheirPrice(t *testing.T) {
	w := halfEmpty(t)
	w.standsIn("c5.large")
	w.settle(60, func(o engine.Output) {
		if n := len(of[plan.Launch](o)); n > 0 {
			t.Errorf("%d launches", n)
		}
	})
	if n := len(w.objects.Nodes); n != 3 {
		t.Errorf("%d nodes are left, want 3", n)
	}
}

// The reservations of the catalogue are of shared hardware.
func TestStep_NodesWithHardwareOfTheirOwnUseNoReservation(t *testing.T) {
	for tenancy, want := range map[string]string{label.SharedTenancy: label.Reserved, label.Dedicated: label.OnDemand} {
		w := newWorld(t)
		w.objects.Pools[0].Labels = label.FromMap(map[string]string{label.Tenancy: tenancy})
		of0 := &w.objects.Classes[0].Types[0]
		of0.Offerings = append(of0.Offerings, catalog.Offering{Zone: "a", CapacityType: label.Reserved, Reservation: "cr-1", Available: true, Left: 5})
		ask := func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is(label.Tenancy, tenancy)) }
		launches := of[plan.Launch](w.pods("web", 1, 900, ask).step())
		if len(launches) != 1 || launches[0].CapacityType != want {
			t.Errorf("%s: launches %+v, want %s", tenancy, launches, want)
			continue
		}
		if got, _ := launches[0].Labels.Get(label.Tenancy); got != tenancy {
			t.Errorf("%s: the launch has tenancy %q", tenancy, got)
		}
	}
}
