package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

// assigner puts the demand of one try of a Step onto room that exists or is on its
// way.
type assigner struct {
	View
	*journal
	memory  *parts
	demand  *demand
	room    *room
	solver  *pack.Solver
	settled bool // nodes were up that are kept for declared pods; see settle
}

// keepPromises puts demand where it was promised room: pods where they are
// nominated, then every NodeClaim's planned content. What was promised under
// preferences keeps its place, so only requirements are looked at.
func (a *assigner) keepPromises() {
	for _, c := range a.demand.classes {
		a.keepNominations(c)
	}
	a.settle()
	if a.solver.Cut() {
		return
	}
	promises := a.promises()
	if a.settled {
		// Pods that exist come before those that may yet come.
		a.keepPlanned(promises, (*demandClass).real)
		for _, c := range a.demand.classes {
			if c.real() > 0 && c.last() == 0 && !c.ruled() {
				a.fillReal(c)
			}
		}
	}
	a.keepPlanned(promises, (*demandClass).count)
}

// keepPlanned gives as many of each class as count says to what NodeClaims were
// launched for.
func (a *assigner) keepPlanned(promises map[string][]*promise, count func(*demandClass) int64) {
	goRound(ruledFirst(a.demand.classes), func(c *demandClass) bool { return a.fillPlanned(c, promises[c.group.Kind], count) })
	for _, c := range a.demand.classes { // other selectors look at other labels now
		a.fillPlanned(c, promises[shapeOf(c.group.Kind)], count)
	}
}

// fillReal gives pods of the class that exist to room that exists or is on its
// way.
func (a *assigner) fillReal(c *demandClass) {
	for _, h := range a.candidates(c) {
		h.take(a.journal, c, c.level, c.real())
	}
}

// fillAll gives the demand, at its levels, to room that exists or is on its way.
func (a *assigner) fillAll() {
	if !a.solver.Cut() {
		goRound(a.demand.classes, a.fill)
	}
}

// goRound gives places to one class after the other, and again to those that other
// pods have a say about until nothing moves: pods open places for their followers.
func goRound(classes []*demandClass, give func(*demandClass) (moved bool)) {
	for first, moved := true, true; moved; first = false {
		moved = false
		for _, c := range classes {
			if c.count() > 0 && (first || c.ruled()) {
				moved = give(c) || moved
			}
		}
	}
}

// ruledFirst puts those first that other pods have a say about, of them those that
// want to be near others: one that may start a group where it was promised a place
// may not once the group is elsewhere, and pods of others that it must be spread
// among may have come there since.
func ruledFirst(classes []*demandClass) []*demandClass {
	if len(classes) == 0 || classes[0].table == nil {
		return classes
	}
	turn := func(c *demandClass) int {
		switch {
		case c.table.Company(c.hard()) != nil:
			return 0
		case c.table.Bound(c.hard()):
			return 1
		}
		return 2
	}
	order := slices.Clone(classes)
	slices.SortStableFunc(order, func(a, b *demandClass) int { return cmp.Compare(turn(a), turn(b)) })
	return order
}

func (a *assigner) keepNominations(c *demandClass) {
	if !c.nominated {
		return
	}
	c.pods = pick.Those(c.pods, func(p podRef) bool {
		if p.Nominated == "" {
			return true
		}
		state, ok := a.Snapshot.State(p.Nominated)
		if !ok {
			return true
		}
		h := a.room.node(state)
		if h == nil || h.roomFor(c, c.last(), 1) == 0 {
			return true
		}
		h.put(a.journal, c, c.last(), 1)
		h.pods = append(h.pods, p)
		h.real = h.real.Add(c.levels[c.last()].shape.Requests)
		h.report(a.journal, c, []string{p.id})
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
func (a *assigner) promises() map[string][]*promise {
	out := map[string][]*promise{}
	for _, h := range a.room.coming {
		if h.claim.Name == "" || h.stage == stageNode {
			continue
		}
		slots := a.memory.plannedOn(h.claim)
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
func (a *assigner) fillPlanned(c *demandClass, promises []*promise, count func(*demandClass) int64) (progress bool) {
	for _, p := range promises {
		n := p.host.take(a.journal, c, c.last(), min(p.left, count(c)))
		p.left -= n
		progress = progress || n > 0
	}
	return progress
}

// fill gives the class, at its level, to room that exists or is on its way: to
// the nodes that run first, where the least room is left over. It says whether
// that may have opened places for others.
func (a *assigner) fill(c *demandClass) (moved bool) {
	candidates := a.candidates(c)
	for progress := true; progress && c.count() > 0; {
		progress = false
		for _, h := range candidates {
			if h.take(a.journal, c, c.level, c.count()) > 0 {
				progress, moved = true, true
			}
		}
		if !c.ruled() {
			break // a second round changes nothing
		}
	}
	return moved
}

// candidates lists the hosts that could take a pod of the class, best first. A
// class without rules about other pods stops looking when it has found room for
// all.
func (a *assigner) candidates(c *demandClass) []*host {
	var out []*host
	l := &c.levels[c.level]
	ruled := c.ruled() || len(l.shape.Ports) > 0 // room is not all that counts
	var room int64
	for state := range a.Snapshot.Roomy(withoutAttach(l.shape.Requests)) {
		a.trace.Objects++
		h := a.room.node(state)
		if h == nil || h.stage != stageNode || !l.shape.Requests.Fits(h.free) || !h.accepts(l) {
			continue
		}
		out = append(out, h)
		if room += l.shape.Requests.CountIn(h.free, c.count()); room >= c.count() && !ruled {
			return out
		}
	}
	for _, x := range a.rated(c) {
		out = append(out, x.host)
	}
	return out
}

// rated lists the hosts that are not open yet and could take a pod of the class,
// nearest to running first, then by what the class would leave of them.
func (a *assigner) rated(c *demandClass) []rated {
	var out []rated
	l := &c.levels[c.level]
	for _, h := range a.room.coming {
		if h.stage != stageNode && l.shape.Requests.Fits(h.free) && h.accepts(l) {
			n := l.shape.Requests.CountIn(h.free, c.count())
			out = append(out, rated{h, price.Bulk(h.free.Sub(l.shape.Requests.Times(n)))})
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
