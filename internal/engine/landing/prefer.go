package landing

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// prefer leaves it to the scheduler where evicted pods land: it prefers nodes that stay, as
// those that are deleted next carry a taint for that. Whatever it chooses is planned again.
type prefer struct{ ground }

// Close closes nothing.
func (p *prefer) Close(map[string]bool) []plan.Action { return nil }

// Done opens what was closed before this way was chosen.
func (p *prefer) Done(Takes) (opens []Opening, done bool) { return p.done(0) }

// Place waits for the nodes to open.
func (p *prefer) Place() (actions []plan.Action, again time.Time) {
	p.memory.Landing = p.now
	return nil, p.until
}
