package engine_test

import (
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// A search may begin in the middle of a scale-down that takes long. What it finds is for a
// fleet that is not there any more; pods that move for it cannot move again for a while.
func TestStep_ATargetIsGivenUpWhenManyPodsHaveGoneSince(t *testing.T) {
	for name, gone := range map[string]bool{"no pod has gone": false, "a sixth of the pods has gone": true} {
		w := halfEmpty(t)
		w.objects.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: 1}}
		w.obey(w.toClose())
		w.opened(func(out engine.Output) { w.obey(out) })
		if gone {
			left := true
			w.drop(func(cluster.Pod) bool { was := left; left = false; return was })
		}
		since := w.now
		for len(of[plan.Disrupt](w.step())) == 0 && w.now.Sub(since) < time.Minute {
			w.now = w.now.Add(100 * time.Millisecond)
		}
		if waited := w.now.Sub(since) >= 3*time.Second; waited != gone {
			t.Errorf("%s: the next node goes after %s", name, w.now.Sub(since))
		}
	}
}
