package landing

import (
	"strconv"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Of returns the way that is chosen for the view.
func Of(v view.View, m *memory.Memory, in *room.Room) Way {
	g := ground{view: v, memory: m, room: in}
	if Chosen(&v).Binds {
		return &bind{ground: g}
	}
	return &prefer{g}
}

// Chosen says how evicted pods come to their places in the cluster of the view, and why. The
// user decides for all but rights.
func Chosen(v *view.View) plan.Landing {
	switch p := &v.Policy; {
	case p.Landing == plan.LandPrefer:
		return plan.Landing{Reason: plan.LandsAsSet}
	case p.CannotBind:
		return plan.Landing{Reason: plan.LandsWithoutRight}
	case p.Landing == plan.LandBind:
		return plan.Landing{Binds: true, Reason: plan.LandsAsSet}
	case p.TaintReader != "":
		return plan.Landing{Reason: plan.LandsBesideReader, Detail: p.TaintReader}
	case v.Snapshot.NodeCount() > p.MostClosed:
		return plan.Landing{Reason: plan.LandsInLargeFleet, Detail: strconv.Itoa(p.MostClosed)}
	}
	return plan.Landing{Binds: true, Reason: plan.LandsAutomatically}
}
