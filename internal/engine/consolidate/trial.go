package consolidate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/random"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// The search is a large neighbourhood search by ruin and recreate (Schrimpf, Schneider,
// Stamm-Wilbrandt and Dueck, Record Breaking Optimization Results Using the Ruin and
// Recreate Principle, 2000). A trial ruins a part of the shadow: it takes a few nodes
// away, takes pods that moved off others, and takes a few nodes back. Then it gives all
// pods that have no place now a place again. It is kept if the shadow costs less; for a while
// also if it costs a little more, as a small fleet has many arrangements that no trial can
// better (Dueck and Scheuer, Threshold Accepting, 1990).

// What a trial ruins at most.
const (
	mostAway       = 3  // nodes that are taken away, in most trials
	mostAwaySeldom = 11 // the same in the others
	mostEmptied    = 8  // nodes whose guests leave
	mostBack       = 2  // nodes that are taken back
)

// seldom is how many trials there are for each that ruins more.
const seldom = 8

// attempt is the present trial, as far as it has changed the shadow.
type attempt struct {
	saves    int64   // an hour, what moving costs taken off
	homeless []int64 // pods without a place, by class
	lacking  []int   // classes that have been homeless in this trial
	touched  []saved // nodes as they were before
	known    int     // how many nodes there were before
	ticket   int     // number of the trial; see node.ticket
	from     int     // where it begins to look for nodes with room; see index.each
	standIn  bool    // what it takes away has a price that stands in; see Node
}

// begin begins the trial of the number.
func (s *shadow) begin(ticket int) {
	s.now = attempt{
		homeless: slices.Grow(s.now.homeless[:0], len(s.classes))[:len(s.classes)], lacking: s.now.lacking[:0], touched: s.now.touched[:0],
		known: len(s.nodes), ticket: ticket, from: ticket,
	}
}

// saved is a node before the trial changed it.
type saved struct {
	at   int
	node node
}

// touch returns the node to be changed.
func (s *shadow) touch(i int) *node {
	n := &s.nodes[i]
	s.index.stale = append(s.index.stale, i)
	if n.ticket != s.now.ticket && i < s.now.known {
		s.now.touched = append(s.now.touched, saved{i, *n})
		n.ticket, n.guests = s.now.ticket, slices.Clone(n.guests)
	}
	return n
}

// trial makes one trial and says whether it is kept.
func (s *Search) trial(number uint64) bool {
	draws := uint64(0)
	draw := func(n int) int { // below n
		draws++
		return int(random.At(s.Seed^number<<20, draws) % uint64(n))
	}
	away := 1 + draw(mostAway)
	if draw(seldom) == 0 {
		away = 1 + draw(mostAwaySeldom)
	}
	back := draw(mostBack + 1)
	for tries := 0; tries < 4*away && away > 0; tries++ {
		if i := s.drawn(draw(len(s.order) + s.fresh())); !s.nodes[i].removed {
			s.takeAway(i)
			away--
		}
	}
	for k := draw(mostEmptied + 1); k > 0; k-- {
		if i := draw(len(s.nodes)); !s.nodes[i].removed {
			s.empty(i)
		}
	}
	for tries := 0; tries < 4*back && back > 0; tries++ {
		if i := s.order[draw(len(s.order))]; s.nodes[i].removed && s.nodes[i].ticket != s.now.ticket {
			s.takeBack(i)
			back--
		}
	}
	return s.judge(s.placeAll(true))
}

// fresh returns how many new nodes there are or have been.
func (s *Search) fresh() int { return len(s.nodes) - len(s.Nodes) }

// drawn returns the node of the number: first come those that may be deleted, then new
// ones.
func (s *Search) drawn(k int) int {
	if k < len(s.order) {
		return s.order[k]
	}
	return len(s.Nodes) + k - len(s.order)
}

// leave makes pods homeless.
func (s *shadow) leave(p part) {
	if s.now.homeless[p.class] == 0 {
		s.now.lacking = append(s.now.lacking, p.class)
	}
	s.now.homeless[p.class] += p.n
}

// takeAway takes a node away. Its pods have no place then.
func (s *Search) takeAway(i int) {
	s.empty(i)
	n := s.touch(i)
	for _, p := range n.own {
		s.leave(p)
	}
	n.removed = true
	s.now.standIn = s.now.standIn || n.Node != nil && n.StandIn
	s.now.saves += s.gain(n)
}

