package engine

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
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

// Growth is what is remembered of demand from Step to Step. Without it nothing
// waits.
type Growth struct {
	Demand       int64     // pods that need a place, declared ones included
	Last, Before time.Time // when it grew last, and the time before that
}

// next returns the growth after the demand has been counted anew. Pods that were
// declared and now exist are no growth, nor are those that got a node.
func (g Growth) next(demand int64, now time.Time) Growth {
	if demand > g.Demand {
		g.Before, g.Last = g.Last, now
	}
	g.Demand = demand
	return g
}

// until is when demand does not grow any more, if nothing new comes. It is in
// the past where that is so already.
func (g Growth) until() time.Time { return g.Before.Add(growthGap) }

// prospect is a bin that could be launched.
type prospect struct {
	price  quantity.Money // of the launch
	worth  quantity.Money // of its content, at prices at which no offer is worth more than it costs
	since  time.Time      // when the oldest of its content came: a pod's creation, or the first sight of a declared one
	urgent bool           // it has pods of a node that goes
}

// hold says which bins to launch now, and when to look at the others again; zero
// where there are none.
func hold(bins []prospect, g Growth, now time.Time) (launch []bool, look time.Time) {
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

// holdBack divides the bins into those to launch now and those that wait for
// company.
func (s *step) holdBack(t *tier, items []*item, p *pack.Problem, r *pack.Result) (now, later []pack.Bin) {
	prospects := make([]prospect, len(r.Bins))
	for i := range r.Bins {
		prospects[i] = s.prospect(t, items, p, r, &r.Bins[i])
	}
	launch, look := hold(prospects, s.memory.Growth, s.in.Now)
	if look.IsZero() {
		return r.Bins, nil
	}
	s.waitUntil(look, plan.MorePods)
	for i, b := range r.Bins {
		if launch[i] {
			now = append(now, b)
		} else {
			later = append(later, b)
		}
	}
	return now, later
}

// keepWaiting takes the pods of bins that wait out of the demand of this Step.
func (s *step) keepWaiting(items []*item, bins []pack.Bin) {
	for _, b := range bins {
		for _, part := range b.Parts {
			x, n := items[part.Class], part.Count*b.Copies
			s.wait1(x, n*x.unit)
			if x.with != nil {
				s.wait1(x.with, n)
			}
		}
	}
}

func (s *step) wait1(x *item, n int64) {
	x.left -= n
	x.class.waiting += n
	if ids := x.class.draw(n).ids(); len(ids) > 0 {
		s.outcomes = append(s.outcomes, plan.Outcome{Group: x.class.group.Key, Pods: ids, Verdict: plan.Waiting})
	}
}

func (s *step) prospect(t *tier, items []*item, p *pack.Problem, r *pack.Result, b *pack.Bin) prospect {
	cost, _ := s.fleet.Rows[t.rows[b.Offer]].PriceIn(b.Zones)
	out := prospect{price: cost, since: s.in.Now}
	var worth price.Sum
	for _, part := range b.Parts {
		c := items[part.Class].class
		var one price.Sum
		for d, unit := range r.Prices.Dimensions {
			one.Add(max(0, p.Classes[part.Class].Need[unit.Resource])/unit.Unit, r.Prices.Of[part.Class][d])
		}
		worth.AddTimes(one, part.Count)
		out.urgent = out.urgent || len(c.displaced) > 0
		if since := c.since(s.in.Now); since.Before(out.since) {
			out.since = since
		}
	}
	out.worth = quantity.Money(worth.Unscaled(r.Prices.Scale))
	return out
}

// since is when the oldest of the class's demand came.
func (c *demandClass) since(now time.Time) time.Time {
	t := now
	if len(c.pods) > 0 && c.pods[0].created.Before(t) {
		t = c.pods[0].created
	}
	if c.declared > 0 && c.declaredAt.Before(t) {
		t = c.declaredAt
	}
	return t
}
