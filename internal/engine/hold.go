package engine

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// When to launch. A bin that is full for its price cannot become
// better, so it goes at once. The rest, the tail, gets better company for as long
// as demand grows: it waits, though never longer than tailWait since the oldest
// of its content came. Demand grows when it grew at least twice within
// growthGap; a lone pod, or one Deployment declared as a whole, is one growth and
// so waits for nothing.
const (
	fullEnough = 950 // thousandths: the worth of the content of the price
	tailWait   = 950 * time.Millisecond
)

// prospect is a bin that could be launched.
type prospect struct {
	price  quantity.Money // of the launch
	worth  quantity.Money // of its content, by the weights of room, where the best offer is worth its price
	since  time.Time      // when the oldest of its content came: a pod's creation, or the first sight of a declared one
	urgent bool           // it must not wait, whatever it holds; see prospect
	bin    int            // its index as it was packed
}

func (p prospect) full() bool { return p.worth >= p.price/1000*fullEnough }

// hold says which bins to launch now, and when to look at the others again; zero
// where there are none.
func hold(bins []prospect, g Growth, now time.Time) (launch []bool, look time.Time) {
	launch = make([]bool, len(bins))
	for i, b := range bins {
		end := b.since.Add(tailWait)
		if quiet := g.until(); quiet.Before(end) {
			end = quiet
		}
		if launch[i] = b.full() || b.urgent || !now.Before(end); !launch[i] {
			look = pick.Earliest(look, end)
		}
	}
	return launch, look
}
