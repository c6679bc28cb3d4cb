package timing

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// When to launch. A bin that is full for its price cannot become
// better, so it goes at once. The rest, the tail, may be filled better for as long
// as demand grows: it waits, though never longer than tailWait since the oldest
// of its content came. Demand grows when it grew at least twice within
// growthGap; a lone pod, or one Deployment declared as a whole, is one growth and
// so waits for nothing.
const (
	fullEnough = 950 // thousandths: the worth of the content of the price
	TailWait   = 950 * time.Millisecond
)

// Prospect is a bin that could be launched.
type Prospect struct {
	Price  quantity.Money // of the launch
	Worth  quantity.Money // of its content, by the weights of room, where the best offer is worth its price
	Since  time.Time      // when the oldest of its content came: a pod's creation, or the first sight of a declared one
	Urgent bool           // it must not wait, whatever it holds; see prospect
	Bin    int            // its index as it was packed
}

// Full says whether the bin is so full for its price that it cannot become better.
func (p Prospect) Full() bool { return p.Worth >= p.Price/1000*fullEnough }

// Hold says which bins to launch now, and when to look at the others again; zero
// where there are none.
func Hold(bins []Prospect, g memory.Growth, now time.Time) (launch []bool, look time.Time) {
	launch = make([]bool, len(bins))
	for i, b := range bins {
		end := b.Since.Add(TailWait)
		if quiet := g.Until(); quiet.Before(end) {
			end = quiet
		}
		if launch[i] = b.Full() || b.Urgent || !now.Before(end); !launch[i] {
			look = pick.Earliest(look, end)
		}
	}
	return launch, look
}
