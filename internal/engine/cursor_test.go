package engine_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// cutWorlds are worlds in which a plan takes several rounds, for all the reasons
// there are, and then some of every kind.
func cutWorlds(t *testing.T) map[string]*world {
	t.Helper()
	all := map[string]*world{}
	add := func(name string, build func(w *world)) {
		w := newWorld(t)
		w.objects.Classes[0].Types = formulaTypes()
		build(w)
		all[name] = w
	}
	apart := func(p *cluster.Pod) {
		p.Labels = label.FromMap(map[string]string{"app": "e"})
		p.Shape.PodAntiAffinity = []cluster.PodTerm{term(label.Hostname, 0, "e")}
	}
	gang := func(name string, size int64) func(*cluster.Pod) {
		return func(p *cluster.Pod) { p.Shape.Gang = cluster.Gang{Name: name, Size: size} }
	}
	add("weights and limits", func(w *world) {
		w.objects.Pools[0].Limits = []quantity.Amount{{Name: quantity.CPU, Count: 200_000}}
		w.pool(cluster.Pool{Name: "heavy", Weight: 10, Limits: []quantity.Amount{{Name: "nodes", Count: 3}}})
		w.shaped(5, 40, 500, 1)
	})
	add("weights", func(w *world) {
		w.pool(cluster.Pool{Name: "heavy", Weight: 10, Requirements: label.All(label.Is(label.InstanceType, w.objects.Classes[0].Types[0].Name))})
		w.shaped(5, 40, 500, 1)
	})
	add("topology", func(w *world) {
		w.shaped(6, 10, 60, 1).pods("e", 9, 700, apart).pods("z", 9, 900, func(p *cluster.Pod) {
			p.Labels = label.FromMap(map[string]string{"app": "z"})
			p.Shape.Spread = []cluster.Spread{{Key: label.Zone, MaxSkew: 1, Selector: pods("z")}}
		}).pods("soft", 9, 900, func(p *cluster.Pod) {
			p.Labels = label.FromMap(map[string]string{"app": "soft"})
			p.Shape.PodAntiAffinity = []cluster.PodTerm{term(label.Zone, 5, "soft")}
		})
	})
	add("minValues", func(w *world) {
		w.pool(cluster.Pool{Name: "varied", Weight: 5, MinValues: []cluster.MinValues{{Key: label.InstanceType, Count: 12}}})
		w.shaped(7, 20, 100, 1)
	})
	add("gangs", func(w *world) {
		w.objects.Pools[0].Limits = []quantity.Amount{{Name: quantity.CPU, Count: 64_000}}
		w.pods("plain", 9, 1000).pods("a", 9, 3000, gang("a", 9)).pods("b", 9, 3000, gang("b", 9)).pods("c", 9, 7000, gang("c", 9))
	})
	add("nodes that wait for pods", func(w *world) {
		w.shaped(3, 30, 300, 1)
		launches := of[plan.Launch](w.step())
		w.order(launches).bringUp(launches).shaped(4, 10, 100, 1)
		w.objects.Workloads = []cluster.Workload{{Kind: "ReplicaSet", Namespace: "default", Name: "rs", Missing: 30, Shape: w.objects.Pods[0].Shape}}
		w.now = w.now.Add(time.Second)
	})
	for name, milliCPU := range map[string]int64{"limits and declared pods": 7000, "limits, declared pods, and small ones": 900} {
		add(name, func(w *world) {
			w.objects.Pools[0].Limits = []quantity.Amount{{Name: quantity.CPU, Count: 64_000}}
			w.shaped(8, 10, 60, 1).pods("late", 4, milliCPU, func(p *cluster.Pod) { p.Shape.Priority = -1 })
			w.objects.Workloads = []cluster.Workload{{Kind: "ReplicaSet", Namespace: "default", Name: "rs", Missing: 30, Shape: w.objects.Pods[0].Shape}}
		})
	}
	for i := range 40 {
		w := newWorld(t)
		(&tape{noise(9000+i, 900)}).world(w)
		all[fmt.Sprintf("noise %d", i)] = w
	}
	for i := range 20 {
		add(fmt.Sprintf("drawn %d", i), func(w *world) {
			from := &tape{noise(9500+i, 900)}
			for k := range 2 {
				p := from.pool(fmt.Sprint("p", k))
				p.Class, p.Ready, p.Deleting = "default", true, false
				w.objects.Pools = append(w.objects.Pools, p)
			}
			for k := range 8 {
				from.app(w, fmt.Sprint("app", k), 2+from.n(9))
			}
		})
	}
	return all
}

