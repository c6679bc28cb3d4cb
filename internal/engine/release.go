package engine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// stillKept drops what is remembered of nodes that are open by now.
func (s *step) stillKept() {
	s.memory.ReadySince = filter(s.memory.ReadySince, func(x Since) bool {
		state, ok := s.in.Snapshot.State(x.ID)
		return ok && slices.Contains(state.Node.Taints, s.in.Policy.StartupTaint)
	})
}

// release opens the nodes that are up: their pods are nominated first, and only
// then the daemon's taint goes, so that the scheduler tries exactly this node
// for exactly these pods. A node that lacks declared pods is kept for a while.
//
// A nomination that the scheduler has cleared, as it does whenever an attempt
// fails for another reason, is written again.
func (s *step) release() {
	s.stillKept()
	opening := !s.in.Policy.CannotNominate || s.opening()
	for _, h := range s.touched(func(h *host) bool { return len(h.pods) > 0 }) {
		switch h.stage {
		case stageKept:
			if opening {
				s.releaseKept(h)
			}
		case stageNode:
			if h.claim.Name == "" {
				continue
			}
			for _, p := range h.pods {
				if p.Unschedulable && p.Nominated == "" {
					s.nominateFor(h, p)
				}
			}
		}
	}
}

func (s *step) releaseKept(h *host) {
	var ready time.Time
	s.memory.ReadySince, ready = remember(s.memory.ReadySince, h.node.Name, s.in.Now)
	switch patience := ready.Add(s.in.Policy.ReleaseWait); {
	case h.declared == 0:
	case len(h.pods) == 0 && h.displaced == 0:
		return // nobody waits for it yet; it opens when they come or are given up
	case s.in.Now.Before(patience):
		s.waitUntil(patience, plan.PlannedPods)
		return
	}
	for _, p := range h.pods {
		if p.Nominated != h.node.Name {
			s.nominateFor(h, p)
		}
	}
	s.nominate = append(s.nominate, plan.Release{
		Node: h.node.Name, NodeUID: h.node.UID, Taint: s.in.Policy.StartupTaint,
		Planned: int64(len(h.pods)), GivenUp: h.declared,
	})
}

func (s *step) nominateFor(h *host, p podRef) {
	if !s.in.Policy.CannotNominate {
		s.nominate = append(s.nominate, plan.Nominate{Pod: p.id, PodUID: p.UID, Node: h.node.Name})
	}
}

// touched lists the hosts on their way and the nodes looked at that are wanted,
// sorted by readiness, then name.
func (s *step) touched(want func(*host) bool) []*host {
	list := slices.Clone(s.hosts)
	for _, h := range s.nodeHosts {
		if h != nil && h.stage == stageNode && want(h) {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b *host) int {
		return cmp.Or(cmp.Compare(a.stage, b.stage), strings.Compare(a.name(), b.name()))
	})
	return list
}
