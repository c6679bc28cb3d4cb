package engine

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/disrupt"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// StandingOfPod says whether the pod keeps its node from going. It returns false for a pod
// that has no node or is not there. The input is as for Standings.
func StandingOfPod(in Input, id string) (plan.PodStanding, bool) {
	p, there := in.Snapshot.Pod(id)
	state, up := in.Snapshot.State(p.Node)
	if !there || p.Node == "" || !up {
		return plan.PodStanding{}, false
	}
	s := newStandings(in)
	out := plan.PodStanding{Pod: id, Pinned: p.Pinned, Lost: p.Lost(), Node: plan.Standing{Node: p.Node}}
	c := s.ClaimOf(state)
	if c.Name == "" {
		return out, true
	}
	out.Node = s.of(&c)
	why, _ := s.reason(&c)
	if s.IsGoing(c.Name) {
		why = s.Going[c.Name]
	}
	out.Hold = s.hold(&c, state, id, why)
	return out, true
}

// hold says why the pod keeps its node, whose NodeClaim would go for the reason. It asks
// the judge about the node as if the pod were alone there, and nothing but its pods could
// keep the node.
func (s *standings) hold(c *cluster.Claim, state *cluster.NodeState, id string, why plan.DeleteReason) plan.Stay {
	var gone cluster.Gone
	for _, p := range s.Snapshot.PodsOn(c.Node) {
		if p.ID() != id {
			gone.Pods = append(gone.Pods, p.ID())
		}
	}
	for p := range state.Nominated() {
		gone.Pods = append(gone.Pods, p.ID())
	}
	alone, n := *c, state.Node
	pool, known := s.Snapshot.Pool(c.Pool)
	if !known {
		return plan.Stay{} // nothing of such a node goes by itself
	}
	alone.Deleting, alone.Interruption, alone.Initialized = false, nil, true
	n.Deleting, n.DoNotDisrupt, n.Stays = false, false, false
	n.ProtectedUntil = s.Now
	pool.Ready, pool.Deleting, pool.Disruption.Paused = true, why == plan.PoolDeleted, false
	with, err := s.Snapshot.Apply(cluster.Delta{Gone: gone, Put: cluster.Objects{Claims: []cluster.Claim{alone}, Nodes: []cluster.Node{n}, Pools: []cluster.Pool{pool}}})
	if err != nil {
		return plan.Stay{} // the objects are those of a snapshot, with less in them
	}
	policy := s.Policy
	policy.CloudAway, policy.PauseDisruption = false, false
	stay, until := disrupt.NewJudge(view.Of(with, policy, s.Now), &s.memory.Memory).Stays(&alone, why)
	stay.Until = until
	return stay
}
