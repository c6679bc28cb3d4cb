package engine

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

// reserves are the preferences of a node, by how hard to place its pods are.
func reserves(hardness int) []cluster.Taint {
	return []cluster.Taint{
		{Key: "karpenterd.sh/large-pods-first", Effect: cluster.PreferNoSchedule},
		{Key: "karpenterd.sh/largest-pods-first", Effect: cluster.PreferNoSchedule},
	}[:hardness]
}

func reserving(t cluster.Taint) bool {
	return t.Effect == cluster.PreferNoSchedule && slices.Contains(reserves(2), t)
}

// lasting are the taints without the preferences that will go.
func lasting(taints []cluster.Taint) []cluster.Taint {
	if !slices.ContainsFunc(taints, reserving) {
		return taints
	}
	return pick.Those(taints, func(t cluster.Taint) bool { return !reserving(t) })
}
