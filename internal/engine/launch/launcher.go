package launch

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Launcher makes launches for the demand that found no room, in one try of a Step.
type Launcher struct {
	view.View
	*journal.Journal
	Demand *demand.Demand
	Market *offer.Market
	Slots  room.AttachSlots
	Solver *pack.Solver
	Growth memory.Growth
	Seed   uint64 // the source of the names of new NodeClaims
	Polish int    // improvement steps for each packing

	// Sparing makes launches that spare what is limited.
	Sparing bool
	// MinPriority is the priority down to which pods are launched for.
	MinPriority int32

	Launches []plan.Launch
	Cost     quantity.Money  // of the launches' instances, an hour
	Extra    plan.Extra      // what the launches cost beside their instances
	Packed   []Packed        // calls of the packer
	Unmet    map[string]bool // pools whose minValues could not be met
}

// rounds is how often a tier is packed at most at one level of priority. It is
// packed again when limits, minValues or topology have stopped a part of the plan.
const rounds = 12

// Provision launches nodes for the demand that found no room. A weight is not a
// price: the pools of the highest weight take what they can, and the rest is left to
// the next weight.
func (l *Launcher) Provision() {
	pools := l.Market.Fleet.Pools
	for from := 0; from < len(pools) && l.Demand.Remaining() > 0 && !l.Solver.Cut(); {
		to := from + 1
		for to < len(pools) && pools[to].Weight == pools[from].Weight {
			to++
		}
		l.provisionTier(from, to)
		from = to
	}
}

// provisionTier packs the remaining demand on the pools [from, to).
func (l *Launcher) provisionTier(from, to int) {
	t := &tier{
		Launcher: l, from: from, to: to, excluded: map[int]bool{}, full: map[string]bool{}, varied: map[int]bool{},
		wanted: map[int]quantity.Resources{}, shut: map[string]bool{},
	}
	for round := 0; round < rounds; round++ {
		rows := t.openRows()
		if l.Demand.Remaining() == 0 {
			return
		}
		if len(rows) > 0 && (&turn{tier: t, rows: rows}).pack() {
			continue
		}
		return
	}
}

// Packed is one call of the packer.
type Packed struct {
	Dims   demand.Dimensions
	Prices price.Prices // by item
	items  []*item
}

// ByClass returns the packer's prices by class; nil for a class that was divided,
// or whose pods share nodes.
func (x Packed) ByClass() map[*demand.Class][]int64 {
	whole := map[*demand.Class][]int64{}
	for i, it := range x.items {
		if _, twice := whole[it.class]; !twice && it.cell == nil && it.unit == 1 && it.with == nil {
			whole[it.class] = x.Prices.Of[i]
		} else {
			whole[it.class] = nil
		}
	}
	return whole
}
