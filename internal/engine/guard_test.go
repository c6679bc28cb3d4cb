package engine_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// guard holds every prefix of a plan to the rules of voluntary disruption: the daemon may
// end after any action. It judges by the world's objects alone.
type guard struct {
	*world
	rt       *rapid.T
	going    map[string]bool // NodeClaims that are announced, or that a move replaces
	launched []plan.Launch   // of the prefix
	taken    bool            // something was taken back: its replacements may have come into use
}

// plan checks the plan before it is carried out.
func (g *guard) plan(out engine.Output) {
	g.going, g.launched = map[string]bool{}, nil
	for _, c := range g.objects.Claims {
		if c.Disrupting != nil || c.Deleting {
			g.going[c.Name] = true
		}
		if c.Move != nil {
			g.replaced(c.Move, func(s cluster.Claim) { g.going[s.Name] = true })
		}
	}
	most := g.net()
	for _, a := range out.Plan.Actions {
		switch a := a.(type) {
		case plan.Launch:
			if a.Move != nil {
				g.replaced(a.Move, func(s cluster.Claim) { g.leaves(s, plan.DeleteReason(a.Move.Reason)) })
			}
			g.launched = append(g.launched, a)
			g.limits()
		case plan.Disrupt:
			g.leaves(g.claim(a.Claim), a.Why)
			g.unblocked(g.claim(a.Claim), a.Why)
		case plan.Delete:
			if a.Why != plan.ReplacementUnused { // no budget bounds it
				g.leaves(g.claim(a.Claim), a.Why)
			} else if slices.ContainsFunc(g.objects.Pods, func(p cluster.Pod) bool { return p.Node == a.Node }) {
				g.rt.Fatalf("%s runs pods, and goes (%s)", a.Node, a.Why)
			}
		case plan.Restore:
			g.taken = g.taken || g.claim(a.Claim).Disrupting != nil
			most = quantity.Money(1 << 62) // what was to be freed costs again
		case plan.Nominate, plan.Bind, plan.Release, plan.Close, plan.Wait:
		}
		if now := g.net(); now > most {
			g.rt.Fatalf("after %+v the fleet costs %s without what is about to go, %s before", a, now.Dollars(), most.Dollars())
		}
	}
}

// replaced calls do for the sources of the move that are there.
func (g *guard) replaced(m *cluster.Move, do func(cluster.Claim)) {
	for _, s := range m.Sources {
		if c := g.claim(s.Claim); c.UID == s.UID && c.UID != "" {
			do(c)
		}
	}
}

func (g *guard) claim(name string) cluster.Claim {
	i := slices.IndexFunc(g.objects.Claims, func(c cluster.Claim) bool { return c.Name == name })
	if i < 0 {
		return cluster.Claim{}
	}
	return g.objects.Claims[i]
}

func (g *guard) typeOf(name string) (price func(zones []string, capacityType string) quantity.Money, capacity quantity.Resources) {
	for _, t := range g.objects.Classes[0].Types {
		if t.Name == name {
			return func(zones []string, capacityType string) (most quantity.Money) {
				for _, o := range t.Offerings {
					if o.CapacityType == capacityType && slices.Contains(zones, o.Zone) {
						most = max(most, o.Price)
					}
				}
				return most
			}, t.Capacity
		}
	}
	g.rt.Fatalf("no instance type %s", name)
	return nil, quantity.Resources{}
}

// net is what the fleet costs at worst without what is about to be deleted, and without
// nodes that run no pods: these are the overlap of a replacement, which is deleted again
// if its move ends.
func (g *guard) net() (sum quantity.Money) {
	for _, c := range g.objects.Claims {
		if runs := func(p cluster.Pod) bool { return p.Node == c.Node && c.Node != "" }; !g.going[c.Name] && slices.ContainsFunc(g.objects.Pods, runs) {
			price, _ := g.typeOf(c.InstanceType)
			sum += price([]string{c.Zone}, c.CapacityType)
		}
	}
	for _, l := range g.launched {
		sum += g.worst(l)
	}
	return sum
}

// worst is the most that the launch may come to cost.
func (g *guard) worst(l plan.Launch) (most quantity.Money) {
	for _, x := range l.Types {
		price, _ := g.typeOf(x.Type)
		most = max(most, price(l.Zones, l.CapacityType))
	}
	return most
}

// limits checks that the pool is within its limits with what is launched.
func (g *guard) limits() {
	nodes := int64(len(g.objects.Claims) + len(g.launched))
	var used quantity.Resources
	for _, c := range g.objects.Claims {
		_, capacity := g.typeOf(c.InstanceType)
		used = used.Add(capacity)
	}
	for _, l := range g.launched {
		var most quantity.Resources
		for _, x := range l.Types {
			_, capacity := g.typeOf(x.Type)
			most = most.Max(capacity)
		}
		used = used.Add(most)
	}
	for _, l := range g.objects.Pools[0].Limits {
		if have := used.Get(l.Name); l.Name == "nodes" && nodes > l.Count || l.Name != "nodes" && have > l.Count {
			g.rt.Fatalf("the pool has %d nodes with %d of %s, and its limit is %d", nodes, have, l.Name, l.Count)
		}
	}
}

