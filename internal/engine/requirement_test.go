package engine_test

import (
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
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

// A launch may become any of its types in any of its zones, so none is carried
// that the pods accept in some of the zones only.
func TestStep_EveryTypeOfALaunchIsGoodInEveryZoneOfIt(t *testing.T) {
	w := newWorld(t)
	w.policy.OnDemandTolerance = 1000
	w.pods("web", 3, 1000, func(p *cluster.Pod) {
		p.Shape.NodeAffinity = []label.Requirements{
			label.All(label.Is(label.InstanceType, "c5.xlarge")),
			label.All(label.Is(label.InstanceType, "m5.xlarge"), label.Is(label.Zone, "a")),
		}
	})
	out := w.step()
	if len(of[plan.Launch](out)) == 0 {
		t.Fatal("nothing is launched")
	}
	checkSound(t, w.objects, out)
}

// A NodeClaim that no type may become, as its requirements go, has no room.
func TestStep_NothingGoesToANodeClaimThatNoTypeMeets(t *testing.T) {
	for size, want := range map[string]int{"small": 0, "large": 1} {
		w := newWorld(t).pods("web", 1, 500)
		w.objects.Classes[0].Types[0].Labels = w.objects.Classes[0].Types[0].Labels.With("size", "small")
		w.objects.Claims = []cluster.Claim{{Name: "c", UID: "c", Pool: "general", Class: "default", Requirements: label.All(label.Is("size", size)), Created: w.now}}
		out := w.step()
		if n := len(of[plan.Launch](out)); n != want {
			t.Errorf("%d launches beside a NodeClaim of size %s, want %d", n, size, want)
		}
		for _, c := range out.Plan.Proofs {
			if err := w.check(c); err != nil {
				t.Error(err)
			}
		}
	}
}
