package topology

import (
	"math"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// Place is a node, or a node to come.
type Place struct {
	Name     string       // of the node; "" for a node to come without a name
	Labels   label.Lookup // of the node; if Possible is set, of one of the nodes that the place may become
	Taints   []cluster.Taint
	Possible *Possible // nil if the labels are known
}

// Class is a class of pods that need room.
type Class struct {
	Namespace string
	Labels    label.Labels
	Shape     cluster.Shape
}

// Vacated is a node that is about to be deleted. For spreads over hostnames it counts as
// deleted, where its pod finds a place for that. The scheduler compares the other nodes with it
// until it is deleted, unless the spread honours taints: an evicted pod waits for that then.
type Vacated struct {
	Node string
	// Alone says that at most one pod is evicted from the node, so that it is deleted soon
	// after. A second could have to wait for the first, and the first for both.
	Alone bool
	// Ends says that the node is deleted. Until then, it counts where it has no pod that the spread
	// counts.
	Ends bool
}

// Table holds the counts that the rules of the classes depend on.
type Table struct {
	numbered   // byName is nil where the table is Empty
	topologies map[string]*topology
	classes    []class
	hosts      []int64 // by id: limits of the rules over hostnames
}

// class is a Class with the rules that bind it. Rules of other pods that bind it
// are in its labelSet.
type class struct {
	Class
	labelSet     *labelSet
	spreads      []*spreadRule
	affinity     *affinityRule // nil without required affinity
	antiAffinity []antiAffinityRule
	owned        []*tally // tallies that count its pods as owners of anti-affinity
	capped       []int32  // ids of the rules over hostnames that bind it
}

// Empty says whether no pods have a say about where those of the classes may run:
// neither their own rules nor the anti-affinity of pods that run.
func (t *Table) Empty() bool { return t.byName == nil }

// Room returns how many more pods of the class may run in the place now, one after
// the other, if no pod is placed anywhere else: 0 for none, math.MaxInt64 for no limit.
func (t *Table) Room(class int, p Place) int64 {
	c := &t.classes[class]
	room := int64(math.MaxInt64)
	if len(c.spreads) == 0 && c.affinity == nil && len(c.antiAffinity) == 0 && len(c.labelSet.inverse) == 0 {
		return room
	}
	spot := t.locate(p)
	at := &spot
	for _, s := range c.spreads {
		if room = min(room, s.room(at)); room == 0 {
			return 0
		}
	}
	if c.affinity != nil && !c.affinity.allows(at) {
		return 0
	}
	for i := range c.antiAffinity {
		if room = min(room, c.antiAffinity[i].room(at)); room == 0 {
			return 0
		}
	}
	for i := range c.labelSet.inverse {
		if room = min(room, c.labelSet.inverse[i].room(at)); room == 0 {
			return 0
		}
	}
	return room
}

// Tolerated returns how many more pods of the class may run in the place before a
// spread closes the place to its own pods. Only spreads matter that count this class
// and whose own pods were added there. Spreads over hostnames are ignored.
func (t *Table) Tolerated(class int, p Place) int64 {
	room := int64(math.MaxInt64)
	if len(t.classes[class].labelSet.censuses) == 0 {
		return room
	}
	spot := t.locate(p)
	at := &spot
	for _, x := range t.classes[class].labelSet.censuses {
		d := x.topology.at(at)
		if x.topology.hosts() || d < 0 || !x.voters.includes(at) {
			continue
		}
		for _, r := range x.rules {
			if r.added[d] > 0 {
				room = min(room, r.more(r.stateAt(at)))
			}
		}
	}
	return room
}

// Add counts n more pods of the class at the place, for every rule that looks at
// them. A negative n takes back what was added before.
func (t *Table) Add(class int, p Place, n int64) {
	c := &t.classes[class]
	k := c.labelSet
	if n == 0 || len(k.censuses) == 0 && len(k.cohorts) == 0 && len(k.tallies) == 0 && len(c.owned) == 0 && len(c.spreads) == 0 {
		return
	}
	spot := t.locate(p)
	at := &spot
	for _, x := range k.censuses {
		x.add(at, n)
	}
	for _, r := range c.spreads {
		if d := r.topology.number(at); d >= 0 {
			r.added[d] += n
		}
	}
	for _, h := range k.cohorts {
		h.add(at, n)
	}
	for _, y := range k.tallies {
		y.add(at, n)
	}
	for _, y := range c.owned {
		y.add(at, n)
	}
}

// Offer names a domain that new nodes could open for the class. From then on the
// domain counts, empty, in the skew of the class's spreads over the key. It also
// counts for other classes whose spreads share a census with these.
func (t *Table) Offer(class int, key, domain string) {
	for _, s := range t.classes[class].spreads {
		if s.topology.key == label.Canonical(key) {
			s.open(s.topology.intern(domain))
		}
	}
}

// Expect says that a node will be at the place; the function takes says whether pods
// of the class may run there. If they may, its domain counts from then on, empty, in
// the skew of the class at places to come: when pods run there, the node is up. For
// nodes that are up it does not count: the scheduler does not wait for others.
func (t *Table) Expect(class int, p Place, takes func() bool) {
	spot := t.locate(p)
	if spot.node >= 0 {
		return
	}
	for _, s := range t.classes[class].spreads {
		s.expect(&spot, takes)
	}
}

// spot is a Place, looked up.
type spot struct {
	Place
	node int32 // in the snapshot; -1 for a place to come

	last   *topology // the topology looked up last, and its domain: many rules use the same key
	domain int32
}

func (t *Table) locate(p Place) spot {
	if p.Labels == nil {
		p.Labels = label.Labels(nil)
	}
	if p.Name != "" {
		if i, ok := t.byName[p.Name]; ok {
			return spot{Place: p, node: i}
		}
	}
	return spot{Place: p, node: -1}
}
