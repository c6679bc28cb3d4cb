package open

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
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
