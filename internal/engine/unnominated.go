package engine

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
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
// when nothing is pending, or after reservedFor.
//
// Nodes are of types that suit what is pending as a whole; see unsuited.
//
// Pods that the scheduler left over are not launched for while nodes that are
// still to open, or that it is still filling, have the room in sum; see leaveOpen.
const (
	// waveOf is how many nodes wait ReleaseWait for each other. Twice as many wait
	// twice as long, at most keptAtMost times.
	waveOf = 8
	// reservedFor is how long the preferences stay at most.
	reservedFor = 30 * time.Second
	// largePod and largestPod are the parts, in ninths, of the largest node on its way
	// that a pod takes which is among the large, and the largest.
	largePod, largestPod = 2, 4
)

// reserves are the preferences of a node, by how hard to place its pods are.
func reserves(hardness int) []cluster.Taint {
	return []cluster.Taint{
		{Key: "karpenterd.sh/large-pods-first", Effect: cluster.PreferNoSchedule},
		{Key: "karpenterd.sh/largest-pods-first", Effect: cluster.PreferNoSchedule},
	}[:hardness]
}

func reserving(t cluster.Taint) bool {
	return t.Effect == cluster.PreferNoSchedule && slices.Contains(reserves(2), t)
}

// lasting are the taints without the preferences that will go.
func (s *step) lasting(taints []cluster.Taint) []cluster.Taint {
	if !slices.ContainsFunc(taints, reserving) {
		return taints
	}
	return filter(taints, func(t cluster.Taint) bool { return !reserving(t) })
}

// reserve returns the preferences with which the node opens, and remembers when
// it does.
func (s *step) reserve(h *host) []cluster.Taint {
	if !s.in.Policy.CannotNominate {
		return nil
	}
	s.memory.OpenSince, _ = remember(s.memory.OpenSince, h.node.Name, s.in.Now)
	if h.hardness == 0 {
		return nil
	}
	return reserves(h.hardness)
}

// lift takes the preferences off nodes that need them no longer.
func (s *step) lift() {
	for _, c := range s.claims {
		node, up := s.in.Snapshot.Node(c.Node)
		if !up || !slices.ContainsFunc(node.Taints, reserving) {
			continue
		}
		if at, known := firstSeen(s.memory.OpenSince, node.Name); known && s.trace.Pods > 0 && s.in.Policy.CannotNominate {
			s.waitUntil(at.Add(reservedFor), plan.Filling)
			continue
		}
		s.nominate = append(s.nominate, plan.Release{
			Node: node.Name, NodeUID: node.UID, Taint: s.in.Policy.StartupTaint, Lifts: filter(node.Taints, reserving),
		})
	}
}

// opening says which of the nodes that are kept open now.
func (s *step) opening() func(*host) bool {
	s.rateHosts()
	all := func(*host) bool { return true }
	kept := filter(s.hosts, func(h *host) bool { return h.stage == stageKept })
	for _, h := range kept {
		s.memory.ReadySince, _ = remember(s.memory.ReadySince, h.node.Name, s.in.Now)
	}
	since := func(h *host) time.Time {
		at, _ := firstSeen(s.memory.ReadySince, h.node.Name)
		return at
	}
	wait := s.in.Policy.ReleaseWait
	wave := wait * time.Duration(min(max(len(s.hosts), waveOf), keptAtMost*waveOf)) / waveOf
	enough := s.enough(kept)
	last := func(h *host) bool { return !enough && h.hardness > 1 }
	if enough {
		wave = wait
	}
	var first time.Time
	for _, h := range kept {
		if !last(h) {
			first = earliest(first, since(h))
		}
	}
	if len(kept) == len(s.hosts) || enough && !s.in.Now.Before(first.Add(wave)) {
		return all
	}
	return func(h *host) bool {
		end := first.Add(wave)
		if last(h) { // with the first others after its own wait, if there are any
			end = since(h).Add(2 * wave)
			if alone := since(h).Add(wave); !first.IsZero() {
				end = earliest(end, latest(alone, first.Add(wave)))
			}
		}
		if s.in.Now.Before(end) {
			s.waitUntil(end, plan.Company)
			return false
		}
		return true
	}
}

// enough says whether the nodes that are up, kept or being filled, have room in
// sum for all that is pending and has a place.
func (s *step) enough(kept []*host) bool {
	var demand, room quantity.Resources
	for _, c := range s.classes {
		demand = demand.Add(withoutAttach(c.group.Shape.Requests).Times(c.had - c.refused))
	}
	for _, h := range slices.Concat(kept, s.beingFilled()) {
		room = room.Add(h.most.Max(quantity.Resources{}))
	}
	return demand.MilliCPU <= room.MilliCPU && demand.MemoryBytes <= room.MemoryBytes
}

// rateHosts says of each node that is not open yet how hard to place the pods are
// that are planned for it, beside those of the others.
func (s *step) rateHosts() {
	var widest quantity.Resources
	for _, h := range s.hosts {
		widest = widest.Max(h.most)
	}
	least := 2
	for _, h := range s.hosts {
		var share int64
		for _, p := range h.pods {
			r := p.Shape.Requests
			share = max(share, part(r.MilliCPU, widest.MilliCPU), part(r.MemoryBytes, widest.MemoryBytes))
		}
		switch share *= 9; {
		case share >= largestPod*whole:
			h.hardness = 2
		case share >= largePod*whole:
			h.hardness = 1
		default:
			h.hardness = 0
		}
		if len(h.pods) > 0 {
			least = min(least, h.hardness)
		}
	}
	for _, h := range s.hosts {
		h.hardness = max(0, h.hardness-least)
	}
}
