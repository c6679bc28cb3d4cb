package timing

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

// keptAtMost is how long a node is kept for declared pods at most while controllers
// make progress, in multiples of Policy.ReleaseWait.
const keptAtMost = 10

// KeptUntil returns until when a node that is up is kept for declared pods. The wait
// is Policy.ReleaseWait after the last progress of any controller, or after the
// node was ready and its oldest pod had come, whichever is later. It is limited by
// keptAtMost.
func KeptUntil(v view.View, m *memory.Memory, node string, oldest time.Time) time.Time {
	from, known := memory.FirstSeen(m.ReadySince, node)
	if !known {
		from = v.Now
	}
	from = pick.Latest(from, oldest)
	progress := from
	for _, kind := range m.Advanced {
		progress = pick.Latest(progress, kind.At)
	}
	return pick.Earliest(progress.Add(v.Policy.ReleaseWait), from.Add(keptAtMost*v.Policy.ReleaseWait))
}
