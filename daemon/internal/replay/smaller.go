package replay

import (
	"context"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

// smaller returns the objects without what the fault does not need, as far as it finds out until
// the context ends. fails says whether the fault is there with the objects; it is with all.
func smaller(ctx context.Context, all cluster.Objects, fails func(cluster.Objects) bool) cluster.Objects {
	s := shrinker{fails: fails, over: func() bool { return ctx.Err() != nil }, least: all}
	reduce(&s, func(o *cluster.Objects) *[]cluster.Pod { return &o.Pods })
	reduce(&s, func(o *cluster.Objects) *[]cluster.Workload { return &o.Workloads })
	reduce(&s, func(o *cluster.Objects) *[]cluster.Claim { return &o.Claims })
	reduce(&s, func(o *cluster.Objects) *[]cluster.Node { return &o.Nodes })
	reduce(&s, func(o *cluster.Objects) *[]cluster.Pool { return &o.Pools })
	reduce(&s, func(o *cluster.Objects) *[]cluster.Class { return &o.Classes })
	for i := range s.least.Classes {
		reduce(&s, func(o *cluster.Objects) *[]catalog.InstanceType {
			o.Classes = slices.Clone(o.Classes) // the class is changed, and others look at it
			return &o.Classes[i].Types
		})
	}
	reduce(&s, func(o *cluster.Objects) *[]cluster.DaemonSet { return &o.DaemonSets })
	reduce(&s, func(o *cluster.Objects) *[]cluster.PodBudget { return &o.PodBudgets })
	reduce(&s, func(o *cluster.Objects) *[]cluster.Namespace { return &o.Namespaces })
	return s.least
}

// shrinker has the least objects that are known to have the fault.
type shrinker struct {
	fails func(cluster.Objects) bool
	over  func() bool
	least cluster.Objects
}

// reduce takes as much as it can out of one of the lists: first the whole, then halves, quarters
// and so on.
func reduce[T any](s *shrinker, of func(*cluster.Objects) *[]T) {
	for part := len(*of(&s.least)); part > 0; part /= 2 {
		for from := 0; from < len(*of(&s.least)) && !s.over(); {
			less := s.least
			list := of(&less)
			*list = slices.Concat((*list)[:from], (*list)[min(from+part, len(*list)):])
			if s.fails(less) {
				s.least = less
				continue
			}
			from += part
		}
	}
}
