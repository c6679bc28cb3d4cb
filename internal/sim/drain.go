package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
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
	c.Deleting, c.deleted, c.gentle = true, r.clock.now, c.gently(a.Why, date(r.clock.now))
	c.voluntary = c.gentle && a.Why.Traits().Pace == plan.Careful
	r.view.claim(c)
	if c.node != nil {
		r.scheduler.updateNode(c.node, func(n *cluster.Node) { n.Disrupted, n.Deleting = true, true })
		r.view.node(c.node)
	}
	r.drain(c)
}

// The drain does what the daemon's does (daemon/internal/claim: drain.go, pace.go, block.go
// and volumes.go): it has the same figures, and asks for the same things in the same order.
const (
	// drainPoll is how often a drain tries again what nothing announces.
	drainPoll = time.Second
	// backoffFirst and backoffMost bound how long a pod is left alone whose eviction was
	// refused.
	backoffFirst, backoffMost = 100 * time.Millisecond, 10 * time.Second
	// patience is how long an evicted pod counts while its controller lacks a ready one, in
	// drains that a user asked for.
	patience = 5 * time.Minute
	// critical is the least priority of the two classes of critical pods.
	critical = 2_000_000_000
)

// refused is why a pod of a drain is left alone for now.
type refused struct{ wait, next time.Duration }

// gently says whether a drain that begins now for the reason evicts the replicas of a
// controller a few at a time: nothing forces it.
func (c *claim) gently(why plan.DeleteReason, now time.Time) bool {
	traits := why.Traits()
	if traits.Expires && c.Grace > 0 && !c.ExpiresAt.IsZero() {
		return now.Before(c.ExpiresAt)
	}
	return traits.Pace != plan.AllAtOnce
}

// look has the drain of the NodeClaim continue at a time, unless it does so before.
func (r *run) look(c *claim, at time.Duration) {
	at = max(at, r.clock.now)
	if c.looks && c.next <= at {
		return
	}
	c.looks, c.next = true, at
	r.clock.at(at, func() {
		if c.looks && c.next == at {
			c.looks = false
			r.drain(c)
		}
	})
}

// drain evicts the pods of a NodeClaim that is deleted, one tier after the other, and ends
// its instance when they have left. After terminationGracePeriod it spares nobody.
func (r *run) drain(c *claim) {
	now := r.clock.now
	switch {
	case c.gone || c.ending:
		return
	case now < r.daemon.down:
		r.look(c, r.daemon.down)
		return
	}
	pods := c.evictable()
	if len(pods) == 0 {
		r.drained(c)
		return
	}
	first := slices.MinFunc(pods, func(a, b *pod) int { return a.tier() - b.tier() }).tier()
	stops := map[*pod]refused{}
	for _, p := range pods {
		if p.tier() != first && !(c.Grace > 0 && now >= c.deleted+c.Grace) {
			continue
		}
		if stop := r.tryEvict(c, p); stop.next > 0 {
			stops[p] = stop
			r.look(c, stop.next)
		}
	}
	c.stops = stops
	for _, at := range []time.Duration{c.deleted + c.Grace - r.cfg.Grace, c.deleted + c.Grace} {
		if c.Grace > 0 && at > now {
			r.look(c, at)
		}
	}
}

// evictable lists the pods that the drain has to evict and wait for. It knows nothing of a
// pod whose binding is on its way, and pods that tolerate the taint stay.
func (c *claim) evictable() []*pod {
	if c.node == nil {
		return nil
	}
	disrupted := []cluster.Taint{{Key: "karpenter.sh/disrupted", Effect: cluster.NoSchedule}}
	pods := slices.DeleteFunc(slices.Clone(c.node.pods), func(p *pod) bool {
		_, kept := cluster.Untolerated(disrupted, p.Shape.Tolerations)
		return p.Node == "" || !kept
	})
	slices.SortStableFunc(pods, func(a, b *pod) int { return cmp.Compare(c.share(b), c.share(a)) })
	return pods
}

// share is how much of the node a pod requests, of CPU or memory, in thousandths.
func (c *claim) share(p *pod) int64 {
	of := func(need, have int64) int64 { return quantity.MulDiv(need, 1000, max(1, have)) }
	return max(of(p.Shape.Requests.MilliCPU, c.node.Allocatable.MilliCPU), of(p.Shape.Requests.MemoryBytes, c.node.Allocatable.MemoryBytes))
}

// tier is the pod's place in the order of a drain: pods of DaemonSets after others, and
// critical ones after both.
func (p *pod) tier() int {
	n := 0
	if p.Pinned {
		n = 1
	}
	if p.Shape.Priority >= critical {
		n += 2
	}
	return n
}

