package forecast

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/sim/machine"
)

// world is the cluster as it becomes. Changes since the snapshot are in the maps, by id; nil is
// an object that is removed.
type world struct {
	question Question
	snapshot cluster.Snapshot
	now      time.Time
	prices   map[priced]quantity.Money
	answer   Answer

	nodes     map[string]*cluster.Node
	claims    map[string]*cluster.Claim
	pods      map[string]*cluster.Pod
	workloads []string // that have all their pods
	again     int      // pods that came in place of others or were declared, ever
}

// write brings the snapshot up to date.
func (w *world) write() error {
	var d cluster.Delta
	for _, id := range slices.Sorted(maps.Keys(w.nodes)) {
		put(w.nodes[id], id, &d.Put.Nodes, &d.Removed.Nodes)
	}
	for _, id := range slices.Sorted(maps.Keys(w.claims)) {
		put(w.claims[id], id, &d.Put.Claims, &d.Removed.Claims)
	}
	for _, id := range slices.Sorted(maps.Keys(w.pods)) {
		put(w.pods[id], id, &d.Put.Pods, &d.Removed.Pods)
	}
	d.Removed.Workloads = w.workloads
	next, err := w.snapshot.Apply(d)
	if err != nil {
		return fmt.Errorf("forecast: %w", err)
	}
	w.snapshot, w.workloads = next, nil
	w.nodes, w.claims, w.pods = map[string]*cluster.Node{}, map[string]*cluster.Claim{}, map[string]*cluster.Pod{}
	return nil
}

func put[T any](x *T, id string, all *[]T, gone *[]string) {
	if x == nil {
		*gone = append(*gone, id)
		return
	}
	*all = append(*all, *x)
}

// edit returns the object to change; nil if there is none.
func edit[T any](changed map[string]*T, id string, known func(string) (T, bool)) *T {
	if x, there := changed[id]; there {
		return x
	}
	x, there := known(id)
	if !there {
		return nil
	}
	changed[id] = &x
	return &x
}

func (w *world) node(name string) *cluster.Node   { return edit(w.nodes, name, w.snapshot.Node) }
func (w *world) claim(name string) *cluster.Claim { return edit(w.claims, name, w.snapshot.Claim) }
func (w *world) pod(id string) *cluster.Pod       { return edit(w.pods, id, w.snapshot.Pod) }

// begin finishes what is under way: pods that are being deleted are gone, controllers have made
// the pods that they declare, NodeClaims that are deleted are gone, and those on their way are up.
func (w *world) begin() {
	w.nodes, w.claims, w.pods = map[string]*cluster.Node{}, map[string]*cluster.Claim{}, map[string]*cluster.Pod{}
	for p := range w.snapshot.EachPod() {
		switch {
		case p.Deleting && p.Returns:
			w.comeBack(w.pod(p.ID()))
		case p.Deleting:
			w.pods[p.ID()] = nil
		}
	}
	for _, x := range w.snapshot.Workloads() {
		w.workloads = append(w.workloads, x.ID())
		for range x.Missing {
			p := w.declared(&x)
			w.pods[p.ID()] = &p
		}
	}
	for c := range w.snapshot.EachClaim() {
		switch {
		case c.Deleting:
			w.end(w.claim(c.Name), false)
		case !c.Initialized && len(w.question.Remade) > 0:
			w.end(w.claim(c.Name), true)
		case !c.Registered && c.Launched:
			w.join(w.claim(c.Name))
		case !c.Registered:
			w.boot(*c)
		case !c.Initialized:
			w.ready(c)
		}
	}
	w.answer.Lost = nil // that was before
}

// ready lets a node that has joined get ready, without the startup taints of other programs.
func (w *world) ready(c *cluster.Claim) {
	if n := w.node(c.Node); n != nil {
		n.Ready = true
		n.Taints = slices.DeleteFunc(slices.Clone(n.Taints), func(t cluster.Taint) bool {
			return slices.Contains(c.StartupTaints, t) || t.Key == "node.kubernetes.io/not-ready"
		})
	}
}

