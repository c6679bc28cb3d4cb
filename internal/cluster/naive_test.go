package cluster

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// account is what the test says about one group or one node.
type account struct {
	pending        []Pod
	on, leaving    map[string]int
	antiAffine     bool
	used           quantity.Resources
	daemons        map[string]quantity.Resources // by the UID of the DaemonSet
	busy           bool
	bound, waiting int
	moving         int   // of those that are bound
	evictions      int64 // what they cost
	nominated      int
	awaits         []Pod // nominated for the node by others
}

func (a *account) say(name string) string {
	slices.SortFunc(a.pending, func(p, q Pod) int { return cmp.Or(p.Created.Compare(q.Created), cmp.Compare(p.ID(), q.ID())) })
	return fmt.Sprintf("%s: pending %d %v, nominated %d, bound %d on %v, moving %d for %d, leaving %v, anti-affine %v, used %v, daemons %v, busy %v, awaits %v",
		name, a.waiting, ids(a.pending), a.nominated, a.bound, a.on, a.moving, a.evictions, a.leaving, a.antiAffine, a.used, a.daemons, a.busy, ids(a.awaits))
}

// naive computes what the index must say about every group and node. It reads
// the objects alone, and keeps nothing between calls.
func naive(o Objects) []string {
	type place struct{ namespace, key string }
	looked, everywhere := map[place]bool{}, map[string]bool{}
	look := func(own string, s Shape) {
		for _, c := range s.Spread {
			for _, r := range c.Selector.Match {
				looked[place{own, r.Key()}] = true
			}
		}
		for _, t := range slices.Concat(s.PodAffinity, s.PodAntiAffinity) {
			for _, r := range t.Selector.Match {
				everywhere[r.Key()] = everywhere[r.Key()] || !t.InNamespaces.Nothing
				for _, n := range t.Namespaces {
					looked[place{n, r.Key()}] = true
				}
			}
		}
	}
	for _, p := range o.Pods {
		look(p.Namespace, p.Shape)
	}
	for _, w := range o.Workloads {
		look(w.Namespace, w.Shape)
	}
	groups, nodes := map[string]*account{}, map[string]*account{}
	for _, n := range o.Nodes {
		nodes[n.Name] = &account{daemons: map[string]quantity.Resources{}}
	}
	var unready []Pod
	for _, p := range o.Pods {
		if p.NotReady && !p.Deleting {
			unready = append(unready, p)
		}
		shape := p.Shape
		if p.Pinned {
			shape.NodeAffinity = nil
		}
		seen := slices.DeleteFunc(slices.Clone(p.Labels), func(l label.Label) bool { return !looked[place{p.Namespace, l.Key}] && !everywhere[l.Key] })
		name := groupName(p.Namespace, shape, seen)
		if groups[name] == nil {
			groups[name] = &account{on: map[string]int{}, leaving: map[string]int{}}
		}
		g := groups[name]
		if p.Node == "" {
			if !p.Pinned && !p.Deleting {
				g.pending, g.waiting = append(g.pending, p), g.waiting+1
				if p.Nominated != "" {
					g.nominated++
				}
				if n := nodes[p.Nominated]; n != nil && !p.NominatedByUs {
					n.awaits = append(n.awaits, p)
					slices.SortFunc(n.awaits, func(a, b Pod) int { return cmp.Compare(a.ID(), b.ID()) }) // as NodeState.Nominated lists them
				}
			}
			continue
		}
		g.bound++
		g.on[p.Node]++
		if p.Deleting {
			g.leaving[p.Node]++
		}
		g.antiAffine = slices.ContainsFunc(shape.PodAntiAffinity, func(t PodTerm) bool { return t.Weight == 0 })
		if n := nodes[p.Node]; n != nil {
			n.bound++
			n.used = n.used.Add(p.Shape.Requests)
			if p.Owner.Kind == "DaemonSet" {
				n.daemons[p.Owner.UID] = n.daemons[p.Owner.UID].Add(p.Shape.Requests)
			}
			n.busy = n.busy || !p.Pinned || p.DoNotDisrupt
			if p.Moves() {
				n.moving++
				n.evictions += p.EvictionCost()
			}
		}
	}
	var out []string
	for name, g := range groups {
		out = append(out, g.say(name))
	}
	var all Bound
	for name, n := range nodes {
		out = append(out, n.say("node "+name))
		all.Pods, all.Moving = all.Pods+int64(n.bound), all.Moving+int64(n.moving)
	}
	slices.SortFunc(unready, func(a, b Pod) int { return cmp.Compare(a.ID(), b.ID()) }) // as Snapshot.Unready lists them
	out = append(out, fmt.Sprintf("all nodes: %+v, not ready: %v", all, ids(unready)))
	for _, c := range o.Claims {
		n := nodes[c.Node]
		i := slices.IndexFunc(o.Nodes, func(n Node) bool { return n.Name == c.Node })
		runs := i >= 0 && n.busy && o.Nodes[i].Ready && !o.Nodes[i].Cordoned && !o.Nodes[i].Deleting
		if !runs || !c.Launched || !c.Registered || !c.Initialized || c.Deleting || c.Interruption != nil {
			out = append(out, "unsettled "+c.Name)
		}
		out = append(out, lotName(c.Pool, Lot{Class: c.Class, InstanceType: c.InstanceType, Capacity: c.Capacity, Allocatable: c.Allocatable, Count: 1}))
		if c.Reservation != "" {
			out = append(out, c.Name+" in "+c.Reservation)
		}
	}
	slices.Sort(out)
	return out
}

