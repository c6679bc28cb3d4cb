package offer

import (
	"math/bits"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// Where returns for each row the zones in which a node of the row may run the
// shape. It looks at taints, labels, volumes and the ports of DaemonSets, and not
// at size or other pods. If avoid is set, PreferNoSchedule taints keep the pod
// away, too.
func (f *Fleet) Where(shape cluster.Shape, avoid bool) []uint64 {
	out := make([]uint64, len(f.Rows))
	if len(shape.Unsupported) > 0 {
		return out
	}
	open := make([]bool, len(f.Pools))
	for i, p := range f.Pools {
		_, untolerated := cluster.Untolerated(p.Taints, shape.Tolerations)
		open[i] = !untolerated && !(avoid && cluster.Avoided(p.Taints, shape.Tolerations))
	}
	anywhere := len(shape.Selector) == 0 && len(shape.NodeAffinity) == 0 && len(shape.Volumes) == 0 && len(shape.Ports) == 0
	known := make([]verdict, f.sites)
	if f.dependsOnTypes(&shape) {
		known = nil
	}
	for i := range f.Rows {
		r := &f.Rows[i]
		switch {
		case !open[r.Pool]:
		case anywhere:
			out[i] = r.Zones
		default:
			for m := r.Zones; m != 0; m &= m - 1 {
				z := bits.TrailingZeros64(m)
				if f.admits(&shape, r, z, known) && !f.portTaken(shape, r, z) {
					out[i] |= 1 << z
				}
			}
		}
	}
	return out
}

// verdict is what is known about a site: whether a shape may run there.
type verdict int8

const (
	unknown verdict = iota
	yes
	no
)

// admits says whether the shape may run on nodes with the labels of the row in the
// zone. Nodes of one site share the verdict in known.
func (f *Fleet) admits(shape *cluster.Shape, r *Row, zone int, known []verdict) bool {
	if known == nil {
		_, ok := fit.Labels(*shape, r.Labels(zone))
		return ok
	}
	v := &known[r.sites[zone]]
	if *v == unknown {
		*v = no
		if _, ok := fit.Labels(*shape, r.Labels(zone)); ok {
			*v = yes
		}
	}
	return *v == yes
}

// dependsOnTypes says whether the shape looks at labels that instance types decide.
func (f *Fleet) dependsOnTypes(shape *cluster.Shape) bool {
	asks := func(rs label.Requirements) bool {
		return slices.ContainsFunc(rs, func(r label.Requirement) bool { return f.OfTypes(r.Key()) })
	}
	return asks(shape.Selector) || slices.ContainsFunc(shape.NodeAffinity, asks) ||
		slices.ContainsFunc(shape.Volumes, func(alternatives []label.Requirements) bool { return slices.ContainsFunc(alternatives, asks) })
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
