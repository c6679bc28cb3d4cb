package launch

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// holdUntried divides the bins into those to launch now and those that wait for the answers
// to launches before them, and says why these wait: as many are under way as EC2 is asked for, or
// the last ones found no capacity, and if one fails, all would. A gang is launched whole or not at
// all, so its nodes do not wait for each other.
func (t *turn) holdUntried(items []*item, bins []pack.Bin) (now, later []pack.Bin, why []plan.Refusal) {
	tries := t.Market.NewTries(t.Launches)
	for _, b := range bins {
		n, waits := b.Copies, plan.Refusal{}
		if !ofGang(items, b) {
			n, waits = tries.Take(t.row(b.Offer), b.Copies)
		}
		if n > 0 {
			first := b
			first.Copies = n
			now = append(now, first)
		}
		if b.Copies -= n; b.Copies > 0 {
			later = append(later, b)
			if !slices.Contains(why, waits) {
				why = append(why, waits)
			}
		}
	}
	return now, later, why
}

func ofGang(items []*item, b pack.Bin) bool {
	return slices.ContainsFunc(b.Parts, func(p pack.Part) bool { return items[p.Class].class.Group.Shape.Gang.Name != "" })
}
