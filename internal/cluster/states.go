package cluster

import (
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Load is a node with its pods and its NodeClaim. Snapshots share the pointer as
// long as none of them changes.
type Load struct {
	Node Node
	Used quantity.Resources // sum of the requests of all bound pods
	Free quantity.Resources // Allocatable - Used; negative where a node is overcommitted

	edit      *edit
	there     bool // false where pods or claims name a node that is not known
	busy      int
	evictions int64       // what evicting the pods that move costs
	moving    int64       // pods that move
	pods      []*pod      // by id
	nominated []*pod      // by id; see Pod.NominatedByOthers
	daemons   []daemonUse // of the bound pods of DaemonSets, by UID of the DaemonSet
	groups    []share
	claims    []*Claim // that name the node, by name
	room      string   // key in the index of free room
}

// share is how many pods of a group a node has, and how many of them move if it is deleted.
type share struct {
	group        string
	count, moves int64
}

// daemonUse is what the pods of one DaemonSet request of a node.
type daemonUse struct {
	uid  string
	used quantity.Resources
	pods int
}

// NodeState is a node with what runs there.
type NodeState struct {
	*Load
	groups tree[*Group]
}

// Groups returns the groups of the bound pods, by key, with the number of pods
// here. Pinned pods count.
func (n *NodeState) Groups() iter.Seq2[*Group, int64] {
	return func(yield func(*Group, int64) bool) {
		for _, s := range n.Load.groups {
			if g, _ := n.groups.get(s.group); !yield(g, s.count) {
				return
			}
		}
	}
}

// CountOf returns how many bound pods are of the kind.
func (n *NodeState) CountOf(kind string) (pods int64) {
	for g, count := range n.Groups() {
		if g.Kind == kind {
			pods += count
		}
	}
	return pods
}

// Moving returns the groups of the bound pods that move if the node is deleted, by key,
// with the number of these pods.
func (n *NodeState) Moving() iter.Seq2[*Group, int64] {
	return func(yield func(*Group, int64) bool) {
		for _, s := range n.Load.groups {
			if s.moves == 0 {
				continue
			}
			if g, _ := n.groups.get(s.group); !yield(g, s.moves) {
				return
			}
		}
	}
}

// CountMoving returns how many bound pods move if the node is deleted.
func (l *Load) CountMoving() int64 { return l.moving }

// UsedBy returns the sum of the requests of the DaemonSet's bound pods. The DaemonSet is
// known by its UID.
func (l *Load) UsedBy(daemonSet string) quantity.Resources {
	if i, found := l.findDaemon(daemonSet); found {
		return l.daemons[i].used
	}
	return quantity.Resources{}
}

// EvictionCost is what evicting the pods that move costs; see OrdinaryPod.
func (l *Load) EvictionCost() int64 { return l.evictions }

// Pods returns the bound pods, by id.
func (n *NodeState) Pods() iter.Seq[Pod] { return each(n.pods) }

// EachPod returns the same pods as Pods, without copies; callers must not change them.
func (n *NodeState) EachPod() iter.Seq[*Pod] {
	return func(yield func(*Pod) bool) {
		for _, p := range n.pods {
			if !yield(&p.Pod) {
				return
			}
		}
	}
}

// Count returns how many pods are bound.
func (n *NodeState) Count() int { return len(n.pods) }

// Nominated returns the pending pods that others than the daemon nominated for the
// node, by id. What they request is not in Used.
func (n *NodeState) Nominated() iter.Seq[Pod] { return each(n.nominated) }

// Expects returns the id of the first of these pods, if the node, whose NodeClaim is c, takes
// pods, so that they have their places there; false if none has.
func (n *NodeState) Expects(c *Claim) (pod string, ok bool) {
	if len(n.nominated) == 0 || !n.Node.TakesPods(c) {
		return "", false
	}
	return n.nominated[0].ID(), true
}

func each(pods []*pod) iter.Seq[Pod] {
	return func(yield func(Pod) bool) {
		for _, p := range pods {
			if !yield(p.Pod) {
				return
			}
		}
	}
}

// Busy says whether a bound pod is not Pinned, or asks not to be disrupted.
func (n *NodeState) Busy() bool { return n.busy > 0 }

// ownLoad returns a load of the node that this update may write to.
func (u *update) ownLoad(node string) *Load {
	l, ok := u.loads.get(node)
	switch {
	case !ok:
		l = &Load{Node: Node{Name: node}}
	case l.edit == u.edit:
		return l
	default:
		u.sum(l, -1)
		mine := *l
		mine.pods, mine.groups, mine.claims = copied(l.pods), copied(l.groups), slices.Clone(l.claims)
		mine.nominated, mine.daemons = slices.Clone(l.nominated), slices.Clone(l.daemons)
		l = &mine
	}
	l.edit = u.edit
	u.loads = u.loads.put(u.edit, node, l)
	u.loaded = append(u.loaded, l)
	return l
}

// sum adds the pods of the node to those of all nodes that are there, or takes them off.
func (u *update) sum(l *Load, sign int64) {
	if l.there {
		u.bound.Pods += sign * int64(len(l.pods))
		u.bound.Moving += sign * l.moving
	}
}

func (u *update) setNode(c change[Node]) {
	if c.old != nil {
		u.countKind(c.old, -1)
	}
	if c.now != nil {
		u.countKind(c.now, 1)
	}
	if c.now == nil {
		l := u.ownLoad(c.old.Name)
		l.Node, l.there = Node{Name: c.old.Name}, false
		return
	}
	l := u.ownLoad(c.now.Name)
	l.Node, l.there = *c.now, true
}

// bind puts the pod onto its node.
func (u *update) bind(p *pod) {
	l := u.ownLoad(p.Node)
	l.pods = slices.Insert(l.pods, findPod(l.pods, p.id), p)
	i, found := l.findShare(p.key)
	if !found {
		l.groups = slices.Insert(l.groups, i, share{group: p.key})
	}
	l.groups[i].count++
	if p.Moves() {
		l.groups[i].moves++
		l.evictions += p.EvictionCost()
		l.moving++
	}
	l.Used = l.Used.Add(p.Shape.Requests)
	if p.daemon() {
		i, found := l.findDaemon(p.Owner.UID)
		if !found {
			l.daemons = slices.Insert(l.daemons, i, daemonUse{uid: p.Owner.UID})
		}
		l.daemons[i].pods++
		l.daemons[i].used = l.daemons[i].used.Add(p.Shape.Requests)
	}
	if p.busy() {
		l.busy++
	}
}

// unbind takes the pod off its node.
func (u *update) unbind(p *pod) {
	l := u.ownLoad(p.Node)
	i := findPod(l.pods, p.id)
	l.pods = slices.Delete(l.pods, i, i+1)
	i, _ = l.findShare(p.key)
	l.groups[i].count--
	if p.Moves() {
		l.groups[i].moves--
		l.evictions -= p.EvictionCost()
		l.moving--
	}
	if l.groups[i].count == 0 {
		l.groups = slices.Delete(l.groups, i, i+1)
	}
	l.Used = l.less(l.Used, p, func(*pod) bool { return true })
	if p.daemon() {
		i, _ := l.findDaemon(p.Owner.UID)
		l.daemons[i].pods--
		l.daemons[i].used = l.less(l.daemons[i].used, p, func(x *pod) bool { return x.daemon() && x.Owner.UID == p.Owner.UID })
		if l.daemons[i].pods == 0 {
			l.daemons = slices.Delete(l.daemons, i, i+1)
		}
	}
	if p.busy() {
		l.busy--
	}
}

// nominate notes that others nominated the pod for a node.
func (u *update) nominate(p *pod) {
	l := u.ownLoad(p.Nominated)
	l.nominated = slices.Insert(l.nominated, findPod(l.nominated, p.id), p)
}

// unnominate takes the pod off the list of its node.
func (u *update) unnominate(p *pod) {
	l := u.ownLoad(p.Nominated)
	i := findPod(l.nominated, p.id)
	l.nominated = slices.Delete(l.nominated, i, i+1)
}

// less is the sum without the pod, which has left the node. A saturated sum says
// nothing about its parts, so less adds the parts up anew.
func (l *Load) less(sum quantity.Resources, p *pod, of func(*pod) bool) quantity.Resources {
	if !saturated(sum) {
		return sum.Sub(p.Shape.Requests)
	}
	sum = quantity.Resources{}
	for _, p := range l.pods {
		if of(p) {
			sum = sum.Add(p.Shape.Requests)
		}
	}
	return sum
}

func saturated(r quantity.Resources) bool {
	return r.MilliCPU == math.MaxInt64 || r.MemoryBytes == math.MaxInt64 || r.EphemeralBytes == math.MaxInt64 || r.PodSlots == math.MaxInt64 ||
		slices.ContainsFunc(r.Extended, func(a quantity.Amount) bool { return a.Count == math.MaxInt64 })
}

func (p *pod) daemon() bool { return p.Owner.Kind == "DaemonSet" }

func (p *pod) busy() bool { return !p.Pinned || p.DoNotDisrupt }

// findPod returns where the pod is, or where it belongs.
func findPod(list []*pod, id string) int {
	if n := len(list); n == 0 || list[n-1].id < id { // pods come in this order when an index is built
		return n
	}
	i, _ := slices.BinarySearchFunc(list, id, func(p *pod, id string) int { return strings.Compare(p.id, id) })
	return i
}

func (l *Load) findDaemon(uid string) (int, bool) {
	return slices.BinarySearchFunc(l.daemons, uid, func(d daemonUse, uid string) int { return strings.Compare(d.uid, uid) })
}

func (l *Load) findShare(group string) (int, bool) {
	return slices.BinarySearchFunc(l.groups, group, func(s share, group string) int { return strings.Compare(s.group, group) })
}

// fileLoads drops the unknown nodes that no pod or claim names any more. It
// files the other nodes by their free room, and their claims by whether they are
// in transition.
func (u *update) fileLoads() {
	for _, l := range u.loaded {
		u.sum(l, 1)
		was := l.room
		l.room, l.Free = "", l.Node.Allocatable.Sub(l.Used)
		if l.there {
			l.room = roomKey(l.Free, l.Node.Name)
		}
		if was != "" && was != l.room {
			u.rooms = u.rooms.remove(u.edit, was)
		}
		switch {
		case l.there:
			u.rooms = u.rooms.put(u.edit, l.room, l)
		case len(l.pods)+len(l.nominated)+len(l.claims) == 0:
			u.loads = u.loads.remove(u.edit, l.Node.Name)
		}
		for _, c := range l.claims {
			u.inTransition = file(u.inTransition, u.edit, c.Name, c, !c.steady(l))
		}
	}
}