// tryEvict evicts the pod, or deletes it in time for the end of terminationGracePeriod. It
// returns when to try again where the pod has to stay for now.
func (r *run) tryEvict(c *claim, p *pod) refused {
	now, last := r.clock.now, c.stops[p]
	switch ends := c.deleted + c.Grace; {
	case c.Grace > 0 && now >= ends-r.cfg.Grace:
		r.force(p, max(time.Second, ends-now))
		return refused{}
	case p.Deleting:
		return refused{}
	case p.Protected(date(now)):
		return refused{next: now + drainPoll}
	case now < last.next:
		return last
	case c.gentle && !r.paced(p, c.voluntary):
		return refused{next: now + drainPoll}
	case !r.allowed(p):
		wait := min(max(2*last.wait, backoffFirst), backoffMost)
		return refused{wait, now + wait}
	}
	r.evict(p, c.voluntary)
	return refused{}
}

// paced says whether one more replica of the pod's controller may be evicted: at most a
// quarter of them, and one at least, while those that come in their place are not ready. It
// notes that it does. PodDisruptionBudgets say so themselves, and pods that are not ready, of
// Jobs and of DaemonSets serve nobody or have no successor. A careful drain, to which nothing
// forces the daemon, evicts none while a quarter is not ready, for whatever reason and
// however long.
func (r *run) paced(p *pod, careful bool) bool {
	w := p.workload
	if p.Pinned || w.job || !p.Ready || len(w.budgets) > 0 {
		return true
	}
	w.paced = slices.DeleteFunc(w.paced, func(at time.Duration) bool { return r.clock.now-at >= patience })
	short := w.Replicas - w.ready
	if !careful {
		short = min(max(0, short), int64(len(w.paced)))
	}
	if short >= plan.AtOnce(w.Replicas) {
		return false
	}
	w.paced = append(w.paced, r.clock.now)
	return true
}

// drained ends the instance of a NodeClaim that is deleted once the volumes of its pods are
// detached, or terminationGracePeriod is over.
func (r *run) drained(c *claim) {
	at := r.clock.now
	if c.node != nil && c.node.emptied > 0 {
		at = c.node.emptied + r.cfg.Detach
	}
	if c.Grace > 0 {
		at = min(at, c.deleted+c.Grace)
	}
	if r.clock.now < at {
		r.look(c, at)
		return
	}
	c.ending, c.Ending = true, true
	r.view.claim(c)
	r.clock.after(r.cfg.Terminate, func() { r.end(c) })
}

// evict deletes a pod for the drain of its node.
func (r *run) evict(p *pod, voluntary bool) {
	if p.Pinned {
		r.dismiss(p, r.cfg.Grace)
		return
	}
	r.checker.evicted(p, voluntary)
	r.displace(p)
}

// force deletes a pod whatever it asks for, and leaves it so much time at most.
func (r *run) force(p *pod, grace time.Duration) {
	grace = min(grace, r.cfg.Grace)
	switch {
	case p.Pinned:
		r.dismiss(p, grace)
	case p.Deleting: // for longer, perhaps
		r.clock.after(grace, func() { r.lose(p) })
	default:
		r.displace(p)
		r.clock.after(grace, func() { r.lose(p) })
	}
}

// dismiss deletes a pod of a DaemonSet; no other comes in its place.
func (r *run) dismiss(p *pod, grace time.Duration) {
	p.Deleting = true
	r.view.pod(p)
	r.clock.after(grace, func() { r.lose(p) })
}

// moves says whether the status of the pool has it that pods move away from the node, as
// that of daemon/internal/pool does, whatever the pace of the drain.
func (c *claim) moves() bool {
	if c.Disrupting != nil {
		return !plan.DeleteReason(c.Disrupting.Reason).Traits().Empty
	}
	return c.Deleting && c.Registered
}

// displace deletes a pod that its controller makes anew.
func (r *run) displace(p *pod) {
	r.report.Evictions++
	if p.node != nil && p.node.claim != nil && p.node.claim.moves() {
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
	if n := p.node; n != nil {
		n.emptied = r.clock.now
		if n.claim.Deleting && !n.claim.gone {
			r.look(n.claim, r.clock.now)
		}
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
		r.leave(p)
		r.controllers.lacks(p.workload, 1)
	}
}

// podEvent notes on the NodeClaim that a pod came to its node or leaves it.
func (r *run) podEvent(p *pod) {
	if p.node == nil || p.Pinned || p.Owner.Kind == "Job" {
		return
	}
	if c := p.node.claim; !c.gone {
		c.LastPodEvent = date(r.clock.now)
		r.view.claim(c)
	}
}
