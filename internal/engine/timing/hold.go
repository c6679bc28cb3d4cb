package timing

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// A bin that is full for its price cannot become better, and is launched at once.
// Any other bin may be filled better while demand grows. It waits, but never longer
// than TailWait after the oldest part of its content came. Demand grows if it grew
// at least twice within the growthGap of package memory. A lone pod, or one
// Deployment declared as a whole, grows the demand once, and so does not wait.
const (
	fullEnough = 950 // thousandths of the price that the worth of the content reaches
	TailWait   = 950 * time.Millisecond
)

// Prospect is a bin that could be launched.
type Prospect struct {
	Price  quantity.Money // of the launch
	Worth  quantity.Money // of the content, at the price of the room on the row with the most room for its price
	Since  time.Time      // when the oldest part of the content came: a pod's creation, or the first sight of a declared pod
	Urgent bool           // the bin must not wait, whatever it holds
	Tied   bool           // the bin holds pods that were divided among topology domains
	Bin    int            // index of the bin in the packer's answer
}

// Full says whether the bin is so full for its price that it cannot become better.
func (p Prospect) Full() bool { return p.Worth >= p.Price/1000*fullEnough }

// Hold returns which bins to launch now, and when to look at the others again; the
// zero time if there are no others. Tied bins are launched together: where some pods
// of a spread run decides where the others may.
func Hold(bins []Prospect, g memory.Growth, now time.Time) (launch []bool, again time.Time) {
	launch = make([]bool, len(bins))
	ends := make([]time.Time, len(bins))
	all, one := true, false // all tied bins may be launched, one of them is due
	for i, b := range bins {
		ends[i] = pick.Earliest(b.Since.Add(TailWait), g.Until())
		due := b.Urgent || !now.Before(ends[i])
		launch[i] = due || b.Full()
		if b.Tied {
			all, one = all && launch[i], one || due
		}
	}
	for i, b := range bins {
		if b.Tied {
			launch[i] = all || one
		}
		if !launch[i] {
			again = pick.Earliest(again, ends[i])
		}
	}
	return launch, again
}
