package moves

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// save begins moves that save money.
func (m *mover) save() {
	s := &m.state
	if next, _, ok := s.underWay(m.View, m.gates.lands()); ok {
		m.wait(next, plan.QuietLongEnough)
		return
	}
	if was := len(s.target.names); was > 0 {
		if s.target.names = pick.Those(s.target.names, m.stands); len(s.target.names) == 0 {
			tell(m, "all %d nodes that were to be deleted are leaving or have to stay", was)
			s.target = target{places: s.target.places}
		}
	}
	if len(s.target.names) == 0 && len(m.View.Going) == 0 {
		s.target = target{} // until then, its places are those of pods of nodes about to be deleted
	}
	if len(s.target.names) == 0 && s.whole.next(m) {
		return
	}
	if len(s.target.names) == 0 || !m.View.Now.Before(s.at.Add(targetLasts)) {
		if !m.search() {
			return
		}
	}
	m.begin()
}

// stands says whether the NodeClaim is there and may still be deleted.
func (m *mover) stands(name string) bool {
	c, there := m.View.Snapshot.Claim(name)
	return there && m.deletable(m.gates.saving(&c))
}

// deletable says whether the candidate may be deleted to save money. An empty node is deleted by
// the rules for empty nodes. If it may later, the plan asks for another Step.
func (m *mover) deletable(x *candidate) bool {
	c := x.claim
	node, up := m.View.Snapshot.Node(c.Node)
	if !up || node.Disrupted || m.View.IsGoing(c.Name) || !m.View.RunsPods(*c) {
		return false
	}
	stays := m.gates.excludes(x)
	switch {
	case stays.Until.IsZero():
	case stays.Reason == plan.PodSettles:
		m.cooldowns = m.cooldowns.with(stays.Until)
	default:
		m.later(stays.Until)
	}
	return stays.Reason == ""
}
