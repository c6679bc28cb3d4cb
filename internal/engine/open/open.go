package open

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/timing"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/topology"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// opener opens the nodes that are up for the pods that are planned there.
type opener struct {
	view.View
	*journal.Journal
	memory *memory.Memory
	demand *demand.Demand
	room   *room.Room

	actions  []plan.Action       // each node's nominations, then its release
	together map[*room.Host]bool // see findTogether
	running  map[*cluster.Group]*topology.Table
	rules    *topology.Known
}

// stillKept forgets since when nodes are kept that are open by now.
func (o *opener) stillKept() {
	o.memory.ReadySince = pick.Those(o.memory.ReadySince, func(x memory.Since) bool {
		state, ok := o.Snapshot.State(x.ID)
		return ok && slices.Contains(state.Node.Taints, o.Policy.StartupTaint)
	})
}

// Nodes opens the nodes that are up. It first nominates the pods of a node, and
// only then takes the daemon's taint off, so that the scheduler tries exactly this
// node for exactly these pods. A node whose declared pods do not exist yet is kept
// for a while.
//
// The scheduler clears a nomination whenever an attempt fails for another reason.
// Nodes then writes the nomination again and notes it: a node where that does not
// help is left out; see memory.Nomination.
func Nodes(v view.View, m *memory.Memory, j *journal.Journal, d *demand.Demand, r *room.Room, rules *topology.Known) []plan.Action {
	o := opener{View: v, Journal: j, memory: m, demand: d, room: r, rules: rules, running: map[*cluster.Group]*topology.Table{}}
	o.stillKept()
	o.admitDevicePlugins()
	coming := o.coming()
	land(&o)
	opens := func(h *room.Host) bool { return !o.Closed(&h.Node, h.Claim) }
	if hosts := pick.Those(o.room.Coming, func(h *room.Host) bool { return h.Stage == room.StageKept }); len(hosts) > 0 {
		o.together = o.findTogether(hosts)
	}
	for _, h := range o.room.Touched(func(h *room.Host) bool { return len(h.Pods) > 0 }) {
		switch h.Stage {
		case room.StageKept:
			if opens(h) {
				o.releaseKept(h, coming)
			}
		case room.StageNode:
			if h.Claim.Name == "" {
				continue
			}
			for _, p := range h.Pods {
				if p.Unschedulable && p.Nominated == "" && nominates(p) && o.takes(h, p) {
					o.nominate(h.Node.Name, p)
					o.note(h, p)
				}
			}
		}
	}
	return o.actions
}

// admitDevicePlugins opens the nodes that lack nothing but devices. The pods that report
// a device often tolerate its taint, and not the daemon's. The node's own pods are not
// nominated: they wait for the device.
func (o *opener) admitDevicePlugins() {
	for _, c := range o.Claims {
		if n, up := o.Snapshot.Node(c.Node); up && n.TakesPods(c) && o.room.OpensForDevices(&n, c) {
			o.actions = append(o.actions, plan.Release{Node: n.Name, NodeUID: n.UID, Taint: o.Policy.StartupTaint})
		}
	}
}

// takes says whether the rules about other pods let the pod run on the node now. It
// may have to wait for pods that are planned and do not run yet; until then the
// scheduler refuses it, and that is not the node's fault.
func (o *opener) takes(h *room.Host, p demand.PodRef) bool {
	g, _ := o.Snapshot.GroupOf(p.ID)
	table, known := o.running[g]
	if !known {
		table = o.rules.Build(o.Snapshot, []topology.Class{{Namespace: p.Namespace, Labels: p.Labels, Shape: p.Shape}}, o.Policy.ExactNamespaces)
		o.running[g] = table
	}
	return table.Empty() || table.Room(0, h.Place()) > 0
}

// coming says whether declared pods have places on nodes that are not open yet, or
// any pods wait for room.
func (o *opener) coming() bool {
	return slices.ContainsFunc(o.room.Coming, func(h *room.Host) bool { return h.Declared > 0 }) ||
		slices.ContainsFunc(o.demand.Classes, func(c *demand.Class) bool { return c.Waiting > 0 && !o.awaits(c) })
}

// awaits says whether pods of the class wait for room that comes free as nodes open.
func (o *opener) awaits(c *demand.Class) bool {
	_, lost := memory.FirstSeen(o.memory.Lost, c.Group.Kind)
	return lost
}

