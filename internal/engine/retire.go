package engine

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// retire deletes the NodeClaims that are interrupted, empty for long enough, or
// that never came up: all of them are unsettled.
func (s *step) retire() {
	for _, c := range s.claims {
		switch {
		case c.Deleting:
		case c.Interruption != nil:
			s.retireInterrupted(c)
		case !c.Registered:
			s.retireLate(c)
		case !c.Initialized && !s.runsPods(c):
			s.retireStuck(c)
		default:
			s.retireEmpty(c)
		}
	}
}

// retireInterrupted cordons the node at once and drains it when its pods have
// another place that is up, or when the notice leaves just enough time to drain.
func (s *step) retireInterrupted(c cluster.Claim) {
	node, up := s.in.Snapshot.Node(c.Node)
	if up && !node.Cordoned {
		s.retired = append(s.retired, plan.Cordon{Node: node.Name, NodeUID: node.UID, Why: plan.Interrupted})
	}
	notice := c.Interruption.Deadline.Sub(c.Interruption.Noticed)
	last := c.Interruption.Deadline.Add(-min(s.in.Policy.DrainReserve, notice/2))
	if up && s.in.Now.Before(last) && !s.replaced() {
		s.waitUntil(last, plan.Replacement)
		return
	}
	s.delete(c, plan.Interrupted, c.Interruption.Reason, s.in.Now.Sub(c.Interruption.Noticed))
}

// replaced says whether every displaced pod has a place on a node that is up.
func (s *step) replaced() bool {
	if len(s.launches) > 0 || s.homeless > 0 {
		return false // those that found no room at all run while they can
	}
	for _, h := range s.hosts { // those on nodes that run have their place
		if h.displaced > 0 && h.stage != stageNode {
			return false
		}
	}
	return true
}

func (s *step) retireLate(c cluster.Claim) {
	limit, why := s.in.Policy.RegistrationTimeout, plan.RegistrationTimeout
	if !c.Launched {
		limit, why = s.in.Policy.LaunchTimeout, plan.LaunchTimeout
	}
	if end := c.Created.Add(limit); s.in.Now.Before(end) {
		s.waitUntil(end, plan.LaunchToFinish)
		return
	}
	s.delete(c, why, "", s.in.Now.Sub(c.Created))
}

// retireStuck ends a node that has registered and never becomes ready for its
// pods, so that those launched in its place do not come on top of it.
func (s *step) retireStuck(c cluster.Claim) {
	s.memory.EmptySince = forget(s.memory.EmptySince, c.Name)
	node, up := s.in.Snapshot.Node(c.Node)
	switch {
	case !up || s.usable(node, c) || node.DoNotDisrupt:
	case s.stuck(node, c):
		s.delete(c, plan.InitializationTimeout, "", s.in.Now.Sub(c.Created))
	default:
		s.waitUntil(s.initialized(c), plan.LaunchToFinish)
	}
}

func (s *step) retireEmpty(c cluster.Claim) {
	pool, ok := s.in.Snapshot.Pool(c.Pool)
	runs := s.runsPods(c)
	node, _ := s.in.Snapshot.Node(c.Node)
	if runs {
		s.memory.arrived(c.Name)
	}
	if !c.Initialized || !ok || pool.KeepEmpty || node.DoNotDisrupt || runs || s.awaitsPods(c) {
		s.memory.EmptySince = forget(s.memory.EmptySince, c.Name)
		return
	}
	var at time.Time
	s.memory.EmptySince, at = remember(s.memory.EmptySince, c.Name, s.in.Now)
	wait := pool.EmptyAfter
	if slots, _ := s.memory.plannedFor(c.Name); len(slots) > 0 {
		// Nothing of what it was launched for has come yet. Evicted pods are gone
		// for a moment before their controller creates them anew.
		wait = max(wait, s.in.Policy.ArrivalPatience)
	}
	if end := at.Add(wait); s.in.Now.Before(end) {
		s.waitUntil(end, plan.EmptyLongEnough)
		return
	}
	s.delete(c, plan.Empty, "", s.in.Now.Sub(at))
}

// runsPods says whether the node runs something that would need another place
// or must not be disturbed.
func (s *step) runsPods(c cluster.Claim) bool {
	state, ok := s.in.Snapshot.State(c.Node)
	return ok && c.Node != "" && state.Busy()
}

// awaitsPods says whether anything is on its way to the node.
func (s *step) awaitsPods(c cluster.Claim) bool {
	if h := s.nodeHosts[c.Node]; h != nil {
		return h.demand() > 0
	}
	return slices.ContainsFunc(s.hosts, func(h *host) bool { return h.claim.Name == c.Name && h.demand() > 0 })
}

func (s *step) delete(c cluster.Claim, why plan.DeleteReason, detail string, waited time.Duration) {
	s.retired = append(s.retired, plan.Delete{Claim: c.Name, ClaimUID: c.UID, Why: why, Detail: detail, Waited: waited, Saves: s.priceOf(c)})
}

// priceOf is what the claim's instance costs an hour by the catalogue of its
// class, zero where that is unknown.
func (s *step) priceOf(c cluster.Claim) quantity.Money {
	class, _ := s.in.Snapshot.Class(c.Class)
	for _, t := range class.Types {
		if t.Name != c.InstanceType {
			continue
		}
		for _, o := range t.Offerings {
			if o.Zone == c.Zone && o.CapacityType == c.CapacityType {
				return o.Price
			}
		}
	}
	return 0
}
