package consolidate

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/random"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Node is a node of the fleet that runs.
type Node struct {
	State *cluster.NodeState
	Claim string
	Free  quantity.Resources
	Price quantity.Money // of the whole node, an hour; 0 where it is not ours or has no price
	May   bool           // it may go
	Least quantity.Money // what a move must save for each node that it takes away, an hour; beside Question.Least
	Group func(*cluster.Pod) *cluster.Group
}

// Question is a fleet to search.
type Question struct {
	Nodes  []Node // by name
	Fleet  *offer.Fleet
	Seed   uint64
	Trials int // of sets of nodes
	// Least is the least saving of a move, an hour, and PerPod what moving a pod costs.
	Least, PerPod quantity.Money
	// Share is how much of the price of new nodes a move must save, in thousandths.
	Share int64
	// LargestMilliCPU is the size beyond which no new node is looked at; 0 is no limit.
	LargestMilliCPU int64
	// SpotToSpot allows to replace spot nodes by spot nodes.
	SpotToSpot bool
}

// Search is a search that goes on in slices. A Search is a value that Go does not change.
type Search struct {
	*Question
	*shadow
	rows  []*offer.Row
	bins  []bin // new nodes of the present trial
	order []int // the nodes that may go: those that run, the most wasteful first, then new ones
	own   int   // how many of them run
	done  int   // trials

	waste  []int64 // of the nodes in order, added up
	wasted int64
}

// Begin begins the search.
func Begin(q Question) *Search {
	s := &Search{Question: &q, shadow: newShadow(q.Nodes)}
	if q.Fleet != nil {
		s.rows = goodRows(q.Fleet, q.LargestMilliCPU)
		s.lambda()
	}
	s.order = s.candidates()
	s.own = len(s.order)
	s.Trials = min(s.Trials, trialsPerNode*s.own)
	s.weigh()
	return s
}

// trialsPerNode bounds the trials of small fleets.
const trialsPerNode = 8

// Go returns the search after about so many units of work more, and whether it is
// finished. A unit is a look at one node, or at one kind of new nodes, for pods of one
// class. First each node is tried alone, without new nodes, in an order that keeps what
// is scarce; then sets of nodes are drawn; then each node is tried alone once more, the
// most wasteful first.
func (s *Search) Go(work int) (next *Search, finished bool) {
	if len(s.order) == 0 {
		return s, true
	}
	n := *s
	n.shadow, n.order = s.shadow.clone(), slices.Clone(s.order)
	for end := n.work + work; n.work < end; n.done++ {
		switch set := n.done - n.own; {
		case set >= n.Trials+n.own:
			return &n, true
		case set >= 0 && set < n.Trials:
			if set == 0 {
				n.weigh()
			}
			if drawn := n.draw(uint64(set)); len(n.rows) > 0 && len(drawn) > 0 && n.try(drawn, true) {
				n.weigh()
			}
		case set < 0:
			if i := n.next(); i >= 0 {
				n.nodes[i].tried = true
				n.try([]int{i}, false)
			}
		default:
			if i := n.order[set-n.Trials]; !n.nodes[i].gone {
				n.try([]int{i}, false)
			}
		}
	}
	return &n, false
}

// Result returns the NodeClaims that are to go: those first that waste the most for what
// moving their pods costs. All pods of all of them fit on the nodes that stay and on new
// nodes that cost less.
func (s *Search) Result() (out []string) {
	for _, i := range s.order[:s.own] {
		if s.nodes[i].gone {
			out = append(out, s.nodes[i].Claim)
		}
	}
	return out
}

// candidates returns the nodes that may go, those that waste the most for what moving
// them costs first.
func (s *Search) candidates() []int {
	ratio := make([]int64, len(s.nodes))
	var order []int
	for i := range s.nodes {
		n := &s.nodes[i]
		if !n.May || n.price <= 0 || slices.ContainsFunc(n.parts, func(p part) bool { return s.classes[p.class].fixed }) {
			continue
		}
		var used int64
		for _, p := range n.parts {
			used += s.classes[p.class].worth * p.n
		}
		ratio[i] = quantity.MulDiv(max(0, int64(n.price)-used), cluster.OrdinaryPod, (n.pods+1)*cluster.OrdinaryPod+n.dear)
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(ratio[b], ratio[a]), strings.Compare(s.nodes[a].State.Node.Name, s.nodes[b].State.Node.Name))
	})
	return order
}

