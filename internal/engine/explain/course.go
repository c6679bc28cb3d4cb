package explain

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// The hurdles that a row must clear before a node of it could run a pod of a
// class, in the order in which they are checked.
const (
	hurdleWhere  = iota // labels, volumes and the ports of DaemonSets
	hurdleSize          // an empty node holds the pod
	hurdleSale          // the row can be bought now
	hurdleLimits        // the pool's limits leave room for the row
	hurdlesTaken
)

// course runs the rows of one pool over the hurdles, for one class.
type course struct {
	*explainer
	class *demand.Class
	pool  int
	where []uint64
	need  quantity.Resources
	usage offer.Usage

	backoff memory.Backoff // what came in vain, where the class waits because of that
	limit   plan.Limit     // the limit that stops a row, with the least that any row adds to it
	full    string         // a reservation that has no room left
}

func (e *explainer) course(c *demand.Class, pool int) *course {
	return &course{
		explainer: e, class: c, pool: pool, where: e.market.Places(&c.Levels[c.Level]), need: c.Shape().Requests, usage: e.market.Usage(e.market.Fleet.Pools[pool]),
	}
}

// stops returns the hurdle that stops the row; hurdlesTaken if none does.
func (x *course) stops(i int) int {
	row := &x.market.Fleet.Rows[i]
	switch {
	case x.where[i] == 0:
		return hurdleWhere
	case !x.need.Fits(x.slots.OnNew(row.Net, row.Type)):
		return hurdleSize
	case x.awaits(row):
		return hurdleSale
	case x.where[i]&x.market.Sale[i] == 0:
		return hurdleSale
	case x.market.NodesLeft(row) == 0:
		x.full = row.Reservation
		return hurdleSale
	}
	limit, refused := x.usage.Refuses(row.Type.Capacity)
	if !refused {
		return hurdlesTaken
	}
	limit.Adds = row.Type.Capacity.Get(limit.Name)
	if x.limit.Name == "" || x.limit.Name == limit.Name && limit.Adds < x.limit.Adds {
		x.limit = limit
	}
	return hurdleLimits
}

// awaits says whether the class waits before it gets another node of the row. What ends first
// is noted.
func (x *course) awaits(row *offer.Row) bool {
	v, waits := x.market.Awaits(x.class, row)
	if waits && (x.backoff.Nodes == 0 || v.Until().Before(x.backoff.Until())) {
		x.backoff = v
	}
	return waits
}

// run returns how many instance types get as far as each hurdle.
func (x *course) run() (at [hurdlesTaken + 1]int) {
	var seen [hurdlesTaken + 1]map[*catalog.InstanceType]bool
	for i := range x.market.Fleet.Rows {
		row := &x.market.Fleet.Rows[i]
		if row.Pool != x.pool {
			continue
		}
		for h := x.stops(i); h >= hurdleWhere; h-- {
			if seen[h] == nil {
				seen[h] = map[*catalog.InstanceType]bool{}
			}
			seen[h][row.Type] = true
		}
	}
	for h := range seen {
		at[h] = len(seen[h])
	}
	return at
}

// refusalByRow completes the refusal by what the pool can launch.
func (e *explainer) refusalByRow(r plan.Refusal, c *demand.Class, pool int) plan.Refusal {
	x := e.course(c, pool)
	at := x.run()
	switch {
	case at[hurdleWhere] == 0:
		r.Cause, r.Detail = plan.NoType, "the pool's requirements match no instance type"
	case at[hurdleSize] == 0:
		e.unmatched(&r, c, pool)
		if r.Cause == plan.NoType {
			r.Types = at[hurdleWhere]
		}
	case at[hurdleSale] == 0:
		r.Cause, r.Types = plan.TooLarge, at[hurdleSize]
		x.tooLarge(&r)
	case at[hurdleLimits] == 0 && x.backoff.Nodes > 0:
		v := x.backoff
		r.Cause, r.Types, r.Until, r.Detail = plan.InBackoff, at[hurdleSale], v.Until(), plan.BackoffDetail(v.Nodes, v.Type, v.Lacks, v.Why, v.Taint)
	case at[hurdleLimits] == 0:
		until, cause := x.returns()
		r.Cause, r.Types, r.Until, r.Detail = plan.NoCapacity, at[hurdleSale], until, plan.Shortage(cause.Code, cause.Message)
		if x.full != "" {
			r.Detail = "no room is left in the reservation " + x.full
		}
	case at[hurdlesTaken] == 0:
		r.Cause, r.Detail, r.Limit = plan.LimitReached, x.limit.Name, &x.limit
	case e.unmet[r.Pool]:
		if r.Cause, r.Detail = plan.MinValuesUnmet, x.alike(c); r.Detail != "" {
			break
		}
		if x.limit.Name != "" {
			r.Cause, r.Detail, r.Limit = plan.LimitReached, x.limit.Name, &x.limit
		} else if why := e.why(c, pool); why != "" {
			r.Cause, r.Detail = plan.Topology, why
		}
	default:
		r.Cause, r.Detail = plan.Topology, e.why(c, pool)
	}
	return r
}

// returns is when the first offering returns that could hold the pod and ran out, and why
// it is out.
func (x *course) returns() (first time.Time, cause memory.Cause) {
	for i := range x.market.Fleet.Rows {
		row := &x.market.Fleet.Rows[i]
		if row.Pool != x.pool || !x.need.Fits(x.slots.OnNew(row.Net, row.Type)) {
			continue
		}
		for out := x.where[i] &^ x.market.Sale[i]; out != 0; out &= out - 1 {
			key := row.Offering(x.market.Fleet.Zones[bits.TrailingZeros64(out)])
			if until, why, ranOut := x.memory.Shut(x.market.Fleet.Pools[x.pool].Name, key, x.Now); ranOut && pick.Earliest(first, until) != first {
				first, cause = until, why
			}
		}
	}
	return first, cause
}

