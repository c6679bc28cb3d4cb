package consolidate

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// A search takes its time, as it begins with the whole fleet. Where few pods have come or
// gone since the last one, most of what it finds is known: a node that could not be
// deleted still cannot, unless one of its pods may run on a node that has changed. So the
// shadow with which a search begins is remembered. It is brought up to date by what has
// changed, and those nodes alone are tried.

// Image is the shadow of a fleet as it is: nothing has been tried yet. An Image is a value
// that no method changes.
type Image struct{ search *Search }

// Revision is an image that has been brought up to date, to try single nodes. It is for one
// Step.
type Revision struct {
	search  *Search
	changes []change
}

// change is a node before and after; nil where it was not there.
type change struct{ before, after *node }

// ImageOf returns the fleet with which the search begins, which has not run yet.
func ImageOf(begun *Search) *Image { return &Image{search: begun} }

// Of says whether the image answers this question for the nodes that have not changed.
// What new nodes cost, and what room capacity reservations have, has to be the same.
func (im *Image) Of(q Question) bool {
	own := im.search.Question
	return own.Fleet == q.Fleet && own.MinSaving == q.MinSaving && own.PerPod == q.PerPod && own.MoveTime == q.MoveTime &&
		own.LargestMilliCPU == q.LargestMilliCPU && own.SpotToSpot == q.SpotToSpot && maps.Equal(own.Left, q.Left)
}

// With returns the image with these nodes as given, and without those that are named in removed. It returns nil where it takes a new search to see what has changed.
// What CPU and memory are worth stays as it was.
func (im *Image) With(put []Node, removed []string) *Revision {
	s := *im.search
	s.shadow, s.packing = s.shadow.copy(), packing{}
	s.work = 0
	out := &Revision{search: &s}
	nodes, classes := len(s.nodes), len(s.classes)
	for _, name := range removed {
		if at, there := s.find(name); there {
			was := s.nodes[at]
			out.changes = append(out.changes, change{before: &was})
			s.nodes = slices.Delete(s.nodes, at, at+1)
		}
	}
	for i := range put {
		if !im.counts(&put[i]) {
			return nil
		}
		entered := node{}
		s.enter(&entered, &put[i])
		c := change{after: &entered}
		at, there := s.find(put[i].State.Node.Name)
		if there {
			was := s.nodes[at]
			c.before, s.nodes[at] = &was, entered
		} else {
			s.nodes = slices.Insert(s.nodes, at, entered)
		}
		s.index.stale = append(s.index.stale, at)
		out.changes = append(out.changes, c)
	}
	if s.Fleet != nil {
		s.priceFrom(classes)
	}
	s.begin(s.now.ticket + 1)
	if len(s.nodes) != nodes || len(removed) > 0 {
		s.reindex()
	}
	s.index.see(s.nodes)
	return out
}

// find returns where the node is, or belongs, among those that run.
func (s *shadow) find(name string) (int, bool) {
	return slices.BinarySearchFunc(s.nodes, name, func(n node, name string) int { return strings.Compare(n.State.Node.Name, name) })
}

// counts says whether the image counts all that the pods of the node ask for.
func (im *Image) counts(n *Node) bool {
	s := im.search
	for g := range n.State.Groups() {
		for _, a := range g.Shape.Requests.Extended {
			if !slices.Contains(s.resources, a.Name) && len(s.resources) < maxResources {
				return false
			}
		}
	}
	return true
}

// copy returns a copy that can be changed. What never changes is shared.
func (s *shadow) copy() *shadow {
	c := *s
	c.nodes, c.byOrigin, c.groups = slices.Clone(s.nodes), maps.Clone(s.byOrigin), maps.Clone(s.groups)
	c.hosts, c.now = nil, attempt{ticket: s.now.ticket}
	c.ownClasses()
	c.index = s.index.clone()
	return &c
}

// Work is how many units of work the trials have taken; see Search.Advance.
func (l *Revision) Work() int { return l.search.work }

// Changed names the nodes that have changed and are there.
func (l *Revision) Changed() (names []string) {
	for _, c := range l.changes {
		if c.after != nil {
			names = append(names, c.after.State.Node.Name)
		}
	}
	return names
}

