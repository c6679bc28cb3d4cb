package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// unnominated is a world whose daemon may not nominate.
func unnominated(t testing.TB) *world {
	t.Helper()
	w := newWorld(t)
	w.policy.CannotNominate = true
	return w
}

// upAll brings up the launches of the next Step.
func (w *world) upAll() []plan.Launch {
	launches := of[plan.Launch](w.step())
	w.order(launches).bringUp(launches)
	return launches
}

func TestUnnominated_NothingIsNominatedAndThePlanSaysSo(t *testing.T) {
	w := unnominated(t).pods("web", 3, 1000)
	w.upAll()
	out := w.step()
	if n := of[plan.Nominate](out); len(n) != 0 {
		t.Errorf("nominations: %+v", n)
	}
	if got := of[plan.Release](out); len(got) != 1 || got[0].Planned != 3 {
		t.Errorf("releases = %+v, want one node opened at once, as no other is on its way", got)
	}
	if !out.Plan.Unnominated {
		t.Error("the plan does not say that pods cannot be nominated")
	}
}

func TestUnnominated_NodesOpenTogetherAndAreNotKeptForLong(t *testing.T) {
	w := unnominated(t).pods("web", 8, 1700)
	launches := of[plan.Launch](w.step())
	if len(launches) < 3 {
		t.Fatalf("%d launches, want some", len(launches))
	}
	w.order(launches).bringUp(launches[:2])
	out := w.step()
	waits := of[plan.Wait](out)
	if got := of[plan.Release](out); len(got) != 0 || len(waits) != 1 || waits[0].Why != plan.OtherNodes {
		t.Fatalf("releases %+v, waits %+v; want none before the others are up, and to wait for them", got, waits)
	}
	w.now = waits[0].Until
	if w.now.Sub(start) > w.policy.ReleaseWait {
		t.Errorf("nodes are kept for %s, want %s at most", w.now.Sub(start), w.policy.ReleaseWait)
	}
	if got := of[plan.Release](w.step()); len(got) != 2 {
		t.Errorf("%d nodes open when the wait is over, want both", len(got))
	}
	w.now = start
	w.bringUp(launches[2:])
	if got := of[plan.Release](w.step()); len(got) != len(launches) {
		t.Errorf("%d of %d nodes open when all are up", len(got), len(launches))
	}
}

func TestUnnominated_LargerWavesWaitLongerButNeverForLong(t *testing.T) {
	for nodes, want := range map[int]time.Duration{5: 3 * time.Second, 24: 9 * time.Second, 100: 30 * time.Second} {
		w := unnominated(t).pods("web", nodes, 3900) // one fills a node
		launches := of[plan.Launch](w.step())
		w.order(launches).bringUp(launches[:nodes-1])
		w.now = w.now.Add(time.Minute)
		out := w.step()
		waits := of[plan.Wait](out)
		if got := of[plan.Release](out); len(launches) != nodes || len(got) != 0 || len(waits) != 1 || waits[0].Until.Sub(w.now) != want {
			t.Fatalf("%d nodes: %d launches, %d releases, waits %+v; want none released for %s", nodes, len(launches), len(got), waits, want)
		}
		w.now = waits[0].Until
		if got := of[plan.Release](w.step()); len(got) != nodes-1 {
			t.Errorf("%d of %d nodes open, want all that are up", len(got), nodes)
		}
	}
}

func TestUnnominated_NodesThatHoldAllThatIsPendingDoNotWaitLonger(t *testing.T) {
	w := unnominated(t).pods("web", 24, 3500)
	launches := of[plan.Launch](w.step())
	w.order(launches).bringUp(launches[:20])
	w.objects.Pods = w.objects.Pods[:18] // the Deployment was scaled down
	if got := of[plan.Wait](w.step()); len(got) != 1 || got[0].Until.Sub(w.now) != w.policy.ReleaseWait {
		t.Fatalf("waits %+v, want %s as for a small wave", got, w.policy.ReleaseWait)
	}
	w.now = w.now.Add(w.policy.ReleaseWait)
	if got := of[plan.Release](w.step()); len(got) != 20 {
		t.Errorf("%d nodes open, want all that are up", len(got))
	}
}

