package engine

import (
	"math"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// launcher makes launches of the demand that found no room, in one try of a Step.
type launcher struct {
	View
	*journal
	demand *demand
	market *market
	slots  attachSlots
	solver *pack.Solver
	growth Growth
	seed   uint64 // names of new NodeClaims come from it
	polish int    // steps of improving that each packing gets

	// sparing makes a plan that spares what is limited; pods of the priority least
	// and above are packed first.
	sparing bool
	least   int32

	launches []plan.Launch
	cost     quantity.Money  // of the launches, an hour
	packed   []packed        // calls of the packer
	unmet    map[string]bool // pools whose minValues could not be met
}

// rounds is how often a tier is packed again after limits, minValues or topology
// have stopped a part of the plan before.
const rounds = 12

// provision launches nodes for the demand that found no room. Weight is not a
// price: the pools of the highest weight take what they can, the rest goes to
// the next.
func (l *launcher) provision() {
	pools := l.market.fleet.Pools
	for from := 0; from < len(pools) && l.demand.remaining() > 0 && !l.solver.Cut(); {
		to := from + 1
		for to < len(pools) && pools[to].Weight == pools[from].Weight {
			to++
		}
		l.provisionTier(from, to)
		from = to
	}
}

// provisionTier packs the remaining demand on the pools [from, to).
func (l *launcher) provisionTier(from, to int) {
	t := &tier{
		launcher: l, from: from, to: to, excluded: map[int]bool{}, full: map[string]bool{}, varied: map[int]bool{},
		shut: map[string]bool{}, least: math.MinInt32,
	}
	t.unsuited = t.findUnsuited()
	if l.sparing {
		t.least = l.least
	}
	for round := 0; round < rounds; round++ {
		rows := t.openRows()
		if l.demand.remaining() == 0 {
			return
		}
		if len(rows) > 0 && (&turn{tier: t, rows: rows}).pack() {
			continue
		}
		if !l.solver.Cut() && len(t.unsuited) > 0 {
			t.unsuited = nil
			continue
		}
		if len(rows) == 0 || l.solver.Cut() || !t.lower() {
			return
		}
		round = 0
	}
}

// packed is one call of the packer.
type packed struct {
	items  []*item
	dims   dimensions
	prices price.Prices
}
