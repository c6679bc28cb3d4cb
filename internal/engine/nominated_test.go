package engine_test

import (
	"slices"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Whoever nominates a pod for a node, as the scheduler does when it preempts, speaks
// for the room there: the checker of certificates knows it as the plan does.
func TestStep_TheRoomOfAPodThatTheSchedulerNominatedIsNotForOthers(t *testing.T) {
	w := newWorld(t).pods("a", 1, 1900).running()
	w.objects.Pods[0].Shape.Requests.MilliCPU = 0
	w.pods("preemptor", 1, 1900, func(p *cluster.Pod) { p.Nominated = w.objects.Nodes[0].Name }).pods("b", 1, 1900)
	out := w.step()
	launches := of[plan.Launch](out)
	if len(launches) != 1 || len(launches[0].Pods) != 1 || launches[0].Pods[0] != "default/b-00" {
		t.Fatalf("launches = %+v, want one for b", launches)
	}
	if bound := out.Plan.Proofs[0].Bound; bound != launches[0].Price {
		t.Errorf("bound %d, want the price %d", bound, launches[0].Price)
	}
	checkSound(t, w.objects, out)
}

func TestStep_ANodeForWhichAPodIsNominatedIsNotEmpty(t *testing.T) {
	w := newWorld(t).pods("victim", 1, 1900).running()
	w.objects.Pools[0].Disruption.After = 0
	w.step() // the pod that the node is for has arrived
	w.objects.Pods = nil
	w.pods("preemptor", 1, 1900, func(p *cluster.Pod) { p.Nominated = w.objects.Nodes[0].Name })
	if gone := of[plan.Disrupt](w.step()); len(gone) != 0 {
		t.Errorf("removed: %+v", gone)
	}
	w.objects.Pods = nil
	if gone := of[plan.Disrupt](w.step()); len(gone) != 1 {
		t.Errorf("without the pod: %+v", gone)
	}
}

// A node that is deleted, or is cordoned, takes no pods: one that was nominated for it
// needs another.
func TestStep_ANominationForANodeThatTakesNoPodsHoldsNothing(t *testing.T) {
	for name, goes := range map[string]func(*world){
		"interrupted": func(w *world) {
			w.objects.Claims[0].Interruption = &cluster.Interruption{Noticed: w.now, Deadline: w.now}
		},
		"deleting": func(w *world) { w.objects.Nodes[0].Deleting = true },
		"cordoned": func(w *world) { w.objects.Nodes[0].Cordoned = true },
	} {
		w := newWorld(t).pods("victim", 1, 1900).running()
		w.objects.Pods = nil
		w.pods("preemptor", 1, 1900, func(p *cluster.Pod) { p.Nominated = w.objects.Nodes[0].Name })
		goes(w)
		out := w.step()
		if n := launchedFor(out); n != 1 {
			t.Errorf("%s: launched for %d pods: %+v", name, n, out.Plan)
		}
		checkSound(t, w.objects, out)
	}
}

// The pods that others must be near are on their way to a node that is not up yet.
// Those that are nominated already keep their room.
func TestStep_NominatedPodsKeepTheirRoomBeforeThoseThatTheyFollowRun(t *testing.T) {
	w := newWorld(t)
	w.objects.Classes[0].Types = w.objects.Classes[0].Types[2:]
	w.pods("side", 4, 1800, func(p *cluster.Pod) {
		p.Shape.PodAffinity = []cluster.PodTerm{term(label.Zone, 0, "web")}
	}).pods("web", 1, 3800, func(p *cluster.Pod) { p.Labels = label.FromMap(map[string]string{"app": "web"}) })
	launches := of[plan.Launch](w.step())
	up := slices.IndexFunc(launches, func(l plan.Launch) bool { return slices.Contains(l.Pods, "default/side-00") })
	if len(launches) != 3 || up < 0 {
		t.Fatalf("launched %+v", launches)
	}
	w.order(launches).bringUp(launches[up : up+1])
	out := w.step()
	if n := w.nominate(out); n != 0 {
		t.Fatalf("%d pods are nominated at once, though the pod that they must be near does not run", n)
	}
	if waits := of[plan.Wait](out); len(waits) != 1 || waits[0].Why != plan.RulesMet {
		t.Errorf("waits = %+v", waits)
	}
	w.after(w.policy.ReleaseWait)
	w.memory = w.memoryAfterProgress() // controllers of other pods do not make the wait longer
	out = w.step()
	if n := w.nominate(out); n != 2 {
		t.Fatalf("%d pods are nominated, want 2", n)
	}
	for _, r := range of[plan.Release](out) {
		w.open([]plan.Action{r})
	}
	for _, o := range w.step().Plan.Outcomes {
		if o.Verdict == plan.OnNode && !slices.Equal(o.Pods, launches[up].Pods[:1]) && !slices.Equal(o.Pods, launches[up].Pods[1:]) {
			t.Errorf("%v are planned on %s, which %v are nominated for", o.Pods, o.On, launches[up].Pods)
		}
	}
}
