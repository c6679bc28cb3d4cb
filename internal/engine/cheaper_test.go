package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// A node of $0.17 with one small pod is to be replaced by one of $0.085. What EC2 may
// launch in its place costs less, whatever it is.
func TestStep_AMoveCarriesOnlyWhatCostsLessThanItFrees(t *testing.T) {
	dearer := func(percent quantity.Money) func(*world) {
		return func(w *world) {
			for i := range w.objects.Classes[0].Types {
				for j := range w.objects.Classes[0].Types[i].Offerings {
					if o := &w.objects.Classes[0].Types[i].Offerings[j]; o.Zone == "b" {
						o.Price += o.Price / 100 * percent
					}
				}
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*world)
		types  []string // of the launch; none if the node stays
		zones  []string
	}{
		"every type":             {nil, []string{"c5.large"}, []string{"a", "b"}},
		"minValues within":       {func(w *world) { w.minValues(label.InstanceType, 2) }, []string{"c5.large", "c6.large"}, []string{"a", "b"}},
		"minValues that cost it": {func(w *world) { w.minValues(label.InstanceType, 3) }, nil, nil},
		"minValues make do": {func(w *world) {
			w.minValues(label.InstanceType, 50)
			w.policy.BestEffortMinValues = true
		}, nil, nil},
		"two zones":                {func(w *world) { w.minValues(label.Zone, 2); dearer(20)(w) }, []string{"c5.large"}, []string{"a", "b"}},
		"two zones, one too dear":  {func(w *world) { w.minValues(label.Zone, 2); dearer(200)(w) }, nil, nil},
		"one of two zones is dear": {dearer(200), []string{"c5.large"}, []string{"a"}},
		"a saving less than the difference of the zones": {func(w *world) {
			dearer(3)(w)
			w.onClaim(w.objects.Claims[0].Name, func(c *cluster.Claim) { c.InstanceType = "z.old" })
		}, []string{"c5.large"}, []string{"a"}},
	} {
		w := newWorld(t).types(
			instanceType("c5.large", 2, 4, 85_000_000), instanceType("c5.xlarge", 4, 8, 170_000_000), instanceType("c6.large", 2, 4, 110_000_000),
			instanceType("m5.xlarge", 4, 16, 192_000_000), instanceType("z.old", 4, 8, 86_000_000),
		)
		old := w.objects.Classes[0].Types
		w.types(old[:4]...)
		w.objects.Pools[0].Disruption = saving()
		w.policy.LeastSaving, w.policy.PodMove, w.policy.MoveTime = 1, 1, 1
		w.pods("big", 1, 3000).pods("small", 1, 500).running()
		w.drop(func(p cluster.Pod) bool { return p.Name == "big-00" })
		w.now = w.now.Add(time.Hour)
		w.objects.Classes[0].Types = old
		for i := range old[4].Offerings { // it can only be had by those who have it
			old[4].Offerings[i].Available = false
		}
		if c.change != nil {
			c.change(w)
		}
		var got []plan.Launch
		w.settle(30, func(o engine.Output) { got = append(got, of[plan.Launch](o)...) })
		var types, zones []string
		for _, l := range got {
			zones = l.Zones
			for _, x := range l.Types {
				types = append(types, x.Type)
			}
		}
		if len(got) > 1 || !slices.Equal(types, c.types) || !slices.Equal(zones, c.zones) {
			t.Errorf("%s: %d launches of %v in %v, want %v in %v", name, len(got), types, zones, c.types, c.zones)
		}
	}
}
