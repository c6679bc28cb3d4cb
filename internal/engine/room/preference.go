package room

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

// LeavesNext returns the taint of nodes that are to be deleted as soon as their turn comes,
// so that pods that move do not land there and move again.
func LeavesNext() cluster.Taint {
	return cluster.Taint{Key: "karpenterd.sh/goes-next", Effect: cluster.PreferNoSchedule}
}

// FillsLater returns the taint of nodes that other pods suit better than those that move
// now.
func FillsLater() cluster.Taint {
	return cluster.Taint{Key: "karpenterd.sh/fills-later", Effect: cluster.PreferNoSchedule}
}

// lasting returns the taints without the daemon's preferences, which will be taken off.
func lasting(taints []cluster.Taint) []cluster.Taint {
	ours := func(t cluster.Taint) bool { return t == LeavesNext() || t == FillsLater() }
	if !slices.ContainsFunc(taints, ours) {
		return taints
	}
	return pick.Those(taints, func(t cluster.Taint) bool { return !ours(t) })
}
