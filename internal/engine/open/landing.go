package open

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/landing"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// land brings evicted pods that are back to their places on closed nodes, and opens the nodes
// when nothing is to be waited for any longer.
func land(o *opener) {
	way := landing.Of(o.View, o.memory, o.room)
	opens, done := way.Done(o.takes)
	for _, x := range opens {
		openClosed(o, x)
	}
	if done {
		return
	}
	actions, again := way.Place()
	o.actions = append(o.actions, actions...)
	o.WaitUntil(again, plan.PlannedPods)
}

// openClosed opens the closed node, for which its pods are nominated.
func openClosed(o *opener, x landing.Opening) {
	o.memory.Arrived(x.Claim.Name)
	o.nominate(x.Claim.Node, x.Pods...)
	n, _ := o.Snapshot.Node(x.Claim.Node)
	o.actions = append(o.actions, plan.Release{Node: n.Name, NodeUID: n.UID, Taint: o.Policy.StartupTaint, Planned: int64(len(x.Pods))})
}
