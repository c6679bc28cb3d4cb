package engine

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

// keptAtMost is how long a node is kept for declared pods while controllers make
// progress, in units of the wait where they make none.
const keptAtMost = 10

// patience is until when a node that is up is kept for declared pods, if the
// oldest of those that it has came then: as long as controllers make progress,
// but not without end.
func patience(v View, m *parts, node string, oldest time.Time) time.Time {
	from, known := firstSeen(m.ReadySince, node)
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
