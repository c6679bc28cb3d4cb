package engine

import (
	"cmp"
	"slices"
	"strings"

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
	s.lift()
	coming := s.coming()
	opens := func(*host) bool { return true }
	if s.in.Policy.CannotNominate {
		opens = s.opening()
	}
	for _, h := range s.touched(func(h *host) bool { return len(h.pods) > 0 }) {
		switch h.stage {
		case stageKept:
			if opens(h) {
				s.releaseKept(h, coming)
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

// coming says whether declared pods are to go to nodes that are not open yet, or
// wait for room.
func (s *step) coming() bool {
	return slices.ContainsFunc(s.hosts, func(h *host) bool { return h.stage != stageNode && h.declared > 0 }) ||
		slices.ContainsFunc(s.classes, func(c *demandClass) bool { return c.waiting > 0 })
}

// releaseKept opens the node if none of its pods is missing. While declared pods
// are coming that has to be as much as fills it: others may yet join.
func (s *step) releaseKept(h *host, coming bool) {
	s.memory.ReadySince, _ = remember(s.memory.ReadySince, h.node.Name, s.in.Now)
	oldest := s.in.Now
	for _, p := range h.pods {
		oldest = earliest(oldest, p.Created)
	}
	switch patience := s.patience(h, oldest); {
	case h.declared == 0 && (!coming || h.filled(h.real)):
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
		Node: h.node.Name, NodeUID: h.node.UID, Taint: s.in.Policy.StartupTaint, Puts: s.reserve(h),
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
