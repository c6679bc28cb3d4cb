package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// fleetOf returns a world with a small node in each of the zones, which runs what put gives
// it, and nothing else.
func fleetOf(t *testing.T, zones []string, put func(w *world, zone string, at func(*cluster.Pod))) *world {
	t.Helper()
	w := newWorld(t)
	w.objects.Classes[0].Types = w.objects.Classes[0].Types[:1]
	w.objects.Pools[0].Disruption = saving()
	for i, z := range zones {
		w.pods(fmt.Sprintf("seed%d", i), 1, 1800, func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is(label.Zone, z)) })
	}
	w.running()
	for _, c := range w.objects.Claims {
		put(w, c.Zone, func(p *cluster.Pod) { p.Node, p.Unschedulable = c.Node, false })
	}
	return w.drop(func(p cluster.Pod) bool { return len(p.Name) > 4 && p.Name[:4] == "seed" })
}

// savesFor plays the world for so many Steps.
func (w *world) savesFor(steps int) {
	w.now = w.now.Add(time.Minute)
	for range steps {
		w.obey(w.step())
		w.now = w.now.Add(5 * time.Second)
	}
}

func replicaOf(app string) func(*cluster.Pod) {
	return func(p *cluster.Pod) {
		p.Labels = label.FromMap(map[string]string{"app": app})
		p.Owner = cluster.Owner{Kind: "ReplicaSet", Name: app, UID: app}
	}
}

func stays(p *cluster.Pod) { p.DoNotDisrupt = true }

// The scheduler lets a host have as many replicas as maxSkew says more than the one with the
// fewest, be that none. Four of them fill a node.
func TestStep_ReplicasMoveTogetherAsFarAsTheirSpreadOverHostsAllows(t *testing.T) {
	for skew, want := range map[int64]int{1: 3, 2: 3, 3: 2, 6: 2} {
		i := 0
		w := fleetOf(t, []string{"a", "a", "a", "a", "a", "a"}, func(w *world, _ string, at func(*cluster.Pod)) {
			w.pods(fmt.Sprintf("web%d", i), 1, 450, replicaOf("web"), at, func(p *cluster.Pod) {
				p.Shape.Spread = []cluster.Spread{{Key: label.Hostname, MaxSkew: skew, Selector: pods("web")}}
			})
			i++
		})
		w.savesFor(200)
		if n := len(w.objects.Claims); n != want {
			t.Errorf("maxSkew %d: %d nodes are left of 6 for 6 replicas, want %d", skew, n, want)
		}
	}
}

// Rules that the search of the fleet counts only in part are tried by a whole plan.
func TestStep_PodsWithRulesAboutOthersMoveWhereTheRulesAllow(t *testing.T) {
	away := map[string]func(w *world, at func(*cluster.Pod)){
		"to a host of another": func(w *world, at func(*cluster.Pod)) {
			w.pods("cache", 1, 200, replicaOf("cache"), at)
			w.pods("app", 1, 200, replicaOf("app"), at, func(p *cluster.Pod) { p.Shape.PodAffinity = []cluster.PodTerm{term(label.Hostname, 0, "cache")} })
		},
		"to another zone together": func(w *world, at func(*cluster.Pod)) {
			w.pods("pair", 2, 200, replicaOf("pair"), at, func(p *cluster.Pod) { p.Shape.PodAffinity = []cluster.PodTerm{term(label.Zone, 0, "pair")} })
		},
		"to a zone without its own": func(w *world, at func(*cluster.Pod)) {
			w.pods("lone", 1, 200, replicaOf("lone"), at, func(p *cluster.Pod) { p.Shape.PodAntiAffinity = []cluster.PodTerm{term(label.Zone, 0, "lone")} })
		},
	}
	for name, put := range away {
		t.Run(name, func(t *testing.T) {
			w := fleetOf(t, []string{"a", "b"}, func(w *world, zone string, at func(*cluster.Pod)) {
				if zone == "b" {
					put(w, at)
				} else {
					w.pods("rest", 1, 1000, replicaOf("rest"), at, stays)
				}
			})
			w.savesFor(200)
			if n := len(w.objects.Claims); n != 1 {
				t.Errorf("%d nodes are left of 2, want 1", n)
			}
		})
	}
}

// What the rules forbid stays: a pod that keeps away from others in its zone does not move to a
// zone where one of them is.
func TestStep_PodsWithRulesAboutOthersStayWhereTheRulesForbidTheMove(t *testing.T) {
	w := fleetOf(t, []string{"a", "b"}, func(w *world, zone string, at func(*cluster.Pod)) {
		w.pods("apart"+zone, 1, 200, replicaOf("apart"), at, func(p *cluster.Pod) {
			p.Shape.PodAntiAffinity = []cluster.PodTerm{term(label.Zone, 0, "apart")}
			p.DoNotDisrupt = zone == "a"
		})
	})
	w.savesFor(100)
	if n := len(w.objects.Claims); n != 2 {
		t.Errorf("%d nodes are left of 2, want both", n)
	}
}

// A node that was not tried, as others had their turn, says so; it is not said to be worth
// its price.
func TestStandings_SayWhichNodesWereNotTried(t *testing.T) {
	w := fleetOf(t, []string{"a", "b"}, func(w *world, zone string, at func(*cluster.Pod)) {
		w.pods("apart"+zone, 1, 200, replicaOf("apart"), at, func(p *cluster.Pod) { p.Shape.PodAntiAffinity = []cluster.PodTerm{term(label.Zone, 0, "apart")} })
	})
	w.policy.WholeTries = 1
	w.savesFor(50)
	reasons := map[plan.StayReason]int{}
	for _, n := range engine.Standings(w.looked()).Nodes {
		reasons[n.Stay.Reason]++
	}
	if reasons[plan.NotTried] != 1 || reasons[plan.NoSaving] != 1 {
		t.Errorf("two nodes, of which one was tried, stay because of %v", reasons)
	}
}

// A node that takes no pods, as somebody cordoned it or as it is not ready, may be deleted
// as others may: that it takes none matters only for pods of others.
func TestStep_ANodeThatTakesNoPodsGoesToSaveMoney(t *testing.T) {
	for name, change := range map[string]func(*cluster.Node){
		"cordoned":  func(n *cluster.Node) { n.Cordoned = true },
		"not ready": func(n *cluster.Node) { n.Ready = false },
	} {
		t.Run(name, func(t *testing.T) {
			w := fleetOf(t, []string{"a", "b"}, func(w *world, zone string, at func(*cluster.Pod)) {
				w.pods("web"+zone, 1, 400, replicaOf("web"), at, func(p *cluster.Pod) { p.DoNotDisrupt = zone == "a" })
			})
			for i := range w.objects.Nodes {
				if zone, _ := w.objects.Nodes[i].Labels.Get(label.Zone); zone == "b" {
					change(&w.objects.Nodes[i])
				}
			}
			w.savesFor(100)
			if n := len(w.objects.Claims); n != 1 {
				for _, n := range engine.Standings(w.looked()).Nodes {
					t.Log(n.Node, n.Explain())
				}
				t.Errorf("%d nodes are left of 2, want the one that takes pods", n)
			}
		})
	}
}
