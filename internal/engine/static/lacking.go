package static

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/launch"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Launcher launches nodes of static pools.
type Launcher struct {
	view.View
	*journal.Journal
	memory *memory.Memory
	seed   uint64 // the source of the names of new NodeClaims
	market *offer.Market
	zones  map[string]map[string]int64 // by pool: nodes by zone

	Launches []plan.Launch
	Lacking  []plan.Lacking
}

// NewLauncher returns a Launcher that has launched nothing.
func NewLauncher(v view.View, m *memory.Memory, j *journal.Journal, seed uint64) *Launcher {
	return &Launcher{View: v, Journal: j, memory: m, seed: seed, zones: map[string]map[string]int64{}}
}

// LaunchMissing launches the nodes that static pools lack. Where that cannot be, it notes
// why.
func (l *Launcher) LaunchMissing() {
	for _, p := range l.Snapshot.Supply().Pools {
		if !p.Static || p.Deleting {
			continue
		}
		for n := count(l.View, p.Name); n < p.Replicas; n++ {
			x, why := l.One(p)
			if x == nil {
				l.Lacking = append(l.Lacking, plan.Lacking{Pool: p.Name, PoolUID: p.UID, Replicas: p.Replicas, Nodes: n, Why: why})
				break
			}
		}
	}
}

// count returns how many nodes of the pool count; see the comment of the package.
func count(v view.View, pool string) (n int64) {
	for lot := range v.Snapshot.Lots(pool) {
		n += lot.Count
	}
	for _, c := range v.Claims { // all others stay
		if c.Pool == pool && !counts(v, c) {
			n--
		}
	}
	return n
}

// Full says whether limits.nodes of the pool leaves no room for one more node.
func Full(v view.View, p *cluster.Pool) bool {
	most := slices.IndexFunc(p.Limits, func(a quantity.Amount) bool { return a.Name == offer.LimitNodes })
	if most < 0 {
		return false
	}
	var n int64
	for lot := range v.Snapshot.Lots(p.Name) {
		n += lot.Count
	}
	return n >= p.Limits[most].Count
}

// counts says whether the node of the NodeClaim is one of those that its pool keeps.
func counts(v view.View, c *cluster.Claim) bool { return !c.Leaving() && !v.IsGoing(c.Name) }

// One launches one more node of the pool. It returns nil and the reason if that cannot
// be.
func (l *Launcher) One(p cluster.Pool) (*plan.Launch, plan.Refusal) {
	class, there := l.Snapshot.Class(p.Class)
	switch {
	case !p.Ready:
		return nil, plan.Refusal{Pool: p.Name, Cause: plan.PoolNotReady, Detail: p.NotReady}
	case !there:
		return nil, plan.Refusal{Pool: p.Name, Cause: plan.PoolNotReady, Detail: "its EC2NodeClass " + p.Class + " does not exist"}
	case !class.Ready:
		return nil, plan.Refusal{Pool: p.Name, Cause: plan.PoolNotReady, Detail: "its EC2NodeClass " + p.Class + " is not ready: " + class.NotReady}
	}
	if l.market == nil {
		l.market = offer.OpenStatic(l.View, l.memory, l.Journal)
	}
	rows, why := l.rows(p)
	if len(rows) == 0 {
		return nil, why
	}
	varied := func(r row) bool { return launch.Varied(l.Policy, &p, r.Row, r.sale) }
	if !slices.ContainsFunc(rows, varied) {
		return nil, plan.Refusal{Pool: p.Name, Cause: plan.MinValuesUnmet}
	}
	cheapest := slices.MinFunc(pick.Those(rows, varied), func(a, b row) int { return cmp.Compare(a.price, b.price) })
	if now, why := l.market.NewTries(l.Launches).Take(cheapest.Row, 1); now == 0 {
		return nil, why
	}
	limit, zones := launch.Affordable(l.market.Widened(cheapest.Row), &p, cheapest.Row, cheapest.sale)
	if !offer.WantsZones(&p) {
		zones = l.emptiest(p.Name, zones)
	}
	var within, wider []*offer.Row
	for _, r := range rows {
		switch {
		case r.Group != cheapest.Group || r.sale&zones == 0:
		case zones&^r.ZonesWithin(limit) == 0:
			within = append(within, r.Row)
		default:
			wider = append(wider, r.Row)
		}
	}
	carried, relaxed := launch.Diversify(l.Policy, &p, zones, within, wider)
	if len(carried) == 0 {
		return nil, plan.Refusal{Pool: p.Name, Cause: plan.MinValuesUnmet}
	}
	out := l.launch(p, cheapest.Row, carried, zones)
	out.MinValuesRelaxed, out.Why.Considered = relaxed, len(rows)
	l.market.Spend(out, carried)
	l.Launches = append(l.Launches, out)
	return &out, plan.Refusal{}
}