// leaveOutWaiting removes the pods that run nowhere.
func (w *world) leaveOutWaiting() {
	for p := range w.snapshot.EachPod() {
		if p.Node == "" {
			w.pods[p.ID()] = nil
		}
	}
}

// leaveOut removes the nodes that the question leaves out. Their pods come back, also those that
// nothing would create anew: they were to be placed.
func (w *world) leaveOut() {
	for c := range w.snapshot.EachClaim() {
		named := slices.Contains(w.question.Remade, c.Name)
		if named {
			w.answer.Remade += w.prices[of(c)]
		}
		if named || w.question.Scratch {
			w.end(w.claim(c.Name), true)
		}
	}
}

// declared is a pod of the workload that its controller has not made yet.
func (w *world) declared(x *cluster.Workload) cluster.Pod {
	w.again++
	name := fmt.Sprintf("%s-new-%d", x.Name, w.again)
	return cluster.Pod{
		UID: fmt.Sprintf("forecast-%d", w.again), Namespace: x.Namespace, Name: name, Labels: x.Labels, Shape: x.Shape, Created: w.now,
		Owner: cluster.Owner{Kind: x.Kind, Name: x.Name, UID: x.UID},
	}
}

// comeBack makes of the pod the one that its controller creates in its place. The new one has the
// name of the old one, by which its user knows it.
func (w *world) comeBack(p *cluster.Pod) {
	w.again++
	p.UID, p.Created = fmt.Sprintf("forecast-%d", w.again), w.now
	p.Node, p.Nominated, p.NominatedByUs = "", "", false
	p.Deleting, p.Returns, p.NotReady, p.NotStarted, p.Unschedulable, p.ProtectedUntil = false, false, false, false, false, time.Time{}
}

// boot launches the NodeClaim as the cheapest offering that it may become.
func (w *world) boot(c cluster.Claim) (machine.Offer, bool) {
	offers := machine.Offers(w.snapshot.Classes(), &c)
	if len(offers) == 0 {
		return machine.Offer{}, false
	}
	machine.ByPrice(offers)
	offers[0].Launch(&c, w.now)
	w.claims[c.Name] = &c
	w.join(&c)
	return offers[0], true
}

// join lets the node of the NodeClaim join, ready and with the pods of DaemonSets. The startup
// taints that other programs take off are off.
func (w *world) join(c *cluster.Claim) {
	n := machine.Join(c, w.now, w.question.Policy.WithDefaults().StartupTaint)
	n.Ready = true
	n.Taints = slices.DeleteFunc(n.Taints, func(t cluster.Taint) bool { return slices.Contains(c.StartupTaints, t) })
	w.nodes[n.Name] = &n
	daemons := w.snapshot.DaemonSets()
	for i := range daemons {
		if p, runs := machine.Daemon(&daemons[i], &n, c.Taints, w.now); runs {
			w.pods[p.ID()] = &p
		}
	}
}

func (w *world) nominate(a plan.Nominate) bool {
	p := w.pod(a.Pod)
	if p == nil || p.Nominated == a.Node {
		return false
	}
	p.Nominated, p.NominatedByUs = a.Node, true
	return true
}

// land binds the pod where its scheduler would, if the node is open for pods. It says whether it
// did.
func (w *world) land(id, node string) bool {
	p, n := w.pod(id), w.node(node)
	if p == nil || n == nil || p.Node != "" || n.Disrupted || n.Cordoned || !n.Ready ||
		slices.Contains(n.Taints, w.question.Policy.WithDefaults().StartupTaint) {
		return false
	}
	return w.bind(id, node)
}

// bind lets the pod run, and be ready at once.
func (w *world) bind(id, node string) bool {
	p, n := w.pod(id), w.node(node)
	if p == nil || n == nil || p.Node != "" {
		return false
	}
	p.Node, p.Unschedulable, p.NotReady, p.NotStarted = node, false, false, false
	w.event(p, n)
	return true
}

