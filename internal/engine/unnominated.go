package engine

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Without the right to nominate it is the scheduler that chooses the node of each
// pod, by its own scoring. Two rules keep what that costs small.
//
// Nodes open together. Opened one by one, each is the emptiest when it opens and
// gets whatever comes next; of several the scoring gives each pod the one whose
// free CPU and memory suit it best, so that they fill evenly in both.
//
// Pods that the scheduler left over are not launched for while nodes that are
// still to open have the room in sum: which pods get it is not known before. The
// room that is left over early is taken by those that come later.
const (
	// openTogether is how many kept nodes open without waiting for more. Fewer
	// fill unevenly; many more leave little for those that come after them.
	openTogether = 20
	// sameWave is how long after a pod a node may have been ordered for the pod to
	// wait for it. It ends the wait where nodes are ordered without end.
	sameWave = time.Minute
	// planned is the age at which a pod has had its first plan, whatever it waited
	// for then.
	planned = 2 * tailWait
)

// opening says whether the kept nodes open now: when there are enough of them,
// no other is on its way, or one has been kept for ReleaseWait.
func (s *step) opening() bool {
	kept, coming := 0, 0
	var first time.Time
	for _, h := range s.hosts {
		if h.stage != stageKept {
			coming++
			continue
		}
		kept++
		var ready time.Time
		s.memory.ReadySince, ready = remember(s.memory.ReadySince, h.node.Name, s.in.Now)
		first = earliest(first, ready)
	}
	end := first.Add(s.in.Policy.ReleaseWait)
	if kept == 0 || kept >= openTogether || coming == 0 || !s.in.Now.Before(end) {
		return true
	}
	s.waitUntil(end, plan.Company)
	return false
}

// leaveOpen lets pods that found no room wait for the nodes of their wave that
// have not opened, where these have the room in sum. A pod that has just come
// does not wait: it is part of what the next node is ordered for.
func (s *step) leaveOpen() {
	if !s.in.Policy.CannotNominate {
		return
	}
	var promised quantity.Resources
	for _, c := range s.classes {
		g := c.group
		if len(c.pods) == 0 || s.in.Now.Before(c.pods[0].Created.Add(planned)) || s.ruled(c) || len(g.Shape.Ports) > 0 || g.Shape.Gang.Name != "" {
			continue
		}
		room := s.toOpen(c).Sub(promised)
		n := int64(0)
		for n < int64(len(c.pods)) && !s.in.Now.Before(c.pods[n].Created.Add(planned)) {
			n++
		}
		n = withoutAttach(g.Shape.Requests).CountIn(room, n)
		if n <= 0 {
			continue
		}
		promised = promised.Add(withoutAttach(g.Shape.Requests).Times(n))
		c.waiting += n
		s.outcomes = append(s.outcomes, plan.Outcome{Group: g.Key, Pods: s.ids(c.draw(n)), Verdict: plan.LeftOpen})
	}
}

// toOpen is the free room in sum of the nodes that have not opened, that were
// ordered in the wave of the class's oldest pod, and that would take a pod of it
// while they are empty.
func (s *step) toOpen(c *demandClass) quantity.Resources {
	var sum quantity.Resources
	fits := false
	l := &c.levels[c.level]
	last := c.pods[0].Created.Add(sameWave)
	for _, h := range s.hosts {
		if h.stage == stageNode || h.claim.Created.After(last) || !h.accepts(l) {
			continue
		}
		fits = fits || withoutAttach(l.shape.Requests).Fits(h.most)
		sum = sum.Add(h.free.Max(quantity.Resources{}))
	}
	if !fits {
		return quantity.Resources{}
	}
	return sum
}
