package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// A NodeClaim that may still come up in either zone is in the way in both.
func TestStep_PodsThatMayComeUpInAnyZoneKeepOthersOutOfAllOfThem(t *testing.T) {
	w := newWorld(t)
	for i := range w.objects.Classes[0].Types {
		x := &w.objects.Classes[0].Types[i]
		dear := x.Offerings[0]
		dear.Zone, dear.Price = "c", dear.Price*10
		x.Offerings = append(x.Offerings, dear)
	}
	first := of[plan.Launch](w.pods("web", 1, 1000).step())
	if !slices.Equal(first[0].Zones, []string{"a", "b"}) {
		t.Fatalf("the first could go to %v", first[0].Zones)
	}
	w.order(first).pods("lonely", 1, 1000, func(p *cluster.Pod) {
		p.Shape.PodAntiAffinity = []cluster.PodTerm{term(label.Zone, 0, "web")}
	})
	w.objects.Pods[0].Labels = label.FromMap(map[string]string{"app": "web"})
	next := of[plan.Launch](w.after(time.Second).step())
	if len(next) != 1 || !slices.Equal(next[0].Zones, []string{"c"}) {
		t.Errorf("the one that must be in another zone is launched as %+v", next)
	}
}

// The pods that are followed have their zone, and could be on spot by their rules,
// though not by their size: to follow them there before they are launched would
// be a guess.
func TestStep_NobodyFollowsAPodToADomainThatIsNotSettled(t *testing.T) {
	w := newWorld(t)
	w.objects.Pools = nil
	w.pool(cluster.Pool{Name: "small", Requirements: label.All(label.Is(label.CapacityType, label.Spot), label.Is(label.InstanceType, "c5.large"))})
	w.pool(cluster.Pool{Name: "paid"})
	w.pods("web", 2, 3000, func(p *cluster.Pod) {
		p.Labels = label.FromMap(map[string]string{"app": "web"})
		p.Shape.Spread = []cluster.Spread{{Key: label.Zone, MaxSkew: 1, Selector: pods("web")}}
	})
	w.pods("side", 1, 500, func(p *cluster.Pod) {
		p.Shape.PodAffinity = []cluster.PodTerm{term(label.CapacityType, 0, "web")}
		p.Shape.Selector = label.All(label.Is(label.CapacityType, label.Spot))
	})
	for range 3 {
		launches := of[plan.Launch](w.step())
		for _, l := range launches {
			if l.CapacityType == label.Spot {
				t.Errorf("launched beside nobody: %+v", l)
			}
		}
		w.order(launches).bringUp(launches)
	}
}

// A follower of high priority keeps what was launched for it, though those that
// it follows come after it in every list.
func TestStep_APromiseToAFollowerIsKeptWhateverItsPriority(t *testing.T) {
	w := newWorld(t)
	w.pods("web", 2, 3400, func(p *cluster.Pod) {
		p.Labels = label.FromMap(map[string]string{"app": "web"})
		p.Shape.Preferred = []cluster.Preference{{Weight: 1, Node: label.All(label.Is("nowhere", "x"))}}
	})
	w.pods("side", 2, 200, func(p *cluster.Pod) {
		p.Labels = label.FromMap(map[string]string{"app": "side"})
		p.Shape.Priority = 100
		p.Shape.PodAffinity = []cluster.PodTerm{term(label.Zone, 0, "web")}
		p.Shape.PodAntiAffinity = []cluster.PodTerm{term(label.Hostname, 7, "web")}
	})
	first := of[plan.Launch](w.step())
	if len(first) == 0 {
		t.Fatal("nothing was launched")
	}
	w.order(first)
	if again := of[plan.Launch](w.step()); len(again) > 0 {
		t.Errorf("launched %+v, and then %+v", first, again)
	}
}

// Pods that want to be near any others and were the first had the choice of zone;
// those that came after them do not take that back.
func TestStep_AGroupThatStartedWhereItWasPromisedAPlaceKeepsIt(t *testing.T) {
	in := func(zone string, priority int32) func(*cluster.Pod) {
		return func(p *cluster.Pod) {
			p.Shape.Selector, p.Shape.Priority = label.All(label.Is(label.Zone, zone)), priority
		}
	}
	w := newWorld(t).pods("social", 2, 3000, in("b", 0), func(p *cluster.Pod) {
		anybody := term(label.Zone, 0, "")
		anybody.Selector = cluster.PodSelector{}
		p.Shape.PodAffinity = []cluster.PodTerm{anybody}
	})
	for range 4 {
		out := w.after(time.Second).step()
		for _, o := range out.Plan.Outcomes {
			if o.Verdict == plan.Unplaceable {
				t.Errorf("%s", o.Explain())
			}
		}
		w.order(of[plan.Launch](out))
		if len(w.objects.Claims) == 2 {
			w.pods("other", 1, 3000, in("a", 100))
		}
	}
	if len(w.objects.Claims) != 3 {
		t.Errorf("%d NodeClaims for 3 pods", len(w.objects.Claims))
	}
}