// crowd is pods of which each large one shares a node with small ones, and their
// nodes, those of the small ones first.
func crowd(t *testing.T) (w *world, launches []plan.Launch, small int) {
	t.Helper()
	w = unnominated(t).pods("small", 44, 390).pods("large", 2, 2900)
	launches = of[plan.Launch](w.step())
	large := func(l plan.Launch) bool {
		return slices.ContainsFunc(l.Pods, func(id string) bool { return strings.HasPrefix(id, "default/large") })
	}
	slices.SortStableFunc(launches, func(a, b plan.Launch) int {
		return map[bool]int{true: 1}[large(a)] - map[bool]int{true: 1}[large(b)]
	})
	small = slices.IndexFunc(launches, large)
	if small < 2 || len(launches)-small != 2 {
		t.Fatalf("%d nodes, the first for a large pod is the one numbered %d; want two of them", len(launches), small)
	}
	return w.order(launches), launches, small
}

func TestUnnominated_NodesOfLargePodsPreferThem(t *testing.T) {
	w, launches, small := crowd(t)
	w.bringUp(launches)
	releases := of[plan.Release](w.step())
	if len(releases) != len(launches) {
		t.Fatalf("%d of %d nodes open", len(releases), len(launches))
	}
	for _, r := range releases {
		i := slices.IndexFunc(launches, func(l plan.Launch) bool { return "node-"+l.Name == r.Node })
		if (len(r.Puts) > 0) != (i >= small) {
			t.Errorf("node %d of %d opens with %v, want preferences on those of large pods only", i, len(launches), r.Puts)
		}
	}

	w = unnominated(t).pods("web", 8, 1700)
	w.upAll()
	for _, r := range of[plan.Release](w.step()) {
		if len(r.Puts) > 0 {
			t.Errorf("%v where all pods are alike", r.Puts)
		}
	}
}

func TestUnnominated_NodesOfTheLargestStayClosedWhileMoreIsPendingThanIsUp(t *testing.T) {
	w, launches, small := crowd(t)
	open := func(after time.Duration) (names []string) {
		w.now = start.Add(after)
		out := w.step()
		for _, r := range of[plan.Release](out) {
			names = append(names, r.Node)
		}
		w.open(out.Plan.Actions)
		return names
	}
	wait, large := w.policy.ReleaseWait, "node-"+launches[small].Name
	w.bringUp(launches[1:small]) // of the small ones all but one
	open(0)
	w.bringUp(launches[small : small+1])
	open(time.Second)
	if got := open(wait); len(got) != small-1 || slices.Contains(got, large) {
		t.Errorf("%v open; want the %d of small pods that have been up for %s", got, small-1, wait)
	}
	if got := open(2 * wait); slices.Contains(got, large) {
		t.Errorf("%v open; that of a large pod is to wait for others twice as long", got)
	}
	if got := open(time.Second + 2*wait); !slices.Contains(got, large) {
		t.Errorf("%v open; that of a large pod has been up for twice as long", got)
	}
}

func TestUnnominated_PreferencesGoWhenNothingIsPendingOrAfterAWhile(t *testing.T) {
	reserved := func() *world {
		w, launches, _ := crowd(t)
		w.bringUp(launches)
		w.open(w.step().Plan.Actions)
		return w
	}
	bound := func(w *world) *world {
		for i := range w.objects.Pods {
			w.objects.Pods[i].Node, w.objects.Pods[i].Unschedulable = w.objects.Nodes[i%len(w.objects.Nodes)].Name, false
		}
		return w
	}
	for _, c := range []struct {
		name   string
		w      *world
		change func(*world)
		lifts  int
	}{
		{"pods are pending", reserved(), func(*world) {}, 0},
		{"nothing is pending", bound(reserved()), func(*world) {}, 2},
		{"half a minute has passed", reserved(), func(w *world) { w.now = w.now.Add(30 * time.Second) }, 2},
		{"the memory was lost", reserved(), func(w *world) { w.memory = engine.Memory{} }, 2},
		{"pods can be nominated again", reserved(), func(w *world) { w.policy.CannotNominate = false }, 2},
	} {
		c.change(c.w)
		out := c.w.step()
		lifted := filterReleases(out, func(r plan.Release) bool { return len(r.Lifts) > 0 })
		if len(lifted) != c.lifts {
			t.Errorf("%s: %+v, want %d nodes without preferences", c.name, lifted, c.lifts)
		}
		if c.w.open(out.Plan.Actions); c.lifts > 0 && len(filterReleases(c.w.step(), func(r plan.Release) bool { return len(r.Lifts) > 0 })) > 0 {
			t.Errorf("%s: they are lifted twice", c.name)
		}
	}
}

