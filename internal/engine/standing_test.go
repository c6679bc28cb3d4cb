package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// standings are those of nodes after a Step, by NodeClaim.
func (w *world) standings() map[string]plan.Standing {
	list := map[string]plan.Standing{}
	for _, s := range engine.Standings(w.looked()).Nodes {
		list[s.Claim] = s
	}
	return list
}

// looked is the input once the fleet has been searched.
func (w *world) looked() engine.Input {
	snap, err := cluster.New(w.objects)
	if err != nil {
		w.t.Fatal(err)
	}
	in := engine.Input{Snapshot: snap, Memory: w.memory, Policy: w.policy, Now: w.now, Seed: w.seed}
	for range 20 { // the fleet is searched in slices
		in.Memory = engine.Step(in).Memory
		in.Now = in.Now.Add(time.Second)
	}
	in.Now = w.now
	return in
}

// saving lets nodes with pods be deleted to save money.
func (w *world) saving() *world {
	w.objects.Pools[0].Disruption = cluster.Disruption{Policy: cluster.WhenEmptyOrUnderutilized, After: time.Minute}
	return w
}

func TestStandings_SayWhyEachNodeStaysOrGoes(t *testing.T) {
	for want, change := range map[plan.StayReason]func(*world){
		plan.PoolPaused:    func(w *world) { w.objects.Pools[0].Disruption.Paused = true },
		plan.DaemonPaused:  func(w *world) { w.policy.PauseDisruption = true },
		plan.NodeProtected: func(w *world) { w.objects.Nodes[1].DoNotDisrupt = true },
		plan.PodProtected:  func(w *world) { w.onPods(func(p *cluster.Pod) { p.DoNotDisrupt = true }) },
		plan.PodBudget: func(w *world) {
			w.objects.PodBudgets = []cluster.PodBudget{{UID: "b", Namespace: "default", Name: "all"}}
		},
		plan.PolicyForbids: func(w *world) { w.objects.Pools[0].Disruption.Policy = cluster.WhenEmpty },
		plan.NodeStays:     func(w *world) { w.objects.Nodes[1].Stays = true },
		plan.NotQuiet:      func(w *world) { w.objects.Claims[1].LastPodEvent = w.now },
		plan.BudgetUsed:    func(w *world) { w.objects.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: 0}} },
		plan.NotInitialized: func(w *world) {
			w.objects.Claims[1].Initialized, w.objects.Claims[1].Registered = false, false
		},
		plan.Replaces: func(w *world) {
			w.objects.Claims[1].Move = &cluster.Move{ID: "m", Count: 1, Sources: []cluster.Source{{Claim: w.objects.Claims[0].Name, UID: w.objects.Claims[0].UID}}}
		},
		plan.NoSaving:    func(*world) {},
		plan.SpotForSpot: func(w *world) { w.objects.Claims[1].CapacityType = label.Spot },
	} {
		w := full(t)
		w.objects.Pools[0].Disruption = cluster.Disruption{Policy: cluster.WhenEmptyOrUnderutilized, After: time.Minute}
		change(w)
		s := w.standings()[w.objects.Claims[1].Name]
		if s.Stay.Reason != want || s.DeletedFor != "" || s.Price == 0 {
			t.Errorf("%+v, want %s", s, want)
		}
	}
	w := full(t)
	w.objects.Pools[0].Disruption = cluster.Disruption{Policy: cluster.WhenEmptyOrUnderutilized, After: time.Minute}
	w.objects.PodBudgets = []cluster.PodBudget{{UID: "b", Namespace: "default", Name: "b", Allowed: 9}, {UID: "a", Namespace: "default", Name: "a", Allowed: 9}}
	s := w.standings()[w.objects.Claims[1].Name]
	if why := s.Explain(); s.Stay.Reason != plan.PodBudgets || !strings.Contains(why, "default/a and default/b") || !strings.Contains(why, "change the selector") {
		t.Errorf("%+v, %s", s, why)
	}
	w = full(t).drift(1)
	w.settle(1, nil)
	if s := w.standings()[w.objects.Claims[1].Name]; s.DeletedFor != plan.Drifted || s.Move == "" {
		t.Errorf("%+v", s)
	}
	w.objects.Claims[2].Deleting = true
	if s := w.standings()[w.objects.Claims[2].Name]; s.DeletedFor != plan.DeletedAlready {
		t.Errorf("%+v", s)
	}
}

