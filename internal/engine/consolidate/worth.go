package consolidate

import (
	"math"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

const (
	ratios = 64            // of the prices of CPU and memory that are looked at
	steps  = 32            // scales of each
	scale  = 1_000_000_000 // the precision of the prices
)

// lambda prices CPU and memory so that all pods together are worth as much as possible,
// while no new node holds more than it costs, and what nodes that run hold above their
// price is taken off: the dual of the cheapest fleet for the pods, with divisible nodes,
// of those that run and new ones. Nodes that are worth less than their price at these
// prices are the ones to take away. Of reserved nodes there are few, and they do not set prices.
func (s *Search) lambda() {
	type like struct {
		size  size
		price quantity.Money
	}
	likes := map[like]int64{}
	var cpu, mib int64
	for i := range s.nodes {
		n := &s.nodes[i]
		cpu, mib = cpu+n.size[0]-n.free[0], mib+n.size[1]-n.free[1]>>20
		likes[like{n.size, n.price}]++
	}
	most := int64(-1)
	for w := range int64(ratios + 1) {
		x, y := w*price.BulkMilliCPU, (ratios-w)*price.BulkMiB
		lowest := int64(math.MaxInt64) // the highest scale at which no new node holds more than it costs
		for _, r := range s.rows {
			if v := x*r.Net.MilliCPU + y*(r.Net.MemoryBytes>>20); v > 0 && !r.Reserved() {
				lowest = min(lowest, quantity.MulDiv(int64(r.Price), scale, v))
			}
		}
		if lowest == math.MaxInt64 {
			continue
		}
		for k := range int64(steps) {
			l := lowest / steps * (k + 1)
			sum := quantity.MulDiv(x*cpu+y*mib, l, scale)
			for n, count := range likes {
				sum -= count * max(0, quantity.MulDiv(x*n.size[0]+y*n.size[1], l, scale)-int64(n.price))
			}
			if sum > most {
				most, s.perMilliCPU, s.perMiB = sum, quantity.MulDiv(x, l, scale/bulk), quantity.MulDiv(y, l, scale/bulk)
			}
		}
	}
	s.bound = quantity.Money(max(0, most))
	s.priceFrom(0)
}

// priceMoves notes what moving a pod costs. What pods are worth does not depend on how well
// the nodes that run are filled.
func priceMoves(s *Search) {
	var worth, pods int64
	for i := range s.nodes {
		for _, p := range s.nodes[i].own {
			worth, pods = worth+s.classes[p.class].worth*p.n, pods+p.n
		}
	}
	s.Moving = max(s.PerPod, quantity.Money(quantity.MulDiv(worth/max(1, pods), int64(s.MoveTime), int64(time.Hour))))
}

// priceFrom notes what the pods of the classes are worth, from the given class on.
func (s *shadow) priceFrom(first int) {
	s.inTurn = turns{}
	for i := range s.classes[first:] {
		c := &s.classes[first+i]
		c.worth = max(1, (c.need[0]*s.perMilliCPU+c.need[1]>>20*s.perMiB)/1000)
	}
}

// moving is what it costs to move so many pods; dear is as in node.
func (s *Search) moving(pods, dear int64) int64 {
	return int64(MoveCost(s.Moving, pods*cluster.OrdinaryPod+dear))
}

// MoveCost is what it costs an hour to move pods that cost so much to evict, if to move an
// ordinary pod costs perPod; see cluster.OrdinaryPod.
func MoveCost(perPod quantity.Money, evictions int64) quantity.Money {
	return quantity.Money(quantity.MulDiv(int64(perPod), evictions, cluster.OrdinaryPod))
}

// LaunchCost is what it costs an hour to launch a node at the price, beside the price, if that
// is so much of each hour.
func LaunchCost(price quantity.Money, each time.Duration) quantity.Money {
	return quantity.Money(quantity.MulDiv(int64(price), int64(each), int64(time.Hour)))
}
