package engine_test

import "testing"

// Work follows the number of groups, not of pods: with twice the pods of the same
// groups a Step counts less than half as much again. Counters are compared, not
// time; each must be there, or there is nothing to compare.
func TestStep_WorkFollowsGroupsNotPods(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3} {
		var traces [2]struct{ work, rounds, pods int64 }
		for i := range traces {
			w := newWorld(t)
			w.objects.Classes[0].Types = formulaTypes()
			trace := w.shaped(seed, 60, 1500, 1+i).step().Trace
			traces[i] = struct{ work, rounds, pods int64 }{trace.Work, int64(trace.Rounds), int64(trace.Pods)}
		}
		once, twice := traces[0], traces[1]
		if once.work == 0 || once.rounds == 0 || twice.pods != 2*once.pods {
			t.Fatalf("seed %d: nothing counted: %+v, %+v", seed, once, twice)
		}
		if twice.work*2 >= once.work*3 || twice.rounds*2 >= once.rounds*3 {
			t.Errorf("seed %d: %+v with %d pods, %+v with %d", seed, once, once.pods, twice, twice.pods)
		}
		t.Logf("seed %d: %+v, %+v", seed, once, twice)
	}
}
