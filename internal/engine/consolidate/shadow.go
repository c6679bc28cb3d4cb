package consolidate

import (
	"cmp"
	"maps"
	"slices"
	"strings"

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
		if need > 0 {
			n = min(n, max(0, free[i])/need)
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
	group *cluster.Group
	need  vector
	worth int64 // of what a pod requests, in nano-dollars an hour
	// inZone says that rules between pods look at the zone: the pods stay in theirs.
	// exclusive says that no two of them share a node. fixed pods stay where they are.
	inZone, exclusive, fixed bool
	named                    bool     // the pods ask for labels that name a node
	accepts                  []int8   // by kind of node: 0 not known, 1 no, 2 yes
	taken                    []uint64 // by row: zones where a new node takes the pods; nil until asked for
}

// node is a node of the fleet in the shadow, or a new one.
type node struct {
	*Node  // nil for a new one
	price  quantity.Money
	labels label.Lookup
	taints []cluster.Taint
	free   vector
	parts  []part // the pods that move if the node goes, by class
	pods   int64
	dear   int64 // what evicting the pods that run there costs more than as many ordinary ones; see cluster.OrdinaryPod
	least  quantity.Money
	kind   int
	zone   string
	spot   bool
	gone   bool
	size   size
	tried  bool // in the first round
}

// part is a number of pods of one class.
type part struct {
	class int
	n     int64
}

// shadow is a copy of the fleet for trials.
type shadow struct {
	nodes     []node
	classes   []class
	resources []string // the extended ones that count
	byGroup   map[*cluster.Group]int
	kinds     map[string]int
	log       []placement
	work      int // units that the search has taken
	// What CPU and memory are worth, in thousandths of a nano-dollar an hour.
	perMilliCPU, perMiB int64
}

// placement is pods that a trial has put on a node.
type placement struct {
	node int
	part
}

func newShadow(nodes []Node) *shadow {
	s := &shadow{byGroup: map[*cluster.Group]int{}, kinds: map[string]int{}}
	for i := range nodes {
		for g := range nodes[i].State.Groups() {
			for _, a := range g.Shape.Requests.Extended {
				if !slices.Contains(s.resources, a.Name) && len(s.resources) < maxResources {
					s.resources = append(s.resources, a.Name)
				}
			}
		}
	}
	s.nodes = make([]node, len(nodes))
	for i := range nodes {
		s.enter(&s.nodes[i], &nodes[i])
	}
	return s
}

// clone returns a copy that can be changed. What is only ever added to is shared.
func (s *shadow) clone() *shadow {
	c := *s
	c.nodes, c.classes, c.log = slices.Clone(s.nodes), slices.Clone(s.classes), nil
	for i := range c.nodes {
		c.nodes[i].parts = slices.Clone(s.nodes[i].parts)
	}
	for i := range c.classes {
		c.classes[i].accepts = slices.Clone(s.classes[i].accepts)
	}
	c.kinds = maps.Clone(s.kinds)
	return &c
}

func (s *shadow) enter(n *node, of *Node) {
	n.Node, n.kind, n.price, n.least = of, s.kindOf(&of.State.Node), of.Price, of.Least
	n.labels, n.taints = of.State.Node.Labels, of.State.Node.Taints
	n.zone, _ = n.labels.Get(label.Zone)
	capacityType, _ := n.labels.Get(label.CapacityType)
	n.spot = capacityType == label.Spot
	n.free = s.vector(of.Free)
	for i, name := range s.resources {
		if cluster.IsAttachSlots(name) && of.State.Node.Allocatable.Get(name) == 0 {
			n.free[4+i] = cluster.UnlimitedSlots
		}
	}
	counts := map[int]int64{}
	for p := range of.State.Pods() {
		if p.Moves() {
			counts[s.classOf(of, &p)]++
			n.pods++
			n.dear += p.EvictionCost() - cluster.OrdinaryPod
		}
	}
	for c, k := range counts {
		n.parts = append(n.parts, part{c, k})
	}
	// The dearest pods first: what is small finds room beside what is large.
	slices.SortFunc(n.parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(s.classes[b.class].worth, s.classes[a.class].worth), cmp.Compare(a.class, b.class))
	})
	n.size = s.sizeOf(n)
}

func (s *shadow) vector(r quantity.Resources) (v vector) {
	v[0], v[1], v[2], v[3] = r.MilliCPU, r.MemoryBytes, r.EphemeralBytes, r.PodSlots
	for i, name := range s.resources {
		v[4+i] = r.Get(name) //nolint:gosec // as many resources as the vector has room for
	}
	return v
}

