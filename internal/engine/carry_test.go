package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// carry carries out what the actions say about nodes that are deleted. A deleted node
// is removed at once, and its pods come anew.
func (w *world) carry(actions []plan.Action) *world {
	w.t.Helper()
	for _, a := range actions {
		switch a := a.(type) {
		case plan.Disrupt:
			w.onClaim(a.Claim, func(c *cluster.Claim) { c.Disrupting = &cluster.Disrupting{Reason: string(a.Why), Since: w.now} })
			w.onNode(a.Node, func(n *cluster.Node) { n.Disrupted = true })
		case plan.Restore:
			w.onClaim(a.Claim, func(c *cluster.Claim) { c.Disrupting, c.Move = nil, nil })
			w.onNode(a.Node, func(n *cluster.Node) { n.Disrupted = false })
		case plan.Delete:
			w.end(a)
		case plan.Launch, plan.Nominate, plan.Bind, plan.Release, plan.Close, plan.Wait:
		}
	}
	return w
}

func (w *world) onClaim(name string, f func(*cluster.Claim)) {
	for i := range w.objects.Claims {
		if w.objects.Claims[i].Name == name {
			f(&w.objects.Claims[i])
		}
	}
}

func (w *world) onNode(name string, f func(*cluster.Node)) {
	for i := range w.objects.Nodes {
		if w.objects.Nodes[i].Name == name {
			f(&w.objects.Nodes[i])
		}
	}
}

// end deletes the NodeClaim with its node. A pod that the plan does not know keeps it.
func (w *world) end(d plan.Delete) {
	i := slices.IndexFunc(w.objects.Claims, func(c cluster.Claim) bool { return c.Name == d.Claim })
	if i < 0 {
		return
	}
	node := w.objects.Claims[i].Node
	for _, p := range w.objects.Pods {
		if d.Checked && p.Node == node && p.Moves() && !slices.Contains(d.Pods, p.UID) {
			return
		}
	}
	w.objects.Claims = slices.Delete(w.objects.Claims, i, i+1)
	w.objects.Nodes = slices.DeleteFunc(w.objects.Nodes, func(n cluster.Node) bool { return n.Name == node })
	for i := range w.objects.Pods {
		if p := &w.objects.Pods[i]; p.Node == node && node != "" {
			p.Node, p.Created, p.Unschedulable = "", w.now, true
			p.UID += "-anew"
		}
	}
}

// obey carries out the plan. New nodes are up in the next Step.
func (w *world) obey(out engine.Output) {
	launches := of[plan.Launch](out)
	w.order(launches)
	w.carry(out.Plan.Actions)
	w.open(out.Plan.Actions)
	w.bringUp(launches)
	for _, l := range launches {
		w.onClaim(l.Name, func(c *cluster.Claim) { c.Move = l.Move })
	}
}

// settle plays on until the core has nothing more to do, at most so many Steps. New
// nodes are up in the next Step.
func (w *world) settle(steps int, seen func(engine.Output)) *world {
	w.t.Helper()
	for range steps {
		out := w.step()
		if seen != nil {
			seen(out)
		}
		w.obey(out)
		waits := of[plan.Wait](out)
		switch {
		case len(out.Plan.Actions) > len(waits):
			w.now = w.now.Add(100 * time.Millisecond)
		case len(waits) == 1 && waits[0].Until.Sub(w.now) < time.Hour:
			w.now = waits[0].Until
		default:
			return w
		}
	}
	return w
}

// A daemon that starts does not know which pods a new node waits for; its NodeClaim says
// that there are some.
func TestStep_ANewNodeWaitsForItsPodsAlsoWhenTheMemoryIsLost(t *testing.T) {
	w := newWorld(t).pods("web", 1, 1500)
	w.objects.Pools[0].Disruption = saving()
	launches := of[plan.Launch](w.step())
	w.order(launches).bringUp(launches)
	w.open(w.step().Plan.Actions)
	w.objects.Pods, w.memory = nil, engine.Memory{}
	k := &w.objects.Claims[0]
	k.Initialized, k.InitializedAt, k.Planned = true, w.now, []cluster.Slot{{Kind: "web", Count: 1}}
	w.step()
	for at, goes := range map[time.Duration]bool{time.Second: false, w.policy.ArrivalPatience - 1: false, w.policy.ArrivalPatience: true} {
		began, memory := w.now, w.memory
		w.now = w.now.Add(at)
		if gone := len(of[plan.Disrupt](w.step())) > 0; gone != goes {
			t.Errorf("after %s: goes %v, want %v", at, gone, goes)
		}
		w.now, w.memory = began, memory
	}
}

// The scheduler may be binding a pod when the taint comes. The condition on the NodeClaim
// does not say when that was: its time is in whole seconds, and a daemon that ends after
// the condition leaves the taint to the next one.
func TestStep_TheLastLookComesASecondAfterTheTaint(t *testing.T) {
	for name, c := range map[string]struct {
		before    time.Duration // the condition before the taint
		forgotten bool          // the memory, after the taint
	}{
		"condition of a whole second":       {900 * time.Millisecond, false},
		"taint of a daemon that went on":    {time.Hour, false},
		"taint of a daemon that ended then": {time.Hour, true},
	} {
		w := halfEmpty(t)
		out := w.step()
		for len(of[plan.Disrupt](out)) == 0 {
			w.now = w.now.Add(10 * time.Millisecond)
			out = w.step()
		}
		w.carry(out.Plan.Actions)
		for i := range w.objects.Claims {
			if x := w.objects.Claims[i].Disrupting; x != nil {
				x.Since = w.now.Add(-c.before)
			}
		}
		if c.forgotten {
			w.memory = engine.Memory{}
		}
		tainted := w.now
		for at, want := range map[time.Duration]int{0: 0, time.Second - 1: 0, time.Second: 3} {
			memory := w.memory
			w.now = tainted
			w.step()
			w.now = tainted.Add(at)
			if got := of[plan.Delete](w.step()); len(got) != want {
				t.Errorf("%s: %d deleted %s after the taint, want %d", name, len(got), at, want)
			}
			w.memory = memory
		}
	}
}