// resumed is what so many Steps in a row have said, their actions together.
type resumed struct {
	engine.Output
	steps    int
	prefixes int // Steps that launched something and had more to do
}

// resume makes Steps until the plan is complete.
func resume(t *testing.T, in engine.Input, o cluster.Objects) resumed {
	t.Helper()
	var r resumed
	var actions []plan.Action
	for !r.Trace.Complete {
		out := engine.Step(in)
		if again := engine.Step(in); !reflect.DeepEqual(out.Plan, again.Plan) || !reflect.DeepEqual(out.Trace, again.Trace) {
			t.Fatal("the same Step has another result")
		}
		if !out.Trace.Complete {
			wait := out.Plan.Actions[len(out.Plan.Actions)-1]
			if w, ok := wait.(plan.Wait); !ok || w.Until.After(in.Now) {
				t.Fatalf("a plan with more to come does not ask for the next Step at once: %+v", wait)
			}
			if len(of[plan.Launch](out)) > 0 {
				r.prefixes++
			}
			out.Plan.Actions = out.Plan.Actions[:len(out.Plan.Actions)-1]
		}
		if out.Trace.Units <= r.Trace.Units && r.steps > 0 && !out.Trace.Complete {
			t.Fatalf("%d units of work after %d", out.Trace.Units, r.Trace.Units)
		}
		actions = append(actions, out.Plan.Actions...)
		r.Output, r.steps = out, r.steps+1
		r.Plan.Actions = actions
		checkSound(t, o, r.Output)
		in.Memory, in.Now, in.Seed = out.Memory, in.Now.Add(time.Minute), in.Seed+1
	}
	return r
}

func TestStep_ResumedRunsSayTogetherWhatOneLongRunSays(t *testing.T) {
	cut, prefixes, tries := 0, 0, 0
	for name, w := range cutWorlds(t) {
		snapshot, err := cluster.New(w.objects)
		if err != nil {
			continue
		}
		for polish, limits := range map[int][]int{0: {1, 3}, 3: {2, 7}} {
			in := engine.Input{Snapshot: snapshot, Memory: w.memory, Policy: w.policy, Now: w.now, Seed: 9, Polish: polish}
			long := engine.Step(in)
			for _, limit := range limits {
				in.WorkLimit = limit
				r := resume(t, in, w.objects)
				if !reflect.DeepEqual(long.Plan, r.Plan) {
					t.Errorf("%s, limit %d: planned in %d Steps:\n%+v\nat once:\n%+v", name, limit, r.steps, r.Plan, long.Plan)
				}
				if long.Trace != r.Trace || !reflect.DeepEqual(long.Memory.Memory, r.Memory.Memory) {
					t.Errorf("%s, limit %d: trace or memory differ:\n%+v\n%+v", name, limit, r.Trace, long.Trace)
				}
				if most := max(1, (long.Trace.Units+limit-1)/limit); r.steps > most {
					t.Errorf("%s, limit %d: %d Steps for %d units of work", name, limit, r.steps, long.Trace.Units)
				}
				if r.steps > 1 {
					cut, prefixes, tries = cut+1, prefixes+r.prefixes, max(tries, long.Trace.Tries)
				}
			}
		}
	}
	if cut < 80 || prefixes < 60 || tries < 2 {
		t.Errorf("%d runs were cut, %d of their Steps launched, at most %d tries: too few to tell", cut, prefixes, tries)
	}
}