// alike names the minValues of the pool that no launch for the class can meet: the rows
// of one group that could be launched, limits aside, have too few values of its label, or
// the rules between pods leave a node fewer of them.
func (x *course) alike(c *demand.Class) string {
	asked := x.market.Fleet.Pools[x.pool].MinValues
	if len(asked) == 0 {
		return ""
	}
	groups := map[int]*offer.Variety{}
	for i := range x.market.Fleet.Rows {
		row := &x.market.Fleet.Rows[i]
		if row.Pool != x.pool || x.stops(i) < hurdleLimits {
			continue
		}
		if groups[row.Group] == nil {
			groups[row.Group] = offer.NewVariety(asked)
		}
		groups[row.Group].Add(row, x.where[i]&x.market.Sale[i])
	}
	for i, m := range asked {
		most := 0
		for _, v := range groups {
			most = max(most, v.Count(i))
		}
		if most < m.Count {
			return fmt.Sprintf("%s: the pool asks for %d values, nodes that hold the pod have %d", m.Key, m.Count, most)
		}
		if slices.Contains(c.DomainKeys(), m.Key) {
			return fmt.Sprintf("%s: the pool asks for %d values, and the rules about other pods leave the pod's node fewer", m.Key, m.Count)
		}
	}
	return ""
}

// tooLarge names the instance type that comes closest to holding the pod, and what
// it lacks. It looks at a resource of which no type has enough; if each resource
// alone is enough on some type, it looks at all resources.
func (x *course) tooLarge(r *plan.Refusal) {
	var biggest quantity.Resources
	var rows []*offer.Row
	for i := range x.market.Fleet.Rows {
		if row := &x.market.Fleet.Rows[i]; row.Pool == x.pool && x.where[i] != 0 {
			rows = append(rows, row)
			biggest = biggest.Max(x.slots.OnNew(row.Net, row.Type))
		}
	}
	never := x.need.Lacking(biggest)
	var best int64
	for _, row := range rows {
		lacking := x.need.Lacking(x.slots.OnNew(row.Net, row.Type))
		if len(never) > 0 {
			lacking = pick.Those(lacking, func(y quantity.Shortage) bool { return y.Resource == never[0].Resource })
		}
		worst := slices.MinFunc(lacking, func(a, b quantity.Shortage) int {
			return cmp.Compare(quantity.Part(a.Free, a.Need), quantity.Part(b.Free, b.Need))
		})
		if there := quantity.Part(worst.Free, worst.Need); r.Shortage == nil || there > best {
			best, r.Largest, r.Shortage, r.Detail, r.Reported = there, row.Type.Name, &worst, worst.Resource, reported(row.Type, worst)
		}
	}
}

// reported says which node's report leaves the type too small: nil where the type would be
// too small anyway.
func reported(t *catalog.InstanceType, lacking quantity.Shortage) *plan.Reported {
	for _, s := range t.Smaller {
		now := t.Allocatable.Get(s.Resource)
		if s.Resource == lacking.Resource && lacking.Need <= lacking.Free+s.Listed-now {
			return &plan.Reported{Node: s.Node, Amount: now, Listed: s.Listed}
		}
	}
	return nil
}

// unmatched says why the class may run on no row of the pool. There are three
// reasons: no node has the labels that the class asks for, the nodes that have them
// cannot have its volumes, or a DaemonSet takes its ports there.
func (e *explainer) unmatched(r *plan.Refusal, c *demand.Class, pool int) {
	shape := c.Shape()
	volumes, ports := []string{}, ""
	for i := range e.market.Fleet.Rows {
		row := &e.market.Fleet.Rows[i]
		for m := row.Zones; m != 0 && row.Pool == pool; m &= m - 1 {
			labels := row.Labels(bits.TrailingZeros64(m))
			if _, ok := fit.Affinity(shape, labels); !ok {
				continue
			}
			if unmet, ok := fit.Volumes(shape, labels); ok {
				ports = e.portsTaken(shape, labels, e.market.Fleet.Pools[pool].Taints)
			} else if text := unmet.String(); !slices.Contains(volumes, text) {
				volumes = append(volumes, text)
			}
		}
	}
	switch {
	case ports != "":
		r.Cause, r.Detail = plan.HostPorts, ports
	case len(volumes) > 0:
		r.Cause, r.Detail = plan.Volumes, strings.Join(volumes, "; ")
	default:
		r.Cause = plan.NoType
		r.Detail, r.Ask = e.market.Ask(shape, pool)
	}
}

// portsTaken names a DaemonSet that takes one of the shape's host ports on a node
// with these labels and taints.
func (e *explainer) portsTaken(shape *cluster.Shape, labels label.Lookup, taints []cluster.Taint) string {
	for _, d := range e.Snapshot.Supply().DaemonSets {
		if !fit.PortsConflict(d.Shape.Ports, shape.Ports) || !fit.Node(d.Shape, labels, taints) {
			continue
		}
		for _, p := range shape.Ports {
			if fit.PortsConflict(d.Shape.Ports, []cluster.HostPort{p}) {
				return fmt.Sprintf("%d/%s, by the DaemonSet %s", p.Port, p.Protocol, d.ID())
			}
		}
	}
	return ""
}
