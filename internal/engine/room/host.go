package room

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/topology"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// The stages of a host, in the order in which hosts will run pods.
const (
	StageNode    = iota // a node that takes pods now
	StageKept           // a node that is up and kept for its pods
	stageComing         // a launched NodeClaim, or its node while it starts
	stageOrdered        // a NodeClaim that is not launched yet
	stageGivenUp        // one that did not come up in time, with its node or without
)

// Host is room that exists or is on its way.
type Host struct {
	Stage  int
	Node   cluster.Node       // zero while there is none
	State  *cluster.NodeState // nil while there is no node
	Claim  *cluster.Claim     // zero for nodes that are not ours
	Labels []label.Lookup     // a pod must accept all: one entry, or one for each type that the host may become
	taints []cluster.Taint
	Free   quantity.Resources
	Most   quantity.Resources // free before this plan; the largest value if the type is not decided
	ports  []cluster.HostPort // taken
	open   *open              // nil where it is decided what the host is
	Real   quantity.Resources // taken by real pods of this plan

	Pods      []demand.PodRef // pending pods of this plan, in order of assignment
	Displaced []demand.PodRef // pods of leaving nodes
	Declared  int64
	slots     []cluster.Slot // all that this plan puts on a host that takes no pods yet
}

// Name returns the name of the node or, if there is none yet, of its NodeClaim.
func (h *Host) Name() string {
	if h.Node.Name != "" {
		return h.Node.Name
	}
	return h.Claim.Name
}

// Demand returns the number of pods that this plan puts on the host.
func (h *Host) Demand() int64 { return int64(len(h.Pods)+len(h.Displaced)) + h.Declared }

// Place returns the host as topology rules see it.
func (h *Host) Place() topology.Place {
	p := topology.Place{Name: h.Name(), Taints: h.taints, Labels: h.Labels[0]}
	if len(h.Labels) > 1 {
		p.Possible = h.open.possible
	}
	return p
}

// Accepts says whether pods of the level may run on the host, whatever it becomes.
// It looks at labels, taints and volumes, and not at size, ports or other pods.
func (h *Host) Accepts(l *demand.Level) bool {
	if len(l.Shape.Unsupported) > 0 || len(h.Labels) == 0 || l.Avoid && cluster.Avoided(h.taints, l.Shape.Tolerations) {
		return false
	}
	if h.open != nil {
		return h.open.accepts(l, h.taints)
	}
	return fit.Node(l.Shape, h.Labels[0], h.taints)
}

// Could says whether pods of the level could run on the host for at least one type
// that it may become.
func (h *Host) Could(l *demand.Level) bool {
	return slices.ContainsFunc(h.Labels, func(x label.Lookup) bool { return fit.Node(l.Shape, x, h.taints) })
}

// Planned says whether the host has no node yet.
func (h *Host) Planned() bool { return h.Node.Name == "" }

// RoomFor returns how many more pods of the class, up to n, the host can take.
func (h *Host) RoomFor(c *demand.Class, level int, n int64) int64 {
	n = h.holds(c, level, n)
	if n > 0 && c.Table != nil {
		n = min(n, c.Table.Room(c.Rules[level], h.Place()))
	}
	return max(0, n)
}

// Holds says whether the host has room for one more pod of the class, whatever the
// rules about other pods say.
func (h *Host) Holds(c *demand.Class, level int) bool { return h.holds(c, level, 1) > 0 }

func (h *Host) holds(c *demand.Class, level int, n int64) int64 {
	l := &c.Levels[level]
	n = l.Shape.Requests.CountIn(h.Free, n)
	if n <= 0 || !h.Accepts(l) {
		return 0
	}
	if len(l.Shape.Ports) > 0 {
		if fit.PortsConflict(h.ports, l.Shape.Ports) {
			return 0
		}
		n = min(n, 1)
	}
	return n
}

// Put counts n pods of the class on the host, without drawing them from the class.
func (h *Host) Put(j *journal.Journal, c *demand.Class, level int, n int64) {
	l := &c.Levels[level]
	h.Free = h.Free.Sub(l.Shape.Requests.Times(n))
	h.ports = append(h.ports, l.Shape.Ports...)
	c.Tell(h.Place(), n)
	if h.Stage != StageNode {
		h.slots = append(h.slots, cluster.Slot{Kind: c.Group.Kind, Count: n})
	}
	j.Trace.Placed += n
}

// Take moves up to n pods of the class onto the host, real pods first. It returns
// how many it moved.
func (h *Host) Take(j *journal.Journal, c *demand.Class, level int, n int64) int64 {
	n = h.RoomFor(c, level, n)
	if n <= 0 {
		return 0
	}
	h.Put(j, c, level, n)
	g := c.Draw(n)
	h.Pods = append(h.Pods, g.Pods...)
	h.Displaced = append(h.Displaced, g.Displaced...)
	h.Declared += g.Declared
	h.Real = h.Real.Add(c.Levels[level].Shape.Requests.Times(int64(len(g.Pods) + len(g.Displaced))))
	h.Report(j, c, g.IDs(j))
	return n
}

// Slots returns what this plan puts on the host, merged by kind; nothing if the host
// takes pods now.
func (h *Host) Slots() []cluster.Slot {
	return Merged(slices.Clone(h.slots))
}

// Report records that the pods have a place on the host, and which preferences they
// gave up in this plan. Preferences given up for an earlier promise were recorded
// with that promise.
func (h *Host) Report(j *journal.Journal, c *demand.Class, pods []string) {
	if len(pods) == 0 {
		return
	}
	verdict := plan.OnNode
	if h.Stage != StageNode {
		verdict = plan.OnClaim
	}
	j.Outcomes = append(j.Outcomes, plan.Outcome{
		Group: c.Group.Key, Pods: pods, Verdict: verdict, On: h.Name(), Dropped: c.Levels[c.Level].Dropped,
	})
}

// Sooner orders hosts by how soon they will run pods.
func Sooner(a, b *Host) int {
	return cmp.Or(cmp.Compare(a.Stage, b.Stage), a.Claim.Created.Compare(b.Claim.Created), strings.Compare(a.Name(), b.Name()))
}

// wellFilled is the part of a kept node, in thousandths, that real pods must fill
// before the node opens for them at once.
const wellFilled = 970

// Filled says whether the content fills the node: almost all of it, or almost as
// much as the node was launched for.
func (h *Host) Filled(content quantity.Resources) bool {
	planned := h.Claim.Requests.Sub(h.Claim.Allocatable.Sub(h.Most))
	return price.Bulk(content) >= min(price.Bulk(h.Most), price.Bulk(planned))/1000*wellFilled
}