// classOf returns the class of a pod of the node.
func (s *shadow) classOf(of *Node, p *cluster.Pod) int {
	g := of.Group(p)
	i, known := s.byGroup[g]
	if !known {
		i = len(s.classes)
		s.byGroup[g] = i
		s.classes = append(s.classes, s.newClass(g))
	}
	return i
}

func (s *shadow) newClass(g *cluster.Group) class {
	x := &g.Shape
	c := class{group: g, need: s.vector(x.Requests), worth: price.Bulk(x.Requests), exclusive: len(x.Ports) > 0, fixed: len(x.Unsupported) > 0}
	for _, a := range x.Requests.Extended {
		c.fixed = c.fixed || a.Count > 0 && !slices.Contains(s.resources, a.Name)
	}
	for _, t := range x.Spread {
		if !t.Soft {
			c.inZone, c.exclusive = c.inZone || t.Key != label.Hostname, c.exclusive || t.Key == label.Hostname
		}
	}
	for _, t := range x.PodAffinity {
		c.inZone, c.fixed = c.inZone || t.Weight == 0, c.fixed || t.Weight == 0 && t.Key == label.Hostname
	}
	for _, t := range x.PodAntiAffinity {
		if t.Weight == 0 {
			c.inZone, c.exclusive = c.inZone || t.Key != label.Hostname, c.exclusive || t.Key == label.Hostname
		}
	}
	names := func(r label.Requirements) bool {
		return slices.ContainsFunc(r, func(x label.Requirement) bool { return label.NamesNode(x.Key()) })
	}
	c.named = names(x.Selector) || slices.ContainsFunc(x.NodeAffinity, names)
	return c
}

// kindOf numbers the nodes by what decides which pods may run there.
func (s *shadow) kindOf(n *cluster.Node) int {
	var b strings.Builder
	for _, l := range n.Labels {
		if !label.NamesNode(l.Key) {
			b.WriteString(l.Key + "=" + l.Value + ",")
		}
	}
	for _, t := range n.Taints {
		b.WriteString(t.String() + ";")
	}
	k, known := s.kinds[b.String()]
	if !known {
		k = len(s.kinds)
		s.kinds[b.String()] = k
	}
	return k
}

// accepts says whether pods of the class that now run in the zone may run on the node.
func (s *shadow) accepts(class int, n *node, zone string) bool {
	c := &s.classes[class]
	if c.inZone && n.zone != zone || c.exclusive && slices.ContainsFunc(n.parts, func(p part) bool { return p.class == class }) {
		return false
	}
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

// place puts the parts of a node that goes on nodes that stay, the tightest first. It
// returns what has no place there.
func (s *shadow) place(parts []part, zone string) (rest []part) {
	for _, p := range parts {
		c := &s.classes[p.class]
		for p.n > 0 {
			best, least := -1, int64(0)
			s.work += len(s.nodes)
			for i := range s.nodes {
				n := &s.nodes[i]
				if n.gone || !c.need.fits(&n.free) || !s.accepts(p.class, n, zone) {
					continue
				}
				if left := s.left(n, c); best < 0 || left < least {
					best, least = i, left
				}
			}
			if best < 0 {
				rest = append(rest, p)
				break
			}
			k := c.need.count(&s.nodes[best].free, p.n)
			if c.exclusive {
				k = 1
			}
			s.put(best, part{p.class, k}, 1)
			s.log = append(s.log, placement{best, part{p.class, k}})
			p.n -= k
		}
	}
	return rest
}

// put adds the pods to the node, or takes them off where sign is -1.
func (s *shadow) put(i int, p part, sign int64) {
	n := &s.nodes[i]
	n.pods += sign * p.n
	n.free.add(&s.classes[p.class].need, -sign*p.n)
	k := slices.IndexFunc(n.parts, func(x part) bool { return x.class == p.class })
	if k < 0 {
		n.parts = append(n.parts, part{class: p.class})
		k = len(n.parts) - 1
	}
	if n.parts[k].n += sign * p.n; n.parts[k].n == 0 {
		n.parts = slices.Delete(n.parts, k, k+1)
	}
}

// undo takes back the placements since the mark.
func (s *shadow) undo(mark int) {
	for i := len(s.log) - 1; i >= mark; i-- {
		s.put(s.log[i].node, s.log[i].part, -1)
	}
	s.log = s.log[:mark]
}

// left rates what a pod of the class leaves of the node: little is best, and much of one
// resource is worse than some of each. The sum of squares says so.
func (s *shadow) left(n *node, c *class) int64 {
	cpu, memory := (n.free[0]-c.need[0])*s.perMilliCPU>>14, (n.free[1]-c.need[1])>>20*s.perMiB>>14
	return cpu*cpu + memory*memory
}

// The relative value of resources where no prices say it; see price.Bulk.
const perMilliCPU, perMiB = 10, 1