// leaves checks that the node may be deleted, and that budgets allow one more if its
// removal begins.
func (g *guard) leaves(c cluster.Claim, why plan.DeleteReason) {
	n, _ := g.nodeNamed(c.Node)
	saves := why == plan.Underutilized || why == plan.Empty
	if n.Protected(g.now) || n.Stays && saves {
		g.rt.Fatalf("node %s opted out, and goes (%s)", n.Name, why)
	}
	for _, p := range g.objects.Pods {
		if p.Node == c.Node && p.Moves() && p.Protected(g.now) {
			g.rt.Fatalf("pod %s opted out, and its node goes (%s)", p.Name, why)
		}
	}
	if g.going[c.Name] {
		return
	}
	g.going[c.Name] = true
	var going int64
	for _, x := range g.objects.Claims {
		if g.going[x.Name] {
			going++
		}
	}
	size := int64(len(g.objects.Claims))
	for _, x := range g.objects.Claims {
		if !x.Initialized {
			size--
		}
	}
	for _, b := range g.objects.Pools[0].Disruption.Budgets {
		most := b.Most
		if b.Percent {
			most = (size*b.Most + 99) / 100
		}
		if going > most && (len(b.Reasons) == 0 || slices.Contains(b.Reasons, string(why))) {
			g.rt.Fatalf("%d of %d nodes go at once (%s), the budget %+v allows %d", going, size, why, b, most)
		}
	}
}

// unblocked checks that a drain of the node would not stand still at once.
func (g *guard) unblocked(c cluster.Claim, why plan.DeleteReason) {
	for _, p := range g.objects.Pods {
		if p.Node != c.Node || !p.Moves() {
			continue
		}
		of := 0
		for i := range g.objects.PodBudgets {
			if b := &g.objects.PodBudgets[i]; b.Selects(p.Namespace, p.Labels) {
				if of++; of > 1 || !b.Evicts(&p) {
					g.rt.Fatalf("node %s is announced (%s), and %s keeps pod %s on it", c.Node, why, b.ID(), p.Name)
				}
			}
		}
	}
}

// drawPrices makes one zone dearer than the other, and adds large types, which many pods
// ask for and few do not need, and types that are nearly as cheap as others.
func drawPrices(rt *rapid.T, w *world) {
	list := slices.Clone(w.objects.Classes[0].Types)
	list = append(list, instanceType("c5.4xlarge", 16, 32, 600_000_000), instanceType("m5.2xlarge", 8, 32, 370_000_000))
	if rapid.Bool().Draw(rt, "more types") {
		list = append(list, instanceType("c6.large", 2, 4, 87_000_000), instanceType("c6.xlarge", 4, 8, 176_000_000), instanceType("m6.xlarge", 4, 16, 199_000_000))
	}
	dearer := quantity.Money(rapid.SampledFrom([]int64{0, 1, 4, 30}).Draw(rt, "zone b dearer, %"))
	for i := range list {
		for j := range list[i].Offerings {
			if o := &list[i].Offerings[j]; o.Zone == "b" {
				o.Price += o.Price / 100 * dearer
			}
		}
	}
	w.types(list...)
	if rapid.Bool().Draw(rt, "min values") {
		w.minValues(label.InstanceType, rapid.IntRange(1, 3).Draw(rt, "types"))
	}
}

// drawGuards protects some of what runs, and draws the budgets of the pool.
func drawGuards(rt *rapid.T, w *world) {
	d := &w.objects.Pools[0].Disruption
	d.Budgets = []cluster.Budget{{Most: rapid.Int64Range(1, 3).Draw(rt, "budget")}}
	if rapid.Bool().Draw(rt, "in percent") {
		d.Budgets = []cluster.Budget{{Most: rapid.Int64Range(1, 100).Draw(rt, "percent"), Percent: true}}
	}
	if rapid.Bool().Draw(rt, "of a reason") {
		d.Budgets = append(d.Budgets, cluster.Budget{Most: rapid.Int64Range(0, 2).Draw(rt, "budget"), Reasons: []string{rapid.SampledFrom([]string{"Underutilized", "Empty"}).Draw(rt, "reason")}})
	}
	w.objects.PodBudgets = nil
	for _, app := range []string{"app0", "app1"} {
		if rapid.Bool().Draw(rt, "budget of "+app) {
			w.objects.PodBudgets = append(w.objects.PodBudgets, cluster.PodBudget{
				UID: app, Namespace: "default", Name: app, Selector: pods(app), Allowed: rapid.Int64Range(0, 2).Draw(rt, "allowed"),
			})
		}
	}
	for range rapid.IntRange(0, 2).Draw(rt, "do-not-disrupt") {
		if n := len(w.objects.Pods); n > 0 {
			w.objects.Pods[rapid.IntRange(0, n-1).Draw(rt, "pod")].DoNotDisrupt = true
		}
		if n := len(w.objects.Nodes); n > 0 && rapid.Bool().Draw(rt, "a node") {
			w.objects.Nodes[rapid.IntRange(0, n-1).Draw(rt, "node")].DoNotDisrupt = true
		}
	}
}

