package engine_test

import (
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// A launch has the zones that its pods may use. Zones in which the same types are sold
// do not count, if a rule between pods or a volume keeps the node out of them.
func TestStep_MinValuesOfTheZoneCountsZonesThatTheLaunchMayUse(t *testing.T) {
	spread := func(p *cluster.Pod) {
		p.Labels = label.FromMap(map[string]string{"app": "web"})
		p.Shape.Spread = []cluster.Spread{{Key: label.Zone, MaxSkew: 1, Selector: pods("web")}}
	}
	for name, tied := range map[string]func(*cluster.Pod){"spread": spread, "volume": volumeIn("a"), "selector": in(label.Zone, "b"), "affinity": together(label.Zone)} {
		for _, bestEffort := range []bool{false, true} {
			w := newWorld(t).minValues(label.Zone, 2)
			w.policy.BestEffortMinValues = bestEffort
			w.pods("web", 2, 1500, tied).pods("free", 2, 1500)
			out := w.step()
			launches, tiedTo := of[plan.Launch](out), 0
			for _, l := range launches {
				if len(l.Zones) == 1 {
					tiedTo++
				}
				if (len(l.Zones) == 1) != l.MinValuesRelaxed {
					t.Errorf("%s, best effort %t: in %v, relaxed %t", name, bestEffort, l.Zones, l.MinValuesRelaxed)
				}
			}
			switch {
			case bestEffort && (len(launches) != 4 || tiedTo != 2 || homeless(out) > 0):
				t.Errorf("%s: %d launches, %d of them in one zone, %d pods without a place; want all to run", name, len(launches), tiedTo, homeless(out))
			case !bestEffort && (len(launches) != 2 || tiedTo > 0 || homeless(out) != 2):
				t.Errorf("%s: %d launches, %d of them in one zone, %d pods without a place; want nodes for those that may use both", name, len(launches), tiedTo, homeless(out))
			case !bestEffort && !strings.Contains(out.Plan.Outcomes[len(out.Plan.Outcomes)-1].Explain()+out.Plan.Outcomes[0].Explain(), "asks for 2 values"):
				t.Errorf("%s: not explained: %q", name, out.Plan.Outcomes)
			}
		}
	}
}

// A declared node takes a type that is sold in as many zones, though it costs more than one
// that is not.
func TestStep_ANodeOfAStaticPoolHasTheZonesOfMinValues(t *testing.T) {
	w := newWorld(t).static(1)
	w.objects.Pools[len(w.objects.Pools)-1].MinValues = []cluster.MinValues{{Key: label.Zone, Count: 2}}
	w.soldIn("c5.large", "a")
	launches := of[plan.Launch](w.step())
	if len(launches) != 1 || len(launches[0].Zones) != 2 || launches[0].Types[0].Type != "c5.xlarge" {
		t.Errorf("%+v", launches)
	}
}
