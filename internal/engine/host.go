package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/spread"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Stages of a host, nearest to running pods first.
const (
	stageNode    = iota // a node that takes pods now
	stageKept           // a node that is up and kept for its pods
	stageComing         // a launched NodeClaim, or its node while it starts
	stageOrdered        // a NodeClaim that is not launched yet
)

// host is room that exists or is on its way.
type host struct {
	stage  int
	node   cluster.Node       // zero while there is none
	state  *cluster.NodeState // nil while there is no node
	claim  cluster.Claim      // zero for nodes that are not ours
	labels []label.Lookup     // a pod must accept all of them: one, or one for each type it may become
	taints []cluster.Taint
	free   quantity.Resources
	most   quantity.Resources // free before this plan; where the type is open, at the most
	ports  []cluster.HostPort // taken
	either *spread.Either     // of the labels, where they are several
	real   quantity.Resources // taken by pods of this plan that exist

	pods      []podRef // assigned: pending pods, in order of assignment
	displaced int64
	declared  int64
}

func (h *host) name() string {
	if h.node.Name != "" {
		return h.node.Name
	}
	return h.claim.Name
}

func (h *host) demand() int64 { return int64(len(h.pods)) + h.displaced + h.declared }

// place is the host as topology rules see it.
func (h *host) place() spread.Place {
	if len(h.labels) > 1 && h.either == nil {
		h.either = spread.NewEither(slices.Values(h.labels))
	}
	return spread.Place{Name: h.name(), Taints: h.taints, Labels: h.labels[0], Either: h.either}
}

// accepts says whether the class at this level may run there, its size and
// other pods aside.
func (h *host) accepts(l *level) bool {
	if len(l.shape.Unsupported) > 0 || len(h.labels) == 0 || l.avoid && cluster.Avoided(h.taints, l.shape.Tolerations) {
		return false
	}
	return !slices.ContainsFunc(h.labels, func(x label.Lookup) bool { return !fit.Node(l.shape, x, h.taints) })
}

// could says whether the level's pods could run there whatever it becomes.
func (h *host) could(l *level) bool {
	return slices.ContainsFunc(h.labels, func(x label.Lookup) bool { return fit.Node(l.shape, x, h.taints) })
}

// planned says whether the host is no node yet.
func (h *host) planned() bool { return h.node.Name == "" }

// roomFor returns how many of up to n more pods of the class the host can take.
func (h *host) roomFor(c *demandClass, level int, n int64) int64 {
	l := &c.levels[level]
	n = l.shape.Requests.CountIn(h.free, n)
	if n <= 0 || !h.accepts(l) {
		return 0
	}
	if len(l.shape.Ports) > 0 {
		if fit.PortsConflict(h.ports, l.shape.Ports) {
			return 0
		}
		n = min(n, 1)
	}
	if c.table != nil {
		n = min(n, c.table.Room(c.rules[level], h.place()))
	}
	return max(0, n)
}

// put counts n pods of the class on the host.
func (h *host) put(j *journal, c *demandClass, level int, n int64) {
	l := &c.levels[level]
	h.free = h.free.Sub(l.shape.Requests.Times(n))
	h.ports = append(h.ports, l.shape.Ports...)
	c.tell(h.place(), n)
	j.trace.Placed += n
}

// take moves up to n of the class onto the host, pods that exist first, and
// returns how many it took.
func (h *host) take(j *journal, c *demandClass, level int, n int64) int64 {
	n = h.roomFor(c, level, n)
	if n <= 0 {
		return 0
	}
	h.put(j, c, level, n)
	g := c.draw(n)
	h.pods = append(h.pods, g.pods...)
	h.displaced += int64(len(g.displaced))
	h.declared += g.declared
	h.real = h.real.Add(c.levels[level].shape.Requests.Times(int64(len(g.pods) + len(g.displaced))))
	h.report(j, c, g.ids(j))
	return n
}

// report says that the pods have a place on the host, and what they gave up in
// this plan. What was given up for a promise was said when it was made.
func (h *host) report(j *journal, c *demandClass, pods []string) {
	if len(pods) == 0 {
		return
	}
	verdict := plan.OnNode
	if h.stage != stageNode {
		verdict = plan.OnClaim
	}
	j.outcomes = append(j.outcomes, plan.Outcome{
		Group: c.group.Key, Pods: pods, Verdict: verdict, On: h.name(), Dropped: c.levels[c.level].dropped,
	})
}

// sooner orders hosts by how soon they will run pods.
func sooner(a, b *host) int {
	return cmp.Or(cmp.Compare(a.stage, b.stage), a.claim.Created.Compare(b.claim.Created), strings.Compare(a.name(), b.name()))
}

// wellFilled is the part of a kept node, in thousandths, that pods which exist
// must fill before the node opens for them at once.
const wellFilled = 970

// filled says whether the content fills the node, or is as much as the node was
// launched for.
func (h *host) filled(content quantity.Resources) bool {
	planned := h.claim.Requests.Sub(h.claim.Allocatable.Sub(h.most))
	return price.Bulk(content) >= min(price.Bulk(h.most), price.Bulk(planned))/1000*wellFilled
}
