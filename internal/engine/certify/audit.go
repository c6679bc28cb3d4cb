package certify

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/assign"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/bound"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/topology"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Audit returns what the whole fleet costs, the least that it would cost if it were
// bought from scratch, and what every constraint adds. It is pure, as Step is, and
// decides nothing. It solves one linear program for each requirement that narrows
// what a pool can launch, and a few more. The known fleet is one that was compiled
// before, or nil.
func Audit(v view.View, m memory.Memory, known *offer.Fleet) plan.Audit {
	a := audit{View: v, Journal: &journal.Journal{}, memory: &m, priced: map[string]bool{}, counts: map[string]int64{}, groups: map[string]*cluster.Group{}}
	a.price()
	a.countBound()
	if len(a.out.Unpriced) == 0 {
		a.countComing()
	}
	a.supply = a.unreserved()
	a.ask(known)
	a.best = bound.Of(a.asked.Problem)
	a.priceRequirements()
	a.priceWeights()
	a.priceSizeLimit()
	a.finish()
	return a.out
}

// audit is the working state of one Audit.
type audit struct {
	view.View
	*journal.Journal
	memory  *memory.Memory
	out     plan.Audit
	priced  map[string]bool // NodeClaims whose price is known
	counts  map[string]int64
	groups  map[string]*cluster.Group
	supply  *cluster.Supply
	foreign []*room.Host // nodes without a NodeClaim that take pods

	market *offer.Market
	asked  *question // the whole demand, on everything that can be bought
	best   bound.Certificate
}

// price adds up what the NodeClaims cost. Those of static pools are left out with their
// pods: they are bought whatever the pods need.
func (a *audit) price() {
	for _, c := range a.Snapshot.Claims() {
		pool, _ := a.Snapshot.Pool(c.Pool)
		if c.Deleting && !c.Launched || pool.Static {
			continue
		}
		money, known := a.PriceOf(c)
		if !known {
			a.out.Unpriced = append(a.out.Unpriced, c.Name)
			continue
		}
		a.priced[c.Name] = true
		a.out.Cost = a.out.Cost.Add(money)
		a.out.Extra = a.out.Extra.Add(a.ExtraOf(c.Class))
		a.out.Claims++
	}
}

// countBound counts the pods on nodes with a NodeClaim, and finds the nodes without
// one.
func (a *audit) countBound() {
	bare := room.New(a.View, &demand.Demand{}, a.Journal, &room.Known{})
	for state := range a.Snapshot.States() {
		c := a.ClaimOf(state)
		if c.Name == "" && state.Node.Claim == "" {
			if h := bare.HostOf(state, c); h != nil {
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
			if !p.Moves() {
				g, _ := a.Snapshot.GroupOf(p.ID())
				a.count(g, -1)
			}
		}
	}
}

func (a *audit) count(g *cluster.Group, n int64) {
	a.groups[g.Key] = g
	a.counts[g.Key] += n
}

// countComing counts the pods, declared ones included, that have a place on room
// that exists or is on its way.
func (a *audit) countComing() {
	d := demand.Gather(a.View, a.memory, a.Journal, nil)
	d.Classes = pick.Those(d.Classes, func(c *demand.Class) bool {
		c.Displaced = nil // countBound counts them where they run
		c.Level, c.Had = c.Last(), c.Count()
		return c.Had > 0
	})
	if len(d.Classes) == 0 {
		return
	}
	d.GatherRules(&topology.Known{})
	s := &assign.Assigner{View: a.View, Journal: a.Journal, Memory: a.memory, Demand: d, Room: room.Gather(a.View, d, a.Journal, &room.Known{}), Solver: pack.NewSolver(nil, math.MaxInt, 0), MinPriority: math.MinInt32}
	s.KeepPromises()
	for _, c := range d.Classes {
		s.Fill(c)
		a.count(c.Group, c.Had-c.Count())
	}
}

// unreserved returns the supply with reservations that none of our NodeClaims uses.
// A NodeClaim that does not name its reservation could be in any.
func (a *audit) unreserved() *cluster.Supply {
	type place struct{ instanceType, zone, reservation string }
	used := map[place]int64{}
	for _, c := range a.Snapshot.Claims() {
		if c.CapacityType == label.Reserved {
			used[place{c.InstanceType, c.Zone, c.Reservation}]++
		}
	}
	supply := a.Snapshot.Supply()
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

// ask poses the question about the counted pods, without those that nothing could
// hold.
func (a *audit) ask(known *offer.Fleet) {
	var all []*demand.Class
	for key, n := range a.counts {
		if g := a.groups[key]; n > 0 && len(g.Shape.Unsupported) == 0 {
			all = append(all, &demand.Class{Group: g, Levels: demand.Levels(g.Shape, true, false), Had: n})
		} else {
			a.out.Homeless += max(0, n)
		}
	}
	a.market = &offer.Market{View: a.View}
	a.market.Use(offer.Recompile(a.supply, offer.VariantsOf(a.Snapshot, all), a.Policy.NodeCost, known))
	a.asked = a.pose(a.market, all)
	placed := make([]*demand.Class, 0, len(all))
	for i, c := range all {
		if a.placeable(i) {
			placed = append(placed, c)
			a.out.Pods += c.Had
		} else {
			a.out.Homeless += c.Had
		}
	}
	if len(placed) < len(all) {
		a.asked = a.pose(a.market, placed)
	}
}

// pose returns the question about the demand, on the market and on the nodes
// without a NodeClaim.
func (a *audit) pose(m *offer.Market, classes []*demand.Class) *question {
	k := certifier{View: a.View, Journal: a.Journal, market: m}
	q := k.pose(classes)
	q.Hosts = q.hosts(a.foreign, q.levels)
	return q
}

// placeable says whether anything could hold a pod of the class.
func (a *audit) placeable(class int) bool {
	c := &a.asked.Classes[class]
	for _, h := range a.asked.Hosts {
		if h.Holds[c.Where>>6]>>(c.Where&63)&1 == 1 && quantity.Fits(c.Need, h.Free) {
			return true
		}
	}
	for i := range a.asked.Offers {
		if a.holds(i, c) {
			return true
		}
	}
	return false
}

// holds says whether a node of the offer could hold a pod of the class.
func (a *audit) holds(offer int, c *pack.Class) bool {
	o := &a.asked.Offers[offer]
	return a.asked.Where[c.Where].Zones[offer]&o.Zones != 0 && quantity.Fits(c.Need, o.Net)
}

// finish writes the best bound into the result and sorts the constraints.
func (a *audit) finish() {
	a.out.Proof = a.asked.told(a.best, a.market.Fleet)
	a.out.Proof.Scratch = true
	slices.SortStableFunc(a.out.Constraints, func(x, y plan.ConstraintPrice) int {
		return cmp.Or(cmp.Compare(y.Price(), x.Price()), strings.Compare(x.Pool, y.Pool), strings.Compare(x.Rule, y.Rule))
	})
}
