package open

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/timing"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// If the daemon may not nominate pods, the scheduler chooses the node of each pod
// by its own scoring. Four rules limit the cost of that.
//
// First, nodes open together. If nodes open one by one, each is the emptiest node
// when it opens, and gets whatever pod comes next. Among many open nodes, scoring
// gives each pod the node whose free CPU and memory suit it best. Also, each
// opening makes the scheduler try all pending pods again, and pods then leave the
// order in which their nodes were ordered. The more nodes are on their way, the
// longer the first ones wait for the others.
//
// Second, nodes that large pods need open with PreferNoSchedule taints (see
// room.Reserves). The taints send other pods elsewhere for as long as there is room
// elsewhere. If the pending pods need more room than the nodes that are up have,
// nodes for the largest pods stay closed for up to twice as long, because other
// pods would fill them. The taints go when no pod is pending, or after
// memory.PreferencesFor.
//
// Third, the instance types of nodes suit the pending pods as a whole: see
// findUnsuited in package launch.
//
// Fourth, no node is launched for pods without room while nodes that are still to
// open, or that the scheduler is still filling, have the room in total: see Await.
const (
	// waveOf is the number of nodes that wait Policy.ReleaseWait for each other.
	// Twice as many wait twice as long, and so on, up to timing.KeptAtMost times.
	waveOf = 8
	// largePod and largestPod say when a pod is large or very large: it takes so
	// many ninths of the largest node on its way.
	largePod   = 2
	largestPod = 4
)

// reserve returns the PreferNoSchedule taints with which the node opens, and
// remembers when it opens.
func (o *opener) reserve(h *room.Host) []cluster.Taint {
	if !o.Policy.CannotNominate {
		return nil
	}
	o.memory.OpenSince, _ = memory.Remember(o.memory.OpenSince, h.Node.Name, o.Now)
	if o.hardness[h] == 0 {
		return nil
	}
	return room.Reserves(o.hardness[h])
}

// lift takes the PreferNoSchedule taints off nodes that no longer need them.
func (o *opener) lift() {
	for _, c := range o.Claims {
		node, up := o.Snapshot.Node(c.Node)
		if !up || !slices.ContainsFunc(node.Taints, room.Reserving) {
			continue
		}
		if at, known := memory.FirstSeen(o.memory.OpenSince, node.Name); known && o.Trace.Pods > 0 && o.Policy.CannotNominate {
			o.WaitUntil(at.Add(memory.PreferencesFor), plan.Filling)
			continue
		}
		o.actions = append(o.actions, plan.Release{
			Node: node.Name, NodeUID: node.UID, Taint: o.Policy.StartupTaint, Lifts: pick.Those(node.Taints, room.Reserving),
		})
	}
}

// opening returns which kept nodes open now.
func (o *opener) opening() func(*room.Host) bool {
	o.rateHosts()
	all := func(*room.Host) bool { return true }
	kept := pick.Those(o.room.Coming, func(h *room.Host) bool { return h.Stage == room.StageKept })
	for _, h := range kept {
		o.memory.ReadySince, _ = memory.Remember(o.memory.ReadySince, h.Node.Name, o.Now)
	}
	since := func(h *room.Host) time.Time {
		at, _ := memory.FirstSeen(o.memory.ReadySince, h.Node.Name)
		return at
	}
	wait := o.Policy.ReleaseWait
	wave := wait * time.Duration(min(max(len(o.room.Coming), waveOf), timing.KeptAtMost*waveOf)) / waveOf
	enough := o.enough(kept)
	last := func(h *room.Host) bool { return !enough && o.hardness[h] > 1 }
	if enough {
		wave = wait
	}
	var first time.Time
	for _, h := range kept {
		if !last(h) {
			first = pick.Earliest(first, since(h))
		}
	}
	if len(kept) == len(o.room.Coming) || enough && !o.Now.Before(first.Add(wave)) {
		return all
	}
	return func(h *room.Host) bool {
		end := first.Add(wave)
		if last(h) { // it opens with the first of the other nodes, but not before its own wave ends
			end = since(h).Add(2 * wave)
			if alone := since(h).Add(wave); !first.IsZero() {
				end = pick.Earliest(end, pick.Latest(alone, first.Add(wave)))
			}
		}
		if o.Now.Before(end) {
			o.WaitUntil(end, plan.OtherNodes)
			return false
		}
		return true
	}
}

// enough says whether the nodes that are kept or being filled have room, in total,
// for all demand that has a place.
func (o *opener) enough(kept []*room.Host) bool {
	var wanted, there quantity.Resources
	for _, c := range o.demand.Classes {
		wanted = wanted.Add(demand.WithoutAttach(c.Group.Shape.Requests).Times(c.Had - c.Refused))
	}
	for _, h := range slices.Concat(kept, o.beingFilled()) {
		there = there.Add(h.Most.Max(quantity.Resources{}))
	}
	return wanted.MilliCPU <= there.MilliCPU && wanted.MemoryBytes <= there.MemoryBytes
}

// rateHosts sets the hardness of each node that is not open yet: how hard its pods
// are to place, from 0 to 2, compared with the pods of the other nodes.
func (o *opener) rateHosts() {
	o.hardness = map[*room.Host]int{}
	var widest quantity.Resources
	for _, h := range o.room.Coming {
		widest = widest.Max(h.Most)
	}
	least := 2
	for _, h := range o.room.Coming {
		var share int64
		for _, p := range h.Pods {
			r := p.Shape.Requests
			share = max(share, quantity.Part(r.MilliCPU, widest.MilliCPU), quantity.Part(r.MemoryBytes, widest.MemoryBytes))
		}
		switch share *= 9; {
		case share >= largestPod*quantity.Whole:
			o.hardness[h] = 2
		case share >= largePod*quantity.Whole:
			o.hardness[h] = 1
		default:
			o.hardness[h] = 0
		}
		if len(h.Pods) > 0 {
			least = min(least, o.hardness[h])
		}
	}
	for _, h := range o.room.Coming {
		o.hardness[h] = max(0, o.hardness[h]-least)
	}
}
