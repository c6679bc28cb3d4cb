package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/bound"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Audit says what the whole fleet costs, what it would cost at the least from
// scratch, and what every constraint adds. It is pure, as Step is, and decides
// nothing. It takes as many linear programs as the pools have requirements that
// narrow what they can launch, and a few.
func Audit(in Input) plan.Audit {
	a := audit{step: newStep(in, nil), priced: map[string]bool{}, counts: map[string]int64{}, groups: map[string]*cluster.Group{}}
	a.price()
	a.countBound()
	if len(a.out.Unpriced) == 0 {
		a.countComing()
	}
	a.supply = a.unreserved()
	a.pose()
	a.best = bound.Of(a.problem)
	a.priceRequirements()
	a.priceWeights()
	a.priceSizeLimit()
	a.finish()
	return a.out
}

// audit is the working state of one Audit. Its classes are the whole demand.
type audit struct {
	*step
	out     plan.Audit
	priced  map[string]bool // NodeClaims
	counts  map[string]int64
	groups  map[string]*cluster.Group
	supply  *cluster.Supply
	foreign []*host // nodes that are not ours, and take pods

	problem bound.Problem // everything at hand
	levels  []*level      // by index of the problem's Where
	dims    dimensions
	best    bound.Certificate
}

// price adds up what the NodeClaims cost.
func (a *audit) price() {
	for _, c := range a.in.Snapshot.Claims() {
		if c.Deleting && !c.Launched {
			continue
		}
		money, known := a.cheapest(c)
		if !known {
			a.out.Unpriced = append(a.out.Unpriced, c.Name)
			continue
		}
		a.priced[c.Name] = true
		a.out.Cost += money
		a.out.Claims++
	}
}

// cheapest is the price of what the NodeClaim is or, before it is launched, may
// become.
func (a *audit) cheapest(c cluster.Claim) (least quantity.Money, known bool) {
	class, _ := a.in.Snapshot.Class(c.Class)
	types := class.Types
	if c.Launched {
		i, found := slices.BinarySearchFunc(types, c.InstanceType, func(t catalog.InstanceType, name string) int { return strings.Compare(t.Name, name) })
		if !found {
			return 0, false
		}
		types = types[i : i+1]
	}
	for i := range types {
		if !c.Launched && !c.Requirements.Admits(label.InstanceType, types[i].Name) {
			continue
		}
		for _, o := range types[i].Offerings {
			if o.Price < 0 || o.Price == 0 && o.Reservation == "" || c.Reservation != "" && o.Reservation != c.Reservation {
				continue
			}
			same := o.Zone == c.Zone && o.CapacityType == c.CapacityType
			if !c.Launched {
				same = c.Requirements.Admits(label.Zone, o.Zone) && c.Requirements.Admits(label.CapacityType, o.CapacityType)
			}
			if same && (!known || o.Price < least) {
				least, known = o.Price, true
			}
		}
	}
	return least, known
}

// countBound counts the pods on our nodes and finds the nodes that are not ours.
func (a *audit) countBound() {
	for state := range a.in.Snapshot.States() {
		c, ours := a.in.Snapshot.Claim(state.Node.Claim)
		if !ours {
			c, ours = state.Claim()
		}
		if !ours && state.Node.Claim == "" {
			if h := a.nodeHost(state, cluster.Claim{}); h != nil {
				a.foreign = append(a.foreign, h)
			}
		}
		if !a.priced[c.Name] {
			continue
		}
		for g, n := range state.Groups() {
			a.count(g, n)
		}
		for p := range state.Pods() {
			if p.Pinned || p.Deleting {
				g, _ := a.in.Snapshot.GroupOf(p.ID())
				a.count(g, -1)
			}
		}
	}
}

func (a *audit) count(g *cluster.Group, n int64) {
	a.groups[g.Key] = g
	a.counts[g.Key] += n
}

