package engine

import (
	"math"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/derived"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/moves"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// withMoves returns the plan with moves that begin now.
func withMoves(in Input, out Output) Output {
	d, state := moves.Next(in.ofMoves(), in.Memory.moves, out.draft())
	out.Plan, out.Trace, out.stay, out.placed = d.Plan, d.Trace, d.Stay, d.Placed
	out.Memory.Memory, out.Memory.derived, out.Memory.moves = d.Memory, d.Derived, state
	return out
}

// ofMoves returns what moves are decided by.
func (in Input) ofMoves() moves.Input {
	return moves.Input{View: in.view(), Seed: in.Seed, Plan: in.planner()}
}

// planner makes plans that suppose that nodes are deleted.
func (in Input) planner() moves.Planner {
	return func(s cluster.Snapshot, x moves.Supposition, st moves.State, known derived.Facts) moves.Draft {
		in := in
		in.Snapshot, in.Memory.moves, in.Memory.derived, in.Memory.cursor = s, st, known, nil
		return planned(cursor{in: in, try: 1, excluded: map[string]bool{}, suppose: x}, math.MaxInt).draft()
	}
}

// draft returns the plan as package moves knows it.
func (out Output) draft() moves.Draft {
	return moves.Draft{Plan: out.Plan, Trace: out.Trace, Memory: out.Memory.Memory, Derived: out.Memory.derived, Stay: out.stay, Placed: out.placed}
}

// Standings says of every NodeClaim why its node stays or is deleted, of every NodePool
// why no more of its nodes are deleted, and which moves have begun. The input is that of
// the last Step, with the memory that the Step returned. Standings decides nothing.
func Standings(in Input) plan.Standings {
	in.Policy = in.Policy.WithDefaults()
	return moves.Standings(in.ofMoves(), in.Memory.moves, in.Memory.Memory)
}

// StandingOfPod says whether the pod keeps its node from being deleted: by what it asks
// for, which the judge of nodes is asked about, or because a plan has no other place for
// it. It returns false for a pod that has no node or is not there. The input is as for
// Standings.
func StandingOfPod(in Input, id string) (plan.PodStanding, bool) {
	in.Policy = in.Policy.WithDefaults()
	of := in.ofMoves()
	in.Policy.CloudAway = false
	of.Plan = in.planner() // the pod has another place also while the cloud is away
	return moves.StandingOfPod(of, in.Memory.moves, in.Memory.Memory, id)
}
