package engine

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// opener opens the nodes that are up for the pods that are planned there.
type opener struct {
	View
	*journal
	memory *parts
	demand *demand
	room   *room

	hardness map[*host]int // of nodes that are not open yet; see rateHosts
	actions  []plan.Action // nominations with the releases that belong to them, in order
}

// stillKept drops what is remembered of nodes that are open by now.
func (o *opener) stillKept() {
	o.memory.ReadySince = pick.Those(o.memory.ReadySince, func(x Since) bool {
		state, ok := o.Snapshot.State(x.ID)
		return ok && slices.Contains(state.Node.Taints, o.Policy.StartupTaint)
	})
}

// openNodes opens the nodes that are up: their pods are nominated first, and only
// then the daemon's taint goes, so that the scheduler tries exactly this node
// for exactly these pods. A node that lacks declared pods is kept for a while.
//
// A nomination that the scheduler has cleared, as it does whenever an attempt
// fails for another reason, is written again.
func openNodes(v View, m *parts, j *journal, d *demand, r *room) []plan.Action {
	o := opener{View: v, journal: j, memory: m, demand: d, room: r}
	o.stillKept()
	o.lift()
	coming := o.coming()
	opens := func(*host) bool { return true }
	if o.Policy.CannotNominate {
		opens = o.opening()
	}
	for _, h := range o.room.touched(func(h *host) bool { return len(h.pods) > 0 }) {
		switch h.stage {
		case stageKept:
			if opens(h) {
				o.releaseKept(h, coming)
			}
		case stageNode:
			if h.claim.Name == "" {
				continue
			}
			for _, p := range h.pods {
				if p.Unschedulable && p.Nominated == "" {
					o.nominateFor(h, p)
				}
			}
		}
	}
	return o.actions
}

// coming says whether declared pods are to go to nodes that are not open yet, or
// wait for room.
func (o *opener) coming() bool {
	return slices.ContainsFunc(o.room.coming, func(h *host) bool { return h.stage != stageNode && h.declared > 0 }) ||
		slices.ContainsFunc(o.demand.classes, func(c *demandClass) bool { return c.waiting > 0 })
}

// releaseKept opens the node if none of its pods is missing. While declared pods
// are coming that has to be as much as fills it: others may yet join.
func (o *opener) releaseKept(h *host, coming bool) {
	o.memory.ReadySince, _ = remember(o.memory.ReadySince, h.node.Name, o.Now)
	oldest := o.Now
	for _, p := range h.pods {
		oldest = pick.Earliest(oldest, p.Created)
	}
	switch patience := patience(o.View, o.memory, h.node.Name, oldest); {
	case h.declared == 0 && (!coming || h.filled(h.real)):
	case len(h.pods) == 0 && h.displaced == 0:
		return // nobody waits for it yet; it opens when they come or are given up
	case o.Now.Before(patience):
		o.waitUntil(patience, plan.PlannedPods)
		return
	}
	for _, p := range h.pods {
		if p.Nominated != h.node.Name {
			o.nominateFor(h, p)
		}
	}
	o.actions = append(o.actions, plan.Release{
		Node: h.node.Name, NodeUID: h.node.UID, Taint: o.Policy.StartupTaint, Puts: o.reserve(h),
		Planned: int64(len(h.pods)), GivenUp: h.declared,
	})
}

func (o *opener) nominateFor(h *host, p podRef) {
	if !o.Policy.CannotNominate {
		o.actions = append(o.actions, plan.Nominate{Pod: p.id, PodUID: p.UID, Node: h.node.Name})
	}
}