// countComing counts the pods, declared ones included, that have a place on what
// is there or on its way.
func (a *audit) countComing() {
	a.gatherDemand()
	a.classes = filter(a.classes, func(c *demandClass) bool {
		c.displaced = nil // they are counted where they run
		c.level, c.had = c.last(), c.count()
		return c.had > 0
	})
	if len(a.classes) == 0 {
		return
	}
	a.gatherRules()
	a.gatherHosts()
	a.keepPromises()
	for _, c := range a.classes {
		a.fill(c)
		a.count(c.group, c.had-c.count())
	}
}

// unreserved is the supply with the reservations as if nothing of ours were in
// them. What does not say in which it is could be in any.
func (a *audit) unreserved() *cluster.Supply {
	type place struct{ instanceType, zone, reservation string }
	used := map[place]int64{}
	for _, c := range a.in.Snapshot.Claims() {
		if c.CapacityType == label.Reserved {
			used[place{c.InstanceType, c.Zone, c.Reservation}]++
		}
	}
	supply := a.in.Snapshot.Supply()
	if len(used) == 0 {
		return supply
	}
	out := *supply
	out.Classes = slices.Clone(out.Classes)
	for i := range out.Classes {
		types := slices.Clone(out.Classes[i].Types)
		out.Classes[i].Types = types
		for j := range types {
			types[j].Offerings = slices.Clone(types[j].Offerings)
			for k := range types[j].Offerings {
				if o := &types[j].Offerings[k]; o.CapacityType == label.Reserved {
					o.Left += used[place{types[j].Name, o.Zone, o.Reservation}] + used[place{types[j].Name, o.Zone, ""}]
				}
			}
		}
	}
	return &out
}

// pose makes the problem of what is counted, without the pods that nothing
// could hold.
func (a *audit) pose() {
	a.classes = nil
	for key, n := range a.counts {
		if g := a.groups[key]; n > 0 && len(g.Shape.Unsupported) == 0 {
			a.classes = append(a.classes, &demandClass{group: g, levels: levels(g.Shape, true, false), had: n})
		} else {
			a.out.Homeless += max(0, n)
		}
	}
	a.compile(a.supply)
	a.problem, a.levels, a.dims = a.boundProblem(a.classes)
	a.problem.Hosts = room(a.foreign, a.levels, a.dims)
	held := make([]*demandClass, 0, len(a.classes))
	for i, c := range a.classes {
		if a.held(i) {
			held = append(held, c)
			a.out.Pods += c.had
		} else {
			a.out.Homeless += c.had
		}
	}
	if len(held) < len(a.classes) {
		a.classes = held
		a.problem, a.levels, a.dims = a.boundProblem(a.classes)
		a.problem.Hosts = room(a.foreign, a.levels, a.dims)
	}
}

// held says whether anything could hold a pod of the class.
func (a *audit) held(class int) bool {
	c := &a.problem.Classes[class]
	for _, h := range a.problem.Hosts {
		if h.Holds[c.Where>>6]>>(c.Where&63)&1 == 1 && fits(c.Need, h.Free) {
			return true
		}
	}
	for i := range a.problem.Offers {
		if a.holds(i, c) {
			return true
		}
	}
	return false
}

// holds says whether a node of the offer could hold a pod of the class.
func (a *audit) holds(offer int, c *pack.Class) bool {
	o := &a.problem.Offers[offer]
	return a.problem.Where[c.Where].Zones[offer]&o.Zones != 0 && fits(c.Need, o.Net)
}

// finish writes down the best bound and sorts the constraints.
func (a *audit) finish() {
	a.out.Proof = certificate(a.best, a.problem, a.classes, a.dims, a.fleet.Unpriced)
	a.out.Proof.Scratch = true
	slices.SortStableFunc(a.out.Constraints, func(x, y plan.ConstraintPrice) int {
		return cmp.Or(cmp.Compare(y.Price(), x.Price()), strings.Compare(x.Pool, y.Pool), strings.Compare(x.Rule, y.Rule))
	})
}
