package open

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/timing"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

const (
	// sameWave is how long after a pod's creation a node may have been ordered for
	// the pod to wait for it. It ends the wait even if nodes are ordered all the
	// time.
	sameWave = time.Minute
	// planned is the age at which a pod has been in a plan, however long that plan
	// was held back.
	planned = 2 * timing.TailWait
)

// Await lets pods wait that lost their place to others, if the nodes of their wave that
// have not opened have the room in total: as the scheduler places pods on other nodes
// than planned, room comes free in pieces there, until it is enough. A pod that has just
// come does not wait, because the next node is ordered for it, too.
//
// Only demand of the least priority or above waits: the rest has not been tried.
func Await(v view.View, m *memory.Memory, j *journal.Journal, d *demand.Demand, r *room.Room, minPriority int32) {
	o := opener{View: v, Journal: j, memory: m, demand: d, room: r}
	var promised quantity.Resources
	for _, c := range o.demand.Classes {
		g := c.Group
		if g.Shape.Priority < minPriority || c.Count() == 0 || o.awaitLanding(c) {
			continue
		}
		if len(c.Pods) == 0 || o.Now.Before(c.Pods[0].Created.Add(planned)) || c.Ruled() || len(g.Shape.Ports) > 0 || g.Shape.Gang.Name != "" {
			continue
		}
		since, lost := memory.FirstSeen(m.Lost, g.Kind)
		if !lost {
			continue
		}
		room := o.toOpen(c).Sub(promised)
		n := int64(0)
		for n < int64(len(c.Pods)) && !o.Now.Before(c.Pods[n].Created.Add(planned)) {
			n++
		}
		n = demand.WithoutAttach(g.Shape.Requests).CountIn(room, n)
		if n < int64(len(c.Pods)) { // a node that is launched anyway has room for all of them
			continue
		}
		o.WaitUntil(since.Add(memory.LostFor), plan.RoomOnTheWay)
		promised = promised.Add(demand.WithoutAttach(g.Shape.Requests).Times(n))
		o.letWait(c, n)
	}
}

// letWait takes n pods out of the demand, as they wait for nodes.
func (o *opener) letWait(c *demand.Class, n int64) {
	c.Waiting += n
	if ids := c.Draw(n).IDs(o.Journal); len(ids) > 0 {
		o.Outcomes = append(o.Outcomes, plan.Outcome{Group: c.Group.Key, Pods: ids, Verdict: plan.AwaitsNodes})
	}
}

// toOpen returns the free room, in total, on which a pod of the class may wait:
// room of nodes that have not opened, that were ordered in the wave of the class's
// oldest pod, and that accept the class now. It is zero if no
// node could hold a pod.
func (o *opener) toOpen(c *demand.Class) quantity.Resources {
	var sum quantity.Resources
	fits := false
	l := &c.Levels[c.Level]
	last := c.Pods[0].Created.Add(sameWave)
	for _, h := range o.room.Coming {
		if h.Claim.Created.After(last) || !h.Accepts(l) {
			continue
		}
		fits = fits || demand.WithoutAttach(l.Shape.Requests).Fits(h.Most)
		sum = sum.Add(h.Free.Max(quantity.Resources{}))
	}
	if !fits {
		return quantity.Resources{}
	}
	return sum
}

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
	if o.memory.LastEvicted(c.Group.Kind).IsZero() {
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
