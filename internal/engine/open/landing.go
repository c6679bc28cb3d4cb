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

// settles is how long no evicted pod must have gone, come back or landed for the nodes to
// open that are closed for them; and closedFor is how long they are closed at most.
const settles, closedFor = 3 * time.Second, 30 * time.Second

// land binds evicted pods that are back to their places on closed nodes, and opens the nodes
// when all pods have landed, or none has come for a while, or a pod that was not evicted
// waits. The scheduler has to place some pods itself. Those are nominated when their node
// opens.
func land(o *opener) {
	closed := pick.Those(o.Claims, func(c *cluster.Claim) bool {
		n, up := o.Snapshot.Node(c.Node)
		return up && o.Closed(&n, c)
	})
	was := o.memory.Landing
	if len(closed) == 0 {
		o.memory.Landing = memory.Landing{More: was.More}
		return
	}
	if !was.Since.IsZero() && was.Written.IsZero() {
		was.Written, was.Moved = o.Now, o.Now
	}
	now := memory.Landing{Since: was.Since, Written: was.Written, Moved: was.Moved, More: was.More}
	planned, others := map[string][]demand.PodRef{}, false
	var binds []plan.Bind
	for _, h := range o.room.Coming {
		if h.Stage != room.StageKept || !o.Closed(&h.Node, h.Claim) {
			continue
		}
		planned[h.Claim.Name] = h.Pods
		now.Running += int64(len(h.Displaced))
		now.Absent += absent(o, h)
		now.More = now.More || len(h.Pods) > 0
		bound, foreign := bindings(o, h)
		binds, others = append(binds, bound...), others || foreign
	}
	now.Back = len(binds)
	if now.Absent != was.Absent || now.Back != was.Back || now.Running != was.Running && was.Running > 0 {
		now.Moved = o.Now
	}
	until := pick.Earliest(now.Moved.Add(settles), now.Written.Add(closedFor))
	if wait := now.Absent > 0 || now.Running > 0 || now.Back > 0; !wait || others || !o.Now.Before(until) {
		o.memory.Landing = memory.Landing{More: now.More}
		for _, c := range closed {
			openClosed(o, c, planned[c.Name])
		}
		return
	}
	may, at := mayBind(o, &was)
	if may {
		for _, b := range binds {
			o.actions, now.Bound = append(o.actions, b), append(now.Bound, b.PodUID)
		}
	} else {
		now.Bound, until = was.Bound, pick.Earliest(until, at)
	}
	o.memory.Landing = now
	o.WaitUntil(until, plan.PlannedPods)
}

// lands is how long a binding by the scheduler is on its way at most. If it has a volume
// made first, it may take any time.
const lands = time.Second

// mayBind says whether the room that is seen on closed nodes is free: the snapshot shows all
// bindings of the last plan, and no pod waits that the scheduler may have assigned to one of
// the nodes just before it was closed. If not, it returns when that may be so without a
// change of the cluster.
func mayBind(o *opener, l *memory.Landing) (may bool, at time.Time) {
	later := l.Written.Add(lands)
	if o.Policy.CannotBind || l.Since.IsZero() {
		return false, later
	}
	for g := range o.Snapshot.PendingGroups() {
		for _, p := range g.Waiting() {
			older := p.Created.Before(l.Since) && (p.Volumes || o.Now.Before(later))
			if older || slices.Contains(l.Bound, p.UID) {
				return false, pick.Latest(later, o.Now.Add(lands))
			}
		}
	}
	return true, time.Time{}
}

// bindings returns the bindings of evicted pods that are back to the closed host, and whether
// the host has pods of others. A pod waits whose rules about other pods are not met yet.
func bindings(o *opener, h *room.Host) (out []plan.Bind, others bool) {
	for _, p := range h.Pods {
		g, known := o.Snapshot.GroupOf(p.ID)
		switch {
		case !known:
		case o.memory.LastEvicted(g.Kind).IsZero():
			others = true
		case !p.Volumes && !o.Policy.CannotBind && o.takes(h, p):
			out = append(out, plan.Bind{Pod: p.ID, PodUID: p.UID, Node: h.Node.Name, NodeUID: h.Node.UID})
		}
	}
	return out, others
}

// openClosed opens the closed node of the NodeClaim, for which the pods are nominated.
func openClosed(o *opener, c *cluster.Claim, pods []demand.PodRef) {
	o.memory.Arrived(c.Name)
	for _, p := range pods {
		if p.Nominated != c.Node {
			o.nominate(p, c.Node)
		}
	}
	n, _ := o.Snapshot.Node(c.Node)
	o.actions = append(o.actions, plan.Release{Node: n.Name, NodeUID: n.UID, Taint: o.Policy.StartupTaint, Planned: int64(len(pods))})
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