// lambda prices CPU and memory so that all pods together are worth as much as possible,
// while no new node holds more than it costs, and what nodes that run hold above their
// price is taken off: the dual of the cheapest fleet for the pods, with divisible nodes,
// of those that run and new ones. Nodes that are worth less than their price at these
// prices are the ones to take away.
func (s *Search) lambda() {
	var cpu, mib int64
	for i := range s.nodes {
		for _, p := range s.nodes[i].parts {
			c := &s.classes[p.class]
			cpu, mib = cpu+c.need[0]*p.n, mib+c.need[1]>>20*p.n
		}
	}
	most := int64(-1)
	s.perMilliCPU, s.perMiB = perMilliCPU, perMiB
	for w := range int64(ratios + 1) {
		x, y := w*perMilliCPU, (ratios-w)*perMiB
		least := int64(math.MaxInt64) // the highest scale at which no new node holds more than it costs
		for _, r := range s.rows {
			if v := x*r.Net.MilliCPU + y*(r.Net.MemoryBytes>>20); v > 0 {
				least = min(least, quantity.MulDiv(int64(r.Price), scale, v))
			}
		}
		if least == math.MaxInt64 {
			continue
		}
		for k := range int64(steps) {
			l := least / steps * (k + 1)
			sum := quantity.MulDiv(x*cpu+y*mib, l, scale)
			for i := range s.nodes {
				n := &s.nodes[i]
				sum -= max(0, quantity.MulDiv(x*n.size[0]+y*n.size[1], l, scale)-int64(n.price))
			}
			if sum > most {
				most, s.perMilliCPU, s.perMiB = sum, quantity.MulDiv(x, l, scale/1000), quantity.MulDiv(y, l, scale/1000)
			}
		}
	}
	for i := range s.classes {
		c := &s.classes[i]
		c.worth = max(1, (c.need[0]*s.perMilliCPU+c.need[1]>>20*s.perMiB)/1000)
	}
}

// ratios is how many ratios of the prices of CPU and memory are looked at, steps how
// many scales of each, and scale the precision of the prices.
const ratios, steps, scale = 64, 32, 1_000_000

// A trial takes away so many nodes.
const leastSet, mostSet = 2, 12

// weigh works out what each node wastes now.
func (s *Search) weigh() {
	s.waste, s.wasted = make([]int64, 0, len(s.order)), 0
	for _, i := range s.order {
		n := &s.nodes[i]
		var used, waste int64
		for _, p := range n.parts {
			used += s.classes[p.class].worth * p.n
		}
		if !n.gone {
			waste = max(1, (int64(n.price)-used)>>16)
		}
		s.wasted += waste
		s.waste = append(s.waste, s.wasted)
	}
}

// draw draws a few nodes that have not gone, each as often as it wastes.
func (s *Search) draw(trial uint64) (set []int) {
	if s.wasted <= 0 {
		return nil
	}
	at := func(k int) uint64 { return random.At(s.Seed^trial<<20, uint64(k+1)) }
	count := leastSet + int(at(0)%(mostSet-leastSet+1))
	for k := 1; len(set) < count && k < 4*mostSet; k++ {
		i, _ := slices.BinarySearch(s.waste, int64(at(k)%uint64(s.wasted))+1)
		if i = s.order[i]; !s.nodes[i].gone && !slices.Contains(set, i) {
			set = append(set, i)
		}
	}
	return set
}

// try takes the set away, if its pods fit on nodes that stay and, if fresh is set, on new
// nodes, and if that saves enough.
func (s *Search) try(set []int, fresh bool) bool {
	mark, known := len(s.log), len(s.nodes)
	var frees, least quantity.Money
	var pods, dear int64
	spot, fits := false, true
	rest := map[string][]part{} // by zone
	for _, i := range set {
		n := &s.nodes[i]
		n.gone = true
		frees, pods, spot = frees.Add(n.price), pods+n.pods, spot || n.spot
		least, dear = least.Add(n.least), dear+n.dear
	}
	for _, i := range set {
		n := &s.nodes[i]
		left := s.place(n.parts, n.zone)
		rest[n.zone] = merge(rest[n.zone], left)
		fits = fits && len(left) == 0
		if !fits && !fresh {
			break
		}
	}
	var cost quantity.Money
	s.bins = s.bins[:0]
	if !fits && fresh {
		cost, fits = s.pack(rest, spot && !s.SpotToSpot)
	}
	saves := frees - cost - quantity.Money(s.moving(pods, dear))
	if !fits || saves < max(s.Least, least) || saves < cost/1000*quantity.Money(s.Share) {
		for _, i := range set {
			s.nodes[i].gone = false
		}
		s.undo(mark)
		s.nodes = s.nodes[:known]
		return false
	}
	s.log = s.log[:0]
	s.open()
	return true
}

// merge adds up parts by class.
func merge(a, b []part) []part {
	for _, x := range b {
		if i := slices.IndexFunc(a, func(y part) bool { return y.class == x.class }); i >= 0 {
			a[i].n += x.n
		} else {
			a = append(a, x)
		}
	}
	return a
}
