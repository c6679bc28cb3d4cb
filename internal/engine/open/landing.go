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

// settles is how long no evicted pod must have gone, come back or landed for the nodes to
// open that are closed for them.
const settles = 3 * time.Second

// land binds evicted pods that are back to their places on closed nodes, and opens the nodes
// when all pods have landed, or none has come for a while, or a pod of a kind that was not
// evicted has its place on one of them. The scheduler has to place some pods itself. Those
// are nominated when their node opens.
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
	now := memory.Landing{Begun: was.Begun, Since: was.Since, Written: was.Written, Moved: was.Moved, More: was.More}
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
	until := pick.Earliest(now.Moved.Add(settles), now.Begun.Add(memory.ClosedFor))
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
	} else if now.Bound = was.Bound; !at.IsZero() {
		until = pick.Earliest(until, at)
	}
	o.memory.Landing = now
	o.WaitUntil(until, plan.PlannedPods)
}

// bindingTakes is how long a binding by the scheduler is on its way at most.
const bindingTakes = time.Second

// mayBind says whether the room that is seen on closed nodes is free: the snapshot shows all
// bindings of the last plan, and no pod waits that the scheduler may have assigned to one of
// the nodes just before it was closed. If not, it returns when that may be so without a
// change of the cluster; zero for never.
func mayBind(o *opener, l *memory.Landing) (may bool, at time.Time) {
	if !o.Policy.LandingIn(o.Snapshot.NodeCount()).Binds || l.Since.IsZero() {
		return false, time.Time{}
	}
	later := l.Written.Add(bindingTakes)
	before := l.Since.Truncate(time.Second) // as the times of creation are
	for g := range o.Snapshot.PendingGroups() {
		for _, p := range g.Waiting() {
			// The scheduler has not refused the pod: it came before the nodes were closed.
			assigned := !p.Unschedulable && !p.Created.After(l.Written)
			switch older := p.Created.Before(before); {
			case slices.Contains(l.Bound, p.UID):
				return false, time.Time{}
			case assigned && p.Volumes: // the binding waits until the volume is made
				return false, time.Time{}
			case (assigned || older) && o.Now.Before(later):
				return false, later
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
		case o.memory.LastEvicted(g.Kind).IsZero(), p.OtherScheduler:
			others = true // their scheduler needs the node open
		case !p.Volumes && o.Policy.LandingIn(o.Snapshot.NodeCount()).Binds && o.takes(h, p):
			out = append(out, plan.Bind{Pod: p.ID, PodUID: p.UID, Node: h.Node.Name, NodeUID: h.Node.UID})
		}
	}
	return out, others
}

// openClosed opens the closed node of the NodeClaim, for which the pods are nominated.
func openClosed(o *opener, c *cluster.Claim, pods []demand.PodRef) {
	o.memory.Arrived(c.Name)
	o.nominate(c.Node, pods...)
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
