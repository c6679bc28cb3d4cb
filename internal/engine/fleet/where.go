package fleet

import (
	"math/bits"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
)

// Where returns for each row the zones in which a node of it may run the shape,
// as far as taints, labels, volumes and the ports of DaemonSets decide that; its
// size and other pods aside. avoid treats PreferNoSchedule taints as if they
// kept the pod away.
func (f *Fleet) Where(shape cluster.Shape, avoid bool) []uint64 {
	out := make([]uint64, len(f.Rows))
	if len(shape.Unsupported) > 0 {
		return out
	}
	open := make([]bool, len(f.Pools))
	for i, p := range f.Pools {
		_, kept := cluster.Untolerated(p.Taints, shape.Tolerations)
		open[i] = !kept && !(avoid && cluster.Avoided(p.Taints, shape.Tolerations))
	}
	anywhere := len(shape.Selector) == 0 && len(shape.Affinity) == 0 && len(shape.Volumes) == 0 && len(shape.Ports) == 0
	for i := range f.Rows {
		r := &f.Rows[i]
		switch {
		case !open[r.Pool]:
		case anywhere:
			out[i] = r.Zones
		default:
			for m := r.Zones; m != 0; m &= m - 1 {
				z := bits.TrailingZeros64(m)
				if _, ok := fit.Labels(shape, r.Labels(z)); ok && !f.portTaken(shape, r, z) {
					out[i] |= 1 << z
				}
			}
		}
	}
	return out
}

// portTaken says whether a DaemonSet holds a host port that the shape needs.
func (f *Fleet) portTaken(shape cluster.Shape, r *Row, zone int) bool {
	if len(shape.Ports) == 0 {
		return false
	}
	return slices.ContainsFunc(f.daemons, func(d cluster.DaemonSet) bool {
		return len(d.Shape.Ports) > 0 && fit.PortsConflict(d.Shape.Ports, shape.Ports) &&
			fit.Node(d.Shape, r.Labels(zone), f.Pools[r.Pool].Taints)
	})
}
