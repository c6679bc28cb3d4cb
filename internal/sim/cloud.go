package sim

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/sim/machine"
)

// claim is a NodeClaim with its instance and its node.
type claim struct {
	cluster.Claim
	price quantity.Money // zero until an instance runs
	node  *node
	gone  bool

	deleted   time.Duration // when its deletion began
	voluntary bool          // the deletion
	gentle    bool          // its drain evicts replicas a few at a time
	ending    bool          // its instance is being terminated
	stops     map[*pod]refused
	looks     bool // its drain continues at next
	next      time.Duration
}

// order makes a NodeClaim of a launch.
func (r *run) order(l plan.Launch) {
	x, err := machine.Claim(l, date(r.clock.now))
	if err != nil {
		panic("sim: " + err.Error()) //nolint:forbidigo // the core made an impossible launch
	}
	x.Grace = r.cfg.TerminationGracePeriod
	c := &claim{Claim: x}
	if r.cfg.ExpireAfter > 0 {
		c.ExpiresAt = c.Created.Add(r.cfg.ExpireAfter)
	}
	r.claims = append(r.claims, c)
	r.view.claim(c)
	r.call(c)
}

func (r *run) candidates(c *claim) []machine.Offer {
	out := machine.Offers(r.cfg.Classes, &c.Claim)
	r.chance.shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	machine.ByPrice(out)
	return out
}

// launch answers the launch call: the cheapest offering that can be had.
func (r *run) launch(c *claim) {
	if c.gone || c.Deleting {
		return
	}
	r.checker.launched(c)
	tried := engine.Tried{Pool: c.Pool}
	for _, x := range r.candidates(c) {
		if lack, out := r.outage(x); out {
			tried.Lacks = append(tried.Lacks, lack)
			continue
		}
		tried.Launched = x.Key()
		x.Launch(&c.Claim, date(r.clock.now))
		c.price = x.Of.Price
		r.view.claim(c)
		wait := r.cfg.Boot + time.Duration(r.chance.below(int64(r.cfg.Jitter)+1))
		if r.cfg.Stillborn == 0 || r.chance.below(1000) >= r.cfg.Stillborn {
			r.clock.after(wait, func() { r.register(c) })
		}
		break
	}
	r.daemon.tried(tried)
	if r.cfg.Called != nil {
		r.cfg.Called(r.clock.now, c.Launched)
	}
	if !c.Launched {
		r.report.Failed++
		r.end(c)
	}
	r.daemon.changed()
}

// register lets the node join. The node has its taints and its DaemonSet pods,
// and is not ready.
func (r *run) register(c *claim) {
	if c.gone || c.Deleting {
		return
	}
	notReady := cluster.Taint{Key: "node.kubernetes.io/not-ready", Effect: cluster.NoSchedule}
	n := newNode(machine.Join(&c.Claim, date(r.clock.now), r.cfg.Policy.StartupTaint, notReady))
	n.Allocatable = r.cfg.reported(c.InstanceType, c.Allocatable)
	c.node, n.claim = n, c
	r.learn(n)
	r.addDaemons(n, c.Taints)
	r.scheduler.addNode(n)
	r.view.claim(c)
	r.view.node(n)
	r.daemon.changed()
	r.clock.after(r.cfg.Starting, func() {
		if c.gone {
			return
		}
		n.Ready = true
		// The run removes the other startup taints here, in place of the programs that
		// own them.
		r.untaint(n, append(slices.Clone(c.StartupTaints), notReady)...)
	})
}

// addDaemons puts the pods of the DaemonSets on a node.
func (r *run) addDaemons(n *node, taints []cluster.Taint) {
	for i := range r.cfg.DaemonSets {
		x, runs := machine.Daemon(&r.cfg.DaemonSets[i], &n.Node, taints, date(r.clock.now))
		if !runs {
			continue
		}
		p := &pod{kind: r.daemonKinds[i], created: r.clock.now, seen: -1, decided: r.clock.now, ran: r.clock.now, Pod: x}
		n.add(p)
		r.view.pod(p)
	}
}

func (r *run) untaint(n *node, taints ...cluster.Taint) {
	r.scheduler.updateNode(n, func(x *cluster.Node) {
		x.Taints = slices.DeleteFunc(slices.Clone(x.Taints), func(t cluster.Taint) bool { return slices.Contains(taints, t) })
	})
	r.view.node(n)
	r.daemon.changed()
}

// release takes the daemon's taints off and so initializes the node.
func (r *run) release(a plan.Release) {
	n := r.scheduler.byName[a.Node]
	if n == nil {
		return
	}
	n.Taints = slices.Concat(n.Taints, a.Puts)
	r.untaint(n, append(slices.Clone(a.Lifts), a.Taint)...)
	if c := n.claim; !c.Initialized && a.Taint != (cluster.Taint{}) {
		c.Initialized, c.InitializedAt = true, date(r.clock.now)
		r.view.claim(c)
	}
}

// end removes the instance and everything on it.
func (r *run) end(c *claim) {
	if c.gone {
		return
	}
	c.gone = true
	r.claims = slices.DeleteFunc(r.claims, func(x *claim) bool { return x == c })
	r.view.claimGone(c)
	if n := c.node; n != nil {
		r.scheduler.removeNode(n)
		r.view.nodeGone(n)
		for _, p := range slices.Clone(n.pods) {
			r.lose(p)
		}
	}
	r.daemon.changed()
}

// die ends the oldest node that runs pods, without notice.
func (r *run) die() {
	for _, c := range r.claims {
		if c.node != nil && slices.ContainsFunc(c.node.pods, func(p *pod) bool { return !p.Pinned }) {
			r.report.Died++
			r.end(c)
			return
		}
	}
}
