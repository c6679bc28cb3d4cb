package engine_test

import (
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// ofAnotherScheduler makes a pod one that another scheduler places.
func ofAnotherScheduler(p *cluster.Pod) { p.OtherScheduler = true }

// untouched fails where a plan nominates or binds a pod of another scheduler.
func (w *world) untouched() *world {
	others := map[string]bool{}
	w.seen = func(out engine.Output) {
		for _, p := range w.objects.Pods {
			others[p.ID()] = p.OtherScheduler
		}
		for _, n := range of[plan.Nominate](out) {
			if others[n.Pod] {
				w.t.Errorf("nominated: %+v", n)
			}
		}
		for _, b := range of[plan.Bind](out) {
			if others[b.Pod] {
				w.t.Errorf("bound: %+v", b)
			}
		}
	}
	return w
}

// idle makes steps for so long, and returns what they launch and delete. Nobody binds pods
// but the daemon's nominations.
func (w *world) idle(d time.Duration) (launches []plan.Launch, deletes []plan.Delete) {
	for end := w.now.Add(d); w.now.Before(end); w.now = w.now.Add(5 * time.Second) {
		out := w.step()
		launches, deletes = append(launches, of[plan.Launch](out)...), append(deletes, of[plan.Delete](out)...)
		w.open(out.Plan.Actions)
	}
	return launches, deletes
}

func TestOtherScheduler_ItsPodsGetANodeThatStaysUntilItBindsThem(t *testing.T) {
	w := newWorld(t).untouched()
	w.objects.Pools[0].Disruption = saving()
	w.pods("batch", 2, 800, ofAnotherScheduler).pods("web", 1, 100)
	launches := of[plan.Launch](w.step())
	if len(launches) != 1 || len(launches[0].Pods) != 3 {
		t.Fatalf("want one node for all: %+v", launches)
	}
	w.order(launches).bringUp(launches)
	again, gone := w.idle(time.Hour)
	if len(again) > 0 || len(gone) > 0 {
		t.Errorf("while the other scheduler takes its time: launched %+v, deleted %+v", again, gone)
	}
	if web := w.objects.Pods[2]; web.Node != w.objects.Nodes[0].Name || !w.objects.Claims[0].Initialized {
		t.Errorf("the node did not open: %+v", web)
	}
	w.bind("default/batch-00", w.objects.Nodes[0].Name)
	w.bind("default/batch-01", w.objects.Nodes[0].Name)
	if again, gone = w.idle(time.Hour); len(again) > 0 || len(gone) > 0 {
		t.Errorf("when they run: launched %+v, deleted %+v", again, gone)
	}
}

func TestOtherScheduler_APlaceThatOthersTookIsReplacedOnce(t *testing.T) {
	w := newWorld(t).untouched()
	w.pods("batch", 1, 1500, ofAnotherScheduler)
	launches := of[plan.Launch](w.step())
	w.order(launches).bringUp(launches).idle(10 * time.Second)
	w.pods("web", 1, 1500).bind("default/web-00", w.objects.Nodes[0].Name)
	more := of[plan.Launch](w.step())
	if len(more) != 1 {
		t.Fatalf("launched %+v", more)
	}
	w.order(more).bringUp(more)
	if again, _ := w.idle(10 * time.Minute); len(again) > 0 {
		t.Errorf("launched again: %+v", again)
	}
}

func TestOtherScheduler_ItsRunningPodsMoveAndComeBackByItself(t *testing.T) {
	w := newWorld(t).untouched()
	own := func(p *cluster.Pod) {
		ofAnotherScheduler(p)
		p.Owner = cluster.Owner{Kind: "ReplicaSet", Name: "batch", UID: "batch"}
	}
	w.pods("batch", 1, 1500, own)
	launches := of[plan.Launch](w.step())
	w.order(launches).bringUp(launches).idle(10 * time.Second)
	w.bind("default/batch-00", w.objects.Nodes[0].Name)
	w.objects.Claims[0].Deleting = true
	next := of[plan.Launch](w.step())
	if len(next) != 1 {
		t.Fatalf("launched %+v for the pod of the node that goes", next)
	}
	w.order(next).bringUp(next)
	w.objects.Pods = w.objects.Pods[:0] // evicted; its scheduler has not tried the next one yet
	if again, gone := w.idle(15 * time.Second); len(again) > 0 || len(gone) > 0 {
		t.Errorf("until the pod is back: launched %+v, deleted %+v", again, gone)
	}
	w.pods("batch", 1, 1500, own)
	if again, gone := w.idle(10 * time.Minute); len(again) > 0 || len(gone) > 0 {
		t.Errorf("when the pod is back: launched %+v, deleted %+v", again, gone)
	}
}
