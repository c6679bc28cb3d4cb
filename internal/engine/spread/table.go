package spread

import (
	"math"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// Place is a node, or one to come.
type Place struct {
	Name   string // of the node; "" for a node to come that has no name yet
	Labels label.Lookup
	Taints []cluster.Taint
}

// Class is a class of pods that need room.
type Class struct {
	Namespace string
	Labels    label.Labels
	Shape     cluster.Shape
}

// Table has the counts that the rules of the classes depend on.
type Table struct {
	snapshot   cluster.Snapshot
	nodes      []*cluster.Node
	byName     map[string]int32 // index into nodes
	topologies map[string]*topology
	electors   map[string]*electorate
	classes    []class
	hostRules  int // ids given out
}

// class is what binds the pods of a Class, and what they count for.
type class struct {
	Class
	namespace label.Labels // labels of the namespace
	spreads   []*spreadRule
	together  *togetherRule // nil without required affinity
	apart     []apartRule   // own anti-affinity
	inverse   []apartRule   // anti-affinity of others against this class

	feedsSpreads  []*spreadRule
	feedsTogether []*togetherRule
	feedsTallies  []*tally
	hostRules     []hostRole
}

// Room returns how many more pods of the class may go to the place now, one
// after the other and on that place only: 0 for none, math.MaxInt64 for no
// limit.
func (t *Table) Room(class int, p Place) int64 {
	c := &t.classes[class]
	room := int64(math.MaxInt64)
	if len(c.spreads) == 0 && c.together == nil && len(c.apart) == 0 && len(c.inverse) == 0 {
		return room
	}
	spot := t.locate(p)
	at := &spot
	for _, s := range c.spreads {
		if room = min(room, s.room(at)); room == 0 {
			return 0
		}
	}
	if c.together != nil && !c.together.allows(at) {
		return 0
	}
	for i := range c.apart {
		if room = min(room, c.apart[i].room(at)); room == 0 {
			return 0
		}
	}
	for i := range c.inverse {
		if room = min(room, c.inverse[i].room(at)); room == 0 {
			return 0
		}
	}
	return room
}

// Add says that n more pods of the class are at the place: they count for every
// rule that looks at them. A negative n takes back what was added before.
func (t *Table) Add(class int, p Place, n int64) {
	c := &t.classes[class]
	if n == 0 || len(c.feedsSpreads) == 0 && len(c.feedsTogether) == 0 && len(c.feedsTallies) == 0 {
		return
	}
	spot := t.locate(p)
	at := &spot
	for _, s := range c.feedsSpreads {
		s.add(at, n)
	}
	for _, r := range c.feedsTogether {
		r.add(at, n)
	}
	for _, y := range c.feedsTallies {
		y.add(at, n)
	}
}

// Offer names a domain that new nodes could open for the class: from now on it
// counts, empty, in the skew of the class's spreads over the key.
func (t *Table) Offer(class int, key, domain string) {
	for _, s := range t.classes[class].spreads {
		if s.topology.key == label.Canonical(key) {
			s.open(s.topology.intern(domain))
		}
	}
}

// spot is a Place, looked up.
type spot struct {
	Place
	node int32 // in the snapshot; -1 for a place to come
}

func (t *Table) locate(p Place) spot {
	if p.Labels == nil {
		p.Labels = label.Labels(nil)
	}
	if p.Name != "" {
		if i, ok := t.byName[p.Name]; ok {
			return spot{p, i}
		}
	}
	return spot{p, -1}
}
