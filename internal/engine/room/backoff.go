package room

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// NoteBackoffs notes the nodes that came in vain: those that are given up, those that somebody
// else closes, and those that are up and too small for pods that are planned there. Pods for
// which several came in vain wait before they get another one like these.
func (r *Room) NoteBackoffs(m *memory.Memory) {
	for _, h := range r.GivenUp {
		c := h.Claim
		switch {
		case !c.Launched || c.Leaving():
		case !c.Registered:
			r.noteGivenUp(m, c, plan.RegistrationTimeout, cluster.Taint{})
		default:
			r.noteGivenUp(m, c, plan.InitializationTimeout, r.hindrance(h))
		}
	}
	for _, c := range r.Claims {
		if taint, shut := r.shut(c); shut {
			r.noteGivenUp(m, c, plan.InitializationTimeout, taint)
		}
	}
	for _, h := range r.Coming {
		if h.Stage != StageKept || h.Claim.Initialized || r.RunsPods(*h.Claim) || r.ofDeletedPool(h.Claim) {
			continue
		}
		// What a node has left says how large it is only while nothing but DaemonSets runs there.
		if _, expects := h.State.Expects(h.Claim); !expects {
			r.noteSmall(m, h)
		}
	}
}

// unschedulable is the taint of cordoned nodes.
const unschedulable = "node.kubernetes.io/unschedulable"

// shut says whether somebody else closes the NodeClaim's node before it has opened, and with
// which taint.
func (r *Room) shut(c *cluster.Claim) (cluster.Taint, bool) {
	n, up := r.Snapshot.Node(c.Node)
	switch {
	case !up || !c.Registered || c.Initialized || c.Disrupting != nil || n.Leaving(c) || r.IsGoing(c.Name) || n.TakesPods(c):
		return cluster.Taint{}, false
	case n.Cordoned:
		return cluster.Taint{Key: unschedulable, Effect: cluster.NoSchedule}, true
	}
	if taints := c.Undeclared(n.Taints); len(taints) > 0 {
		return taints[0], true
	}
	return cluster.Taint{}, true
}

func (r *Room) noteGivenUp(m *memory.Memory, c *cluster.Claim, why plan.DeleteReason, taint cluster.Taint) {
	slots, _ := m.PlannedOn(c)
	for _, s := range slots {
		m.BackOff(memory.Backoff{Kind: s.Kind, Why: why, Taint: taint}, c, r.Snapshot, r.Now)
	}
}

// hindrance returns the taint that keeps all pods off the host; zero if none does.
func (r *Room) hindrance(h *Host) cluster.Taint {
	if taints := h.Claim.Undeclared(h.Node.Taints); len(taints) > 0 && r.repels(&h.Node, h.Claim) {
		return taints[0]
	}
	return cluster.Taint{}
}

// noteSmall notes the pods of which the host holds not even one, though it is for them.
func (r *Room) noteSmall(m *memory.Memory, h *Host) {
	slots, _ := m.PlannedOn(h.Claim)
	for _, c := range r.demand.Classes {
		if !slices.ContainsFunc(slots, func(s cluster.Slot) bool { return s.Kind == c.Group.Kind }) {
			continue
		}
		lacking := demand.WithoutAttach(c.Levels[c.Last()].Shape.Requests).Lacking(h.Most)
		if len(lacking) == 0 {
			continue
		}
		others := slices.IndexFunc(lacking, func(x quantity.Shortage) bool { return !isDevice(x.Resource) })
		m.BackOff(memory.Backoff{
			Kind: c.Group.Kind, Type: h.Claim.InstanceType, Lacks: lacking[max(0, others)].Resource, Device: others < 0,
		}, h.Claim, r.Snapshot, r.Now)
	}
}

// isDevice says whether the resource is none that the kubelet itself knows.
func isDevice(resource string) bool {
	switch resource {
	case quantity.CPU, quantity.Memory, quantity.EphemeralStorage, quantity.Pods:
		return false
	}
	return true
}
