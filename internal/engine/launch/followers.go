package launch

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
)

// follows says whether pods of any item could meet the required affinity of the
// class, wherever they are launched.
func follows(c *demand.Class, items []*item) bool {
	targets := c.Table.AffinityTargets(c.Rule())
	return slices.ContainsFunc(items, func(x *item) bool { return slices.Contains(targets, x.class.Rule()) })
}

// affinityMet says whether all pods of the bin that must be near others have them
// there: on nodes, in launches or in the bin itself.
func affinityMet(items []*item, b pack.Bin) bool {
	var follow, there []*item
	for _, p := range b.Parts {
		switch x := items[p.Class]; {
		case x.cell == nil:
		case x.followsOthers():
			follow = append(follow, x)
		default:
			there = append(there, x)
		}
	}
	if len(follow) == 0 {
		return true
	}
	for _, x := range there {
		x.tell(1)
	}
	for progress := true; progress && len(follow) > 0; {
		before := len(follow)
		follow = slices.DeleteFunc(follow, func(x *item) bool {
			near := x.class.Table.AffinityMet(x.class.Rule(), x.cell.place)
			if near {
				x.tell(1)
				there = append(there, x)
			}
			return near
		})
		progress = len(follow) < before
	}
	for _, x := range there {
		x.tell(-1)
	}
	return len(follow) == 0
}

// tell tells the rules that n more pods are in the domain that is planned for them.
func (x *item) tell(n int64) { x.class.Tell(x.cell.place, n) }

// followsOthers says whether the pods of the item must be near others and were
// divided among domains.
func (x *item) followsOthers() bool {
	return x.cell != nil && x.with == nil && x.class.Table.AffinityTargets(x.class.Rule()) != nil
}

// untie resolves bins that wait for each other. It takes the followers out of the
// first bin that also has pods which follow nobody, and says whether there is such
// a bin. The bin can then be launched, and others may follow its pods. The
// followers come in the next round.
func untie(dims demand.Dimensions, items []*item, bins []pack.Bin) bool {
	follows := func(p pack.Part) bool { return items[p.Class].followsOthers() }
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
			for d, need := range dims.Vector(x.need()) {
				used[d] -= need * p.Count
			}
		}
		b.Used = used
		return true
	}
	return false
}
