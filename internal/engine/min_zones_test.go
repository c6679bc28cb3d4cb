package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

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
	w.zoneC()
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

// zoneC sells everything in a third zone, too.
func (w *world) zoneC() *world {
	for i := range w.objects.Classes[0].Types {
		x := &w.objects.Classes[0].Types[i]
		for _, o := range x.Offerings {
			if o.Zone == "a" {
				o.Zone = "c"
				x.Offerings = append(x.Offerings, o)
			}
		}
	}
	return w
}

// alone keeps pods of the app off each other's domains.
func alone(key, app string) func(*cluster.Pod) {
	return func(p *cluster.Pod) {
		p.Labels = label.FromMap(map[string]string{"app": app})
		p.Shape.PodAntiAffinity = []cluster.PodTerm{term(key, 0, app)}
	}
}

// A node for pods that keep off each other's zones may come in each zone that is free. As long as
// nobody knows in which, the next pod waits. The last pods, to which too few zones are left, are told.
func TestStep_PodsApartOverZonesGetNodesWhileMinValuesHasFreeZones(t *testing.T) {
	w := newWorld(t).zoneC().minValues(label.Zone, 2).pods("web", 3, 900, alone(label.Zone, "web"))
	for _, free := range [][]string{{"a", "b", "c"}, {"b", "c"}} {
		out := w.step()
		launches := of[plan.Launch](out)
		if len(launches) != 1 || !slices.Equal(launches[0].Zones, free) || len(launches[0].Pods) != 1 || launches[0].MinValuesRelaxed {
			t.Fatalf("launches %+v, want one for a pod in %v: %v", launches, free, out.Plan.Outcomes)
		}
		if again := of[plan.Launch](w.order(launches).step()); len(again) > 0 {
			t.Fatalf("before anybody knows the zone, launches %+v", again)
		}
		w.bringUp(launches).open(w.step().Plan.Actions)
	}
	out := w.step()
	if len(of[plan.Launch](out)) > 0 || homeless(out) != 1 {
		t.Fatalf("%+v", out.Plan)
	}
	if said := out.Plan.Outcomes[0].Explain(); !strings.Contains(said, label.Zone+": the pool asks for 2 values") {
		t.Errorf("said %q", said)
	}
}

// What keeps a class off some domains, or counts it, leaves it the others together.
func TestStep_DomainsThatAreFreeCountTogetherForMinValues(t *testing.T) {
	spread := func(p *cluster.Pod) {
		p.Labels = label.FromMap(map[string]string{"app": "spread"})
		p.Shape.Spread = []cluster.Spread{{Key: label.Zone, MaxSkew: 1, Selector: pods("web")}}
	}
	web := func(p *cluster.Pod) { p.Labels = label.FromMap(map[string]string{"app": "web"}) }
	keepsOff := func(key, app string) func(*cluster.Pod) {
		return func(p *cluster.Pod) { p.Shape.PodAntiAffinity = []cluster.PodTerm{term(key, 0, app)} }
	}
	for name, x := range map[string]struct {
		key    string
		change func(*world)
		nodes  int // for web
		values int // of the key on each
	}{
		"other pods keep them off a zone": {label.Zone, func(w *world) {
			w.pods("old", 1, 900, in(label.Zone, "a"), keepsOff(label.Zone, "web"))
			w.objects.Pools[0].MinValues = nil
			w.running().minValues(label.Zone, 2).pods("web", 2, 3000, web)
		}, 2, 2},
		"they keep off pods in a zone": {label.Zone, func(w *world) {
			w.pods("old", 1, 900, in(label.Zone, "a"), func(p *cluster.Pod) { p.Labels = label.FromMap(map[string]string{"app": "old"}) })
			w.objects.Pools[0].MinValues = nil
			w.running().minValues(label.Zone, 2).pods("web", 2, 3000, web, keepsOff(label.Zone, "old"))
		}, 2, 2},
		"a spread of others counts them": {label.Zone, func(w *world) { w.pods("web", 2, 3000, web).pods("spread", 1, 100, spread) }, 2, 3},
		"apart over instance types":      {label.InstanceType, func(w *world) { w.pods("web", 2, 900, alone(label.InstanceType, "web")) }, 1, 2},
		"apart over capacity types, of which a launch has one": {label.Zone, func(w *world) {
			w.pods("web", 2, 900, alone(label.CapacityType, "web"))
		}, 1, 3},
		"apart over zones, and over hostnames": {label.Zone, func(w *world) {
			w.pods("web", 2, 900, alone(label.Zone, "web"), func(p *cluster.Pod) {
				p.Shape.PodAntiAffinity = append(p.Shape.PodAntiAffinity, term(label.Hostname, 0, "web"))
			})
		}, 1, 3},
	} {
		w := newWorld(t).zoneC().minValues(x.key, 2)
		x.change(w)
		nodes := 0
		w.memory.Growth.Last = w.now.Add(-time.Minute) // no more pods are to come
		out := w.step()
		for _, l := range of[plan.Launch](out) {
			if !slices.ContainsFunc(l.Pods, func(id string) bool { return strings.HasPrefix(id, "default/web") }) {
				continue
			}
			nodes++
			values := len(l.Zones)
			if x.key == label.InstanceType {
				values = len(l.Types)
			}
			if values < x.values || l.MinValuesRelaxed {
				t.Errorf("%s: zones %v, types %v, want %d of %s", name, l.Zones, l.Types, x.values, x.key)
			}
		}
		if nodes != x.nodes {
			t.Errorf("%s: %d nodes, want %d: %v", name, nodes, x.nodes, out.Plan.Outcomes)
		}
	}
}

// A pool beside it that asks for nothing serves all of them at once.
func TestStep_APoolWithoutMinValuesTakesPodsApartOverZonesAtOnce(t *testing.T) {
	for name, change := range map[string]func(*world){
		"a pool of the same weight": func(w *world) { w.pool(cluster.Pool{Name: "plain"}) },
		"best effort":               func(w *world) { w.policy.BestEffortMinValues = true },
		"minValues of one":          func(w *world) { w.objects.Pools[0].MinValues[0].Count = 1 },
		"minValues of types":        func(w *world) { w.objects.Pools[0].MinValues[0] = cluster.MinValues{Key: label.InstanceType, Count: 3} },
	} {
		w := newWorld(t).zoneC().minValues(label.Zone, 2)
		change(w)
		out := w.pods("web", 3, 900, alone(label.Zone, "web")).step()
		if n := launchedFor(out); n != 3 {
			t.Errorf("%s: %d of 3 pods get nodes", name, n)
		}
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
