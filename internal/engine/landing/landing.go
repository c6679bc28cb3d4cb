package landing

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Way is a way for evicted pods to come to their places. Its policy is that of a Step.
type Way interface {
	// Close returns what closes nodes before the pods of the leaving nodes, which are given by
	// name, are evicted. These pods are promised their places there.
	Close(leaving map[string]bool) []plan.Action
	// Done says whether nothing is closed any longer, and which nodes are to open for that.
	Done(Takes) (opens []Opening, done bool)
	// Place returns what brings evicted pods that are back to their places, and when it is to
	// be asked again. It is asked after Done, as long as that says no.
	Place() (actions []plan.Action, again time.Time)
}

// Takes says whether the rules about other pods let the pod run on the host now.
type Takes func(*room.Host, demand.PodRef) bool

// Opening is a closed node that opens, and the pods that have their places there.
type Opening struct {
	Claim *cluster.Claim
	Pods  []demand.PodRef
}

// openAfter is how long no evicted pod must have been deleted, come back or landed for the
// nodes to open that are closed for them.
const openAfter = 3 * time.Second

// ground is what a way looks at. Both ways open nodes alike: nodes may be closed when the way
// becomes another.
type ground struct {
	view   view.View
	memory *memory.Memory
	room   *room.Room
	was    memory.Landing // what the last Step left
	now    memory.Landing // what this one leaves, if nodes stay closed
	until  time.Time      // when the closed nodes open at the latest, as things are
}

// hosts returns the closed nodes on which pods may be planned.
func (g *ground) hosts() []*room.Host {
	return pick.Those(g.room.Coming, func(h *room.Host) bool { return h.Stage == room.StageKept && g.view.Closed(&h.Node, h.Claim) })
}

// done says whether the closed nodes open, where so many pods are back that may be bound: all
// pods have landed, or none has come for a while, or a pod of a kind that was not evicted has
// its place on one of them. The scheduler has to place some pods itself. Those are nominated
// when their node opens.
func (g *ground) done(back int) (opens []Opening, done bool) {
	closed := pick.Those(g.view.Claims, func(c *cluster.Claim) bool {
		n, up := g.view.Snapshot.Node(c.Node)
		return up && g.view.Closed(&n, c)
	})
	if len(closed) == 0 {
		g.memory.Landing = g.memory.Landing.Ended()
		return nil, true
	}
	planned, others := g.count(back)
	if wait := g.now.Absent > 0 || g.now.Running > 0 || back > 0; wait && !others && g.view.Now.Before(g.until) {
		return nil, false
	}
	g.memory.Landing = g.now.Ended()
	for _, c := range closed {
		opens = append(opens, Opening{c, planned[c.Name]})
	}
	return opens, true
}

// count counts what becomes of the evicted pods. It returns the pods that have places on
// closed nodes, by NodeClaim, and whether the scheduler needs one of these nodes open.
func (g *ground) count(back int) (planned map[string][]demand.PodRef, others bool) {
	g.was = g.memory.Landing.CarriedOut(g.view.Now)
	g.now = g.was.Uncounted()
	planned = map[string][]demand.PodRef{}
	for _, h := range g.hosts() {
		planned[h.Claim.Name] = h.Pods
		g.now.Running += int64(len(h.Displaced))
		g.now.Absent += absent(g.memory, h)
		g.now.More = g.now.More || len(h.Pods) > 0
		for _, p := range h.Pods {
			group, known := g.view.Snapshot.GroupOf(p.ID)
			others = others || known && !g.lands(group, p)
		}
	}
	g.now.Back = back
	if g.now.Absent != g.was.Absent || g.now.Back != g.was.Back || g.now.Running != g.was.Running && g.was.Running > 0 {
		g.now.Moved = g.view.Now
	}
	g.until = pick.Earliest(g.now.Moved.Add(openAfter), g.now.Begun.Add(memory.ClosedFor))
	return planned, others
}

// lands says whether nodes may be closed for the pod, which is one of the group: pods like it
// were evicted lately, and no other scheduler than the default one places it, which would
// need the node open.
func (g *ground) lands(group *cluster.Group, p demand.PodRef) bool {
	return !g.memory.LastEvicted(group.Kind).IsZero() && !p.OtherScheduler
}

// absent returns how many evicted pods that are planned on the closed host are deleted and
// not back.
func absent(m *memory.Memory, h *room.Host) int64 {
	slots, _ := m.PlannedOn(h.Claim)
	planned := -int64(len(h.Pods) + len(h.Displaced))
	for _, s := range slots {
		planned += s.Count - h.State.CountOf(s.Kind)
	}
	return max(planned, 0)
}
