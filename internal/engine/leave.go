package engine

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Leave returns what a daemon that ends takes back, as nobody may come after it. Nodes that
// are closed for evicted pods open, and nodes lose the preferences of moves that have not
// begun. Nodes that have not opened yet stay as they are: their pods may not be there.
func Leave(in Input) (out plan.Plan) {
	in.Policy = in.Policy.WithDefaults()
	v := in.view()
	for _, c := range v.Claims {
		n, up := v.Snapshot.Node(c.Node)
		if !up || !c.Initialized {
			continue
		}
		a := plan.Release{Node: n.Name, NodeUID: n.UID}
		if v.Closed(&n, c) {
			a.Taint = v.Policy.StartupTaint
		}
		for _, t := range n.Taints {
			if t == room.GoesNext() || t == room.FillsLater() {
				a.Lifts = append(a.Lifts, t)
			}
		}
		if a.Taint.Key != "" || len(a.Lifts) > 0 {
			out.Actions = append(out.Actions, a)
		}
	}
	return out
}
