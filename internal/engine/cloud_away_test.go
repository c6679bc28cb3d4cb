package engine_test

import (
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// A NodeClaim cannot come up while EC2 does not answer, and nothing better would follow.
func TestStep_NoNodeClaimTimesOutWhileTheCloudIsAway(t *testing.T) {
	for name, joined := range map[string]bool{"not launched": false, "not ready": true} {
		w := newWorld(t).pods("web", 1, 1500)
		launches := of[plan.Launch](w.step())
		if w.order(launches); joined {
			w.bringUp(launches)
			w.objects.Nodes[0].Ready = false
		}
		w.now, w.policy.CloudAway = w.now.Add(time.Hour), true
		if out := w.step(); len(out.Plan.Actions) > 0 {
			t.Errorf("%s: %+v", name, out.Plan.Actions)
		}
		w.policy.CloudAway = false
		if out := w.step(); len(of[plan.Delete](out)) != 1 || len(of[plan.Launch](out)) != 1 {
			t.Errorf("%s: not given up when the cloud is back: %+v", name, out.Plan.Actions)
		}
	}
}

func TestStep_NothingIsDisruptedWhileTheCloudIsAway(t *testing.T) {
	empty := newWorld(t).pods("web", 1, 1500).running()
	empty.objects.Pods = nil
	for name, w := range map[string]*world{"empty": empty, "half empty": halfEmpty(t)} {
		w.policy.CloudAway = true
		for range 3 {
			w.now = w.now.Add(time.Hour)
			if out := w.step(); len(out.Plan.Actions) > 0 {
				t.Errorf("%s: %+v", name, out.Plan.Actions)
			}
		}
		w.policy.CloudAway = false
		gone := 0
		w.settle(100, func(o engine.Output) { gone += len(of[plan.Delete](o)) })
		if gone == 0 {
			t.Errorf("%s: nothing goes when the cloud is back", name)
		}
	}
}

// A move that has begun continues where it was.
func TestStep_ANodeThatIsGoingStaysAsItIsWhileTheCloudIsAway(t *testing.T) {
	w := halfEmpty(t)
	w.settle(100, func(o engine.Output) {
		if len(of[plan.Disrupt](o)) > 0 {
			w.policy.CloudAway = true
		}
		if w.policy.CloudAway && len(of[plan.Delete](o))+len(of[plan.Restore](o)) > 0 {
			t.Errorf("%+v", o.Plan.Actions)
		}
	})
	if len(w.objects.Nodes) != 6 || !w.policy.CloudAway {
		t.Errorf("%d nodes; nothing was disrupted before: %v", len(w.objects.Nodes), !w.policy.CloudAway)
	}
}
