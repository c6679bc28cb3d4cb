package timing

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

// KeptAtMost is how long a node is kept for declared pods while controllers make
// progress, in units of the wait where they make none.
const KeptAtMost = 10

// Patience is until when a node that is up is kept for declared pods, if the
// oldest of those that it has came then: as long as controllers make progress,
// but not without end.
func Patience(v view.View, m *memory.Memory, node string, oldest time.Time) time.Time {
	from, known := memory.FirstSeen(m.ReadySince, node)
	if !known {
		from = v.Now
	}
	from = pick.Latest(from, oldest)
	progress := from
	for _, kind := range m.Advanced {
		progress = pick.Latest(progress, kind.At)
	}
	return pick.Earliest(progress.Add(v.Policy.ReleaseWait), from.Add(KeptAtMost*v.Policy.ReleaseWait))
}