// One that is followed finds room that exists, late in the plan, and its followers
// still get what was launched for them.
func TestStep_FollowersAreAskedAgainWhenThoseTheyFollowHaveFoundRoom(t *testing.T) {
	w := newWorld(t)
	w.pods("base", 1, 1000).running().after(time.Second)
	w.pods("side", 1, 2500, func(p *cluster.Pod) {
		p.Shape.Priority = 9
		p.Shape.PodAffinity = []cluster.PodTerm{term(label.Zone, 0, "web")}
	})
	w.pods("web", 1, 500, func(p *cluster.Pod) { p.Labels = label.FromMap(map[string]string{"app": "web"}) })
	first := of[plan.Launch](w.step())
	if len(first) != 1 {
		t.Fatalf("launched %+v", first)
	}
	if again := of[plan.Launch](w.order(first).step()); len(again) > 0 {
		t.Errorf("launched %+v, and then %+v", first, again)
	}
}

// Pods that must be spread among others keep what was launched for them, though
// others are on their way to the same zone since.
func TestStep_APromiseOutlivesThoseThatItsPodsMustBeSpreadAmong(t *testing.T) {
	w := newWorld(t).pods("side", 1, 3000, func(p *cluster.Pod) {
		p.Shape.Spread = []cluster.Spread{{Key: label.Zone, MaxSkew: 1, MinDomains: 2, Selector: pods("web")}}
	})
	first := of[plan.Launch](w.step())
	w.order(first).pods("web", 3, 3000, func(p *cluster.Pod) {
		p.Labels = label.FromMap(map[string]string{"app": "web"})
		p.Shape.Priority = 10
		p.Shape.Selector = label.All(label.Is(label.Zone, first[0].Zones[0]))
	})
	w.now = w.now.Add(time.Minute)
	if next := of[plan.Launch](w.step()); len(next) != 3 {
		t.Fatalf("launched %+v", next)
	} else {
		w.order(next)
	}
	if again := of[plan.Launch](w.step()); len(again) > 0 {
		t.Errorf("launched again: %+v", again)
	}
}

// Those that are followed are divided among zones; what else a label of theirs
// will be is settled by their launch, and their followers come in the same plan,
// with all that they prefer.
func TestStep_FollowersByAnotherKeyThanThoseTheyFollowAreDividedByComeInTheSamePlan(t *testing.T) {
	either, err := label.NewRequirement(label.CapacityType, label.In, label.OnDemand, label.Spot)
	if err != nil {
		t.Fatal(err)
	}
	for _, prefers := range [][]cluster.Preference{nil, {{Weight: 1, Node: label.All(label.Is(label.InstanceType, "m5.xlarge"))}}} {
		w := newWorld(t)
		w.objects.Pools = nil
		w.pool(cluster.Pool{Name: "either", Requirements: label.All(either)})
		w.pods("web", 2, 3000, func(p *cluster.Pod) {
			p.Labels = label.FromMap(map[string]string{"app": "web"})
			p.Shape.Spread = []cluster.Spread{{Key: label.Zone, MaxSkew: 1, Selector: pods("web")}}
		})
		w.pods("side", 3, 3000, func(p *cluster.Pod) {
			p.Shape.PodAffinity = []cluster.PodTerm{term(label.CapacityType, 0, "web")}
			p.Shape.Preferred = prefers
		})
		out := w.step()
		if n := launchedFor(out); n != 5 {
			t.Errorf("preferring %v: launched for %d pods of 5", prefers, n)
		}
		for _, o := range out.Plan.Outcomes {
			if o.Verdict == plan.Unplaceable || len(o.Dropped) > 0 {
				t.Errorf("preferring %v: %s, without %q", prefers, o.Explain(), o.Dropped)
			}
		}
	}
}

// Two nodes may each wait for the other: on one a pod follows one on the other,
// where one follows a pod on the first.
func TestStep_NodesWhosePodsFollowEachOtherAreLaunchedInOnePlan(t *testing.T) {
	w := newWorld(t)
	for _, app := range []struct {
		name  string
		n     int
		cpu   int64
		near  string
		apart bool
	}{
		{name: "app0", n: 1, cpu: 101, near: "app4"},
		{name: "app1", n: 1, cpu: 101},
		{name: "app2", n: 1, cpu: 1637},
		{name: "app3", n: 1, cpu: 100, near: "app0"},
		{name: "app4", n: 2, cpu: 100, apart: true},
	} {
		w.pods(app.name, app.n, app.cpu, func(p *cluster.Pod) {
			p.Labels = label.FromMap(map[string]string{"app": app.name})
			if app.near != "" {
				p.Shape.PodAffinity = []cluster.PodTerm{term(label.Zone, 5, app.near)}
			}
			if app.apart {
				p.Shape.PodAntiAffinity = []cluster.PodTerm{term(label.Zone, 0, app.name)}
			}
		})
	}
	for _, o := range w.step().Plan.Outcomes {
		if o.Verdict != plan.OnLaunch || len(o.Dropped) > 0 {
			t.Errorf("%v: %s, gave up %v", o.Pods, o.Verdict, o.Dropped)
		}
	}
}
