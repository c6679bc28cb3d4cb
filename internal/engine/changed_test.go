package engine_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// sweptFleet is a fleet of full nodes after a search: only n0007 has room, for 1100m, but its
// own pod of 800m has no other place. n0005 runs pods of 1000m, 800m and 100m.
func sweptFleet(t *testing.T, nodes int) engine.Input {
	t.Helper()
	w := busy(t, nodes)
	w.objects.Pools[0].Disruption = saving()
	full := w.objects.Classes[0].Types[0].Allocatable.MilliCPU
	for i := range w.objects.Pods {
		w.objects.Pods[i].Shape.Requests = quantity.Resources{MilliCPU: full, PodSlots: 1}
	}
	w.objects.Pods[5].Shape.Requests.MilliCPU = 1000
	w.objects.Pods[7].Shape.Requests.MilliCPU = 800
	on := func(p *cluster.Pod) { p.Node, p.Unschedulable = "n0005", false }
	w.pods("large", 1, 800, on).pods("small", 1, 100, on)
	s, err := cluster.New(w.objects)
	if err != nil {
		t.Fatal(err)
	}
	in := engine.Input{Snapshot: s, Policy: w.policy, Now: start.Add(time.Hour), Seed: 7}
	for range 1000 {
		out := engine.Step(in)
		if n := len(of[plan.Disrupt](out)); n > 0 {
			t.Fatalf("%d nodes go", n)
		}
		in.Memory = out.Memory
		waits := of[plan.Wait](out)
		if len(waits) == 0 {
			in.Now = in.Now.Add(time.Minute)
			return in
		}
		in.Now = waits[0].Until
	}
	t.Fatal("the search does not end")
	return in
}

// without is the input without the pod.
func without(t *testing.T, in engine.Input, pod string) engine.Input {
	t.Helper()
	s, err := in.Snapshot.Apply(cluster.Delta{Removed: cluster.Removed{Pods: []string{"default/" + pod}}})
	if err != nil {
		t.Fatal(err)
	}
	in.Snapshot = s
	return in
}

// stepOn steps, and returns the input of the Step that the plan asks for.
func stepOn(t *testing.T, in engine.Input) (engine.Input, engine.Output, plan.Wait) {
	t.Helper()
	out := engine.Step(in)
	if again := engine.Step(in); !reflect.DeepEqual(out.Plan, again.Plan) || out.Trace != again.Trace {
		t.Error("the same Step decides otherwise the second time")
	}
	wait := plan.Wait{}
	if list := of[plan.Wait](out); len(list) > 0 {
		wait = list[0]
		in.Now = wait.Until
	}
	in.Memory = out.Memory
	return in, out, wait
}

func TestStep_LooksAtWhatHasChangedInALargeFleetBeforeItSearches(t *testing.T) {
	in := without(t, sweptFleet(t, 600), "large-00")
	in, out, wait := stepOn(t, in)
	if out.Trace.ChangesTried || len(of[plan.Disrupt](out)) > 0 || wait.Why != plan.QuietLongEnough {
		t.Errorf("a pod that has just gone: %+v, %+v", out.Trace, wait)
	}
	_, out, _ = stepOn(t, in)
	going := of[plan.Disrupt](out)
	if !out.Trace.ChangesTried || len(going) != 1 || going[0].Claim != "claim-n0005" && going[0].Claim != "claim-n0007" {
		t.Errorf("once no more pods go: %+v, %+v", out.Trace, going)
	}
}

// A small pod that leaves lets no node be deleted. The search comes next, also where
// another pod has left meanwhile, and there is no second look before it has ended.
func TestStep_SearchesALargeFleetAfterALookThatFindsNothing(t *testing.T) {
	in := without(t, sweptFleet(t, 600), "small-00")
	in, _, _ = stepOn(t, in)
	in, out, wait := stepOn(t, in)
	if !out.Trace.ChangesTried || len(of[plan.Disrupt](out)) > 0 || wait.Why != plan.NextSweep {
		t.Fatalf("%+v, %+v", out.Trace, wait)
	}
	for range 1000 {
		if in, out, wait = stepOn(t, in); out.Trace.ChangesTried || wait.Why != plan.NextSweep && wait.Why != "" {
			t.Fatalf("%+v, %+v", out.Trace, wait)
		}
		if wait.Why == "" {
			return
		}
	}
	t.Error("the search does not end")
}

// Pods come and go without end: after three minutes a look comes, and then the search, as it
// would without a look.
func TestStep_SearchesALargeFleetThatNeverRests(t *testing.T) {
	in := sweptFleet(t, 600)
	there := true
	looked := 0
	for i := range 200 {
		d := cluster.Delta{Removed: cluster.Removed{Pods: []string{"default/small-00"}}}
		if !there {
			p := cluster.Pod{Namespace: "default", Name: "small-00", UID: "uid-small-00", Node: "n0005", Created: start}
			p.Shape.Requests = quantity.Resources{MilliCPU: 100, PodSlots: 1}
			d = cluster.Delta{Put: cluster.Objects{Pods: []cluster.Pod{p}}}
		}
		there = !there
		var err error
		if in.Snapshot, err = in.Snapshot.Apply(d); err != nil {
			t.Fatal(err)
		}
		out := engine.Step(in)
		waits := of[plan.Wait](out)
		in.Memory, in.Now = out.Memory, in.Now.Add(time.Second)
		if out.Trace.ChangesTried {
			if looked = i; looked < 179 || looked > 181 {
				t.Errorf("a look after %d s", looked)
			}
			continue
		}
		if looked > 0 {
			if i != looked+1 || len(waits) > 0 && waits[0].Why == plan.QuietLongEnough {
				t.Errorf("no search after a look: %+v", waits)
			}
			return
		}
	}
	t.Error("no look")
}

func TestStep_SearchesASmallFleetAtOnce(t *testing.T) {
	in := without(t, sweptFleet(t, 100), "large-00")
	in, _, _ = stepOn(t, in)
	if _, out, _ := stepOn(t, in); out.Trace.ChangesTried {
		t.Error("a look at a fleet that is searched in few Steps")
	}
}