// usedByDaemonSets is what UsedBy says of each DaemonSet of which a pod is bound.
func usedByDaemonSets(n *NodeState) map[string]quantity.Resources {
	out := map[string]quantity.Resources{}
	for p := range n.Pods() {
		if p.Owner.Kind == "DaemonSet" {
			out[p.Owner.UID] = n.UsedBy(p.Owner.UID)
		}
	}
	return out
}

// indexed says the same from the accessors of the snapshot.
func indexed(s Snapshot) []string {
	var out []string
	pending, anti := slices.Collect(s.PendingGroups()), slices.Collect(s.AntiAffine())
	for g := range s.Groups() {
		a := account{
			pending: slices.Collect(g.Pending()), waiting: int(g.PendingCount()), nominated: int(g.Nominated()), bound: int(g.Bound()), on: map[string]int{}, leaving: map[string]int{},
			antiAffine: slices.Contains(anti, g),
		}
		for node, n := range g.On() {
			a.on[node] = int(n)
		}
		for node, n := range g.Leaving() {
			a.leaving[node] = int(n)
		}
		text := a.say(groupName(g.Namespace, g.Shape, g.Labels))
		if slices.Contains(pending, g) != (a.waiting > 0) {
			text += ", among the pending by mistake or not at all"
		}
		out = append(out, text)
	}
	for n := range s.States() {
		a := account{used: n.Used, daemons: usedByDaemonSets(n), busy: n.Busy(), awaits: slices.Collect(n.Nominated()), evictions: n.EvictionCost()}
		for _, k := range n.Moving() {
			a.moving += int(k)
		}
		if n.CountMoving() != int64(a.moving) {
			a.moving = -1
		}
		for g, k := range n.Groups() {
			a.bound += int(k)
			for node, on := range g.On() {
				if node == n.Node.Name && on != k {
					a.bound = -1
				}
			}
		}
		out = append(out, a.say("node "+n.Node.Name))
	}
	var unready []Pod
	for p := range s.Unready() {
		unready = append(unready, *p)
	}
	out = append(out, fmt.Sprintf("all nodes: %+v, not ready: %v", s.Bound(), ids(unready)))
	for _, c := range s.InTransition() {
		out = append(out, "unsettled "+c.Name)
	}
	pools := map[string]bool{}
	for _, id := range []string{"cr", "cr-1"} {
		for c := range s.InReservation(id) {
			out = append(out, c.Name+" in "+id)
		}
	}
	for _, c := range s.Claims() {
		if pools[c.Pool] {
			continue
		}
		pools[c.Pool] = true
		for l := range s.Lots(c.Pool) {
			for ; l.Count > 1; l.Count-- {
				out = append(out, lotName(c.Pool, Lot{Class: l.Class, InstanceType: l.InstanceType, Capacity: l.Capacity, Allocatable: l.Allocatable, Count: 1}))
			}
			out = append(out, lotName(c.Pool, l))
		}
	}
	slices.Sort(out)
	return out
}

func lotName(pool string, l Lot) string { return fmt.Sprintf("lot of %q: %+v", pool, l) }

func groupName(namespace string, s Shape, l label.Labels) string {
	return fmt.Sprintf("%s %s %v", namespace, s.Key(), l)
}
