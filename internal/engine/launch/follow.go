package launch

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
)

// launchAll launches the bins in order, and returns whether another round could
// place what is left. A bin with pods that must be near others comes after the bin
// of these others. To know where pods really are, it first takes the planned pods
// out of the rules; each launch adds its pods again. So no pod follows another pod
// that found no room in the end.
func (t *turn) launchAll(items []*item, bins []pack.Bin) (again bool) {
	for _, x := range items {
		if x.cell != nil {
			x.tell(-x.count)
		}
		if x.with != nil && x.with.cell != nil { // the pod that each load joins
			x.with.tell(-x.count / x.unit)
		}
	}
	nodes, parts := 0, 0
	for _, b := range bins {
		nodes, parts = nodes+int(b.Copies), parts+int(b.Copies)*len(b.Parts)
	}
	t.Launches, t.Outcomes = slices.Grow(t.Launches, nodes), slices.Grow(t.Outcomes, min(parts, t.Trace.Pods))
	for {
		var alone []pack.Bin
		for _, b := range bins {
			if !affinityMet(items, b) {
				alone = append(alone, b)
				continue
			}
			l := t.load(items, b)
			for range b.Copies {
				again = !t.launch(items, &l) || again
			}
		}
		switch {
		case len(alone) == 0:
			return again
		case len(alone) == len(bins) && !untie(t.dims, items, alone):
			return true
		}
		bins = alone
	}
}
