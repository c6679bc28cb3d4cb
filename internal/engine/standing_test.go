package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// standings are those after a Step, by NodeClaim.
func (w *world) standings() map[string]plan.Standing {
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
	list := map[string]plan.Standing{}
	for _, s := range engine.Standings(in) {
		list[s.Claim] = s
	}
	return list
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
		plan.NoSaving: func(*world) {},
	} {
		w := full(t)
		w.objects.Pools[0].Disruption = cluster.Disruption{Policy: cluster.WhenEmptyOrUnderutilized, After: time.Minute}
		change(w)
		s := w.standings()[w.objects.Claims[1].Name]
		if s.Stay.Reason != want || s.Goes != "" || s.Price == 0 {
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
	if s := w.standings()[w.objects.Claims[1].Name]; s.Goes != plan.Drifted || s.Move == "" {
		t.Errorf("%+v", s)
	}
	w.objects.Claims[2].Deleting = true
	if s := w.standings()[w.objects.Claims[2].Name]; s.Goes != plan.DeletedAlready {
		t.Errorf("%+v", s)
	}
}