func TestUnnominated_PlansDoNotMindThePreferences(t *testing.T) {
	w, launches, _ := crowd(t)
	rather := []cluster.Taint{{Key: "rather-not", Effect: cluster.PreferNoSchedule}}
	w.pool(cluster.Pool{Name: "rather-not", Taints: rather}) // so that preferences of taints count
	w.bringUp(launches)
	w.open(w.step().Plan.Actions)
	w.objects.Pods = w.objects.Pods[44:] // the large ones
	w.objects.Nodes = slices.DeleteFunc(w.objects.Nodes, func(n cluster.Node) bool { return len(n.Taints) == 0 })
	out := w.step()
	for _, o := range out.Plan.Outcomes {
		if o.Verdict != plan.OnNode || len(o.Dropped) > 0 {
			t.Errorf("%+v; want a place on a node that is open, and nothing given up", o)
		}
	}
}

func TestUnnominated_NodesSuitWhatIsPendingAsAWhole(t *testing.T) {
	memory := func(mib int64) func(*cluster.Pod) {
		return func(p *cluster.Pod) { p.Shape.Requests.MemoryBytes = mib << 20 }
	}
	lean := func(w *world) (n int) {
		for _, l := range of[plan.Launch](w.step()) {
			if slices.ContainsFunc(l.Types, func(c plan.Choice) bool { return strings.HasPrefix(c.Type, "c5.") }) {
				n++
			}
		}
		return n
	}
	mixture := func(w *world) *world {
		return w.pods("lean", 12, 1000, memory(1000)).pods("rich", 12, 1000, memory(6000))
	}
	if lean(mixture(newWorld(t))) == 0 {
		t.Fatal("no node has little memory, although pods that need little can be nominated for it")
	}
	if n := lean(mixture(unnominated(t))); n > 0 {
		t.Errorf("%d nodes with little memory, which pods that need much will fill as well", n)
	}
	if n := lean(unnominated(t).pods("lean", 12, 1000, memory(1000))); n == 0 {
		t.Error("no node has little memory, although no pod needs more")
	}
	huge := unnominated(t)
	huge.objects.Classes[0].Types = append(huge.objects.Classes[0].Types, instanceType("z.huge", 64, 512, 200_000_000))
	for _, l := range of[plan.Launch](mixture(huge).step()) {
		if l.Types[0].Type == "z.huge" {
			t.Error("a node above the soft limit is the measure of what suits, and the only one left")
		}
	}
	if n := lean(unnominated(t).pods("lean", 3, 1000, memory(1000)).pods("rich", 2, 1000, memory(6000))); n == 0 {
		t.Error("no node has little memory, although a few nodes hold all")
	}
	picky := func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is(label.InstanceType, "c5.xlarge")) }
	if n := lean(mixture(unnominated(t)).pods("picky", 2, 1000, memory(1000), picky)); n == 0 {
		t.Error("no node for pods that run on such nodes only")
	}
}

func filterReleases(out engine.Output, want func(plan.Release) bool) []plan.Release {
	return slices.DeleteFunc(of[plan.Release](out), func(r plan.Release) bool { return !want(r) })
}

// No node that is up waits longer than the wave at most, whatever else happens.
func TestUnnominated_NoNodeIsKeptWithoutEnd(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := unnominated(t)
		drawApps(rt, w)
		launches := of[plan.Launch](w.step())
		w.order(launches)
		up := map[string]time.Time{}
		for len(launches) > 0 {
			n := rapid.IntRange(0, len(launches)).Draw(rt, "up")
			w.bringUp(launches[:n])
			for _, l := range launches[:n] {
				up["node-"+l.Name] = w.now
			}
			launches = launches[n:]
			out := w.step()
			for _, r := range of[plan.Release](out) {
				delete(up, r.Node)
			}
			w.open(out.Plan.Actions)
			for name, at := range up {
				if late := w.now.Sub(at); late >= 20*w.policy.ReleaseWait {
					rt.Fatalf("%s is kept after %s", name, late)
				}
			}
			more := of[plan.Launch](out)
			w.order(more)
			launches = append(launches, more...)
			next := w.now.Add(time.Duration(rapid.IntRange(1, 40).Draw(rt, "seconds")) * time.Second)
			if waits := of[plan.Wait](out); len(waits) > 0 && waits[0].Until.Before(next) {
				next = waits[0].Until
			}
			w.now = next
			if n == 0 && len(launches) > 0 && w.now.Sub(start) > 5*time.Minute {
				return
			}
		}
	})
}

