package room

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

// Reserves returns the PreferNoSchedule taints with which a node opens. The
// hardness, from 0 to 2, says how hard the pods of the node are to place.
func Reserves(hardness int) []cluster.Taint {
	return []cluster.Taint{
		{Key: "karpenterd.sh/large-pods-first", Effect: cluster.PreferNoSchedule},
		{Key: "karpenterd.sh/largest-pods-first", Effect: cluster.PreferNoSchedule},
	}[:hardness]
}

// Reserving says whether the taint is one of those that Reserves returns.
func Reserving(t cluster.Taint) bool {
	return t.Effect == cluster.PreferNoSchedule && slices.Contains(Reserves(2), t)
}

// lasting returns the taints without those of Reserves, which will be taken off.
func lasting(taints []cluster.Taint) []cluster.Taint {
	if !slices.ContainsFunc(taints, Reserving) {
		return taints
	}
	return pick.Those(taints, func(t cluster.Taint) bool { return !Reserving(t) })
}
