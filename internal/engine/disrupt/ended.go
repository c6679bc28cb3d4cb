package disrupt

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// A move is over when its sources are deleted, or when they stay after all. Then no
// replacement stays beside them that runs nothing.

// endMove ends the move of a replacement of which no source is left, or all stay after
// all. It says whether the NodeClaim has had its turn.
func (r *retirer) endMove(c cluster.Claim) bool {
	if c.Move == nil {
		return false
	}
	sources := r.Snapshot.SourcesOf(&c)
	switch {
	case len(sources) == 0:
	case slices.ContainsFunc(sources, r.stillLeaves):
		if r.Now.Before(c.Move.Deadline) {
			r.WaitUntil(c.Move.Deadline, plan.Replacements)
		}
		return false
	case r.Late(c):
		return false // it is deleted because it did not come up
	case slices.ContainsFunc(append(sources, c), func(x cluster.Claim) bool { return paused(r.View, &x) }):
		return false // the move continues after the pause
	}
	for _, s := range sources {
		r.memory.Restored, _ = memory.Remember(r.memory.Restored, s.Name, r.Now)
	}
	if len(sources) > 0 && r.needless(&c, sources) {
		r.actions = append(r.actions, plan.Delete{
			Claim: c.Name, ClaimUID: c.UID, Node: c.Node, Why: plan.ReplacementUnused, Detail: "move " + c.Move.ID, Waited: r.Now.Sub(c.Created), Checked: c.Node != "",
		})
		return true
	}
	r.actions = append(r.actions, plan.Restore{Claim: c.Name, ClaimUID: c.UID, Why: "the move is over"})
	return true
}

// stillLeaves says whether the source of a move is still about to be deleted.
func (r *retirer) stillLeaves(s cluster.Claim) bool {
	why, going := r.Going[s.Name]
	if !going || view.Ended(&s, why).Reason != "" {
		return false // if it is not going, its static pool needs it again
	}
	if _, restored := memory.FirstSeen(r.memory.Restored, s.Name); restored && s.Disrupting == nil && outOfTime(r.View, &s) {
		return false
	}
	stays, _ := r.staysNow(&s, why)
	return stays.Reason == "" && !r.stay[s.Node]
}

// paused says whether a user pauses the disruption of the NodeClaim's pool.
func paused(v view.View, c *cluster.Claim) bool {
	pool, _ := v.Snapshot.Pool(c.Pool)
	return v.Policy.PauseDisruption || pool.Disruption.Paused
}

// giveUp restores a source that cannot take its next step when its move is out of time.
func (r *retirer) giveUp(c *cluster.Claim, node *cluster.Node) {
	if outOfTime(r.View, c) {
		r.restore(*c, *node, plan.Stay{Reason: plan.OutOfTime})
		r.WaitUntil(r.Now.Add(lastLook), plan.Replacements)
	}
}

// outOfTime says whether a move was to take the node away by now.
func outOfTime(v view.View, s *cluster.Claim) bool {
	return slices.ContainsFunc(v.Claims, func(c *cluster.Claim) bool {
		return c.Move != nil && !c.Move.Deadline.IsZero() && !v.Now.Before(c.Move.Deadline) &&
			slices.ContainsFunc(v.Snapshot.SourcesOf(c), func(x cluster.Claim) bool { return x.Name == s.Name })
	})
}

// needless says whether the replacement of sources that stay is of no use: it runs no pods,
// and this plan puts none there but those of the sources. A static pool chooses itself
// which of its nodes are too many.
func (r *retirer) needless(c *cluster.Claim, sources []cluster.Claim) bool {
	pool, _ := r.Snapshot.Pool(c.Pool)
	node, _ := r.Snapshot.Node(c.Node)
	if pool.Static || node.Protected(r.Now) || r.RunsPods(*c) || r.expectsPods(c) {
		return false
	}
	of := map[string]bool{}
	for _, s := range sources {
		of[s.Node] = true
	}
	takes := func(h *room.Host) bool {
		if h == nil || h.Claim.Name != c.Name {
			return false
		}
		moves := 0
		for _, p := range h.Displaced {
			if of[p.Node] {
				moves++
			}
		}
		return h.Demand() > int64(moves)
	}
	return !takes(r.room.Nodes[c.Node]) && !slices.ContainsFunc(r.room.Coming, takes)
}
