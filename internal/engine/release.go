package engine

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// release opens the nodes that are up: their pods are nominated first, and only
// then the daemon's taint goes, so that the scheduler tries exactly this node
// for exactly these pods. A node that lacks declared pods is kept for a while.
//
// A nomination that the scheduler has cleared, as it does whenever an attempt
// fails for another reason, is written again.
func (s *step) release() {
	for _, h := range s.hosts {
		switch h.stage {
		case stageKept:
			s.releaseKept(h)
		case stageNode:
			if h.claim.Name == "" {
				continue
			}
			for _, p := range h.pods {
				if p.Unschedulable && p.Nominated == "" {
					s.nominate = append(s.nominate, plan.Nominate{Pod: p.ID(), PodUID: p.UID, Node: h.node.Name})
				}
			}
		}
	}
}

func (s *step) releaseKept(h host) {
	var ready time.Time
	s.memory.ReadySince, ready = remember(s.memory.ReadySince, h.node.Name, s.in.Now)
	if patience := ready.Add(s.in.Policy.ReleaseWait); h.declared > 0 && s.in.Now.Before(patience) {
		s.waitUntil(patience, plan.PlannedPods)
		return
	}
	for _, p := range h.pods {
		if p.Nominated != h.node.Name {
			s.nominate = append(s.nominate, plan.Nominate{Pod: p.ID(), PodUID: p.UID, Node: h.node.Name})
		}
	}
	s.nominate = append(s.nominate, plan.Release{
		Node: h.node.Name, NodeUID: h.node.UID, Taint: s.in.Policy.StartupTaint,
		Planned: int64(len(h.pods)), GivenUp: h.declared,
	})
}
