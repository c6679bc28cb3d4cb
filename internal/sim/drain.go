package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// again is the time in which no replica is to be evicted twice.
const again = 10 * time.Minute

// claimOf finds a NodeClaim by name; nil if there is none.
func (r *run) claimOf(name string) *claim {
	if i := slices.IndexFunc(r.claims, func(c *claim) bool { return c.Name == name }); i >= 0 {
		return r.claims[i]
	}
	return nil
}

// disrupt says what disrupts the NodeClaim, and taints its node; nil takes both back.
func (r *run) disrupt(name string, why *cluster.Disrupting) {
	c := r.claimOf(name)
	if c == nil || c.Deleting {
		return
	}
	c.Disrupting = why
	if why == nil {
		c.Move = nil
	}
	r.view.claim(c)
	if n := c.node; n != nil {
		r.scheduler.updateNode(n, func(x *cluster.Node) { x.Disrupted = why != nil })
		r.view.node(n)
	}
}

// delete deletes a NodeClaim, unless the plan asked for a last look and did not know a
// pod that is on the node.
func (r *run) delete(a plan.Delete) {
	c := r.claimOf(a.Claim)
	if c == nil || c.Deleting {
		return
	}
	if a.Checked && c.node != nil && slices.ContainsFunc(c.node.pods, func(p *pod) bool { return p.Moves() && !slices.Contains(a.Pods, p.UID) }) {
		r.report.Refused++
		return
	}
	r.report.Deletes++
	c.Deleting = true
	r.view.claim(c)
	if c.node != nil {
		r.scheduler.updateNode(c.node, func(n *cluster.Node) { n.Disrupted, n.Deleting = true, true })
		r.view.node(c.node)
	}
	r.drain(c)
}

// drain evicts the pods of a NodeClaim that is deleted, and ends its instance when they
// are gone.
func (r *run) drain(c *claim) {
	if c.gone {
		return
	}
	left := false
	if c.node != nil {
		for _, p := range slices.Clone(c.node.pods) {
			left = left || !p.Pinned
			if p.Moves() {
				r.evict(p)
			}
		}
	}
	if !left {
		r.clock.after(r.cfg.Terminate, func() { r.end(c) })
		return
	}
	r.clock.after(cmp.Or(r.cfg.Grace, r.cfg.Retry), func() { r.drain(c) })
}

// evict deletes a pod for the drain of its node.
func (r *run) evict(p *pod) {
	if p.Protected(date(r.clock.now)) {
		return
	}
	r.report.Evictions++
	if p.evicted >= 0 && r.clock.now-p.evicted < again {
		r.report.Repeated++
	}
	p.workload.evicted = append(p.workload.evicted, r.clock.now)
	r.terminate(p)
	r.replace(p.workload)
}

// replace lets the controller make another pod in place of one that goes.
func (r *run) replace(w *workload) {
	r.settled = r.cfg.Limit
	r.clock.after(r.cfg.React, func() { r.controllers.lacks(w, 1) })
}

// terminate begins to delete a pod of a workload. A pod that runs has its grace.
func (r *run) terminate(p *pod) {
	w := p.workload
	w.pods = slices.DeleteFunc(w.pods, func(x *pod) bool { return x == p })
	p.Deleting, r.touched = true, r.clock.now
	r.podEvent(p)
	if p.node == nil || r.cfg.Grace == 0 {
		r.lose(p)
		return
	}
	r.view.pod(p)
	r.daemon.changed()
	r.clock.after(r.cfg.Grace, func() { r.lose(p) })
}

// lose removes a pod. If nobody asked for that, its controller makes another.
func (r *run) lose(p *pod) {
	if p.dead {
		return
	}
	if p.dead = true; p.node == nil {
		r.waiting--
	}
	r.scheduler.removePod(p)
	r.view.podGone(p)
	r.daemon.changed()
	if p.Pinned {
		return
	}
	delete(r.pods, p.ID())
	if !p.Deleting {
		r.settled = r.cfg.Limit
		p.workload.pods = slices.DeleteFunc(p.workload.pods, func(x *pod) bool { return x == p })
		r.controllers.lacks(p.workload, 1)
	}
}

// podEvent notes on the NodeClaim that a pod came to its node or goes.
func (r *run) podEvent(p *pod) {
	if p.node == nil || p.Pinned || p.Owner.Kind == "Job" {
		return
	}
	if c := p.node.claim; !c.gone {
		c.LastPodEvent = date(r.clock.now)
		r.view.claim(c)
	}
}

// scale sets the replicas of a workload.
func (r *run) scale(s Scale) {
	for _, w := range r.controllers.all {
		if w.Name == s.Workload {
			more := s.Replicas - w.Replicas
			w.Replicas = s.Replicas
			r.settled = r.cfg.Limit
			r.controllers.lacks(w, more)
		}
	}
}

// scaleIn deletes one pod of a workload.
func (r *run) scaleIn(w *workload) {
	if len(w.pods) == 0 {
		return
	}
	first := func(a, b *pod) int {
		waits := func(p *pod) int { return map[bool]int{true: 0, false: 1}[p.node == nil] }
		return cmp.Or(cmp.Compare(waits(a), waits(b)), cmp.Compare(a.DeletionCost, b.DeletionCost))
	}
	least := slices.MinFunc(w.pods, first)
	var any []*pod
	for _, p := range w.pods {
		if first(p, least) == 0 {
			any = append(any, p)
		}
	}
	r.report.LastScaled = r.clock.now
	r.terminate(any[r.chance.below(int64(len(any)))])
}