// Concerned names the nodes for which the changes may decide whether they can be deleted
// without new nodes, those first that waste the most for what moving their pods costs: the
// changed nodes, and those with a pod that a changed node takes or took. A look at another
// node would see what it saw before. Nodes with a pod that no other node has room for are
// left out, as they cannot be deleted.
func (l *Revision) Concerned() (names []string) {
	s := l.search
	taken, hosts := make([]int8, len(s.classes)), make([]*pair, len(s.classes))
	var concerned []int
	for i := range s.nodes {
		n := &s.nodes[i]
		if !s.sellable(n) {
			continue
		}
		yes := slices.ContainsFunc(l.changes, func(c change) bool { return c.after != nil && c.after.State == n.State })
		if !yes {
			yes = slices.ContainsFunc(n.own, func(p part) bool { return l.takes(taken, p.class) })
		}
		if yes && !slices.ContainsFunc(n.own, func(p part) bool { return !l.hostsBeside(hosts, p.class, i) }) {
			concerned = append(concerned, i)
		}
	}
	s.sortByWaste(concerned)
	for _, i := range concerned {
		names = append(names, s.nodes[i].State.Node.Name)
	}
	return names
}

// takes says whether a changed node takes, or took, a pod of the class. It notes the answer
// in known: 1 for no, 2 for yes.
func (l *Revision) takes(known []int8, class int) bool {
	if known[class] == 0 {
		known[class] = 1
		if slices.ContainsFunc(l.changes, func(c change) bool { return l.hasRoom(class, c.before) || l.hasRoom(class, c.after) }) {
			known[class] = 2
		}
	}
	return known[class] == 2
}

// hasRoom says whether the node takes a pod of the class. The node may be nil.
func (l *Revision) hasRoom(class int, n *node) bool {
	s := l.search
	return n != nil && s.classes[class].need.fits(&n.free) && s.accepts(class, n)
}

// pair is two nodes that take pods of a class; -1 where there are fewer.
type pair [2]int

// hostsBeside says whether another node takes a pod of the class. It notes in known where
// there is room.
func (l *Revision) hostsBeside(known []*pair, class, i int) bool {
	s := l.search
	if known[class] == nil {
		found, count := &pair{-1, -1}, 0
		s.index.each(&s.classes[class].need, 0, func(i int) bool {
			if l.hasRoom(class, &s.nodes[i]) {
				found[count] = i
				count++
			}
			return count < len(found)
		})
		known[class] = found
	}
	return known[class][0] >= 0 && (known[class][0] != i || known[class][1] >= 0)
}

// Move is what comes of taking one node away.
type Move struct {
	Pays   bool                    // all its pods have places, and that saves money
	Places map[string][]view.Place // those on nodes that run; see Search.Places
}

// Try returns what comes of taking the node away, of which a move must save at least so
// much: without new nodes or, if fresh is set and that is not possible, with some. The
// trial begins its search for places at the same node each time, and leaves nothing behind.
func (l *Revision) Try(name string, minSaving quantity.Money, fresh bool) Move {
	s := l.search
	at, there := s.find(name)
	if !there || !s.sellable(&s.nodes[at]) {
		return Move{}
	}
	of := *s.nodes[at].Node
	of.MinSaving = minSaving
	s.nodes[at].Node = &of
	for _, opens := range []bool{false, true} {
		if opens && !fresh {
			break
		}
		s.now.from = 0
		s.takeAway(at)
		placed := s.placeAll(opens)
		var m Move
		if placed && s.now.saves > 0 {
			m = Move{true, s.Places()}
		}
		if s.judge(false); m.Pays {
			return m
		}
	}
	return Move{}
}

// sellable says whether taking the node away would save money, and all its pods may move.
func (s *shadow) sellable(n *node) bool {
	return n.price > 0 && !n.removed && !slices.ContainsFunc(n.own, func(p part) bool { return s.classes[p.class].fixed })
}

// sortByWaste sorts the nodes: first come those that waste the most for what moving their
// pods costs.
func (s *shadow) sortByWaste(list []int) {
	ratio := make([]int64, len(s.nodes))
	for _, i := range list {
		n := &s.nodes[i]
		var used int64
		for _, p := range n.own {
			used += s.classes[p.class].worth * p.n
		}
		ratio[i] = quantity.MulDiv(max(0, int64(n.price)-used), cluster.OrdinaryPod, (n.pods+1)*cluster.OrdinaryPod+n.dear)
	}
	slices.SortStableFunc(list, func(a, b int) int {
		return cmp.Or(cmp.Compare(ratio[b], ratio[a]), strings.Compare(s.nodes[a].State.Node.Name, s.nodes[b].State.Node.Name))
	})
}
