package offer

import (
	"math"
	"math/bits"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// ample says when a pool has enough: its limits leave room for ample times the
// demand.
const ample = 2

// Scarce says whether some of the demand can only be launched in pools whose limits and
// reservations may be too short for it. Then nothing is launched before the plan
// is whole.
func (m *Market) Scarce(classes []*demand.Class) bool {
	if !slices.ContainsFunc(classes, func(c *demand.Class) bool { return c.Count() > 0 }) {
		return false // which is most often so
	}
	pools := map[*uint64][]bool{}
	enough := m.enough(classes, pools)
	return slices.ContainsFunc(classes, func(c *demand.Class) bool {
		somewhere := false
		for i, runs := range m.poolsOf(c, pools) {
			if runs && enough[i] {
				return false
			}
			somewhere = somewhere || runs
		}
		return somewhere && c.Count() > 0
	})
}

// enough says of each pool whether what it may yet have is ample for the demand
// that may run there.
func (m *Market) enough(classes []*demand.Class, pools map[*uint64][]bool) []bool {
	asked := make([]quantity.Resources, len(m.Fleet.Pools)) // of each pool, if all were launched there
	most := make([]quantity.Resources, len(asked))          // that a pod of it needs of anything
	largest := m.Fleet.largest
	for _, c := range classes {
		need := demand.WithoutAttach(c.Shape().Requests)
		for i, runs := range m.poolsOf(c, pools) {
			if runs && need.Fits(largest[i]) {
				asked[i], most[i] = asked[i].Add(need.Times(c.Count()).Times(ample)), most[i].Max(need)
			}
		}
	}
	enough := make([]bool, len(asked))
	for i := range enough {
		most[i].Extended = nil // few nodes have it, if few pods need it
		enough[i] = m.suffices(i, asked[i], most[i], largest[i])
	}
	return enough
}

// MayBind says whether the pool's limits may be too short for so many nodes of so
// much capacity in all.
func (m *Market) MayBind(pool int, nodes int64, capacity quantity.Resources) bool {
	_, exceeded := m.Usage(m.Fleet.Pools[pool]).refuses(min(nodes, math.MaxInt64/ample)*ample, capacity.Times(ample))
	return exceeded
}

// suffices says whether what the pool may yet have is as much as asked for. A node
// uses its whole capacity of a limit. So suffices counts the capacity of the row that
// holds the asked amount at the lowest price.
func (m *Market) suffices(pool int, asked, most, largest quantity.Resources) bool {
	b := m.Usage(m.Fleet.Pools[pool])
	var nodes int64
	var cheapest *Row // that holds the pods
	lowest := uint64(math.MaxUint64)
	reserved := map[string]bool{}
	for i := range m.Fleet.Rows {
		r := &m.Fleet.Rows[i]
		if r.Pool != pool {
			continue
		}
		switch {
		case !r.Reserved():
			nodes = math.MaxInt64
			if len(b.limits) == 0 || m.Sale[i] == 0 || m.Large(r) || !most.Fits(r.Net) {
				continue
			}
			if price := r.priceFor(asked); price < lowest {
				cheapest, lowest = r, price
			}
		case !reserved[r.Reservation]:
			reserved[r.Reservation] = true
			nodes += min(r.Left, math.MaxInt64-nodes)
		}
	}
	for _, l := range b.limits {
		if l.Name == LimitNodes {
			nodes = min(nodes, max(0, l.Count-b.nodes))
			continue
		}
		takes := asked.Get(l.Name)
		if cheapest != nil {
			takes = max(takes, quantity.MulDiv(cheapest.Type.Capacity.Get(l.Name), int64(min(lowest, math.MaxInt64)), max(1, int64(cheapest.Price))))
		}
		if takes > 0 && takes > l.Count-b.used.Get(l.Name) {
			return false
		}
	}
	return nodes == math.MaxInt64 || asked.Fits(largest.Times(nodes))
}

// priceFor is what so many nodes of the row cost as hold the CPU and memory in sum.
func (r *Row) priceFor(demand quantity.Resources) uint64 {
	of := func(need, have int64) uint64 {
		if need <= 0 {
			return 0
		}
		hi, lo := bits.Mul64(uint64(max(0, r.Price)), uint64(need))
		if have <= 0 || hi >= uint64(have) {
			return math.MaxUint64
		}
		price, _ := bits.Div64(hi, lo, uint64(have))
		return price
	}
	return max(of(demand.MilliCPU, r.Net.MilliCPU), of(demand.MemoryBytes, r.Net.MemoryBytes))
}
