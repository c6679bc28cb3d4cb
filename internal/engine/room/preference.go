package room

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

// Reserves are the preferences of a node, by how hard to place its pods are.
func Reserves(hardness int) []cluster.Taint {
	return []cluster.Taint{
		{Key: "karpenterd.sh/large-pods-first", Effect: cluster.PreferNoSchedule},
		{Key: "karpenterd.sh/largest-pods-first", Effect: cluster.PreferNoSchedule},
	}[:hardness]
}

// Reserving says whether the taint is such a preference.
func Reserving(t cluster.Taint) bool {
	return t.Effect == cluster.PreferNoSchedule && slices.Contains(Reserves(2), t)
}

// lasting are the taints without the preferences that will go.
func lasting(taints []cluster.Taint) []cluster.Taint {
	if !slices.ContainsFunc(taints, Reserving) {
		return taints
	}
	return pick.Those(taints, func(t cluster.Taint) bool { return !Reserving(t) })
}
