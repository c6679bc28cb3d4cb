package consolidate

import (
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// maxResources is how many resources the shadow counts beside CPU, memory, ephemeral
// storage and pods.
const maxResources = 4

// vector is an amount of each resource.
type vector [4 + maxResources]int64

func (v *vector) fits(free *vector) bool {
	for i, n := range v {
		if n > free[i] && n > 0 {
			return false
		}
	}
	return true
}

// count returns how many of v fit, up to n.
func (v *vector) count(free *vector, n int64) int64 {
	for i, need := range v {
		if need <= 0 {
			continue
		}
		if need > free[i] {
			return min(n, 0)
		}
		if high, low := bits.Mul64(uint64(need), uint64(max(0, n))); high > 0 || low > uint64(free[i]) { // division takes long
			n = free[i] / need
		}
	}
	return n
}

func (v *vector) add(w *vector, n int64) {
	for i := range v {
		v[i] += w[i] * n
	}
}

// class is pods that are interchangeable.
type class struct {
	origin
	need  vector
	worth int64 // of what a pod requests, in nano-dollars an hour
	// most is how many pods of the group a node runs at most, whatever room it has.
	most int64
	// fixed pods stay where they are. named pods ask for labels that name a node. The shadow
	// counts the rules of ruled pods about other pods only in part: see Uncounted.
	fixed, named, ruled bool
	accepts             []int8   // by kind of node: 0 not known, 1 no, 2 yes
	taken               []uint64 // by row: zones where a new node takes the pods; nil until asked for, and never changed then
}

// origin is what pods of one class have in common.
type origin struct {
	group *cluster.Group
	zone  string // where they stay, as rules between pods look at zones; empty for any
	// spot says that they run on spot nodes, and no new spot nodes take them.
	spot bool
	// ratio is the Ratio of the nodes that they run on, and that alone of the running
	// nodes take them; 0 for any.
	ratio int
}

// node is a node of the fleet in the shadow, or a new one.
type node struct {
	*Node   // nil for a new one
	price   quantity.Money
	labels  label.Lookup
	taints  []cluster.Taint
	free    vector
	own     []part // the pods that run there and move if the node is deleted, by class
	guests  []part // pods of other nodes that the search has put there, by class
	pods    int64  // of its own
	dear    int64  // what evicting its own pods costs more than as many ordinary ones; see cluster.OrdinaryPod
	kind    int
	zone    string
	spot    bool
	ratio   int // of a node that runs
	removed bool
	in      string // the capacity reservation of a new node; "" for none
	size    size
	tried   bool // in the first round
	ticket  int  // number of the trial that has changed the node last
}

// part is a number of pods of one class.
type part struct {
	class int
	n     int64
}

// at returns where the guests of the class are in the list; -1 if there are none.
func (n *node) at(class int) int {
	return slices.IndexFunc(n.guests, func(p part) bool { return p.class == class })
}

// take puts guests on the node.
func (n *node) take(p part, c *class) {
	n.free.add(&c.need, -p.n)
	if at := n.at(p.class); at >= 0 {
		n.guests[at].n += p.n
		return
	}
	n.guests = append(n.guests, p)
}

// shadow is a copy of the fleet for trials.
type shadow struct {
	nodes      []node // those that run, then new ones
	classes    []class
	inTurn     turns    // see turns; of no classes, or of fewer, where it has to be made anew
	resources  []string // the extended ones that count
	byOrigin   map[origin]int
	groups     map[string]*cluster.Group // by key: that of the classes
	spotToSpot bool                      // see Question
	alike      bool                      // see Question
	kinds      kinds
	now        attempt
	index      index
	hosts      []host // of the class that is being placed
	work       int    // units that the search has taken
	// What CPU and memory are worth, in thousandths of a nano-dollar an hour.
	perMilliCPU, perMiB int64
}

// kinds numbers the nodes by what decides which pods may run there.
type kinds struct {
	count int
	known map[string]int
	fresh []int32 // of new nodes, by row and zone; 0 where it has no number yet
}

func newShadow(q *Question) *shadow {
	s := &shadow{byOrigin: map[origin]int{}, groups: map[string]*cluster.Group{}, kinds: kinds{known: map[string]int{}}, perMilliCPU: bulk * price.BulkMilliCPU, perMiB: bulk * price.BulkMiB, spotToSpot: q.SpotToSpot, alike: q.Alike}
	for i := range q.Nodes {
		for g := range q.Nodes[i].State.Groups() {
			for _, a := range g.Shape.Requests.Extended {
				if !slices.Contains(s.resources, a.Name) && len(s.resources) < maxResources {
					s.resources = append(s.resources, a.Name)
				}
			}
		}
	}
	s.nodes = make([]node, len(q.Nodes))
	for i := range q.Nodes {
		s.enter(&s.nodes[i], &q.Nodes[i])
	}
	s.begin(1)
	s.reindex()
	return s
}

// reindex makes the index anew.
func (s *shadow) reindex() {
	s.index = index{}
	for i := range s.nodes {
		s.index.stale = append(s.index.stale, i)
	}
	s.index.see(s.nodes)
}

// clone returns a copy that can be changed, without new nodes that were removed. What never
// changes is shared.
func (s *shadow) clone() *shadow {
	c := *s
	c.nodes = slices.DeleteFunc(slices.Clone(s.nodes), func(n node) bool { return n.Node == nil && n.removed })
	for i := range c.nodes {
		c.nodes[i].guests = slices.Clone(c.nodes[i].guests)
	}
	c.hosts, c.now = nil, attempt{}
	c.ownClasses()
	c.begin(s.now.ticket)
	c.reindex()
	return &c
}

// ownClasses gives a copy of a shadow classes and kinds of its own.
func (s *shadow) ownClasses() {
	s.classes = slices.Clone(s.classes)
	for i := range s.classes {
		s.classes[i].accepts = slices.Clone(s.classes[i].accepts)
	}
	s.kinds.known, s.kinds.fresh = maps.Clone(s.kinds.known), slices.Clone(s.kinds.fresh)
}

func (s *shadow) enter(n *node, of *Node) {
	n.Node, n.kind, n.price = of, s.kindOf(&of.State.Node), of.Price
	n.labels, n.taints = of.State.Node.Labels, of.State.Node.Taints
	n.zone, _ = n.labels.Get(label.Zone)
	capacityType, _ := n.labels.Get(label.CapacityType)
	n.spot = capacityType == label.Spot
	n.ratio = Ratio(&of.State.Node)
	n.free = s.vector(of.Free)
	for i, name := range s.resources {
		if cluster.IsAttachSlots(name) && of.State.Node.Allocatable.Get(name) == 0 {
			n.free[4+i] = cluster.UnlimitedSlots
		}
	}
	for g, count := range of.State.Moving() {
		n.own = append(n.own, part{s.classOf(n, g), count})
		n.pods += count
	}
	n.dear = of.State.EvictionCost() - n.pods*cluster.OrdinaryPod
	n.size = s.sizeOf(n)
}

func (s *shadow) vector(r quantity.Resources) (v vector) {
	v[0], v[1], v[2], v[3] = r.MilliCPU, r.MemoryBytes, r.EphemeralBytes, r.PodSlots
	for i, name := range s.resources {
		v[4+i] = r.Get(name) //nolint:gosec // as many resources as the vector has room for
	}
	return v
}

// classOf returns the class of the group's pods on the node.
func (s *shadow) classOf(n *node, g *cluster.Group) int {
	if first, known := s.groups[g.Key]; known {
		g = first // another snapshot may have its own
	} else {
		s.groups[g.Key] = g
	}
	o := origin{group: g, spot: n.spot && !s.spotToSpot}
	if s.alike {
		o.ratio = n.ratio
	}
	if dependsOnZones(&o.group.Shape) {
		o.zone = n.zone
	}
	i, known := s.byOrigin[o]
	if !known {
		i = len(s.classes)
		s.byOrigin[o] = i
		s.classes = append(s.classes, s.newClass(o))
	}
	return i
}

// dependsOnZones says whether rules between pods look at zones.
func dependsOnZones(x *cluster.Shape) bool {
	return slices.ContainsFunc(x.Spread, func(t cluster.Spread) bool { return !t.Soft && t.Key != label.Hostname }) ||
		slices.ContainsFunc(x.PodAffinity, func(t cluster.PodTerm) bool { return t.Weight == 0 }) ||
		slices.ContainsFunc(x.PodAntiAffinity, func(t cluster.PodTerm) bool { return t.Weight == 0 && t.Key != label.Hostname })
}

func (s *shadow) newClass(o origin) class {
	x := &o.group.Shape
	c := class{
		origin: o, need: s.vector(x.Requests), worth: price.Bulk(x.Requests), most: mostOnNode(x), fixed: len(x.Unsupported) > 0,
		ruled: countedInPart(o.group) && len(x.Unsupported) == 0,
	}
	for _, a := range x.Requests.Extended {
		c.fixed = c.fixed || a.Count > 0 && !slices.Contains(s.resources, a.Name)
	}
	for _, t := range x.PodAffinity {
		c.fixed = c.fixed || t.Weight == 0 && t.Key == label.Hostname
	}
	c.named = fit.AsksForNames(x)
	return c
}

// countedInPart says whether rules about other pods bind the pods that the shadow does not
// count: those that look at zones, affinity, and keeping apart from pods of another kind.
func countedInPart(g *cluster.Group) bool {
	x := &g.Shape
	return dependsOnZones(x) || slices.ContainsFunc(x.PodAntiAffinity, func(t cluster.PodTerm) bool { return t.Weight == 0 && !t.Selector.Selects(g.Labels) })
}

// mostOnNode returns how many pods of one group a node runs at most by their rules: as many
// as a spread over hosts allows beside a host that has none, or one where they keep apart.
func mostOnNode(x *cluster.Shape) int64 {
	most := int64(math.MaxInt64)
	if len(x.Ports) > 0 || slices.ContainsFunc(x.PodAntiAffinity, func(t cluster.PodTerm) bool { return t.Weight == 0 && t.Key == label.Hostname }) {
		most = 1
	}
	for _, t := range x.Spread {
		if !t.Soft && t.Key == label.Hostname {
			most = min(most, t.MaxSkew)
		}
	}
	return most
}

// kindOf returns the kind of a node that runs.
func (s *shadow) kindOf(n *cluster.Node) int {
	var room [1024]byte
	key := room[:0]
	for _, l := range n.Labels {
		if !label.NamesNode(l.Key) {
			key = append(append(append(append(key, l.Key...), '='), l.Value...), ',')
		}
	}
	for _, t := range n.Taints {
		key = append(append(key, t.String()...), ';')
	}
	k, known := s.kinds.known[string(key)]
	if !known {
		k = s.kinds.next()
		s.kinds.known[string(key)] = k
	}
	return k
}

// next returns a number that no kind has.
func (k *kinds) next() int {
	k.count++
	return k.count
}

// accepts says whether pods of the class may run on the node.
func (s *shadow) accepts(class int, n *node) bool {
	c := &s.classes[class]
	switch {
	case c.zone != "" && n.zone != c.zone,
		c.spot && n.spot && n.Node == nil,
		c.ratio != 0 && n.ratio != c.ratio && n.Node != nil,
		c.most < math.MaxInt64 && s.more(c, n) == 0:
		return false
	}
	return s.suits(class, n)
}

// suits says whether the node is one that pods of the class ask for, whatever rules they
// have about other pods.
func (s *shadow) suits(class int, n *node) bool {
	c := &s.classes[class]
	if c.named {
		return fit.Node(c.group.Shape, n.labels, n.taints)
	}
	for len(c.accepts) <= n.kind {
		c.accepts = append(c.accepts, 0)
	}
	if c.accepts[n.kind] == 0 {
		c.accepts[n.kind] = 1
		if fit.Node(c.group.Shape, n.labels, n.taints) {
			c.accepts[n.kind] = 2
		}
	}
	return c.accepts[n.kind] == 2
}

// more returns how many pods of the class's group the node takes by their rules, beside
// those that it has.
func (s *shadow) more(c *class, n *node) int64 {
	left := c.most
	if left == math.MaxInt64 {
		return left
	}
	for _, list := range [][]part{n.own, n.guests} {
		for _, p := range list {
			if s.classes[p.class].group == c.group {
				left -= p.n
			}
		}
	}
	return max(0, left)
}

// Ratio says how much memory a node has for its CPU: the binary logarithm of the MiB a
// core, rounded. Nodes of one ratio suit the same mixture of pods.
func Ratio(n *cluster.Node) int {
	perCore := uint64(max(0, n.Allocatable.MemoryBytes)>>20) * 1000 / uint64(max(1, n.Allocatable.MilliCPU))
	return (bits.Len64(2*perCore*perCore) - 1) / 2
}

// bulk is how many times finer than price.Bulk's the prices of a search are.
const bulk = 1000
