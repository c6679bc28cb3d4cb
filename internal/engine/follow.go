package engine

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
)

// launchAll launches the bins in order and returns whether another round could
// place what is left. A bin with pods that must be near others comes after
// those: what was divided is no longer counted where it was planned, only where
// it is launched, so that nobody follows a pod that found no room after all.
func (s *step) launchAll(t *tier, items []*item, bins []pack.Bin) (again bool) {
	for _, x := range items {
		if x.cell != nil {
			s.count(x, -x.count)
		}
	}
	nodes, parts := 0, 0
	for _, b := range bins {
		nodes, parts = nodes+int(b.Copies), parts+int(b.Copies)*len(b.Parts)
	}
	s.launches, s.outcomes = slices.Grow(s.launches, nodes), slices.Grow(s.outcomes, min(parts, s.trace.Pods))
	for {
		var alone []pack.Bin
		for _, b := range bins {
			if !s.accompanied(items, b) {
				alone = append(alone, b)
				continue
			}
			l := s.load(t, items, b)
			for range b.Copies {
				again = !s.launch(t, items, &l) || again
			}
		}
		switch {
		case len(alone) == 0:
			return again
		case len(alone) == len(bins) && !s.untie(t, items, alone):
			return true
		}
		bins = alone
	}
}