func TestStandings_ABudgetThatIsUsedUpIsNamedWithTheEndOfItsWindow(t *testing.T) {
	always := &cluster.Schedule{
		Minutes: 1, Hours: 1 << 9, Days: 1<<32 - 2, Months: 1<<13 - 2, Weekdays: 1<<7 - 1, AnyDay: true, AnyWeekday: true, Text: "0 9 * * *",
	}
	for _, c := range []struct {
		budget cluster.Budget
		want   string
	}{
		{cluster.Budget{Percent: true}, `NodePool "general" (nodes: 0%) allows no more nodes now`},
		{cluster.Budget{Reasons: []string{"Drifted", "Underutilized"}}, `(nodes: 0, reasons: Drifted Underutilized) allows`},
		{cluster.Budget{Most: 3, Invalid: "a bad schedule"}, `(nodes: 3, cannot be read: a bad schedule) allows`},
		{
			cluster.Budget{Schedule: always, Duration: 20 * time.Hour},
			`(nodes: 0, schedule: 0 9 * * *, duration: 20h0m0s) allows no more nodes now, until 2026-01-01T05:00:00Z`,
		},
	} {
		w := full(t).saving()
		w.objects.Pools[0].Disruption.Budgets = []cluster.Budget{c.budget}
		s := w.standings()[w.objects.Claims[1].Name]
		if why := s.Explain(); s.Stay.Reason != plan.BudgetUsed || !strings.Contains(why, c.want) {
			t.Errorf("%s, want %s", why, c.want)
		}
	}
}

func TestStandings_ANodeThatSavesNothingSaysItsPriceAndWhatWasAsked(t *testing.T) {
	w := full(t).saving()
	s := w.standings()[w.objects.Claims[1].Name]
	// LeastSaving, and for each of two pods what it is worth in ten minutes of each hour.
	if want := "the node costs $0.0850 an hour, and a move must save at least $0.0181 an hour"; s.Stay.Reason != plan.NoSaving || !strings.Contains(s.Explain(), want) {
		t.Errorf("%s, want %s", s.Explain(), want)
	}
}

func TestStandings_ANodeThatWasRestoredDoesNotClaimThatAPodHasNoPlace(t *testing.T) {
	w := full(t).saving()
	w.memory.Restored = []memory.Since{{ID: w.objects.Claims[1].Name, At: w.now}}
	s := w.standings()[w.objects.Claims[1].Name]
	if s.Stay.Reason != plan.TriedLately || !s.Stay.Until.Equal(w.now.Add(memory.StaysFor)) {
		t.Errorf("%+v", s)
	}
	w.objects.Nodes[1].DoNotDisrupt = true
	if s := w.standings()[w.objects.Claims[1].Name]; s.Stay.Reason != plan.NodeProtected {
		t.Errorf("%+v: what still keeps the node is not said", s)
	}
}

func TestStandings_ANodePastItsDeadlineSaysSo(t *testing.T) {
	w := full(t)
	c := &w.objects.Claims[1]
	c.Created, c.ExpiresAt = w.now.Add(-2*time.Hour), w.now.Add(-time.Hour)
	w.onPods(func(p *cluster.Pod) { p.DoNotDisrupt = true })
	s := w.standings()[c.Name]
	if s.Stay.Reason != plan.PodProtected || s.For != plan.Expired || !s.Overdue.Equal(c.ExpiresAt) || !strings.Contains(s.Explain(), "expireAfter ended at 2026-01-01T00:00:00Z") {
		t.Errorf("%+v: %s", s, s.Explain())
	}
}

