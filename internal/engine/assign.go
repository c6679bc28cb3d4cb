package engine

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// keepPromises puts demand where it was promised room: pods where they are
// nominated, then every NodeClaim's planned content. What was promised under
// preferences keeps its place, so only requirements are looked at.
func (s *step) keepPromises() {
	for _, c := range s.classes {
		s.keepNominations(c)
	}
	s.settle()
	if s.packer.cut {
		return
	}
	promises := s.promises()
	if s.settled {
		// Pods that exist come before those that may yet come.
		s.keepPlanned(promises, (*demandClass).real)
		for _, c := range s.classes {
			if c.real() > 0 && c.last() == 0 && !s.ruled(c) {
				s.fillReal(c)
			}
		}
	}
	s.keepPlanned(promises, (*demandClass).count)
}

// keepPlanned gives as many of each class as count says to what NodeClaims were
// launched for.
func (s *step) keepPlanned(promises map[string][]*promise, count func(*demandClass) int64) {
	s.goRound(s.ruledFirst(), func(c *demandClass) bool { return s.fillPlanned(c, promises[c.group.Kind], count) })
	for _, c := range s.classes { // other selectors look at other labels now
		s.fillPlanned(c, promises[shapeOf(c.group.Kind)], count)
	}
}

// fillReal gives pods of the class that exist to room that exists or is on its
// way.
func (s *step) fillReal(c *demandClass) {
	for _, h := range s.candidates(c) {
		s.take(c, c.level, h, c.real())
	}
}

// goRound gives places to one class after the other, and again to those that other
// pods have a say about until nothing moves: pods open places for their followers.
func (s *step) goRound(classes []*demandClass, give func(*demandClass) (moved bool)) {
	for first, moved := true, true; moved; first = false {
		moved = false
		for _, c := range classes {
			if c.count() > 0 && (first || s.ruled(c)) {
				moved = give(c) || moved
			}
		}
	}
}

// ruledFirst puts those first that other pods have a say about, of them those that
// want to be near others: one that may start a group where it was promised a place
// may not once the group is elsewhere, and pods of others that it must be spread
// among may have come there since.
func (s *step) ruledFirst() []*demandClass {
	if s.rules == nil {
		return s.classes
	}
	turn := func(c *demandClass) int {
		switch {
		case s.rules.Company(c.hard()) != nil:
			return 0
		case s.rules.Bound(c.hard()):
			return 1
		}
		return 2
	}
	order := slices.Clone(s.classes)
	slices.SortStableFunc(order, func(a, b *demandClass) int { return cmp.Compare(turn(a), turn(b)) })
	return order
}

func (s *step) keepNominations(c *demandClass) {
	if !c.nominated {
		return
	}
	c.pods = filter(c.pods, func(p podRef) bool {
		if p.Nominated == "" {
			return true
		}
		state, ok := s.in.Snapshot.State(p.Nominated)
		if !ok {
			return true
		}
		h := s.node(state)
		if h == nil || s.room(c, c.last(), h, 1) == 0 {
			return true
		}
		s.put(c, c.last(), h, 1)
		h.pods = append(h.pods, p)
		h.real = h.real.Add(c.levels[c.last()].shape.Requests)
		s.outcome(c, h, []string{p.id})
		return false
	})
}

// promise is room that a NodeClaim was launched with for pods of one kind.
type promise struct {
	host *host
	left int64
}

// shapeOf is the part of a kind that does not go by labels.
func shapeOf(kind string) string { shape, _, _ := strings.Cut(kind, "."); return shape }

// promises lists, by kind and by what does not go by labels of it, what
// NodeClaims were launched for, less what runs there already.
func (s *step) promises() map[string][]*promise {
	out := map[string][]*promise{}
	for _, h := range s.hosts {
		if h.claim.Name == "" || h.stage == stageNode {
			continue
		}
		slots := s.memory.plannedOn(h.claim)
		if len(slots) == 0 {
			continue
		}
		there := map[string]int64{}
		if h.state != nil {
			for g, n := range h.state.Groups() {
				there[g.Kind] += n
			}
		}
		for _, slot := range slots {
			if left := slot.Count - there[slot.Kind]; left > 0 {
				p := &promise{h, left}
				out[slot.Kind] = append(out[slot.Kind], p)
				out[shapeOf(slot.Kind)] = append(out[shapeOf(slot.Kind)], p)
			}
		}
	}
	return out
}

