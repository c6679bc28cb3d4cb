package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// vain is a world whose new nodes have something wrong with them.
type vain struct {
	*world
	wrong func(*cluster.Claim, *cluster.Node) // nil where nothing is wrong
}

// play lets time go by, in steps of a minute. Nodes come up a minute after their launch.
func (v *vain) play(d time.Duration) (launched []plan.Launch, deleted []plan.DeleteReason) {
	v.t.Helper()
	for end := v.now.Add(d); v.now.Before(end); v.now = v.now.Add(time.Minute) {
		out := v.step()
		l := of[plan.Launch](out)
		launched = append(launched, l...)
		checkSound(v.t, v.objects, out)
		v.open(out.Plan.Actions)
		for _, x := range of[plan.Delete](out) {
			deleted = append(deleted, x.Why)
			v.end(x)
		}
		v.order(l).bringUp(l)
		for i := range v.objects.Claims {
			if c := &v.objects.Claims[i]; v.wrong != nil && slices.ContainsFunc(l, func(x plan.Launch) bool { return x.Name == c.Name }) {
				v.onNode(c.Node, func(n *cluster.Node) { v.wrong(c, n) })
			}
		}
	}
	return launched, deleted
}

var hardened = cluster.Taint{Key: "example.com/hardened", Value: "true", Effect: cluster.NoSchedule}

func hardens(_ *cluster.Claim, n *cluster.Node) { n.Taints = append(n.Taints, hardened) }

// Without a brake, a day would see 48 nodes of half an hour, or 96 that never join.
func TestStep_NodesThatComeInVainAreFewerAndFewer(t *testing.T) {
	for name, c := range map[string]struct {
		wrong func(*cluster.Claim, *cluster.Node)
		most  int
		says  string
	}{
		"a taint that nobody declared": {hardens, 9, "had the taint example.com/hardened=true:NoSchedule, which neither the NodePool declares nor the pods tolerate"},
		"never ready":                  {func(_ *cluster.Claim, n *cluster.Node) { n.Ready = false }, 9, "did not become ready for the pods in time"},
		"cordoned":                     {func(_ *cluster.Claim, n *cluster.Node) { n.Cordoned = true }, 12, "was cordoned before it took a pod"},
		"marked as if it went":         {func(_ *cluster.Claim, n *cluster.Node) { n.Disrupted = true }, 12, "did not become ready for the pods in time"},
	} {
		v := &vain{world: newWorld(t).pods("web", 1, 1500), wrong: c.wrong}
		launched, _ := v.play(24 * time.Hour)
		if n := len(launched); n < 6 || n > c.most {
			t.Errorf("%s: %d launches in a day", name, n)
		}
		if text := v.step().Plan.Outcomes[0].Explain(); !strings.Contains(text, c.says) {
			t.Errorf("%s: %s", name, text)
		}
		v.wrong = nil
		v.play(5 * time.Hour)
		if v.objects.Pods[0].Node == "" {
			t.Errorf("%s: the pod does not run 5 hours after it was mended", name)
		}
		v.pods("next", 2, 1500)
		if more, _ := v.play(time.Minute); len(more) == 0 {
			t.Errorf("%s: once a node has come up, the next pod waits", name)
		}
	}
}

func TestStep_APodThatWaitsAfterNodesCameInVainIsToldWhy(t *testing.T) {
	v := &vain{world: newWorld(t).pods("web", 1, 1500), wrong: hardens}
	v.play(61 * time.Minute)
	out := v.step()
	text := ""
	for _, o := range out.Plan.Outcomes {
		text += o.Explain()
	}
	for _, want := range []string{
		"2 nodes in a row, the last one had the taint example.com/hardened=true:NoSchedule, which neither the NodePool declares nor the pods tolerate",
		"startupTaints", "tried again at 2026-01-01T01:15:00Z",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
	if waits := of[plan.Wait](out); len(waits) != 1 || waits[0].Until.After(start.Add(75*time.Minute)) {
		t.Errorf("waits %+v", waits)
	}
}

// One bad machine is an accident.
func TestStep_AfterOneNodeInVainTheNextComesAtOnce(t *testing.T) {
	v := &vain{world: newWorld(t).pods("web", 1, 1500), wrong: hardens}
	v.play(29 * time.Minute)
	v.wrong = nil
	launched, _ := v.play(3 * time.Minute)
	if len(launched) != 1 || v.objects.Pods[0].Node == "" {
		t.Errorf("launched %+v, the pod is on %q", launched, v.objects.Pods[0].Node)
	}
}

// What is wrong with nodes for some pods does not keep others waiting, nor the same pods
// from other pools.
func TestStep_OnlyPodsWhoseNodesCameInVainWaitAndOnlyForThatPool(t *testing.T) {
	v := &vain{world: newWorld(t).pods("web", 1, 1500), wrong: hardens}
	v.play(61 * time.Minute)
	v.pods("agent", 1, 1500, tolerates(cluster.Toleration{Exists: true})).pods("large", 1, 3500)
	launched, _ := v.play(5 * time.Minute)
	if len(launched) != 2 {
		t.Errorf("launched %+v for pods that are new", launched)
	}
	if p := v.objects.Pods[1]; p.Node == "" {
		t.Error("the pod that tolerates the taint does not run")
	}
	v = &vain{world: newWorld(t).pods("web", 1, 1500), wrong: hardens}
	v.pool(cluster.Pool{Name: "spare"})
	v.objects.Pools[0].Weight = 10
	v.wrong = func(c *cluster.Claim, n *cluster.Node) {
		if c.Pool == "general" {
			hardens(c, n)
		}
	}
	launched, _ = v.play(70 * time.Minute)
	if last := launched[len(launched)-1]; len(launched) != 3 || last.Pool != "spare" || v.objects.Pods[0].Node == "" {
		t.Errorf("launched %+v, the pod is on %q", launched, v.objects.Pods[0].Node)
	}
}

// Who changes the NodePool or its class need not wait until the next try is due.
func TestStep_AfterAChangeOfThePoolOrItsClassPodsGetANodeAtOnce(t *testing.T) {
	for name, change := range map[string]func(*world){
		"pool":          func(w *world) { w.objects.Pools[0].Generation++ },
		"class":         func(w *world) { w.objects.Classes[0].Generation++ },
		"pool made new": func(w *world) { w.objects.Pools[0].UID = "another" },
	} {
		v := &vain{world: newWorld(t).pods("web", 1, 1500), wrong: hardens}
		v.play(24 * time.Hour)
		v.wrong = nil
		if launched, _ := v.play(time.Minute); len(launched) > 0 {
			t.Fatalf("%s: the pod does not wait", name)
		}
		change(v.world)
		if launched, _ := v.play(time.Minute); len(launched) != 1 {
			t.Errorf("%s: %d launches after the change, want 1", name, len(launched))
		}
	}
}

func TestStep_PodsWhoseNodesNeverJoinWaitLongerToo(t *testing.T) {
	v := &vain{world: newWorld(t).pods("web", 40, 1500)}
	v.wrong = func(c *cluster.Claim, n *cluster.Node) {
		c.Registered, c.Node, n.Claim, n.Cordoned = false, "", "", true // as if the node were somebody else's
	}
	first, _ := v.play(time.Minute)
	launched, deleted := v.play(24 * time.Hour)
	if n := len(launched) / len(first); n > 10 {
		t.Errorf("%d times %d nodes in a day", n, len(first))
	}
	for _, why := range deleted {
		if why != plan.RegistrationTimeout {
			t.Errorf("deleted because of %s", why)
		}
	}
}
