package disrupt

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/landing"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// closing closes nodes for the pods of nodes that this plan deletes to save money, where that
// is how pods land. A deletion that was declined before may be declined again, and closes none.
func closing(r *retirer) []plan.Action {
	leaving := evictsMore(r)
	for _, a := range r.actions {
		if d, ok := a.(plan.Delete); ok && d.Why.Traits().EvictsToSave() && len(d.Pods) > 0 && !r.again[d.Node] {
			leaving[d.Node] = true
		}
	}
	return landing.Of(r.View, r.memory, r.room).Close(leaving)
}

// evictsMore returns the nodes of which a drain to save money is about to evict more pods:
// those that it evicted before are ready elsewhere.
func evictsMore(r *retirer) map[string]bool {
	out := map[string]bool{}
	if l := r.memory.Landing; !l.More || l.UnderWay() {
		return out
	}
	var unready map[string]bool // controllers with pods that are not ready, by UID
	for _, c := range r.Claims {
		state, up := r.Snapshot.State(c.Node)
		if !up || !c.Deleting || !announcedFor(c).Traits().EvictsToSave() {
			continue
		}
		if unready == nil {
			unready = map[string]bool{}
			for p := range r.Snapshot.EachPod() {
				unready[p.Owner.UID] = unready[p.Owner.UID] || p.Node == "" || p.NotReady
			}
		}
		for p := range state.Pods() {
			if p.Moves() && !p.Deleting && !p.Protected(r.Now) && p.Owner.UID != "" && !unready[p.Owner.UID] && len(r.judge.budgetsOf(&p)) == 0 {
				out[c.Node] = true
			}
		}
	}
	return out
}
