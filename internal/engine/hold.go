package engine

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// When to launch. A bin that is full by the prices of resources cannot become
// better, so it goes at once. The rest, the tail, gets better company for as long
// as demand grows: it waits, though never longer than tailWait since the oldest
// of its content came. Demand grows when it grew at least twice within
// growthGap; a lone pod, or one Deployment declared as a whole, is one growth and
// so waits for nothing.
const (
	fullEnough = 950 // thousandths: the worth of the content of the price
	tailWait   = 950 * time.Millisecond
	growthGap  = 300 * time.Millisecond
)

// growth is what is remembered of demand from Step to Step. Without it nothing
// waits.
type growth struct {
	Demand       int64     // pods that run or are to run, declared ones included
	Last, Before time.Time // when it grew last, and the time before that
}

// next returns the growth after the demand has been counted anew. Pods that were
// declared and now exist are no growth, nor are those that got a node.
func (g growth) next(demand int64, now time.Time) growth {
	if demand > g.Demand {
		g.Before, g.Last = g.Last, now
	}
	g.Demand = demand
	return g
}

// until is when demand does not grow any more, if nothing new comes. It is in
// the past where that is so already.
func (g growth) until() time.Time { return g.Before.Add(growthGap) }

// prospect is a bin that could be launched.
type prospect struct {
	price  quantity.Money // of the launch
	worth  quantity.Money // of its content, at prices at which no offer is worth more than it costs
	since  time.Time      // when the oldest of its content came: a pod's creation, or the first sight of a declared one
	urgent bool           // it has pods of a node that goes
}

// hold says which bins to launch now, and when to look at the others again; zero
// where there are none.
func hold(bins []prospect, g growth, now time.Time) (launch []bool, look time.Time) {
	launch = make([]bool, len(bins))
	for i, b := range bins {
		end := b.since.Add(tailWait)
		if quiet := g.until(); quiet.Before(end) {
			end = quiet
		}
		full := b.worth >= b.price/1000*fullEnough
		if launch[i] = full || b.urgent || !now.Before(end); !launch[i] {
			look = earliest(look, end)
		}
	}
	return launch, look
}
