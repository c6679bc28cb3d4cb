package moves

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/landing"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// A drain evicts a few replicas of a controller at a time, and the next when those are
// ready elsewhere. So pods of one controller on nodes that are deleted together are not
// evicted together, and come back one after the other; but nodes are closed for them
// only once. Where nodes are closed, those nodes are deleted together whose pods can be
// evicted together.

// together counts the pods of controllers on nodes that are deleted together.
type together struct {
	replicas, going map[string]int64 // by UID of the controller; nil where no nodes are closed
}

func togetherOf(v view.View) together {
	if !landing.Chosen(&v).Binds {
		return together{}
	}
	t := together{replicas: map[string]int64{}, going: map[string]int64{}}
	for state := range v.Snapshot.States() {
		for p := range state.Pods() {
			if p.Owner.UID != "" {
				t.replicas[p.Owner.UID]++
			}
		}
	}
	return t
}

// add says whether the pods of the node can be evicted together, also with those that were
// added, and adds them if so.
func (t together) add(state *cluster.NodeState) bool {
	if t.going == nil {
		return true
	}
	on := map[string]int64{}
	for p := range state.Pods() {
		if p.Moves() && p.Owner.UID != "" {
			on[p.Owner.UID]++
		}
	}
	for uid, n := range on {
		if t.going[uid]+n > plan.AtOnce(t.replicas[uid]) {
			return false
		}
	}
	for uid, n := range on {
		t.going[uid] += n
	}
	return true
}