// gain is what is saved when the node is deleted.
func (s *Search) gain(n *node) int64 {
	if n.Node == nil {
		return s.dearer(n.price)
	}
	return int64(n.price) - int64(max(s.MinSaving, n.MinSaving)) - s.moving(n.pods, n.dear)
}

// dearer is the price of a new node, and what it costs to launch it.
func (s *Search) dearer(price quantity.Money) int64 {
	return int64(price + LaunchCost(price, s.MoveTime))
}

// empty takes the guests off a node.
func (s *shadow) empty(i int) {
	if len(s.nodes[i].guests) == 0 {
		return
	}
	n := s.touch(i)
	for _, p := range n.guests {
		s.leave(p)
		n.free.add(&s.classes[p.class].need, p.n)
	}
	n.guests = n.guests[:0]
}

// takeBack lets a deleted node stay after all. Its own pods return, from wherever they are.
func (s *Search) takeBack(i int) {
	n := s.touch(i)
	n.removed = false
	s.now.saves -= s.gain(n)
	for _, p := range n.own {
		k := min(p.n, s.now.homeless[p.class])
		s.now.homeless[p.class] -= k
		s.recall(part{p.class, p.n - k})
	}
}

// recall takes guests of the class off the nodes where they are.
func (s *shadow) recall(p part) {
	if p.n == 0 {
		return
	}
	s.work += len(s.nodes) / nodesPerUnit
	for i := range s.nodes {
		at := s.nodes[i].at(p.class)
		if at < 0 {
			continue
		}
		n := s.touch(i)
		k := min(p.n, n.guests[at].n)
		n.free.add(&s.classes[p.class].need, k)
		if n.guests[at].n -= k; n.guests[at].n == 0 {
			n.guests = slices.Delete(n.guests, at, at+1)
		}
		if p.n -= k; p.n == 0 {
			return
		}
	}
}

// placeAll gives the homeless pods places: on nodes that stay and, if fresh is set, on new
// ones. It says whether all have one.
func (s *Search) placeAll(fresh bool) bool {
	if len(s.inTurn.of) != len(s.classes) {
		s.inTurn = turnsOf(s.classes)
	}
	s.now.lacking = s.inTurn.pickHomeless(s.now.lacking, s.now.homeless)
	rest := s.rest[:0]
	for _, c := range s.now.lacking {
		if n := s.place(c, s.now.homeless[c]); n > 0 {
			if !fresh || s.now.standIn {
				return false
			}
			rest = append(rest, part{c, n})
		}
	}
	s.rest = rest
	return len(rest) == 0 || len(s.rows) > 0 && s.pack(rest)
}

// turns is the order in which classes are given places: those first whose pods are worth most.
type turns struct {
	of      []int // by class: its turn
	classes []int // by turn
}

// turnsOf returns the order of the classes. It is made once for all trials, as keys of groups are
// long and similar.
func turnsOf(classes []class) turns {
	t := turns{of: make([]int, len(classes)), classes: make([]int, len(classes))}
	for i := range t.classes {
		t.classes[i] = i
	}
	slices.SortFunc(t.classes, func(a, b int) int {
		return cmp.Or(cmp.Compare(classes[b].worth, classes[a].worth), strings.Compare(classes[a].group.Key, classes[b].group.Key), cmp.Compare(a, b))
	})
	for turn, c := range t.classes {
		t.of[c] = turn
	}
	return t
}

// pickHomeless returns the classes that have homeless pods, each once and in turn.
func (t turns) pickHomeless(classes []int, homeless []int64) []int {
	classes = slices.DeleteFunc(classes, func(c int) bool { return homeless[c] == 0 })
	for i, c := range classes {
		classes[i] = t.of[c]
	}
	slices.Sort(classes)
	classes = slices.Compact(classes)
	for i, turn := range classes {
		classes[i] = t.classes[turn]
	}
	return classes
}

// host is a node that takes pods of a class, and how well it suits them.
type host struct {
	node int
	rank int64 // least is best
}

// enough is how many hosts the best is chosen of in a large fleet, at least.
const enough = 256

