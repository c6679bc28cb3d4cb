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

// untie takes the followers out of the first bin that also has pods which follow
// nobody, where each bin waits for another, and says whether there is one: with
// these launched others may follow them, and those taken out come in the next
// round.
func (s *step) untie(t *tier, items []*item, bins []pack.Bin) bool {
	follows := func(p pack.Part) bool { return s.followsOthers(items[p.Class]) }
	for i := range bins {
		b := &bins[i]
		if !slices.ContainsFunc(b.Parts, func(p pack.Part) bool { return items[p.Class].cell != nil && !follows(p) }) {
			continue
		}
		parts, used := b.Parts, slices.Clone(b.Used)
		b.Parts = nil
		for _, p := range parts {
			x := items[p.Class]
			if !follows(p) {
				b.Parts = append(b.Parts, p)
				continue
			}
			x.untied = true
			for d, need := range t.dims.vector(x.need()) {
				used[d] -= need * p.Count
			}
		}
		b.Used = used
		return true
	}
	return false
}

// followsOthers says whether the item's pods, which were divided, must be near
// others.
func (s *step) followsOthers(x *item) bool {
	return x.cell != nil && x.with == nil && s.rules.Company(x.class.rule()) != nil
}

// accompanied says whether the pods of the bin that must be near others have them
// there: on nodes, among what is launched, or in the bin.
func (s *step) accompanied(items []*item, b pack.Bin) bool {
	var follow, there []*item
	for _, p := range b.Parts {
		switch x := items[p.Class]; {
		case x.cell == nil:
		case s.followsOthers(x):
			follow = append(follow, x)
		default:
			there = append(there, x)
		}
	}
	if len(follow) == 0 {
		return true
	}
	for _, x := range there {
		s.count(x, 1)
	}
	for progress := true; progress && len(follow) > 0; {
		before := len(follow)
		follow = slices.DeleteFunc(follow, func(x *item) bool {
			near := s.rules.Accompanied(x.class.rule(), x.cell.place)
			if near {
				s.count(x, 1)
				there = append(there, x)
			}
			return near
		})
		progress = len(follow) < before
	}
	for _, x := range there {
		s.count(x, -1)
	}
	return len(follow) == 0
}

// count tells the rules of n more pods in the domain that was planned for them.
func (s *step) count(x *item, n int64) {
	s.rules.Add(x.class.hard(), x.cell.place, n)
}
