package engine

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

const (
	// sameWave is how long after a pod a node may have been ordered for the pod to
	// wait for it. It ends the wait where nodes are ordered without end.
	sameWave = time.Minute
	// planned is the age at which a pod has had its first plan, whatever it waited
	// for then.
	planned = 2 * tailWait
	// The scheduler is filling a node that has opened for filling at least, and at
	// most for fillingAtMost as long as no pause of its is longer than fillingGap.
	filling, fillingGap, fillingAtMost = 5 * time.Second, 2 * time.Second, 20 * time.Second
)

// leaveOpen lets pods that found no room wait for the nodes of their wave that
// have not opened or that the scheduler is still filling, where these have the
// room in sum: which pods get it is not known before, and what is left over early
// is taken by those that come later. A pod that has just come does not wait: it is
// part of what the next node is ordered for.
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

// toOpen is the free room in sum of the nodes that have not opened or are being
// filled, that were ordered in the wave of the class's oldest pod, and that would
// take a pod of it as they are now.
func (s *step) toOpen(c *demandClass) quantity.Resources {
	var sum quantity.Resources
	fits := false
	l := &c.levels[c.level]
	last := c.pods[0].Created.Add(sameWave)
	add := func(h *host) bool {
		if h.claim.Created.After(last) || !h.accepts(l) {
			return false
		}
		fits = fits || withoutAttach(l.shape.Requests).Fits(h.most)
		sum = sum.Add(h.free.Max(quantity.Resources{}))
		return true
	}
	for _, h := range s.hosts {
		if h.stage != stageNode {
			add(h)
		}
	}
	for _, h := range s.beingFilled() {
		if add(h) {
			s.waitUntil(s.filled(h), plan.Filling)
		}
	}
	if !fits {
		return quantity.Resources{}
	}
	return sum
}

// beingFilled lists the nodes that have opened and that the scheduler is filling.
func (s *step) beingFilled() (out []*host) {
	for _, x := range s.memory.OpenSince {
		if state, ok := s.in.Snapshot.State(x.ID); ok {
			if h := s.node(state); h != nil && h.stage == stageNode && s.in.Now.Before(s.filled(h)) {
				out = append(out, h)
			}
		}
	}
	return out
}

// filled is when the scheduler has filled a node that has opened, if it does not
// place another pod until then.
func (s *step) filled(h *host) time.Time {
	at, _ := firstSeen(s.memory.OpenSince, h.node.Name)
	return earliest(latest(at.Add(filling), s.memory.Growth.Fell.Add(fillingGap)), at.Add(fillingAtMost))
}
