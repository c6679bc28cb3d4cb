package launch

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// holdUntried divides the bins into those to launch now and those that wait for the answer
// to a launch like them, because the last ones found no capacity: if one of them fails, all
// would. A gang is launched whole or not at all, so its nodes do not wait for each other.
func (t *turn) holdUntried(items []*item, bins []pack.Bin) (now, later []pack.Bin) {
	tries := t.Market.NewTries(t.Launches)
	for _, b := range bins {
		n := b.Copies
		if !ofGang(items, b) {
			n = tries.Take(t.row(b.Offer), b.Copies)
		}
		if n > 0 {
			first := b
			first.Copies = n
			now = append(now, first)
		}
		if b.Copies -= n; b.Copies > 0 {
			later = append(later, b)
		}
	}
	return now, later
}

func ofGang(items []*item, b pack.Bin) bool {
	return slices.ContainsFunc(b.Parts, func(p pack.Part) bool { return items[p.Class].class.Group.Shape.Gang.Name != "" })
}

// OneTry says what launches wait for after one like them has failed.
const OneTry = "after failed launches one node at a time is tried, and the rest waits for it"

// awaitTry says why the bins wait.
func (t *turn) awaitTry(bins []pack.Bin) (why []plan.Refusal) {
	for _, b := range bins {
		r := plan.Refusal{Pool: t.Market.Fleet.Pools[t.row(b.Offer).Pool].Name, Cause: plan.NoCapacity, Detail: OneTry}
		if !slices.Contains(why, r) {
			why = append(why, r)
		}
	}
	return why
}
