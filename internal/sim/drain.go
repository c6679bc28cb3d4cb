package sim

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

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
	if a.Checked && c.node != nil && slices.ContainsFunc(c.node.pods, func(p *pod) bool { return p.Node != "" && p.Moves() && !slices.Contains(a.Pods, p.UID) }) {
		r.report.Refused++
		return
	}
	r.report.Deletes++
	c.Deleting, c.deleted, c.voluntary = true, r.clock.now, voluntary(a.Why)
	r.view.claim(c)
	if c.node != nil {
		r.scheduler.updateNode(c.node, func(n *cluster.Node) { n.Disrupted, n.Deleting = true, true })
		r.view.node(c.node)
	}
	r.drain(c)
	if c.Grace > 0 {
		r.clock.after(c.Grace, func() { r.drain(c) })
	}
}

// drain evicts the pods of a NodeClaim that is deleted, and ends its instance when they
// are gone. It leaves pods alone that must not be disrupted, until the grace period of
// the NodeClaim is over.
func (r *run) drain(c *claim) {
	if c.gone {
		return
	}
	if c.node != nil {
		forced := c.Grace > 0 && r.clock.now >= c.deleted+c.Grace
		for _, p := range slices.Clone(c.node.pods) {
			switch {
			case p.Pinned:
			case forced:
				r.lose(p)
			case p.Moves() && p.Node != "" && !p.Protected(date(r.clock.now)) && !r.allowed(p):
				r.clock.after(r.cfg.Retry, func() { r.drain(c) })
				return
			case p.Moves() && p.Node != "" && !p.Protected(date(r.clock.now)):
				r.evict(p, c.voluntary)
			}
		}
	}
	r.drained(c)
}

// drained ends the instance of a NodeClaim that is deleted once no pods are left.
func (r *run) drained(c *claim) {
	if c.ending || c.node != nil && slices.ContainsFunc(c.node.pods, func(p *pod) bool { return !p.Pinned }) {
		return
	}
	c.ending, c.Ending = true, true
	r.view.claim(c)
	r.clock.after(r.cfg.Terminate, func() { r.end(c) })
}

// evict deletes a pod for the drain of its node.
func (r *run) evict(p *pod, voluntary bool) {
	r.report.Evictions++
	r.checker.evicted(p, voluntary)
	if voluntary {
		r.evicted = date(r.clock.now)
	}
	r.terminate(p)
	w, at := p.workload, r.clock.now
	r.settled = r.cfg.Limit
	r.clock.after(r.cfg.React, func() {
		w.evicted = append(w.evicted, at)
		r.controllers.lacks(w, 1)
	})
}

// terminate begins to delete a pod of a workload. A pod that runs has its grace.
func (r *run) terminate(p *pod) {
	p.Deleting, r.touched = true, r.clock.now
	r.leave(p)
	r.podEvent(p)
	if p.Node == "" || r.cfg.Grace == 0 {
		r.lose(p)
		return
	}
	r.view.pod(p)
	r.daemon.changed()
	r.clock.after(r.cfg.Grace, func() { r.lose(p) })
}

// leave says that the pod is none of its workload's any more.
func (r *run) leave(p *pod) {
	p.workload.pods = slices.DeleteFunc(p.workload.pods, func(x *pod) bool { return x == p })
	if p.Ready {
		r.health(p.workload, -1)
	}
}

// lose removes a pod. If nobody asked for that, its controller makes another.
func (r *run) lose(p *pod) {
	if p.dead {
		return
	}
	if p.dead = true; p.Node == "" {
		r.waiting--
	}
	n := p.node
	r.scheduler.removePod(p)
	r.view.podGone(p)
	r.daemon.changed()
	if p.Pinned {
		return
	}
	delete(r.pods, p.ID())
	if !p.Deleting {
		r.settled = r.cfg.Limit
		r.leave(p)
		r.controllers.lacks(p.workload, 1)
	}
	if n != nil && n.claim.Deleting && !n.claim.gone {
		r.drained(n.claim)
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