// drawLimit limits the pool to what it has, and little more.
func drawLimit(rt *rapid.T, w *world) {
	switch more := rapid.Int64Range(0, 2).Draw(rt, "limit"); rapid.SampledFrom([]string{"", "nodes", quantity.CPU}).Draw(rt, "of") {
	case "nodes":
		w.limit("nodes", int64(len(w.objects.Claims))+more)
	case quantity.CPU:
		w.limit(quantity.CPU, int64(len(w.objects.Claims)*4000)+4000*more)
	}
}

// In worlds with all kinds of rules between pods, saving money leaves every pod on a
// node where it may run, never costs more, and breaks no rule at any point of a plan, also
// when what protects pods changes on the way.
func TestStep_SavingMoneyKeepsEveryPodRunningAndCostsNoMore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		w.objects.Pools[0].Disruption = saving()
		drawPrices(rt, w)
		if rapid.Bool().Draw(rt, "any saving is worth a move") {
			w.policy.LeastSaving, w.policy.PodMove, w.policy.MoveTime = 1, 1, 1
		}
		drawApps(rt, w)
		w.settle(60, nil)
		keep := rapid.IntRange(1, 3).Draw(rt, "keep")
		i := 0
		w.drop(func(cluster.Pod) bool { i++; return i%(keep+1) == 0 })
		w.now = w.now.Add(w.policy.ArrivalPatience)
		w.drop(func(p cluster.Pod) bool { return p.Node == "" }) // nothing else asks for nodes
		drawLimit(rt, w)
		drawGuards(rt, w)
		began := w.cost()
		g := &guard{world: w, rt: rt}
		worst, left := quantity.Money(0), rapid.IntRange(-1, 20).Draw(rt, "protection changes")
		w.settle(300, func(out engine.Output) {
			g.plan(out)
			worst = max(worst, g.net())
			if left--; left == 0 {
				drawGuards(rt, w)
			}
		})
		if worst > began && !g.taken {
			rt.Fatalf("at worst the fleet cost %s beside what was about to go, before %s", worst.Dollars(), began.Dollars())
		}
		if left := w.pending(); len(left) > 0 {
			rt.Fatalf("pods without a node: %v", left)
		}
		if w.cost() > began && !g.taken {
			rt.Fatalf("cost %s, before %s", w.cost().Dollars(), began.Dollars())
		}
		for _, c := range w.objects.Claims {
			if c.Disrupting != nil || c.Move != nil {
				rt.Fatalf("%s is not settled: %+v", c.Name, c)
			}
		}
		checkPlaces(rt, w)
	})
}

// What a move is worth is judged by the places that its pods will have. If the next plan gave
// them other places, the nodes that were just launched for the rest would be launched in vain.
func TestStep_AReplacementIsNotLaunchedInVain(t *testing.T) {
	large := func() *world {
		w := newWorld(t)
		return w.types(append(slices.Clone(w.objects.Classes[0].Types), instanceType("c5.4xlarge", 16, 32, 600_000_000), instanceType("m5.2xlarge", 8, 32, 370_000_000))...)
	}
	replacesNothingInVain(t, large().pods("a", 2, 200).pods("b", 7, 1100).pods("c", 4, 700).pods("d", 7, 3000), 3)
	// The pods of the deleted node have room in one way only, which the search has found.
	replacesNothingInVain(t, large().pods("a", 3, 3000).pods("b", 7, 1800).pods("c", 4, 1600).pods("d", 6, 3000), 4)
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		drawPrices(rt, w)
		for i := range rapid.IntRange(2, 5).Draw(rt, "shapes") {
			w.pods("app"+string(rune('0'+i)), rapid.IntRange(1, 8).Draw(rt, "replicas"), int64(rapid.IntRange(2, 30).Draw(rt, "cpu"))*100)
		}
		replacesNothingInVain(rt, w, rapid.IntRange(2, 4).Draw(rt, "one pod goes of"))
	})
}

// replacesNothingInVain runs the pods, drops one of so many, and looks at what becomes of
// replacements while the fleet gets smaller.
func replacesNothingInVain(t rapid.TB, w *world, dropped int) {
	w.objects.Pools[0].Disruption = saving()
	w.policy.LeastSaving, w.policy.PodMove, w.policy.MoveTime = 1, 1, 1
	w.settle(60, nil)
	i := 0
	w.drop(func(cluster.Pod) bool { i++; return i%dropped == 0 })
	w.now = w.now.Add(w.policy.ArrivalPatience)
	w.settle(300, func(out engine.Output) {
		for _, d := range of[plan.Delete](out) {
			if d.Why == plan.ReplacementUnused {
				t.Fatalf("NodeClaim %s was launched in vain", d.Claim)
			}
		}
	})
}