func TestUnnominated_PodsLeftOverWaitForNodesThatAreBeingFilled(t *testing.T) {
	for _, c := range []struct {
		name    string
		binds   []time.Duration // after the nodes have opened: the scheduler places a pod
		at      time.Duration
		waits   bool
		restart bool // of the daemon, without memory
	}{
		{"nodes have just opened", nil, 4 * time.Second, true, false},
		{"nothing was placed since", nil, 5 * time.Second, false, false},
		{"a pod was placed a second ago", []time.Duration{4 * time.Second}, 5 * time.Second, true, false},
		{"the last pod was placed long ago", []time.Duration{4 * time.Second}, 6 * time.Second, false, false},
		{"pods are placed without end", []time.Duration{4 * time.Second, 10 * time.Second, 19 * time.Second}, 20 * time.Second, false, false},
		{"the memory was lost", nil, time.Second, false, true},
	} {
		w := unnominated(t).pods("web", 12, 1700) // each leaves 200m of a node
		w.upAll()
		w.open(w.step().Plan.Actions)
		opened := w.now
		w.pods("late", 1, 1900, func(p *cluster.Pod) { p.Created = start.Add(-10 * time.Second) })
		for i, at := range c.binds {
			w.now = opened.Add(at)
			w.step()
			w.objects.Pods[i].Node, w.objects.Pods[i].Unschedulable = w.objects.Nodes[i].Name, false
			w.step()
		}
		if c.restart {
			w.memory = engine.Memory{}
		}
		w.now = opened.Add(c.at)
		out := w.step()
		left := slices.ContainsFunc(out.Plan.Outcomes, func(o plan.Outcome) bool { return o.Verdict == plan.AwaitsNodes })
		if got := of[plan.Launch](out); left != c.waits || (len(got) == 0) != c.waits {
			t.Errorf("%s: left open %v with %d launches; outcomes %+v", c.name, left, len(got), out.Plan.Outcomes)
		}
	}
}

func TestUnnominated_PodsLeftOverWaitForNodesOfTheirWaveOnly(t *testing.T) {
	for _, c := range []struct {
		name      string
		late, now time.Duration // when the pod came, and now; the nodes were ordered after a minute and a half
		waits     bool
	}{
		{"nodes of its wave", 40 * time.Second, 2 * time.Minute, true},
		{"nodes that were ordered long after it", 20 * time.Second, 2 * time.Minute, false},
		{"a pod that has just come", 2*time.Minute - time.Second, 2 * time.Minute, false},
	} {
		w := unnominated(t).pods("large", 2, 2900)
		w.now = start.Add(90 * time.Second)
		launches := of[plan.Launch](w.step())
		if w.order(launches); len(launches) != 2 {
			t.Fatalf("%d launches, want one for each pod", len(launches))
		}
		// Each node has 1000m left: the room is there in sum only.
		w.pods("late", 1, 1900, func(p *cluster.Pod) { p.Created = start.Add(c.late) })
		w.now = start.Add(c.now)
		out := w.step()
		left := slices.ContainsFunc(out.Plan.Outcomes, func(o plan.Outcome) bool { return o.Verdict == plan.AwaitsNodes })
		if got := of[plan.Launch](out); left != c.waits || (len(got) == 0) != c.waits {
			t.Errorf("%s: left open %v with %d launches; outcomes %+v", c.name, left, len(got), out.Plan.Outcomes)
		}
	}
}

// What pods get without nominations, if the scheduler happens to do as planned,
// needs no further plan.
func TestUnnominated_ItsOwnResultNeedsNoFurtherPlan(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := unnominated(t)
		drawApps(rt, w)
		launches := of[plan.Launch](w.step())
		w.order(launches)
		again := func(stage string) engine.Output {
			out := w.step()
			if more := of[plan.Launch](out); len(more) > 0 {
				rt.Fatalf("%s: %d launches more, first %+v", stage, len(more), more[0])
			}
			return out
		}
		again("ordered")
		w.bringUp(launches)
		out := again("up")
		w.open(out.Plan.Actions)
		place := map[string]string{}
		for _, o := range out.Plan.Outcomes {
			for _, id := range o.Pods {
				place[id] = o.On
			}
		}
		for i := range w.objects.Pods {
			if p := &w.objects.Pods[i]; place[p.ID()] != "" {
				p.Node, p.Unschedulable = place[p.ID()], false
			}
		}
		checkPlaces(rt, w)
		out = again("open")
		if more := filterReleases(out, func(r plan.Release) bool { return len(r.Lifts) == 0 }); len(more)+len(of[plan.Nominate](out)) > 0 {
			rt.Fatalf("a settled cluster wants %+v", out.Plan.Actions)
		}
		w.open(out.Plan.Actions)
		if out := again("open to all"); len(of[plan.Release](out)) > 0 {
			rt.Fatalf("a settled cluster wants %+v", out.Plan.Actions)
		}
	})
}
