package open

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Evicted pods come back one after the other, and the scheduler puts each on any open node
// that has room for it. A new node is for those that find none. If it opened before they
// have landed, it would be the emptiest node: pods with room elsewhere would take the
// places of those without. So it stays closed until its pods are there, and nothing is
// launched for evicted pods meanwhile, as room that was promised to others may be left over.

// landedBy returns until when the kept host waits for evicted pods that are planned there;
// zero if none are, or all are there. A pod that is there waits for the others for
// Policy.ReleaseWait.
func (o *opener) landedBy(h *room.Host) time.Time {
	slots, _ := o.memory.PlannedOn(h.Claim)
	var last time.Time
	planned := int64(0)
	for _, s := range slots {
		last, planned = pick.Latest(last, o.memory.LastEvicted(s.Kind)), planned+s.Count
	}
	if last.IsZero() || int64(len(h.Pods)) >= planned {
		return time.Time{}
	}
	return pick.Earliest(last, o.oldest(h)).Add(o.Policy.ReleaseWait)
}

// awaitLanding lets pods of the class wait if pods like them were just evicted: as long as
// others of them may still land on open nodes, and leave their places on a node that is kept.
func (o *opener) awaitLanding(c *demand.Class) bool {
	if o.memory.LastEvicted(c.Group.Kind).IsZero() || o.Policy.CannotNominate {
		return false
	}
	var until time.Time
	for _, h := range o.room.Coming {
		if h.Stage == room.StageKept && h.Accepts(&c.Levels[c.Level]) {
			until = pick.Latest(until, o.landedBy(h))
		}
	}
	if until.IsZero() {
		return false
	}
	until = pick.Earliest(until, c.Since(0, o.Now).Add(o.Policy.ReleaseWait))
	if !o.Now.Before(until) {
		return false
	}
	o.WaitUntil(until, plan.RoomOnTheWay)
	o.letWait(c, c.Count())
	return true
}

// settles is how long no evicted pod must have gone or come back for the nodes to open that
// are closed for them, though some pods still run where they are to go.
const settles = 500 * time.Millisecond

// begins is how long it takes at most until the drain evicts the first pod.
const begins = 1500 * time.Millisecond

// lands is how long nodes that take no evicted pods stay closed after those that do have
// opened. Nodes do not open in the same moment. The scheduler would put a pod whose node is
// not open yet on another that is.
const lands = 1500 * time.Millisecond

// land opens the nodes that are closed for evicted pods: when the pods are back, or have not
// come for a while, or when a pod that was not evicted waits. First those open that take the
// pods, and the others when the pods are there.
func land(o *opener) {
	closed := pick.Those(o.Claims, func(c *cluster.Claim) bool {
		n, up := o.Snapshot.Node(c.Node)
		return up && o.Closed(&n, c)
	})
	if len(closed) == 0 {
		o.memory.Landing = memory.Landing{More: o.memory.Landing.More}
		return
	}
	was := o.memory.Landing
	if !was.Since.IsZero() && !was.Written {
		was.Since, was.Moved, was.Written = o.Now, o.Now, true
	}
	hosts, now := map[string]*room.Host{}, memory.Landing{Since: was.Since, Moved: was.Moved, Opened: was.Opened, Written: true}
	back := 0
	others := false
	for _, h := range o.room.Coming {
		if h.Stage != room.StageKept || !o.Closed(&h.Node, h.Claim) {
			continue
		}
		hosts[h.Claim.Name] = h
		now.Running += int64(len(h.Displaced))
		now.Absent += absent(o, h)
		back += len(h.Pods)
		others = others || slices.ContainsFunc(h.Pods, func(p demand.PodRef) bool {
			g, known := o.Snapshot.GroupOf(p.ID)
			return known && o.memory.LastEvicted(g.Kind).IsZero()
		})
	}
	if now.Absent != was.Absent || now.Running != was.Running && was.Running > 0 {
		now.Moved = o.Now
	}
	o.memory.Landing = now
	until := now.Since.Add(o.Policy.ReleaseWait)
	switch {
	case now.Absent > 0:
	case now.Moved.After(now.Since):
		until = pick.Earliest(until, now.Moved.Add(settles))
	default:
		until = pick.Earliest(until, now.Since.Add(begins))
	}
	wait := now.Absent > 0 || now.Running > 0
	if !now.Opened.IsZero() {
		until, wait = now.Opened.Add(lands), back == 0 && expected(o)
	}
	if wait && !others && o.Now.Before(until) {
		o.WaitUntil(until, plan.PlannedPods)
		return
	}
	takes := func(c *cluster.Claim) bool { h := hosts[c.Name]; return h != nil && len(h.Pods) > 0 }
	o.memory.Landing = memory.Landing{More: back > 0 || !now.Opened.IsZero()}
	if first := pick.Those(closed, takes); !others && len(first) > 0 && len(first) < len(closed) && now.Opened.IsZero() {
		closed, now.Opened = first, o.Now
		o.memory.Landing = now
		o.WaitUntil(o.Now.Add(lands), plan.PlannedPods)
	}
	for _, c := range closed {
		openClosed(o, c, hosts[c.Name])
	}
}

// openClosed opens the closed node of the NodeClaim. The host has the pods that are planned
// there; nil if none are.
func openClosed(o *opener, c *cluster.Claim, h *room.Host) {
	o.memory.Arrived(c.Name)
	planned := int64(0)
	if h != nil {
		planned = int64(len(h.Pods))
		for _, p := range h.Pods {
			if p.Nominated != h.Node.Name {
				o.nominateFor(h, p)
			}
		}
	}
	n, _ := o.Snapshot.Node(c.Node)
	o.actions = append(o.actions, plan.Release{Node: n.Name, NodeUID: n.UID, Taint: o.Policy.StartupTaint, Planned: planned})
}

// expected says whether nominated pods have not landed on open nodes yet.
func expected(o *opener) bool {
	for _, h := range o.room.Nodes {
		if h != nil && h.Stage == room.StageNode && slices.ContainsFunc(h.Pods, func(p demand.PodRef) bool { return p.Nominated == h.Node.Name }) {
			return true
		}
	}
	return false
}

// absent returns how many evicted pods that are planned on the closed host are gone and not
// back.
func absent(o *opener, h *room.Host) int64 {
	slots, _ := o.memory.PlannedOn(h.Claim)
	planned := -int64(len(h.Pods) + len(h.Displaced))
	for _, s := range slots {
		planned += s.Count
	}
	for g, n := range h.State.Groups() {
		if slices.ContainsFunc(slots, func(s cluster.Slot) bool { return s.Kind == g.Kind }) {
			planned -= n
		}
	}
	return max(planned, 0)
}
