package engine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Pods that arrive in pieces are planned in pieces, and the room that is left on
// nodes on their way ends up where nobody can use it: CPU here, memory there. As
// long as a node is not up, what is planned there is only a plan. So before nodes
// are launched for pods that found no room, all that is planned on nodes on their
// way is packed anew together with them.
const (
	// worthMoving is how much of what found no room may find none after a
	// rearrangement either, in thousandths, for it to be made: it moves hundreds
	// of pods, and a little that is left over now fills the next node.
	worthMoving = 600
	// movesFor is for how long after it came a pod may be moved. One that has
	// waited longer keeps its place: it could be put off again and again.
	movesFor = 20 * time.Second
)

// rearrange packs the pods that are planned on nodes on their way anew, together
// with those that found no room, and goes on from there if that leaves a good
// deal less without room.
func (s *step) rearrange() {
	s.arranged = true
	lacking := s.lacking()
	if lacking == 0 || !s.mayRearrange() {
		return
	}
	o := newStep(s.in, s.excluded)
	o.in.Memory.fleet = s.fleet
	o.packer, o.arranged = s.packer, true
	o.trace.Tries = s.trace.Tries
	o.collect()
	o.packAnew()
	if !o.packer.cut {
		o.goRound(o.classes, o.fill)
	}
	if !o.packer.cut && o.lacking() < lacking/1000*worthMoving && o.homelessOthers() <= s.homelessOthers() {
		o.openFleet()
		o.trace.Objects += s.trace.Objects
		*s = *o
		return
	}
}

// mayRearrange says whether there is anything to be rearranged, and nothing
// against it: places mean nothing to a scheduler that is not told of them; settle
// has a plan of its own for nodes that are kept; and where limits are short, who
// is left over is not for the packer to say.
func (s *step) mayRearrange() bool {
	return !s.in.Policy.CannotNominate && !s.settled && !s.tight && s.scarce == nil && slices.ContainsFunc(s.hosts, (*host).planned)
}

// planned says whether the host is no node yet.
func (h *host) planned() bool { return h.node.Name == "" }

// lacking is the work of the pods without room that could be helped by moving
// others from nodes on their way.
func (s *step) lacking() int64 {
	var largest, sum quantity.Resources
	for _, h := range s.hosts {
		if h.planned() {
			largest = largest.Max(h.most)
		}
	}
	for _, c := range s.classes {
		if need := withoutAttach(c.group.Shape.Requests); s.exchangeable(c) && need.Fits(largest) {
			sum = sum.Add(need.Times(c.count()))
		}
	}
	return work(sum)
}

// homelessOthers counts the pods without room that may not change places.
func (s *step) homelessOthers() (n int64) {
	for _, c := range s.classes {
		if !s.exchangeable(c) {
			n += c.count()
		}
	}
	return n
}

// exchangeable says whether a pod of the class may take the place of another as
// far as its size allows: no other pods have a say about it, it has none about
// others, and it prefers nothing.
func (s *step) exchangeable(c *demandClass) bool {
	return c.last() == 0 && s.free(c) && c.group.Shape.Gang.Name == "" && (s.rules == nil || !s.followed[c.rule()])
}

// packAnew keeps the promises of nodes that are up, of pods that may not be moved
// and of those that have waited long, and packs the rest on the nodes on their
// way.
func (s *step) packAnew() {
	for _, c := range s.classes {
		s.keepNominations(c)
	}
	promises := s.promises()
	s.keepPlanned(promises, func(c *demandClass) int64 {
		if s.exchangeable(c) {
			return 0
		}
		return c.count()
	})
	hosts := filter(s.hosts, (*host).planned)
	slots := s.fixedSlots(hosts, func(c *demandClass) bool { return !s.exchangeable(c) })
	classes := filter(s.classes, s.exchangeable)
	for _, c := range classes {
		waited := c.waited(s.in.Now.Add(-movesFor))
		for _, p := range slices.Concat(promises[c.group.Kind], promises[shapeOf(c.group.Kind)]) {
			if !p.host.planned() {
				p.left -= s.take(c, c.last(), p.host, min(p.left, c.count()))
				continue
			}
			n := s.take(c, c.last(), p.host, min(p.left, waited))
			waited, p.left = waited-n, p.left-n
			slots.add(p.host, c, n)
		}
	}
	classes = filter(classes, func(c *demandClass) bool { return c.count() > 0 })
	bins := s.packHosts(hosts, classes, (*demandClass).count)
	if s.packer.cut {
		return
	}
	slices.SortStableFunc(bins, func(a, b hostBin) int { return sooner(a.host, b.host) }) // the oldest pods take the first
	for _, b := range bins {
		for _, part := range b.parts {
			c := classes[part.Class]
			slots.add(b.host, c, s.take(c, c.last(), b.host, part.Count))
		}
	}
	s.promise(slots)
}

// waited counts the pods of the class that came by then.
func (c *demandClass) waited(by time.Time) int64 {
	n, _ := slices.BinarySearchFunc(c.pods, by, func(p podRef, t time.Time) int {
		if p.Created.After(t) {
			return 1
		}
		return -1
	})
	return int64(n)
}

// sooner orders hosts by how soon they will run pods.
func sooner(a, b *host) int {
	return cmp.Or(cmp.Compare(a.stage, b.stage), a.claim.Created.Compare(b.claim.Created), strings.Compare(a.name(), b.name()))
}

// slots is what is promised anew, by NodeClaim.
type slots map[string][]cluster.Slot

func (x slots) add(h *host, c *demandClass, n int64) {
	if n > 0 {
		x[h.claim.Name] = append(x[h.claim.Name], cluster.Slot{Kind: c.group.Kind, Count: n})
	}
}

// fixedSlots is what the hosts are promised to pods of classes that are fixed, or
// that have none here now. A class that moves also had what is promised to its
// shape under labels that no class has any more; see keepPlanned.
func (s *step) fixedSlots(hosts []*host, fixed func(*demandClass) bool) slots {
	kinds, shapes := map[string]bool{}, map[string]bool{} // what moves
	for _, c := range s.classes {
		kinds[c.group.Kind] = !fixed(c)
		shapes[shapeOf(c.group.Kind)] = shapes[shapeOf(c.group.Kind)] || !fixed(c)
	}
	moves := func(kind string) bool {
		yes, here := kinds[kind]
		return yes || !here && shapes[shapeOf(kind)]
	}
	out := make(slots, len(hosts))
	for _, h := range hosts {
		out[h.claim.Name] = filter(s.memory.plannedOn(h.claim), func(x cluster.Slot) bool { return !moves(x.Kind) })
	}
	return out
}

// promise remembers what the NodeClaims are for from now on.
func (s *step) promise(anew slots) {
	s.memory.Planned = filter(s.memory.Planned, func(p Planned) bool { _, known := anew[p.Claim]; return !known })
	for name, list := range anew {
		s.memory.Planned = append(s.memory.Planned, Planned{Claim: name, Slots: merged(list)})
	}
	slices.SortFunc(s.memory.Planned, func(a, b Planned) int { return strings.Compare(a.Claim, b.Claim) })
}
