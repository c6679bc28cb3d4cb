package disrupt

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// The drain evicts no ready replica while a quarter of the replicas of its controller is
// not ready, and no PodDisruptionBudget selects the pod. A node with such a replica would be
// tainted and drain without end. So the node stays in the first place.

// readyWithin is how long a pod may take to get ready. Younger ones may be successors of
// pods that were just evicted, and hold up only the drain.
const readyWithin = 5 * time.Minute

// shortages finds controllers that lack ready replicas.
type shortages struct {
	counted bool
	late    map[string]int64 // by controller: replicas that are not ready for long
	all     map[string]int64 // replicas of these controllers
}

// replicasStay says which pod of the node is a ready replica of a controller that lacks
// others.
func (j *Judge) replicasStay(state *cluster.NodeState) plan.Stay {
	for p := range state.EachPod() {
		if of := controllerOf(p); of != "" && p.Moves() && !p.NotReady && j.short.lacks(j, of) && len(j.budgetsOf(p)) == 0 {
			return plan.Stay{Reason: plan.ReplicasLate, Detail: p.ID()}
		}
	}
	return plan.Stay{}
}

// lacks says whether too many replicas of the controller are not ready for another to be
// evicted.
func (s *shortages) lacks(j *Judge, controller string) bool {
	if !s.counted {
		s.count(j)
	}
	late := s.late[controller]
	return late > 0 && late >= plan.AtOnce(s.all[controller])
}

// count looks at all pods only where a replica is late.
func (s *shortages) count(j *Judge) {
	s.counted, s.late, s.all = true, map[string]int64{}, map[string]int64{}
	for p := range j.Snapshot.Unready() {
		if !j.Now.Before(p.Created.Add(readyWithin)) {
			if of := controllerOf(p); of != "" {
				s.late[of]++
			}
		}
	}
	if len(s.late) == 0 {
		return
	}
	for p := range j.Snapshot.EachPod() {
		if of := controllerOf(p); s.late[of] > 0 && !p.Deleting {
			s.all[of]++
		}
	}
}

// controllerOf names the controller of a pod that is one of several replicas; "" for other
// pods.
func controllerOf(p *cluster.Pod) string {
	if slices.Contains([]string{"Job", "DaemonSet", "Node"}, p.Owner.Kind) {
		return ""
	}
	return p.Controller()
}
