package engine_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// The daemon may die between any two Steps, and what replaces it remembers
// nothing: no pod that has a place coming is launched for again, none is left
// out, and a node is not deleted that pods are on their way to.
func TestStep_ForgettingEverythingLaunchesNothingTwiceAndLosesNoPod(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		drawApps(rt, w)
		first := w.step()
		launches := of[plan.Launch](first)
		placed := launchedFor(first)
		again := func(stage string) engine.Output {
			w.memory = engine.Memory{}
			w.now = w.now.Add(time.Millisecond)
			out := w.step()
			if more := of[plan.Launch](out); len(more) > 0 {
				rt.Fatalf("%s: %d launches more, first %+v\nbefore: %+v", stage, len(more), more[0], launches)
			}
			if gone := of[plan.Delete](out); len(gone) > 0 {
				rt.Fatalf("%s: deletes %+v", stage, gone)
			}
			return out
		}
		w.order(launches)
		again("ordered")
		w.bringUp(launches)
		up := again("up")
		if n := len(of[plan.Nominate](up)); n < placed { // more, where some follow pods that have a place by now
			rt.Fatalf("%d pods nominated, %d launched for", n, placed)
		}
		w.open(up.Plan.Actions)
		checkPlaces(rt, w)
		again("open")
	})
}