// event notes on the NodeClaim of the node that a pod came or left.
func (w *world) event(p *cluster.Pod, n *cluster.Node) {
	if c := w.claim(n.Claim); c != nil && !p.Pinned && p.Owner.Kind != "Job" {
		c.LastPodEvent = w.now
	}
}

// retaint puts taints on a node and takes others off. A node without the daemon's taint is
// initialized.
func (w *world) retaint(name string, puts, lifts []cluster.Taint) bool {
	n := w.node(name)
	if n == nil {
		return false
	}
	n.Taints = slices.DeleteFunc(slices.Concat(n.Taints, puts), func(t cluster.Taint) bool { return slices.Contains(lifts, t) })
	if c := w.claim(n.Claim); c != nil && !c.Initialized && !slices.Contains(n.Taints, w.question.Policy.WithDefaults().StartupTaint) {
		c.Initialized, c.InitializedAt = true, w.now
	}
	return true
}

func (w *world) disrupt(name string, why *cluster.Disrupting) bool {
	c := w.claim(name)
	if c == nil {
		return false
	}
	if c.Disrupting = why; why == nil {
		c.Move = nil
	}
	if n := w.node(c.Node); n != nil {
		n.Disrupted = why != nil
	}
	return true
}

// remove drains the node and ends its instance.
func (w *world) remove(a plan.Delete) bool {
	c := w.claim(a.Claim)
	if c == nil {
		return false
	}
	r := Removal{
		At: w.now.Sub(w.question.Now), Claim: c.Name, Node: c.Node, Pool: c.Pool, Type: c.InstanceType, CapacityType: c.CapacityType,
		Why: a.Why, Detail: a.Detail, Price: w.prices[of(c)],
	}
	r.Evicted = w.end(c, false)
	w.answer.Evicted += r.Evicted
	w.answer.Removals = append(w.answer.Removals, r)
	return true
}

// end removes the NodeClaim with its node, and returns how many of its pods come back. Those that
// nothing creates anew do so only if keep is true.
func (w *world) end(c *cluster.Claim, keep bool) (evicted int64) {
	if state, up := w.snapshot.State(c.Node); up {
		for p := range state.Pods() {
			x := w.pod(p.ID())
			switch {
			case x == nil || x.Node != c.Node: // it has left
			case !x.Moves():
				w.pods[p.ID()] = nil
			case x.Lost() && !keep:
				w.answer.Lost = append(w.answer.Lost, p.ID())
				w.pods[p.ID()] = nil
			default:
				w.comeBack(x)
				evicted++
			}
		}
	}
	if w.node(c.Node) != nil {
		w.nodes[c.Node] = nil
	}
	w.claims[c.Name] = nil
	return evicted
}

// priced is what the price of a node follows from.
type priced struct {
	class string
	key   catalog.OfferingKey
}

func of(c *cluster.Claim) priced {
	return priced{c.Class, catalog.OfferingKey{CapacityType: c.CapacityType, InstanceType: c.InstanceType, Zone: c.Zone, Reservation: c.Reservation}}
}

// PricesOf returns what says what the node of a NodeClaim costs; 0 where nobody knows it.
func PricesOf(s cluster.Snapshot) func(*cluster.Claim) quantity.Money {
	prices := pricesOf(s)
	return func(c *cluster.Claim) quantity.Money { return prices[of(c)] }
}

// pricesOf is what the offerings of all classes cost.
func pricesOf(s cluster.Snapshot) map[priced]quantity.Money {
	out := map[priced]quantity.Money{}
	for _, class := range s.Classes() {
		for i := range class.Types {
			for _, o := range class.Types[i].Offerings {
				out[priced{class.Name, machine.Offer{Type: class.Types[i], Of: o}.Key()}] = o.Price
			}
		}
	}
	return out
}

// sorted lists the pools by name.
func sorted(pools map[string]*PoolFleet) []PoolFleet {
	out := make([]PoolFleet, 0, len(pools))
	for _, p := range pools {
		out = append(out, *p)
	}
	slices.SortFunc(out, func(a, b PoolFleet) int { return strings.Compare(a.Pool, b.Pool) })
	return out
}
