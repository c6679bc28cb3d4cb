package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// claim is a NodeClaim with its instance and its node.
type claim struct {
	cluster.Claim
	launch plan.Launch
	price  quantity.Money // zero until an instance runs
	node   *node
	gone   bool

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
	types := make([]string, len(l.Types))
	for i, c := range l.Types {
		types[i] = c.Type
	}
	requirements := l.Requirements
	for key, values := range map[string][]string{label.InstanceType: types, label.Zone: l.Zones, label.CapacityType: {l.CapacityType}} {
		in, err := label.NewRequirement(key, label.In, values...)
		if err != nil {
			panic("sim: launch " + l.Name + ": " + err.Error()) //nolint:forbidigo // the core made an impossible launch
		}
		requirements = requirements.And(label.All(in))
	}
	c := &claim{launch: l, Claim: cluster.Claim{
		Name: l.Name, UID: "uid-" + l.Name, Pool: l.Pool, Class: l.Class, Labels: l.Labels, Taints: l.Taints, StartupTaints: l.StartupTaints,
		Reservation: l.Reservation, Requirements: requirements, Requests: l.Content, Planned: l.Planned, Move: l.Move, Created: date(r.clock.now),
		Grace: r.cfg.TerminationGracePeriod,
	}}
	if r.cfg.ExpireAfter > 0 {
		c.ExpiresAt = c.Created.Add(r.cfg.ExpireAfter)
	}
	r.claims = append(r.claims, c)
	r.view.claim(c)
	r.call(c)
}

// candidate is an offering that a NodeClaim may become.
type candidate struct {
	typ catalog.InstanceType
	of  catalog.Offering
}

func (x candidate) key() catalog.OfferingKey {
	return catalog.OfferingKey{CapacityType: x.of.CapacityType, InstanceType: x.typ.Name, Zone: x.of.Zone, Reservation: x.of.Reservation}
}

func (r *run) candidates(c *claim) []candidate {
	var out []candidate
	for _, class := range r.cfg.Classes {
		if class.Name != c.Class {
			continue
		}
		for _, t := range class.Types {
			for _, o := range t.Offerings {
				if o.Available && o.CapacityType == c.launch.CapacityType && o.Reservation == c.launch.Reservation && slices.Contains(c.launch.Zones, o.Zone) &&
					slices.ContainsFunc(c.launch.Types, func(x plan.Choice) bool { return x.Type == t.Name }) {
					out = append(out, candidate{t, o})
				}
			}
		}
	}
	r.chance.shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	slices.SortStableFunc(out, func(a, b candidate) int { return cmp.Compare(a.of.Price, b.of.Price) })
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
		tried.Launched = x.key()
		c.Launched, c.InstanceID, c.InstanceType, c.Zone, c.CapacityType = true, "i-"+c.Name, x.typ.Name, x.of.Zone, x.of.CapacityType
		c.LaunchedAt, c.Capacity = date(r.clock.now), x.typ.Capacity
		c.Allocatable, c.price = x.typ.Allocatable, x.of.Price
		c.Labels = c.Labels.Merge(x.typ.Labels).Merge(x.of.Labels())
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
	n := newNode(cluster.Node{
		Name: "node-" + c.Name, UID: "uid-node-" + c.Name, Allocatable: r.cfg.reported(c.InstanceType, c.Allocatable), Claim: c.Name, Created: date(r.clock.now),
		Taints: slices.Concat(c.Taints, c.StartupTaints, []cluster.Taint{r.cfg.Policy.StartupTaint, notReady}),
	})
	n.Labels = c.Labels.With(label.Hostname, n.Name)
	c.node, c.Node, c.Registered, n.claim = n, n.Name, true, c
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
	for i, d := range r.cfg.DaemonSets {
		if !fit.Node(d.Shape, n.Labels, taints) {
			continue
		}
		name := d.Name + "-" + n.Name
		p := &pod{kind: r.daemonKinds[i], created: r.clock.now, seen: -1, decided: r.clock.now, ran: r.clock.now, Pod: cluster.Pod{
			UID: "uid-" + name, Namespace: d.Namespace, Name: name, Shape: d.Shape, Node: n.Name, Created: date(r.clock.now), Pinned: true,
			Owner: cluster.Owner{Kind: "DaemonSet", Name: d.Name, UID: d.UID},
		}}
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
