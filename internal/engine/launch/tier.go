package launch

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// tier is the pools of one weight while demand is packed on them. It holds what one
// turn learns for the next.
type tier struct {
	*Launcher
	from, to int             // the pools, by number in the fleet
	excluded map[int]bool    // rows that cannot be launched after all
	full     map[string]bool // pools whose limits leave nothing
	varied   map[int]bool    // groups of rows that are packed only as full as minValues allows
	// wanted is, by row, the largest amount of each resource that a pod packed there
	// needs, or that pods need which must share a node. A row is listed if too few
	// other rows hold its content.
	wanted map[int]quantity.Resources
	// exclusive says that pods which may run in different zones do not share nodes:
	// together they had too few zones for the minValues of a pool.
	exclusive bool
	shut      map[string]bool // cells of a class where nothing can be launched
}

// openRows returns the rows that can be launched now: they are for sale, have
// capacity and are within what the limits have left.
func (t *tier) openRows() (rows []int) {
	uses := make([]offer.Usage, t.to-t.from)
	for i := range uses {
		uses[i] = t.Market.Usage(t.Market.Fleet.Pools[t.from+i])
	}
	for i := range t.Market.Fleet.Rows {
		r := &t.Market.Fleet.Rows[i]
		if r.Pool < t.from || r.Pool >= t.to || t.Market.Sale[i] == 0 || t.excluded[i] || t.full[t.Market.Fleet.Pools[r.Pool].Name] ||
			t.Market.NodesLeft(r) == 0 {
			continue
		}
		if _, exceeded := uses[r.Pool-t.from].Refuses(r.Type.Capacity); exceeded {
			continue
		}
		rows = append(rows, i)
	}
	return rows
}