// Whatever becomes of a plan that is cut, the next begins with what is there, and
// a cluster that changes all the time still gets its nodes.
func TestStep_APlanThatIsGivenUpIsMadeInTheEnd(t *testing.T) {
	for name, w := range cutWorlds(t) {
		if _, err := cluster.New(w.objects); err != nil || slices.ContainsFunc(w.objects.Pods, func(p cluster.Pod) bool { return p.Shape.Gang.Size > 100 }) {
			continue
		}
		launchedFor := map[string]int{}
		for steps := 1; ; steps++ {
			snapshot, err := cluster.New(w.objects)
			if err != nil {
				t.Fatal(err)
			}
			w.seed++
			out := engine.Step(engine.Input{Snapshot: snapshot, Memory: w.memory, Policy: w.policy, Now: w.now, Seed: w.seed, Polish: 2, WorkLimit: 1})
			checkSound(t, w.objects, out)
			launches := of[plan.Launch](out)
			for _, l := range launches {
				for _, pod := range l.Pods {
					if launchedFor[pod]++; launchedFor[pod] > 1 {
						t.Fatalf("%s: %s is launched for twice", name, pod)
					}
				}
			}
			if out.Trace.Complete {
				break
			}
			if steps > 100 {
				t.Fatalf("%s: no plan after %d Steps", name, steps)
			}
			w.memory = out.Memory
			w.order(launches)
		}
	}
}

func TestStep_APlanDoesNotGoOnWhereAnythingElseHasChanged(t *testing.T) {
	w := cutWorlds(t)["weights"]
	snapshot, err := cluster.New(w.objects)
	if err != nil {
		t.Fatal(err)
	}
	in := engine.Input{Snapshot: snapshot, Policy: w.policy, Now: w.now, Seed: 9, WorkLimit: 3}
	long := in
	long.WorkLimit = 0
	first := engine.Step(in)
	launches := of[plan.Launch](first)
	if first.Trace.Complete || len(launches) == 0 {
		t.Fatalf("no prefix: %+v", first.Trace)
	}
	if !slices.ContainsFunc(first.Plan.Outcomes, func(o plan.Outcome) bool {
		return o.Verdict == plan.Waiting && len(o.Reasons) == 1 && o.Reasons[0].Cause == plan.PlanUnfinished
	}) {
		t.Error("pods that were not reached are not told so")
	}
	in.WorkLimit, in.Memory = 0, first.Memory
	if goesOn := engine.Step(in); len(of[plan.Launch](goesOn))+len(launches) != goesOn.Trace.Launches {
		t.Fatalf("%d and %d launches of %d", len(launches), len(of[plan.Launch](goesOn)), goesOn.Trace.Launches)
	}
	policy := in.Policy
	policy.SpotTolerance++
	polished, polishedLong, other := in, long, in
	polished.Polish, polishedLong.Polish = 2, 2
	if other.Snapshot, err = cluster.New(w.objects); err != nil {
		t.Fatal(err)
	}
	of := launches[0].Types[0].Type
	gone := []catalog.OfferingKey{}
	for _, zone := range []string{"a", "b", "c"} {
		gone = append(gone, catalog.OfferingKey{CapacityType: label.OnDemand, InstanceType: of, Zone: zone})
	}
	lost, lostLong := in, long
	lost.Memory = unavailable(in.Memory, w.now.Add(time.Hour), gone...)
	lostLong.Memory = unavailable(engine.Memory{}, w.now.Add(time.Hour), gone...)
	failed := in
	failed.Memory = in.Memory.PlanAnew()
	strict, strictLong := in, long
	strict.Policy, strictLong.Policy = policy, policy
	for name, c := range map[string][2]engine.Input{
		"snapshot": {other, long}, "policy": {strict, strictLong}, "polish": {polished, polishedLong}, "capacity": {lost, lostLong}, "failure": {failed, long},
	} {
		if got, want := engine.Step(c[0]), engine.Step(c[1]); !reflect.DeepEqual(got.Plan, want.Plan) {
			t.Errorf("%s: %d launches, want the %d of a plan from the beginning", name, got.Trace.Launches, want.Trace.Launches)
		}
	}
}
