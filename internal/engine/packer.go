package engine

import "github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"

// packer answers one problem after the other, within the units of work that the
// Step may do. It goes on with the answers of Steps before: the same plan asks
// the same questions in the same order.
type packer struct {
	answers []answer // first those known from Steps before
	asked   int      // how many of them have been used
	left    int      // units of work that may still be done
	units   int      // of work that the plan has taken so far, all tries together
	cut     bool     // there was more to do
}

// answer is what the packer makes of one problem.
type answer struct {
	pack.Result
	done bool
}

// solve packs, and makes so many steps of polishing. It returns false where the
// Step may not do as much; then nothing more can be planned in it.
func (k *packer) solve(p pack.Problem, polish int) (pack.Result, bool) {
	if k.asked == len(k.answers) {
		k.answers = append(k.answers, answer{})
	}
	a := &k.answers[k.asked]
	k.asked++
	if !a.done && k.left > 0 {
		before := a.Searches + a.Steps
		a.Result, a.done = pack.Search(p, a.Result, pack.Work{Trials: k.left})
		left := k.left - (a.Searches + a.Steps - before)
		if a.done && polish > a.Steps && len(a.Bins) > 0 {
			a.done = false
			if left > 0 {
				a.Result, a.done = pack.Polish(p, a.Result, pack.Work{Trials: min(left, polish-a.Steps)})
				a.done = a.done || a.Steps == polish
			}
		}
		k.left -= a.Searches + a.Steps - before
	}
	k.units += a.Searches + a.Steps
	k.cut = !a.done
	return a.Result, a.done
}
