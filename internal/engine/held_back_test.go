package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// vanish takes every replacement away that is not initialized, as if EC2 had no capacity.
func (w *world) vanish() (gone int) {
	w.objects.Claims = slices.DeleteFunc(w.objects.Claims, func(c cluster.Claim) bool {
		if c.Move == nil || c.Initialized {
			return false
		}
		gone++
		w.objects.Nodes = slices.DeleteFunc(w.objects.Nodes, func(n cluster.Node) bool { return n.Name == c.Node })
		return true
	})
	return gone
}

func TestStep_APoolWhoseReplacementsVanishWaitsTwiceAsLongEachTime(t *testing.T) {
	w := full(t).drift(1)
	first := w.now
	var launched []time.Duration
	for range 4 {
		for len(launched) == 0 || w.now.Sub(first) < 30*time.Minute {
			out := w.step()
			if l := of[plan.Launch](out); len(l) > 0 {
				launched = append(launched, w.now.Sub(first).Truncate(time.Minute))
				w.order(l)
				for _, x := range l {
					w.onClaim(x.Name, func(c *cluster.Claim) { c.Move = x.Move })
				}
				w.step() // the daemon sees it
				if w.vanish() != 1 {
					t.Fatal("no replacement")
				}
				w.step()
				break
			}
			w.now = w.now.Add(time.Second)
		}
	}
	want := []time.Duration{0, time.Minute, 3 * time.Minute, 7 * time.Minute}
	if !slices.Equal(launched, want) {
		t.Errorf("launched after %s, want %s", launched, want)
	}
}

func TestStep_APoolThatIsHeldBackHoldsNoOtherAndNothingThatHasToGo(t *testing.T) {
	w := full(t).drift(1)
	w.order(of[plan.Launch](w.step()))
	late := &w.objects.Claims[3]
	late.Move = &cluster.Move{ID: "m", Count: 1, Reason: "Drifted", Sources: []cluster.Source{{Claim: w.objects.Claims[1].Name, UID: w.objects.Claims[1].UID}}, Deadline: w.now.Add(time.Hour)}
	w.step()
	w.now = w.now.Add(w.policy.LaunchTimeout)
	out := w.step()
	if d := of[plan.Delete](out); len(d) != 1 || d[0].Why != plan.LaunchTimeout {
		t.Fatalf("%+v", d)
	}
	w.carry(out.Plan.Actions)
	if s := w.standings()[w.objects.Claims[1].Name]; s.Stay.Reason != plan.MovesHeld || !strings.Contains(s.Explain(), "until 2026-01-01T") {
		t.Errorf("%s: %+v", s.Explain(), s)
	}
	for name, c := range map[string]struct {
		change func(*world)
		goes   bool
	}{
		"drift": {func(*world) {}, false},
		"a saving": {func(w *world) {
			w.objects.Claims[1].Drift = nil
			w.objects.Pools[0].Disruption = saving()
			seen := map[string]bool{}
			w.drop(func(p cluster.Pod) bool { was := seen[p.Node]; seen[p.Node] = true; return was })
		}, false},
		"an empty node": {func(w *world) {
			w.objects.Pools[0].Disruption = cluster.Disruption{Policy: cluster.WhenEmpty, After: time.Nanosecond}
			w.drop(func(p cluster.Pod) bool { return p.Node == w.objects.Claims[0].Node })
			w.objects.Claims[1].Drift = nil
		}, true},
		"an interruption": {func(w *world) {
			w.objects.Claims[0].Interruption = &cluster.Interruption{Reason: "spot", Noticed: w.now, Deadline: w.now.Add(2 * time.Minute)}
		}, true},
		"drift without a launch": {func(w *world) { w.drop(func(p cluster.Pod) bool { return p.Node != w.objects.Claims[1].Node }) }, true},
		"drift of another pool":  {func(w *world) { w.objects.Claims[1].Drift = nil; w.other() }, true},
		"a deleted pool":         {func(w *world) { w.pool(cluster.Pool{Name: "other"}); w.objects.Pools[0].Deleting = true }, true},
	} {
		y := *w
		y.objects.Claims, y.objects.Nodes, y.objects.Pods, y.objects.Pools = slices.Clone(w.objects.Claims), slices.Clone(w.objects.Nodes), slices.Clone(w.objects.Pods), slices.Clone(w.objects.Pools)
		y.memory.Restored = nil // the node itself may be looked at again
		c.change(&y)
		began, goes := y.now, false
		for y.now.Sub(began) < 50*time.Second && !goes {
			out := y.step()
			goes = len(of[plan.Launch](out))+len(of[plan.Disrupt](out)) > 0
			y.obey(out)
			y.now = y.now.Add(time.Second)
		}
		if goes != c.goes {
			t.Errorf("%s: goes %v, want %v; %+v", name, goes, c.goes, y.standings())
		}
	}
	w.memory = engine.Memory{} // the memory is safe to lose
	if s := w.standings()[w.objects.Claims[1].Name]; s.Stay.Reason != plan.NextToGo {
		t.Errorf("%s: %+v", s.Explain(), s)
	}
}

// other adds a pool with one node that has drifted.
func (w *world) other() {
	w.pool(cluster.Pool{Name: "other", Disruption: cluster.Disruption{Never: true}})
	c := w.objects.Claims[0]
	n, _ := w.nodeNamed(c.Node)
	p := w.objects.Pods[0]
	c.Name, c.UID, c.Node, c.Pool, c.Drift = "other-0", "uid-other-0", "node-other-0", "other", &cluster.Drift{Reason: "NodeClassDrifted", Since: w.now}
	n.Name, n.UID, n.Claim = c.Node, "uid-"+c.Node, c.Name
	p.Name, p.UID, p.Node = "other", "uid-other", c.Node
	for _, key := range []string{"karpenter.sh/nodepool"} {
		c.Labels, n.Labels = c.Labels.With(key, "other"), n.Labels.With(key, "other")
	}
	// Nodes are launched where the weight is highest.
	w.objects.Pools[1].Weight = 10
	w.objects.Claims, w.objects.Nodes, w.objects.Pods = append(w.objects.Claims, c), append(w.objects.Nodes, n), append(w.objects.Pods, p)
}