// place puts pods of the class on nodes that stay, those first that it suits best. It
// returns how many have no place there.
func (s *shadow) place(class int, pods int64) int64 {
	c := &s.classes[class]
	s.hosts = s.hosts[:0]
	s.index.see(s.nodes)
	s.work += len(s.nodes) / nodesPerUnit
	s.index.each(&c.need, s.now.from, func(i int) bool {
		s.work++
		if n := &s.nodes[i]; c.need.fits(&n.free) && s.accepts(class, n) {
			s.hosts = append(s.hosts, host{i, s.rank(n, c)})
		}
		return len(s.hosts) < enough || int64(len(s.hosts)) < pods
	})
	// Most often one host takes all pods.
	for hosts := s.hosts; pods > 0 && len(hosts) > 0; hosts = hosts[1:] {
		best := 0
		for i, h := range hosts {
			if h.rank < hosts[best].rank || h.rank == hosts[best].rank && h.node < hosts[best].node {
				best = i
			}
		}
		hosts[0], hosts[best] = hosts[best], hosts[0]
		n := s.touch(hosts[0].node)
		k := min(c.need.count(&n.free, pods), s.more(c, n))
		n.take(part{class, k}, c)
		pods -= k
	}
	return pods
}

// rank says how well a node suits pods of the class: those best that have CPU and memory
// left in equal measure afterwards, and before did not, and among them those that have
// little left.
func (s *shadow) rank(n *node, c *class) int64 {
	before := [2]int64{value(n.free[0], s.perMilliCPU), value(n.free[1]>>20, s.perMiB)}
	after := [2]int64{value(n.free[0]-c.need[0], s.perMilliCPU), value((n.free[1]-c.need[1])>>20, s.perMiB)}
	skewBefore, skew := before[0]-before[1], after[0]-after[1]
	return skew*skew - skewBefore*skewBefore + (after[0]*after[0]+after[1]*after[1])/10
}

// value is what an amount is worth at a price of the search, on a scale whose squares can
// be added.
func value(amount, price int64) int64 { return amount * price >> 14 }

// judge ends the trial, keeps it if all pods have places and the shadow costs less, and
// says whether it did.
func (s *Search) judge(placed bool) bool {
	accepted := placed && s.now.saves > -s.loss && withinBudgets(s.shadow)
	if accepted {
		s.total += s.now.saves
	}
	if !accepted {
		for _, x := range s.now.touched {
			s.nodes[x.at] = x.node
			s.index.stale = append(s.index.stale, x.at)
		}
		for i := s.now.known; i < len(s.nodes); i++ {
			s.index.stale = append(s.index.stale, i)
		}
		s.nodes = s.nodes[:s.now.known]
	}
	for _, c := range s.now.lacking {
		s.now.homeless[c] = 0
	}
	s.begin(s.now.ticket + 1)
	return accepted
}

// withinBudgets says whether the nodes that the trial takes away may be deleted at once. If
// all pods have places on nodes that there are, nodes are deleted one after the other. But
// where new nodes are opened for the pods of many, one of them alone may save nothing.
func withinBudgets(s *shadow) bool {
	if len(s.nodes) == s.now.known {
		return true
	}
	away := map[string]int64{}
	for _, x := range s.now.touched {
		n := &s.nodes[x.at]
		if n.Node == nil || !n.removed || x.node.removed || n.Most == 0 {
			continue
		}
		if away[n.Pool]++; away[n.Pool] > n.Most {
			return false
		}
	}
	return true
}

// open adds a new node of the row in the zone to the shadow, with its content.
func (s *Search) open(row int, zone int, price quantity.Money, parts []part) {
	r := s.rows[row]
	n := node{
		price: price, labels: r.Labels(zone), taints: s.Fleet.Pools[r.Pool].Taints, free: s.room(r),
		kind: s.kindOfRow(row, zone), zone: s.Fleet.Zones[zone], spot: spot(r), in: r.Reservation, ticket: s.now.ticket,
	}
	n.guests = make([]part, 0, len(parts))
	for _, p := range parts {
		n.take(p, &s.classes[p.class])
	}
	s.now.saves -= s.dearer(price)
	s.index.stale = append(s.index.stale, len(s.nodes))
	s.nodes = append(s.nodes, n)
}
