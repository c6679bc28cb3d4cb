package moves

import (
	"cmp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/disrupt"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/landing"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Standings says of every NodeClaim why its node stays or is deleted, of every NodePool
// why no more of its nodes are deleted, and which moves have begun. The State and the
// memory are what the last Step returned. Standings decides nothing.
func Standings(in Input, st State, m memory.Memory) plan.Standings {
	s := newStandings(in, st, m)
	out := plan.Standings{Moves: s.begun(), Target: s.target(), Landing: landing.Chosen(&s.View)}
	nodes := map[string][]plan.Standing{} // by NodePool
	for c := range s.Snapshot.EachClaim() {
		x := s.of(c)
		out.Nodes, nodes[c.Pool] = append(out.Nodes, x), append(nodes[c.Pool], x)
	}
	for _, p := range s.Snapshot.Supply().Pools {
		out.Pools = append(out.Pools, s.pool(&p, nodes[p.Name]))
	}
	return out
}

func newStandings(in Input, st State, m memory.Memory) *standings {
	v := in.View
	s := &standings{View: v, gates: newGates(v, &m, &st), due: map[string]disrupt.Due{}, moves: map[string]string{}}
	list, _ := disrupt.Overdue(v)
	for _, d := range list {
		s.due[d.Claim.Name] = d
	}
	for _, c := range v.Claims {
		for _, x := range v.Snapshot.SourcesOf(c) {
			s.moves[x.Name] = c.Move.ID
		}
	}
	return s
}

type standings struct {
	view.View
	gates *gates
	due   map[string]disrupt.Due // by NodeClaim
	moves map[string]string      // ids by source
}

func (s *standings) of(c *cluster.Claim) plan.Standing {
	out := plan.Standing{Claim: c.Name, ClaimUID: c.UID, Node: c.Node, Pool: c.Pool, Move: s.moves[c.Name], Lost: s.lost(c)}
	out.Price, _ = s.PriceOf(*c)
	switch {
	case c.Deleting:
		out.DeletedFor = plan.DeletedAlready
	case c.Interruption != nil:
		out.DeletedFor = plan.Interrupted
	case s.IsGoing(c.Name):
		out.DeletedFor = s.Going[c.Name]
	default:
		out.Stay, out.For = s.stay(c)
		if !c.ExpiresAt.IsZero() && !s.Now.Before(c.ExpiresAt) {
			out.Overdue = c.ExpiresAt
		}
	}
	return out
}

// lost names the pods of the node that nothing creates anew.
func (s *standings) lost(c *cluster.Claim) (out []string) {
	if state, up := s.Snapshot.State(c.Node); up {
		for p := range state.Pods() {
			if p.Lost() {
				out = append(out, p.ID())
			}
		}
	}
	return out
}

// stay says why the node stays, and what it would be deleted for: by the first gate
// that holds.
func (s *standings) stay(c *cluster.Claim) (plan.Stay, plan.DeleteReason) {
	why, due := s.reason(c)
	stages := []stage{toChoose, toBegin, toReplace, toSave, toFollow}
	if why.Traits().Empty {
		stages = []stage{toRetire, toBegin}
	}
	stays := s.gates.keeps(s.gates.candidate(c, why, due), stages...)
	if stays.Reason == plan.StaticPool {
		why = ""
	}
	return cmp.Or(stays, plan.Stay{Reason: plan.NextToGo}), why
}

// reason says what the node is deleted for, and whether it is deleted whatever that costs.
func (s *standings) reason(c *cluster.Claim) (why plan.DeleteReason, due bool) {
	if d, ok := s.due[c.Name]; ok {
		return d.Why, true
	}
	if s.RunsPods(*c) {
		return plan.Underutilized, false
	}
	return plan.Empty, false
}