// fillPlanned gives as many of the class as count says to what NodeClaims were
// launched for, and says whether any found a place.
func (s *step) fillPlanned(c *demandClass, promises []*promise, count func(*demandClass) int64) (progress bool) {
	for _, p := range promises {
		n := s.take(c, c.last(), p.host, min(p.left, count(c)))
		p.left -= n
		progress = progress || n > 0
	}
	return progress
}

// fill gives the class, at its level, to room that exists or is on its way: to
// the nodes that run first, where the least room is left over. It says whether
// that may have opened places for others.
func (s *step) fill(c *demandClass) (moved bool) {
	candidates := s.candidates(c)
	for progress := true; progress && c.count() > 0; {
		progress = false
		for _, h := range candidates {
			if s.take(c, c.level, h, c.count()) > 0 {
				progress, moved = true, true
			}
		}
		if !s.ruled(c) {
			break // a second round changes nothing
		}
	}
	return moved
}

// candidates lists the hosts that could take a pod of the class, best first. A
// class without rules about other pods stops looking when it has found room for
// all.
func (s *step) candidates(c *demandClass) []*host {
	var out []*host
	l := &c.levels[c.level]
	ruled := s.ruled(c) || len(l.shape.Ports) > 0 // room is not all that counts
	var room int64
	for state := range s.in.Snapshot.Roomy(withoutAttach(l.shape.Requests)) {
		s.trace.Objects++
		h := s.node(state)
		if h == nil || h.stage != stageNode || !l.shape.Requests.Fits(h.free) || !h.accepts(l) {
			continue
		}
		out = append(out, h)
		if room += l.shape.Requests.CountIn(h.free, c.count()); room >= c.count() && !ruled {
			return out
		}
	}
	for _, x := range s.rated(c) {
		out = append(out, x.host)
	}
	return out
}

// rated lists the hosts that are not open yet and could take a pod of the class,
// nearest to running first, then by what the class would leave of them.
func (s *step) rated(c *demandClass) []rated {
	var out []rated
	l := &c.levels[c.level]
	for _, h := range s.hosts {
		if h.stage != stageNode && l.shape.Requests.Fits(h.free) && h.accepts(l) {
			n := l.shape.Requests.CountIn(h.free, c.count())
			out = append(out, rated{h, work(h.free.Sub(l.shape.Requests.Times(n)))})
		}
	}
	slices.SortStableFunc(out, func(a, b rated) int {
		return cmp.Or(cmp.Compare(a.host.stage, b.host.stage), cmp.Compare(a.left, b.left))
	})
	return out
}

// rated is a host with the worth of what would be left of it.
type rated struct {
	host *host
	left int64
}

// put counts n pods of the class on the host.
func (s *step) put(c *demandClass, level int, h *host, n int64) {
	l := &c.levels[level]
	h.free = h.free.Sub(l.shape.Requests.Times(n))
	h.ports = append(h.ports, l.shape.Ports...)
	if s.rules != nil {
		s.rules.Add(c.hard(), h.place(), n)
	}
	s.trace.Placed += n
}

// take moves up to n of the class onto the host, real pods first, and says how
// many it took.
func (s *step) take(c *demandClass, level int, h *host, n int64) int64 {
	n = s.room(c, level, h, n)
	if n <= 0 {
		return 0
	}
	s.put(c, level, h, n)
	g := c.draw(n)
	h.pods = append(h.pods, g.pods...)
	h.displaced += int64(len(g.displaced))
	h.declared += g.declared
	h.real = h.real.Add(c.levels[level].shape.Requests.Times(int64(len(g.pods) + len(g.displaced))))
	s.outcome(c, h, s.ids(g))
	return n
}

// draw takes n of the class's demand, real pods first.
func (c *demandClass) draw(n int64) (d draw) {
	k := min(n, int64(len(c.pods)))
	d.pods, c.pods = c.pods[:k], c.pods[k:]
	n -= k
	k = min(n, int64(len(c.displaced)))
	d.displaced, c.displaced = c.displaced[:k], c.displaced[k:]
	n -= k
	d.declared = min(n, c.declared)
	c.declared -= d.declared
	return d
}

// draw is a part of a class's demand.
type draw struct {
	pods, displaced []podRef
	declared        int64
}

// unlimited is the room of a place that no rule limits.
const unlimited = math.MaxInt64
