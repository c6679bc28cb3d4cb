package offer

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// withoutKey names an answer of withoutVain, by the memory of the places.
type withoutKey struct {
	kind   string
	places *uint64
}

// await takes over what came in vain for the classes, and asks for another Step when they may
// have other nodes.
func (m *Market) await(mem *memory.Memory, j *journal.Journal, classes []*demand.Class) {
	for _, v := range mem.Backoffs {
		if m.Now.Before(v.Until()) && slices.ContainsFunc(classes, func(c *demand.Class) bool { return c.Group.Kind == v.Kind }) {
			m.backoffs = append(m.backoffs, v)
			j.WaitUntil(v.Until(), plan.NodesToComeUp)
		}
	}
}

// Awaits returns what came in vain for the class, if the class waits because of that before
// it gets another node of the row.
func (m *Market) Awaits(c *demand.Class, r *Row) (memory.Backoff, bool) {
	if len(m.backoffs) == 0 {
		return memory.Backoff{}, false
	}
	return m.backoffs.WaitsFor(m.Fleet.Pools[r.Pool].Name, c.Group.Kind, r.Type.Name, m.Now)
}

// withoutBackoffs returns the places without the rows of which the class gets no node now.
func (m *Market) withoutBackoffs(c *demand.Class, places []uint64) []uint64 {
	if len(places) == 0 || !slices.ContainsFunc(m.backoffs, func(v memory.Backoff) bool { return v.Kind == c.Group.Kind }) {
		return places
	}
	key := withoutKey{c.Group.Kind, &places[0]}
	out, known := m.without[key]
	if known {
		return out
	}
	out = slices.Clone(places)
	for i := range out {
		if _, waits := m.Awaits(c, &m.Fleet.Rows[i]); waits {
			out[i] = 0
		}
	}
	if m.without == nil {
		m.without = map[withoutKey][]uint64{}
	}
	m.without[key] = out
	return out
}
