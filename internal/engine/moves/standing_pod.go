package moves

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/derived"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/disrupt"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// StandingOfPod says whether the pod keeps its node from being deleted: by what it asks
// for, which the judge of nodes is asked about, or because a plan has no other place for
// it. It returns false for a pod that has no node or is not there.
func StandingOfPod(in Input, st State, m memory.Memory, id string) (plan.PodStanding, bool) {
	p, there := in.View.Snapshot.Pod(id)
	state, up := in.View.Snapshot.State(p.Node)
	if !there || p.Node == "" || !up {
		return plan.PodStanding{}, false
	}
	s := newStandings(in, st, m)
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
	with, ok := s.alone(&c, state, id, why)
	if !ok {
		return out, true
	}
	if out.Hold = s.hold(with, c.Name, why); out.Hold.Reason == "" && p.Moves() && out.Node.DeletedFor == "" && !hasPlace(in, with, &c, why) {
		out.Hold = plan.Stay{Reason: plan.NoPlace, Detail: id}
	}
	return out, true
}

// alone returns the snapshot in which the pod is alone on its node, whose NodeClaim would
// be deleted for the reason, and nothing but its pods could keep the node. There is none
// for a node of a NodePool that no longer exists.
func (s *standings) alone(c *cluster.Claim, state *cluster.NodeState, id string, why plan.DeleteReason) (cluster.Snapshot, bool) {
	var removed cluster.Removed
	for _, p := range s.Snapshot.PodsOn(c.Node) {
		if p.ID() != id {
			removed.Pods = append(removed.Pods, p.ID())
		}
	}
	for p := range state.Nominated() {
		removed.Pods = append(removed.Pods, p.ID())
	}
	claim, n := *c, state.Node
	pool, known := s.Snapshot.Pool(c.Pool)
	if !known {
		return cluster.Snapshot{}, false
	}
	claim.Deleting, claim.Interruption, claim.Initialized = false, nil, true
	n.Deleting, n.DoNotDisrupt, n.Stays, n.ProtectedUntil = false, false, false, s.Now
	pool.Ready, pool.Deleting, pool.Disruption.Paused = true, why.Traits().WithPool, false
	with, err := s.Snapshot.Apply(cluster.Delta{Removed: removed, Put: cluster.Objects{Claims: []cluster.Claim{claim}, Nodes: []cluster.Node{n}, Pools: []cluster.Pool{pool}}})
	return with, err == nil
}

// hold says what of the pod that is alone on the NodeClaim's node keeps the node.
func (s *standings) hold(with cluster.Snapshot, claim string, why plan.DeleteReason) plan.Stay {
	c, _ := with.Claim(claim)
	policy := s.Policy
	policy.CloudAway, policy.PauseDisruption = false, false
	stay, until := disrupt.NewJudge(view.Of(with, policy, s.Now), s.gates.memory).Stays(&c, why)
	stay.Until = until
	return stay
}

// hasPlace says whether a plan has another place for the pod that is alone on the
// NodeClaim's node, on another node or a new one.
func hasPlace(in Input, with cluster.Snapshot, c *cluster.Claim, why plan.DeleteReason) bool {
	// The daemon may plan meanwhile: what Steps derive is not shared with it. Nodes that
	// are to be deleted next are places, too.
	x := Supposition{Going: map[string]plan.DeleteReason{c.Name: why}, Replaces: true}
	return !in.Plan(with, x, State{}, derived.Facts{}).Stay[c.Node]
}