func TestStandings_NamesThePodsThatNothingCreatesAnew(t *testing.T) {
	w := full(t)
	w.onPods(func(p *cluster.Pod) { p.Owner = cluster.Owner{Kind: "ReplicaSet", Name: "web", UID: "r"} })
	w.objects.Pods[0].Owner = cluster.Owner{}
	node := w.objects.Pods[0].Node
	for _, s := range w.standings() {
		if says := strings.Contains(s.Explain(), "no controller creates pod default/web-00 anew"); says != (s.Node == node) {
			t.Errorf("%s: %s", s.Node, s.Explain())
		}
	}
}

// poolStanding is that of the pool "general".
func (w *world) poolStanding() plan.PoolStanding {
	w.t.Helper()
	all := engine.Standings(w.looked())
	if len(all.Pools) != 1 || all.Pools[0].Pool != "general" {
		w.t.Fatalf("%+v", all.Pools)
	}
	return all.Pools[0]
}

func TestStandings_EveryPoolHasOneReason(t *testing.T) {
	for want, change := range map[plan.PoolReason]func(*world){
		plan.PoolDeleting:   func(w *world) { w.objects.Pools[0].Deleting = true },
		plan.PoolNotUp:      func(w *world) { w.objects.Pools[0].Ready, w.objects.Pools[0].NotReady = false, "class missing" },
		plan.PoolCloudAway:  func(w *world) { w.policy.CloudAway = true },
		plan.PoolAllPaused:  func(w *world) { w.policy.PauseDisruption = true },
		plan.PoolSelfPaused: func(w *world) { w.objects.Pools[0].Disruption.Paused = true },
		plan.PoolHasNone:    func(w *world) { w.objects.Claims, w.objects.Nodes, w.objects.Pods = nil, nil, nil },
		plan.PoolBudgetUsed: func(w *world) { w.objects.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: 0}} },
		plan.PoolNodesGo: func(w *world) {
			w.objects.Claims[0].Disrupting = &cluster.Disrupting{Reason: "Underutilized", Since: w.now}
		},
		plan.PoolIsStatic:  func(w *world) { w.objects.Pools[0].Static, w.objects.Pools[0].Replicas = true, 3 },
		plan.PoolPolicy:    func(w *world) { w.objects.Pools[0].Disruption.Policy = cluster.WhenEmpty },
		plan.PoolNodesKept: func(w *world) { w.onPods(func(p *cluster.Pod) { p.DoNotDisrupt = true }) },
		plan.PoolNoSaving:  func(*world) {},
	} {
		w := full(t).saving()
		change(w)
		if s := w.poolStanding(); s.Reason != want || s.Explain() == "" || s.UID != w.objects.Pools[0].UID {
			t.Errorf("%+v, want %s", s, want)
		}
	}
	w := full(t).saving()
	w.objects.Pools[0].Disruption.Budgets = []cluster.Budget{{Percent: true, Most: 40}, {Most: 1, Reasons: []string{"Drifted"}}}
	w.objects.Nodes[0].Ready = false
	for _, a := range w.poolStanding().Budgets {
		if most := map[plan.DeleteReason]int64{plan.Drifted: 1}[a.Reason]; a.Most != max(most, 2-most) || !a.Bounded || a.Used != 1 {
			t.Errorf("%+v", a)
		}
	}
	w.objects.Pools[0].Disruption.Budgets = nil
	if a := w.poolStanding().Budgets[0]; a.Bounded {
		t.Errorf("no budget bounds %+v", a)
	}
}

func TestStandings_AMoveSaysWhatItFreesAndCosts(t *testing.T) {
	w := full(t).drift(1)
	w.settle(1, nil)
	all := engine.Standings(w.looked())
	if len(all.Moves) != 1 {
		t.Fatalf("%+v", all.Moves)
	}
	m := all.Moves[0]
	if len(m.Sources) != 1 || m.Sources[0] != w.objects.Claims[1].Name || len(m.Replacements) != 1 || m.Reason != plan.Drifted ||
		m.Frees != 85_000_000 || m.Costs != 85_000_000 || m.Saves() != 0 || m.Unpriced {
		t.Errorf("%+v", m)
	}
}