// releaseKept opens the node if all its pods exist and may run there. While declared
// pods are coming, real pods must also fill the node, because others may still join
// them.
func (o *opener) releaseKept(h *room.Host, coming bool) {
	var ready time.Time
	o.memory.ReadySince, ready = memory.Remember(o.memory.ReadySince, h.Node.Name, o.Now)
	alone := ready.Add(o.Policy.ReleaseWait) // it then opens without the nodes that it needs
	landed := o.landedBy(h)
	switch until := timing.KeptUntil(o.View, o.memory, h.Node.Name, o.oldest(h)); {
	case o.needsOthers(h) && o.Now.Before(alone):
		o.WaitUntil(alone, plan.RulesMet)
		return
	case len(h.Pods) == 0 && h.Declared == 0 && (o.replaces(h) || followsDrains(o, h)):
		return // its pods run yet, on nodes that are deleted once this one is ready, or that drain
	case o.Now.Before(landed):
		o.WaitUntil(landed, plan.PlannedPods)
		return
	case h.Declared == 0 && (!coming || h.Filled(h.Real)):
	case len(h.Pods) == 0 && len(h.Displaced) == 0:
		return // no real pod waits for the node; it opens when its pods come or are given up
	case o.Now.Before(until):
		o.WaitUntil(until, plan.PlannedPods)
		return
	}
	o.nominate(h.Node.Name, h.Pods...)
	o.cameUp(h)
	o.actions = append(o.actions, plan.Release{
		Node: h.Node.Name, NodeUID: h.Node.UID, Taint: o.Policy.StartupTaint,
		Planned: int64(len(h.Pods)), GivenUp: h.Declared,
	})
}

// cameUp notes for which pods the host has not come in vain.
func (o *opener) cameUp(h *room.Host) {
	if len(o.memory.Backoffs) == 0 {
		return
	}
	for _, p := range h.Pods {
		if g, known := o.Snapshot.GroupOf(p.ID); known {
			o.memory.CameUp(h.Claim.Pool, g.Kind, h.Claim.InstanceType)
		}
	}
}

// oldest returns when the first of the pods for the host came; now if there are none.
func (o *opener) oldest(h *room.Host) time.Time {
	oldest := o.Now
	for _, p := range h.Pods {
		oldest = pick.Earliest(oldest, p.Created)
	}
	return oldest
}

// replaces says whether the plan puts nothing on the host but pods of nodes that are
// deleted when it is ready.
func (o *opener) replaces(h *room.Host) bool {
	return len(h.Displaced) > 0 && !slices.ContainsFunc(h.Displaced, func(p demand.PodRef) bool {
		n, _ := o.Snapshot.Node(p.Node)
		c, known := o.Snapshot.Claim(n.Claim)
		return !known || c.Leaving() || !o.IsGoing(c.Name)
	})
}

// followsDrains says whether the plan puts nothing on the host but pods of nodes that are
// deleted, and none of them is evicted yet: they run there for as long as the drain takes.
// The first of them that is evicted is news.
func followsDrains(o *opener, h *room.Host) bool {
	return len(h.Displaced) > 0 && !slices.ContainsFunc(h.Displaced, func(p demand.PodRef) bool {
		n, _ := o.Snapshot.Node(p.Node)
		c, known := o.Snapshot.Claim(n.Claim)
		return !p.Moves() || !n.Deleting && !(known && c.Deleting)
	})
}

// nominates says whether pods like this one are nominated. Another scheduler than the
// default one finds the node by itself, once the node is open.
func nominates(p demand.PodRef) bool { return !p.OtherScheduler }

// nominate nominates the pods for the node that are not yet.
func (o *opener) nominate(node string, pods ...demand.PodRef) {
	for _, p := range pods {
		if p.Nominated != node && nominates(p) {
			o.actions = append(o.actions, plan.Nominate{Pod: p.ID, PodUID: p.UID, Node: node})
		}
	}
}

// note remembers that the pod is nominated for a node that is open.
func (o *opener) note(h *room.Host, p demand.PodRef) {
	if g, known := o.Snapshot.GroupOf(p.ID); known {
		o.memory.Nominated(g.Kind, h.Node.Name, p.ID, o.Now)
	}
}
