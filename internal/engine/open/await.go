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
	// sameWave is how long after a pod a node may have been ordered for the pod to
	// wait for it. It ends the wait where nodes are ordered without end.
	sameWave = time.Minute
	// planned is the age at which a pod has had its first plan, whatever it waited
	// for then.
	planned = 2 * timing.TailWait
	// The scheduler is filling a node that has opened for filling at least, and at
	// most for fillingAtMost as long as no pause of its is longer than fillingGap.
	filling, fillingGap, fillingAtMost = 5 * time.Second, 2 * time.Second, 20 * time.Second
)

// Await lets pods that found no room wait for the nodes of their wave that
// have not opened or that the scheduler is still filling, where these have the
// room in sum: which pods get it is not known before, and what is left over early
// is taken by those that come later. A pod that has just come does not wait: it is
// part of what the next node is ordered for.
func Await(v view.View, m *memory.Memory, j *journal.Journal, d *demand.Demand, r *room.Room) {
	if !v.Policy.CannotNominate {
		return
	}
	o := opener{View: v, Journal: j, memory: m, demand: d, room: r}
	var promised quantity.Resources
	for _, c := range o.demand.Classes {
		g := c.Group
		if len(c.Pods) == 0 || o.Now.Before(c.Pods[0].Created.Add(planned)) || c.Ruled() || len(g.Shape.Ports) > 0 || g.Shape.Gang.Name != "" {
			continue
		}
		room := o.toOpen(c).Sub(promised)
		n := int64(0)
		for n < int64(len(c.Pods)) && !o.Now.Before(c.Pods[n].Created.Add(planned)) {
			n++
		}
		n = demand.WithoutAttach(g.Shape.Requests).CountIn(room, n)
		if n <= 0 {
			continue
		}
		promised = promised.Add(demand.WithoutAttach(g.Shape.Requests).Times(n))
		c.Waiting += n
		o.Outcomes = append(o.Outcomes, plan.Outcome{Group: g.Key, Pods: c.Draw(n).IDs(o.Journal), Verdict: plan.AwaitsNodes})
	}
}

// toOpen is the free room in sum of the nodes that have not opened or are being
// filled, that were ordered in the wave of the class's oldest pod, and that would
// take a pod of it as they are now.
func (o *opener) toOpen(c *demand.Class) quantity.Resources {
	var sum quantity.Resources
	fits := false
	l := &c.Levels[c.Level]
	last := c.Pods[0].Created.Add(sameWave)
	add := func(h *room.Host) bool {
		if h.Claim.Created.After(last) || !h.Accepts(l) {
			return false
		}
		fits = fits || demand.WithoutAttach(l.Shape.Requests).Fits(h.Most)
		sum = sum.Add(h.Free.Max(quantity.Resources{}))
		return true
	}
	for _, h := range o.room.Coming {
		if h.Stage != room.StageNode {
			add(h)
		}
	}
	for _, h := range o.beingFilled() {
		if add(h) {
			o.WaitUntil(o.filled(h), plan.Filling)
		}
	}
	if !fits {
		return quantity.Resources{}
	}
	return sum
}

// beingFilled lists the nodes that have opened and that the scheduler is filling.
func (o *opener) beingFilled() (out []*room.Host) {
	for _, x := range o.memory.OpenSince {
		if state, ok := o.Snapshot.State(x.ID); ok {
			if h := o.room.Node(state); h != nil && h.Stage == room.StageNode && o.Now.Before(o.filled(h)) {
				out = append(out, h)
			}
		}
	}
	return out
}

// filled is when the scheduler has filled a node that has opened, if it does not
// place another pod until then.
func (o *opener) filled(h *room.Host) time.Time {
	at, _ := memory.FirstSeen(o.memory.OpenSince, h.Node.Name)
	return pick.Earliest(pick.Latest(at.Add(filling), o.memory.Growth.Fell.Add(fillingGap)), at.Add(fillingAtMost))
}