func (l *Launcher) launch(p cluster.Pool, best *offer.Row, carried []*offer.Row, zones uint64) plan.Launch {
	types := make([]plan.Choice, len(carried))
	for i, r := range carried {
		types[i] = r.ChoiceIn(zones)
	}
	out := plan.Launch{
		Name: launch.ClaimName(l.seed, len(l.Launches), p.Name), Pool: p.Name, PoolUID: p.UID, Class: p.Class,
		CapacityType: best.CapacityType, Reservation: best.Reservation, Types: types, Requirements: p.Requirements, Labels: best.Template,
		Taints: p.Taints, StartupTaints: p.StartupTaints, Content: demand.WithoutAttach(best.Overhead), Price: types[0].Price,
		Why: plan.LaunchReason{Static: p.Replicas, Unavailable: l.market.Unavailable, Best: types[0], RunnerUp: launch.RunnerUp(types)},
	}
	for i, z := range l.market.Fleet.Zones {
		if zones>>i&1 == 1 {
			out.Zones = append(out.Zones, z)
		}
	}
	if len(out.Zones) == 1 {
		l.byZone(p.Name)[out.Zones[0]]++
	}
	return out
}

// row is a row that can be launched now, with the zones where it can and its price in the
// cheapest of them.
type row struct {
	*offer.Row
	sale  uint64
	price quantity.Money
}

// rows returns the rows of the pool that can be launched now. If there are none, it also
// returns why.
func (l *Launcher) rows(p cluster.Pool) (out []row, why plan.Refusal) {
	usage, fleet := l.market.Usage(p), l.market.Fleet
	why = plan.Refusal{Pool: p.Name, Cause: plan.NoType, Detail: "the pool's requirements match no instance type"}
	for i := range fleet.Rows {
		r := &fleet.Rows[i]
		if fleet.Pools[r.Pool].Name != p.Name {
			continue
		}
		if !r.Overhead.Fits(r.Type.Allocatable) {
			if why.Cause == plan.NoType {
				why = plan.Refusal{Pool: p.Name, Cause: plan.NoType, Detail: "no instance type holds the DaemonSets"}
			}
			continue
		}
		sale := l.market.Sale[i]
		if sale == 0 || l.market.NodesLeft(r) == 0 {
			if why.Cause != plan.LimitReached {
				until, cause := l.returns(p.Name, r)
				if why.Cause != plan.NoCapacity {
					why = plan.Refusal{Pool: p.Name, Cause: plan.NoCapacity}
				}
				if first := pick.Earliest(why.Until, until); first != why.Until {
					why.Until, why.Detail = first, plan.Shortage(cause.Code, cause.Message)
				}
			}
			continue
		}
		if limit, exceeded := usage.Refuses(r.Type.Capacity); exceeded {
			why = plan.Refusal{Pool: p.Name, Cause: plan.LimitReached, Detail: limit.Name, Limit: &limit}
			continue
		}
		price, _ := r.PriceIn(sale)
		out = append(out, row{r, sale, price})
	}
	return out, why
}

// returns is when the capacity of the row returns first, and why it is out; zero if that is
// not known.
func (l *Launcher) returns(pool string, r *offer.Row) (first time.Time, cause memory.Cause) {
	for m := r.Zones; m != 0; m &= m - 1 {
		key := r.Offering(l.market.Fleet.Zones[bits.TrailingZeros64(m)])
		if until, why, out := l.memory.Shut(pool, key, l.Now); out && pick.Earliest(first, until) != first {
			first, cause = until, why
		}
	}
	return first, cause
}

// emptiest returns that one of the zones where the pool has the fewest nodes.
func (l *Launcher) emptiest(pool string, zones uint64) (best uint64) {
	have, fewest := l.byZone(pool), int64(0)
	for m := zones; m != 0; m &= m - 1 {
		z := bits.TrailingZeros64(m)
		if n := have[l.market.Fleet.Zones[z]]; best == 0 || n < fewest {
			best, fewest = 1<<z, n
		}
	}
	return best
}

// byZone counts the nodes of the pool by zone. A node on its way counts where it can only
// come up in one zone.
func (l *Launcher) byZone(pool string) map[string]int64 {
	if known := l.zones[pool]; known != nil {
		return known
	}
	out := map[string]int64{}
	for c := range l.Snapshot.EachClaim() {
		if c.Pool != pool || !counts(l.View, c) {
			continue
		}
		zone := c.Zone
		if r, asked := c.Requirements.Get(label.Zone); zone == "" && asked {
			if values, listed := r.Values(); listed && len(values) == 1 {
				zone = values[0]
			}
		}
		if zone != "" {
			out[zone]++
		}
	}
	l.zones[pool] = out
	return out
}
