package static

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// WithSurplus returns the view in which those NodeClaims are about to be deleted of the
// Surplus that are not up yet: they end at once. Nodes that were announced as surplus and
// that their pool needs again, as somebody has raised spec.replicas or another node was
// deleted, stay.
func WithSurplus(v view.View) view.View {
	v = withRecalled(v)
	going := map[string]plan.DeleteReason{}
	for _, c := range Surplus(v) {
		if EndsAtOnce(v, c) {
			going[c.Name] = plan.Surplus
		}
	}
	if len(going) == 0 {
		return v
	}
	return v.With(going)
}

// IsSurplus says whether the NodeClaim is about to be deleted as its static pool has
// too many.
func IsSurplus(v view.View, c *cluster.Claim) bool { return v.Going[c.Name] == plan.Surplus }

// EndsAtOnce says whether a surplus NodeClaim is deleted at once: its node is not up.
func EndsAtOnce(v view.View, c *cluster.Claim) bool {
	_, up := v.Snapshot.State(c.Node)
	return !up || !c.Initialized
}

// Surplus returns the NodeClaims that static pools have beyond spec.replicas and that do
// not leave yet: the ones of which the end disrupts least.
func Surplus(v view.View) (out []*cluster.Claim) {
	for _, p := range v.Snapshot.Supply().Pools {
		if !p.Static || p.Deleting || !p.Ready || p.Disruption.Paused || v.Policy.CloudAway {
			continue
		}
		n := count(v, p.Name) - p.Replicas
		if n <= 0 {
			continue
		}
		for _, x := range candidates(v, p.Name)[:n] {
			out = append(out, x.claim)
		}
	}
	return out
}

// withRecalled returns the view without as many surplus nodes in Going as their pools lack
// nodes.
func withRecalled(v view.View) view.View {
	lacks := map[string]int64{}
	recalled := map[string]bool{}
	for _, c := range v.Claims {
		pool, _ := v.Snapshot.Pool(c.Pool)
		if !IsSurplus(v, c) || c.Leaving() || !pool.Static || pool.Deleting {
			continue
		}
		if _, counted := lacks[c.Pool]; !counted {
			lacks[c.Pool] = pool.Replicas - count(v, c.Pool)
		}
		if lacks[c.Pool] > 0 {
			lacks[c.Pool]--
			recalled[c.Name] = true
		}
	}
	if len(recalled) > 0 {
		v.Going = maps.Clone(v.Going)
		maps.DeleteFunc(v.Going, func(name string, _ plan.DeleteReason) bool { return recalled[name] })
	}
	return v
}

// candidate is a NodeClaim that counts.
type candidate struct {
	claim *cluster.Claim
	stage int  // see stageOf
	due   bool // see view.Due
	moves int  // pods that need another place
}

// candidates returns the NodeClaims of the pool that count, those first of which the end
// disrupts least.
func candidates(v view.View, pool string) (out []candidate) {
	for c := range v.Snapshot.EachClaim() {
		if c.Pool == pool && counts(v, c) {
			out = append(out, rate(v, c))
		}
	}
	slices.SortFunc(out, func(a, b candidate) int {
		return cmp.Or(
			cmp.Compare(a.stage, b.stage), pick.First(a.due, b.due), cmp.Compare(a.moves, b.moves),
			a.claim.Created.Compare(b.claim.Created), strings.Compare(a.claim.Name, b.claim.Name),
		)
	})
	return out
}

// The stages of a candidate: what is not launched is deleted first, what must not be
// disrupted last.
const (
	notLaunched = iota
	notInitialized
	empty
	runs
	protected
)

func rate(v view.View, c *cluster.Claim) candidate {
	why, _ := v.Due(c)
	x := candidate{claim: c, stage: empty, due: why != ""}
	state, up := v.Snapshot.State(c.Node)
	switch {
	case !c.Launched:
		x.stage = notLaunched
	case !up || !c.Initialized:
		x.stage = notInitialized
	case v.RunsPods(*c):
		x.stage = runs
	}
	if !up {
		return x
	}
	for p := range state.Pods() {
		if p.Moves() {
			x.moves++
		}
		if !p.Deleting && p.Protected(v.Now) {
			x.stage = protected
		}
	}
	if state.Node.Protected(v.Now) {
		x.stage = protected
	}
	return x
}
