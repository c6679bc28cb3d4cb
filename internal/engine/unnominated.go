package engine

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Without the right to nominate it is the scheduler that chooses the node of each
// pod, by its own scoring. Four rules keep what that costs small.
//
// Nodes open together, the more the longer they wait for each other. Opened one by
// one, each is the emptiest when it opens and gets whatever comes next; of many
// the scoring gives each pod the one whose free CPU and memory suit it best. And
// each opening lets the scheduler try all that is pending again, which brings the
// pods out of the order in which their nodes were ordered.
//
// Nodes that large pods need open with preferences (PreferNoSchedule) that send
// other pods elsewhere for as long as there is room elsewhere. While there is not,
// as more is pending than what is up can hold, those for the largest pods stay
// closed for up to twice as long: the others would fill them. The preferences go
// when nothing is pending, or after PreferencesFor.
//
// Nodes are of types that suit what is pending as a whole; see unsuited.
//
// Pods that the scheduler left over are not launched for while nodes that are
// still to open, or that it is still filling, have the room in sum; see leaveOpen.
const (
	// waveOf is how many nodes wait ReleaseWait for each other. Twice as many wait
	// twice as long, at most keptAtMost times.
	waveOf = 8
	// largePod and largestPod are the parts, in ninths, of the largest node on its way
	// that a pod takes which is among the large, and the largest.
	largePod, largestPod = 2, 4
)

// reserve returns the preferences with which the node opens, and remembers when
// it does.
func (o *opener) reserve(h *host) []cluster.Taint {
	if !o.Policy.CannotNominate {
		return nil
	}
	o.memory.OpenSince, _ = remember(o.memory.OpenSince, h.node.Name, o.Now)
	if o.hardness[h] == 0 {
		return nil
	}
	return reserves(o.hardness[h])
}

// lift takes the preferences off nodes that need them no longer.
func (o *opener) lift() {
	for _, c := range o.Claims {
		node, up := o.Snapshot.Node(c.Node)
		if !up || !slices.ContainsFunc(node.Taints, reserving) {
			continue
		}
		if at, known := firstSeen(o.memory.OpenSince, node.Name); known && o.trace.Pods > 0 && o.Policy.CannotNominate {
			o.waitUntil(at.Add(PreferencesFor), plan.Filling)
			continue
		}
		o.actions = append(o.actions, plan.Release{
			Node: node.Name, NodeUID: node.UID, Taint: o.Policy.StartupTaint, Lifts: pick.Those(node.Taints, reserving),
		})
	}
}

// opening says which of the nodes that are kept open now.
func (o *opener) opening() func(*host) bool {
	o.rateHosts()
	all := func(*host) bool { return true }
	kept := pick.Those(o.room.coming, func(h *host) bool { return h.stage == stageKept })
	for _, h := range kept {
		o.memory.ReadySince, _ = remember(o.memory.ReadySince, h.node.Name, o.Now)
	}
	since := func(h *host) time.Time {
		at, _ := firstSeen(o.memory.ReadySince, h.node.Name)
		return at
	}
	wait := o.Policy.ReleaseWait
	wave := wait * time.Duration(min(max(len(o.room.coming), waveOf), keptAtMost*waveOf)) / waveOf
	enough := o.enough(kept)
	last := func(h *host) bool { return !enough && o.hardness[h] > 1 }
	if enough {
		wave = wait
	}
	var first time.Time
	for _, h := range kept {
		if !last(h) {
			first = pick.Earliest(first, since(h))
		}
	}
	if len(kept) == len(o.room.coming) || enough && !o.Now.Before(first.Add(wave)) {
		return all
	}
	return func(h *host) bool {
		end := first.Add(wave)
		if last(h) { // with the first others after its own wait, if there are any
			end = since(h).Add(2 * wave)
			if alone := since(h).Add(wave); !first.IsZero() {
				end = pick.Earliest(end, pick.Latest(alone, first.Add(wave)))
			}
		}
		if o.Now.Before(end) {
			o.waitUntil(end, plan.Company)
			return false
		}
		return true
	}
}

// enough says whether the nodes that are up, kept or being filled, have room in
// sum for all that is pending and has a place.
func (o *opener) enough(kept []*host) bool {
	var demand, room quantity.Resources
	for _, c := range o.demand.classes {
		demand = demand.Add(withoutAttach(c.group.Shape.Requests).Times(c.had - c.refused))
	}
	for _, h := range slices.Concat(kept, o.beingFilled()) {
		room = room.Add(h.most.Max(quantity.Resources{}))
	}
	return demand.MilliCPU <= room.MilliCPU && demand.MemoryBytes <= room.MemoryBytes
}

// rateHosts says of each node that is not open yet how hard to place the pods are
// that are planned for it, beside those of the others.
func (o *opener) rateHosts() {
	o.hardness = map[*host]int{}
	var widest quantity.Resources
	for _, h := range o.room.coming {
		widest = widest.Max(h.most)
	}
	least := 2
	for _, h := range o.room.coming {
		var share int64
		for _, p := range h.pods {
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
		if len(h.pods) > 0 {
			least = min(least, o.hardness[h])
		}
	}
	for _, h := range o.room.coming {
		o.hardness[h] = max(0, o.hardness[h]-least)
	}
}
