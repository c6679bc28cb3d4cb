package moves

import (
	"cmp"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/consolidate"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/landing"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// search looks for nodes to take away in the whole fleet, if something has changed since
// the last search, a slice in each Step. It says whether there is a target. The fleet may
// change between slices: what is begun is checked by a second plan.
func (m *mover) search() bool {
	s := &m.state
	if s.search == nil {
		if early := s.again.IsZero() || m.View.Now.Before(s.again); s.of.Same(m.View.Snapshot) && len(s.target.names) == 0 && !s.at.IsZero() && early {
			if !s.again.IsZero() {
				m.wait(s.again, plan.QuietLongEnough)
			}
			return false
		}
		if tryChanged(m) {
			return len(s.target.names) > 0
		}
		if d, waits := s.delay(m.View); waits {
			m.wait(d.until, d.why)
			return len(s.target.names) > 0
		}
		m.again, m.cooldowns = time.Time{}, cooldowns{}
		s.search, s.of, s.at, s.whole.queue = s.begin(m.question(), m.View), m.View.Snapshot, m.View.Now, nil
		if !m.cooldowns.first.IsZero() {
			m.later(m.cooldowns.nextSearch())
		}
		s.again, s.moving, s.rests = m.again, s.search.Moving, 0
		s.seen = seen{uncertain: uncertainNodes(m)}
		s.seen.keep(s.search)
		tell(m, "search of %d nodes begins, %d pods run", len(s.search.Nodes), m.View.Snapshot.Bound().Pods)
	}
	next, finished := s.search.Advance(sliceOfWork)
	s.rests = min(s.rests+restsFor, mostRest)
	if finished && s.outdated < mostOutdated && s.changed(m.View.Snapshot) {
		s.outdated++
		s.search = nil
		tell(m, "search is repeated: many pods have come or gone")
		m.wait(m.View.Now.Add(sliceEvery), plan.NextSweep)
		return len(s.target.names) > 0
	}
	var found target
	if finished {
		s.outdated = 0
		found = aim(m.View.Snapshot, pick.Those(next.Result(), m.stands), next.Alike, next.Places())
		if q, more := askMore(next, found); more {
			next, finished = consolidate.Begin(q), false
			s.seen.keep(next)
		}
	}
	if !finished {
		s.search = next
		m.wait(m.View.Now.Add(sliceEvery), plan.NextSweep)
		return len(s.target.names) > 0
	}
	s.whole = s.whole.after(next, m.View.Policy.WholeTries)
	s.search, s.target = nil, found
	tell(m, "search ends: %d nodes are to be deleted", len(found.names))
	if len(found.names) > 0 {
		s.rests = 0
		return true
	}
	m.foundNothing()
	return false
}

// foundNothing asks for a Step after a search that found nothing: when another node may be
// deleted, when the demand may have stayed where it is for longer, or at once where nodes are
// tried one by one.
func (m *mover) foundNothing() {
	s := &m.state
	if longer := m.View.Now.Add(s.horizon); s.horizon < m.View.Policy.PayBack {
		s.again = pick.Earliest(cmp.Or(s.again, longer), longer)
	}
	if !s.again.IsZero() {
		m.wait(s.again, plan.QuietLongEnough)
	}
	if len(s.whole.queue) > 0 {
		m.wait(m.View.Now.Add(sliceEvery), plan.NextSweep)
	}
}

func (m *mover) question() consolidate.Question {
	q := terms(m)
	q.Nodes = m.nodes()
	q.Alike = !landing.Chosen(&m.View).Binds && slices.ContainsFunc(q.Nodes, func(n consolidate.Node) bool {
		return consolidate.Ratio(&n.State.Node) != consolidate.Ratio(&q.Nodes[0].State.Node)
	})
	return q
}

// askMore says whether the fleet is searched once more after a search that has found the
// target, and with which question. Where pods are to stay on nodes like theirs and no node
// can be deleted, they may move anywhere.
func askMore(done *consolidate.Search, found target) (q consolidate.Question, more bool) {
	q = *done.Question
	more = len(found.names) == 0 && q.Alike
	q.Alike = q.Alike && !more
	return q, more
}

// nodes returns the nodes that the search is about.
func (m *mover) nodes() (out []consolidate.Node) {
	most := map[string]int64{}
	for _, p := range m.View.Snapshot.Supply().Pools {
		most[p.Name], _ = m.gates.ledger().Most(p.Name, plan.Underutilized)
	}
	for state := range m.View.Snapshot.States() {
		c := m.View.ClaimOf(state)
		node := m.gates.saving(&c)
		if x, ok := nodeOf(m, node, state); ok {
			x.MinSaving, x.Deletable, x.Most = m.gates.balance(&c).minSaving(state), x.Deletable && m.deletable(node), most[c.Pool]
			out = append(out, x)
		}
	}
	return out
}