func TestStandingOfPod_SaysWhetherThePodKeepsItsNodeLikeTheNodeItself(t *testing.T) {
	for want, change := range map[plan.StayReason]func(*world, *cluster.Pod){
		"":                func(*world, *cluster.Pod) {},
		plan.PodProtected: func(_ *world, p *cluster.Pod) { p.ProtectedUntil = start.Add(3 * time.Hour) },
		plan.PodOfGang:    func(_ *world, p *cluster.Pod) { p.Shape.Gang.Name = "g" },
		plan.PodBudget: func(w *world, p *cluster.Pod) {
			p.Namespace = "guarded"
			w.objects.PodBudgets = []cluster.PodBudget{{UID: "b", Namespace: "guarded", Name: "all"}}
		},
		plan.PodBudgets: func(w *world, p *cluster.Pod) {
			p.Namespace = "guarded"
			w.objects.PodBudgets = []cluster.PodBudget{{UID: "b", Namespace: "guarded", Name: "b", Allowed: 9}, {UID: "a", Namespace: "guarded", Name: "a", Allowed: 9}}
		},
		plan.PodSettles: func(w *world, p *cluster.Pod) {
			p.Created = w.now.Add(-time.Minute)
			w.memory.EvictedUntil = w.now.Add(-time.Minute)
			w.onPods(func(o *cluster.Pod) {
				if o.UID != p.UID {
					o.Created = w.now.Add(-time.Hour)
				}
			})
		},
	} {
		w := full(t).saving()
		p := &w.objects.Pods[3]
		change(w, p)
		in := w.looked()
		got, there := engine.StandingOfPod(in, p.ID())
		if !there || got.Hold.Reason != want || got.Node.Node != p.Node || !got.Lost {
			t.Errorf("%+v, want %q", got, want)
			continue
		}
		if want != "" && got.Hold != got.Node.Stay {
			t.Errorf("the pod says %+v, its node %+v", got.Hold, got.Node.Stay)
		}
		if want != "" && !strings.Contains(got.Explain(), (plan.Stay{Reason: want}).Remedy()) {
			t.Errorf("%s: %s lacks the remedy", want, got.Explain())
		}
		for _, other := range w.objects.Pods {
			if o, _ := engine.StandingOfPod(in, other.ID()); other.UID != p.UID && o.Hold.Reason != "" {
				t.Errorf("%s: pod %s keeps its node: %+v", want, other.ID(), o.Hold)
			}
		}
	}
}

func TestStandingOfPod_ThePodIsAskedWhateverElseKeepsTheNode(t *testing.T) {
	w := full(t).saving()
	w.objects.Pools[0].Disruption.Paused, w.objects.Nodes[0].DoNotDisrupt = true, true
	w.policy.PauseDisruption, w.policy.CloudAway = true, true
	in := w.looked()
	if got, there := engine.StandingOfPod(in, w.objects.Pods[0].ID()); !there || got.Hold.Reason != "" {
		t.Errorf("%+v", got)
	}
	if _, there := engine.StandingOfPod(in, "default/nobody"); there {
		t.Error("a pod that is not there has a standing")
	}
}

func TestStandingOfPod_APodWithoutAnotherPlaceKeepsItsNode(t *testing.T) {
	w := full(t).saving()
	id := w.objects.Pods[0].ID()
	in := w.looked()
	if got, _ := engine.StandingOfPod(in, id); got.Hold.Reason != "" {
		t.Errorf("a new node is another place: %+v", got)
	}
	w.objects.Pools[0].Limits = []quantity.Amount{{Name: "nodes", Count: 3}}
	in = w.looked()
	got, _ := engine.StandingOfPod(in, id)
	if got.Hold.Reason != plan.NoPlace || !strings.Contains(got.Explain(), "the pod keeps the node: pod "+id+" has no other place") {
		t.Errorf("%+v: %s", got, got.Explain())
	}
}
