package launch

import (
	"math"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/random"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// launch turns one copy of a bin into an action. It returns false where limits or
// minValues do not allow that, after it has narrowed what the next round packs.
func (t *turn) launch(items []*item, l *load) bool {
	best, b := l.best, l.bin
	pool := &t.Market.Fleet.Pools[best.Pool]
	if t.full[pool.Name] || best.Left >= 0 && t.Market.ReservationUse(best) >= best.Left {
		return false
	}
	if len(l.carried) == 0 {
		t.wantVariety(items, l)
		return false
	}
	carried, relaxed := t.withinLimits(pool, l)
	if len(carried) == 0 {
		return false
	}
	types := l.types(carried)
	out := plan.Launch{
		Name: t.claimName(pool.Name), Pool: pool.Name, PoolUID: pool.UID, Class: pool.Class,
		CapacityType: best.CapacityType, Reservation: best.Reservation, Types: types, Zones: l.zones, Requirements: pool.Requirements,
		Labels: best.Template, Taints: pool.Taints, StartupTaints: pool.StartupTaints, Content: l.content,
		Price: types[0].Price, MinValuesRelaxed: relaxed,
	}
	place := l.place(out.Name, t.Market.Fleet)
	slots, named := make([]cluster.Slot, 0, len(b.Parts)), len(t.Names)
	for _, p := range b.Parts {
		x := items[p.Class]
		x.left -= p.Count * x.unit
		x.class.Tell(place, p.Count*x.unit)
		slots = append(slots, t.fillLaunch(&out, x.class, p.Count*x.unit))
		if x.with != nil {
			x.with.left -= p.Count
			x.with.class.Tell(place, p.Count)
			slots = append(slots, t.fillLaunch(&out, x.with.class, p.Count))
		}
	}
	if n := len(t.Names); n > named {
		out.Pods = t.Names[named:n:n]
	}
	out.Why.Considered, out.Why.Unavailable, out.Why.Best = len(t.rows), t.Market.Unavailable, types[0]
	out.Why.RunnerUp, out.Why.Passed, out.Why.Lacks = runnerUp(types), l.passed, l.lacks
	out.Planned = room.Merged(slots)
	t.Market.Spend(out, carried)
	t.Launches = append(t.Launches, out)
	if t.Cost += out.Price; t.Cost < 0 {
		t.Cost = math.MaxInt64 // prices beyond reason
	}
	return true
}

// withinLimits returns the rows that the next copy of the load may become, within
// what the pool's limits leave. Where that is none, the rows that still fit are
// packed in the next round; nothing else follows for the copies after it.
func (t *turn) withinLimits(pool *cluster.Pool, l *load) (carried []*offer.Row, relaxed bool) {
	if len(pool.Limits) == 0 {
		return l.carried, l.relaxed
	}
	budget := t.Market.Usage(*pool)
	allowed := func(r *offer.Row) bool { _, over := budget.Refuses(r.Type.Capacity); return !over }
	if within := pick.Those(l.within, allowed); len(within) > 0 {
		carried, relaxed = t.diversify(pool, l.bin.Zones, within, pick.Those(l.wider, allowed))
	}
	if len(carried) == 0 && !t.narrowed(l.best.Pool, budget) {
		t.full[pool.Name] = true
	}
	return carried, relaxed
}

// fillLaunch gives n of the class to the launch, real pods first.
func (t *turn) fillLaunch(l *plan.Launch, c *demand.Class, n int64) cluster.Slot {
	l.Why.Pods += n
	t.Trace.Placed += n
	d := c.Draw(n)
	ids := d.IDs(t.Journal)
	l.Declared += d.Declared
	for _, p := range d.Displaced {
		if state, ok := t.Snapshot.State(p.Node); ok {
			l.Why.Replaces = state.Node.Claim
		}
	}
	if len(ids) > 0 {
		t.Outcomes = append(t.Outcomes, plan.Outcome{
			Group: c.Group.Key, Pods: ids, Verdict: plan.OnLaunch, On: l.Name, Dropped: c.Levels[c.Level].Dropped,
		})
	}
	return cluster.Slot{Kind: c.Group.Kind, Count: n}
}

// runnerUp is the cheapest carried type of another family than the best one.
func runnerUp(types []plan.Choice) plan.Choice {
	family := func(c plan.Choice) string { f, _, _ := strings.Cut(c.Type, "."); return f }
	for _, c := range types[1:] {
		if family(c) != family(types[0]) {
			return c
		}
	}
	return plan.Choice{}
}

// claimName makes the name of the next NodeClaim: the pool's, and six letters of
// the seed. The alphabet is that of Kubernetes' generated names.
func (t *turn) claimName(pool string) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	x := random.At(t.Seed, uint64(len(t.Launches)+1))
	suffix := make([]byte, 6)
	for i := range suffix {
		suffix[i] = alphabet[x%uint64(len(alphabet))]
		x /= uint64(len(alphabet))
	}
	return pool + "-" + string(suffix)
}
