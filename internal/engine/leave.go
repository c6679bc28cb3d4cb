package engine

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Leave returns what a daemon that ends takes back, as nobody may come after it. Nodes that
// are closed for evicted pods open, and nodes lose the preferences of moves that have not
// begun. Nodes that have not opened yet stay as they are: their pods may not be there.
func Leave(in Input) (out plan.Plan) {
	in.Policy = in.Policy.WithDefaults()
	v := in.view()
	prefers := func(t cluster.Taint) bool { return t == room.LeavesNext() || t == room.FillsLater() }
	for _, c := range v.Claims {
		n, up := v.Snapshot.Node(c.Node)
		if !up || !c.Initialized {
			continue
		}
		a := plan.Release{Node: n.Name, NodeUID: n.UID, Lifts: pick.Those(n.Taints, prefers)}
		if v.Closed(&n, c) {
			a.Taint = v.Policy.StartupTaint
		}
		if a.Taint.Key != "" || len(a.Lifts) > 0 {
			out.Actions = append(out.Actions, a)
		}
	}
	return out
}
