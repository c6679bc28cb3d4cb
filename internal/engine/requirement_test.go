package engine_test

import (
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// A pool that asks for one value of a label that only some instance types have
// launches none that lacks it.
func TestStep_ATypeWithoutALabelThatThePoolAsksForIsNotLaunched(t *testing.T) {
	for _, key := range []string{"karpenter.k8s.aws/instance-gpu-name", label.ZoneID} {
		w := newWorld(t)
		w.objects.Pools[0].Requirements = w.objects.Pools[0].Requirements.And(label.All(label.Is(key, "t4")))
		if launches := of[plan.Launch](w.pods("web", 1, 1000).step()); len(launches) != 0 {
			t.Errorf("%s: launched %v, which has none", key, launches[0].Types)
		}
	}
}
