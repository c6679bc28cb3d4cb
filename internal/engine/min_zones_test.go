package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
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

// Pods that may use two zones each, and have only one in common, do not share a node.
func TestStep_PodsThatHaveTooFewZonesTogetherDoNotShareANode(t *testing.T) {
	w := newWorld(t).minValues(label.Zone, 2)
	for i := range w.objects.Classes[0].Types {
		x := &w.objects.Classes[0].Types[i]
		for _, o := range x.Offerings {
			if o.Zone == "a" {
				o.Zone = "c"
				x.Offerings = append(x.Offerings, o)
			}
		}
	}
	zones := func(of ...string) func(*cluster.Pod) {
		return func(p *cluster.Pod) {
			p.Shape.NodeAffinity = []label.Requirements{require(t, label.Zone, label.In, of...)}
		}
	}
	w.pods("left", 1, 100, zones("a", "b")).pods("right", 1, 100, zones("b", "c")).pods("free", 1, 100)
	out := w.step()
	for _, l := range of[plan.Launch](out) {
		if len(l.Zones) < 2 {
			t.Errorf("%v in %v", l.Pods, l.Zones)
		}
	}
	if launchedFor(out) != 3 || homeless(out) > 0 {
		t.Errorf("%d of 3 pods get nodes, %d have no place", launchedFor(out), homeless(out))
	}
}

// That a type is sold in too few zones is no reason why another pod has no place.
func TestStep_MinValuesOfTheZoneIsNoReasonWhereAnotherRuleIs(t *testing.T) {
	w := newWorld(t).minValues(label.Zone, 2)
	w.soldIn("m5.xlarge", "a")
	w.pods("web", 2, 500, func(p *cluster.Pod) {
		p.Labels = label.FromMap(map[string]string{"app": "web"})
		p.Shape.PodAffinity = []cluster.PodTerm{term(label.Region, 0, "other")}
	})
	out := w.step()
	if homeless(out) != 2 || strings.Contains(out.Plan.Outcomes[0].Explain(), "minValues") || !strings.Contains(out.Plan.Outcomes[0].Explain(), "affinity") {
		t.Errorf("%s", out.Plan.Outcomes[0].Explain())
	}
}

// EC2 is asked for one capacity type at a time, so no launch has two of them. The pool's
// instance types have.
func TestStep_MinValuesOfTheCapacityTypeCountsThoseInWhichThePoolCanHaveTheTypes(t *testing.T) {
	spotToo := []string{label.Spot, label.OnDemand}
	for name, c := range map[string]struct {
		paid     []string
		count    int
		change   func(*world)
		launches bool
	}{
		"both, two asked for":       {spotToo, 2, func(*world) {}, true},
		"both, three asked for":     {spotToo, 3, func(*world) {}, false},
		"one, two asked for":        {[]string{label.OnDemand}, 2, func(*world) {}, false},
		"one, one asked for":        {[]string{label.OnDemand}, 1, func(*world) {}, true},
		"both, for pods on demand":  {spotToo, 2, func(w *world) { w.onPods(in(label.CapacityType, label.OnDemand)) }, true},
		"both, of a static pool":    {spotToo, 2, func(w *world) { w.objects.Pods = nil; w.objects.Pools[0].Static, w.objects.Pools[0].Replicas = true, 1 }, true},
		"spot of no type":           {spotToo, 2, func(w *world) { w.withoutSpot("c5.large", "c5.xlarge", "m5.xlarge") }, false},
		"spot of another type only": {spotToo, 2, func(w *world) { w.withoutSpot("c5.large", "m5.xlarge") }, true},
	} {
		w := newWorld(t)
		w.objects.Pools = nil
		w.pool(cluster.Pool{Name: "general", Requirements: require(t, label.CapacityType, label.In, c.paid...)}).minValues(label.CapacityType, c.count)
		c.change(w.pods("web", 2, 900))
		out := w.step()
		if launched := len(of[plan.Launch](out)) > 0; launched != c.launches {
			t.Errorf("%s: launched %t, want %t: %s", name, launched, c.launches, out.Plan.Outcomes)
		}
	}
}

// withoutSpot has these types on demand alone.
func (w *world) withoutSpot(types ...string) {
	for i := range w.objects.Classes[0].Types {
		x := &w.objects.Classes[0].Types[i]
		if slices.Contains(types, x.Name) {
			x.Offerings = slices.DeleteFunc(x.Offerings, func(o catalog.Offering) bool { return o.CapacityType == label.Spot })
		}
	}
}
