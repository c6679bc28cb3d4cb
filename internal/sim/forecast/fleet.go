package forecast

import (
	"fmt"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// fleet is the fleet now. Pods that wait are left out, so that cost and bound are for the same pods.
func (w *world) fleet(m engine.Memory) (Fleet, error) {
	var d cluster.Delta
	for p := range w.snapshot.EachPod() {
		if p.Node == "" && p.Moves() {
			d.Removed.Pods = append(d.Removed.Pods, p.ID())
		}
	}
	in := w.input(m)
	if len(d.Removed.Pods) > 0 {
		running, err := w.snapshot.Apply(d)
		if err != nil {
			return Fleet{}, fmt.Errorf("forecast: %w", err)
		}
		in.Snapshot = running
	}
	out := fleetOf(in, w.prices)
	out.Waiting = int64(len(d.Removed.Pods))
	return out, nil
}

// fleetOf is the fleet of the snapshot. What plans count for each node beside its bill is left
// out, so that cost and bound are dollars that are paid.
func fleetOf(in engine.Input, prices map[priced]quantity.Money) Fleet {
	in.Policy.NodeCost = 0
	out, pools := Fleet{Audit: engine.Audit(in)}, map[string]*PoolFleet{}
	static := map[string]bool{}
	for _, p := range in.Snapshot.Pools() {
		static[p.Name] = p.Static
	}
	for c := range in.Snapshot.EachClaim() {
		if static[c.Pool] {
			out.Static += prices[of(c)]
		}
		p := pools[c.Pool]
		if p == nil {
			p = &PoolFleet{Pool: c.Pool}
			pools[c.Pool] = p
		}
		p.Nodes++
		p.Cost += prices[of(c)]
		out.Nodes++
		if state, up := in.Snapshot.State(c.Node); up {
			out.Pods += state.CountMoving()
			out.Used, out.Allocatable = out.Used.Add(state.Used), out.Allocatable.Add(state.Node.Allocatable)
		}
	}
	out.Elsewhere = in.Snapshot.Bound().Moving - out.Pods
	out.ByPool = sorted(pools)
	return out
}
