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

// land opens the nodes that are closed for evicted pods, all of them at once: when the pods
// are back, or have not come for a while, or when a pod that was not evicted waits.
func land(o *opener) {
	closed := pick.Those(o.Claims, func(c *cluster.Claim) bool {
		n, up := o.Snapshot.Node(c.Node)
		return up && o.Closed(&n, c)
	})
	if len(closed) == 0 {
		o.memory.Landing = memory.Landing{More: o.memory.Landing.More}
		return
	}
	hosts, now := map[string]*room.Host{}, memory.Landing{Since: o.memory.Landing.Since, Moved: o.memory.Landing.Moved}
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
	if was := o.memory.Landing; now.Absent != was.Absent || now.Running != was.Running && was.Running > 0 {
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
	if wait := now.Absent > 0 || now.Running > 0; wait && !others && o.Now.Before(until) {
		o.WaitUntil(until, plan.PlannedPods)
		return
	}
	o.memory.Landing = memory.Landing{More: back > 0}
	for _, c := range closed {
		o.memory.Arrived(c.Name)
		planned := int64(0)
		if h := hosts[c.Name]; h != nil {
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
}

// absent returns how many evicted pods that are planned on the closed host are gone and not
// back.
func absent(o *opener, h *room.Host) int64 {
	slots, _ := o.memory.PlannedOn(h.Claim)
	planned := -int64(len(h.Pods) + len(h.Displaced))
	for _, s := range slots {
		planned += s.Count - h.State.CountOf(s.Kind)
	}
	return max(planned, 0)
}
