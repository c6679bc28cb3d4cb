package assign

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

// Assigner puts the demand of one try of a Step onto room that exists or is on its
// way.
type Assigner struct {
	view.View
	*journal.Journal
	Memory   *memory.Memory
	Demand   *demand.Demand
	Room     *room.Room
	Solver   *pack.Solver
	gathered bool // nodes were up that are kept for declared pods; see gatherOnKept
}

// KeepPromises puts demand where it was promised room: pods where they are
// nominated, then every NodeClaim's planned content. What was promised under
// preferences keeps its place, so only requirements are looked at.
func (a *Assigner) KeepPromises() {
	for _, c := range a.Demand.Classes {
		a.keepNominations(c)
	}
	a.gatherOnKept()
	if a.Solver.Cut() {
		return
	}
	promises := a.promises()
	if a.gathered {
		// Pods that exist come before those that may yet come.
		a.keepPlanned(promises, (*demand.Class).Real)
		for _, c := range a.Demand.Classes {
			if c.Real() > 0 && c.Last() == 0 && !c.Ruled() {
				a.fillReal(c)
			}
		}
	}
	a.keepPlanned(promises, (*demand.Class).Count)
}

// keepPlanned gives as many of each class as count says to what NodeClaims were
// launched for.
func (a *Assigner) keepPlanned(promises map[string][]*promise, count func(*demand.Class) int64) {
	goRound(ruledFirst(a.Demand.Classes), func(c *demand.Class) bool { return a.fillPlanned(c, promises[c.Group.Kind], count) })
	for _, c := range a.Demand.Classes { // other selectors look at other labels now
		a.fillPlanned(c, promises[shapeOf(c.Group.Kind)], count)
	}
}

// fillReal gives pods of the class that exist to room that exists or is on its
// way.
func (a *Assigner) fillReal(c *demand.Class) {
	for _, h := range a.candidates(c) {
		h.Take(a.Journal, c, c.Level, c.Real())
	}
}

// FillAll gives the demand, at its levels, to room that exists or is on its way.
func (a *Assigner) FillAll() {
	if !a.Solver.Cut() {
		goRound(a.Demand.Classes, a.Fill)
	}
}

// goRound gives places to one class after the other, and again to those that other
// pods have a say about until nothing moves: pods open places for their followers.
func goRound(classes []*demand.Class, give func(*demand.Class) (moved bool)) {
	for first, moved := true, true; moved; first = false {
		moved = false
		for _, c := range classes {
			if c.Count() > 0 && (first || c.Ruled()) {
				moved = give(c) || moved
			}
		}
	}
}

// ruledFirst puts those first that other pods have a say about, of them those that
// want to be near others: one that may start a group where it was promised a place
// may not once the group is elsewhere, and pods of others that it must be spread
// among may have come there since.
func ruledFirst(classes []*demand.Class) []*demand.Class {
	if len(classes) == 0 || classes[0].Table == nil {
		return classes
	}
	turn := func(c *demand.Class) int {
		switch {
		case c.Table.AffinityTargets(c.Hard()) != nil:
			return 0
		case c.Table.Bound(c.Hard()):
			return 1
		}
		return 2
	}
	order := slices.Clone(classes)
	slices.SortStableFunc(order, func(a, b *demand.Class) int { return cmp.Compare(turn(a), turn(b)) })
	return order
}

func (a *Assigner) keepNominations(c *demand.Class) {
	if !c.Nominated {
		return
	}
	c.Pods = pick.Those(c.Pods, func(p demand.PodRef) bool {
		if p.Nominated == "" {
			return true
		}
		state, ok := a.Snapshot.State(p.Nominated)
		if !ok {
			return true
		}
		h := a.Room.Node(state)
		if h == nil || h.RoomFor(c, c.Last(), 1) == 0 {
			return true
		}
		h.Put(a.Journal, c, c.Last(), 1)
		h.Pods = append(h.Pods, p)
		h.Real = h.Real.Add(c.Levels[c.Last()].Shape.Requests)
		h.Report(a.Journal, c, []string{p.ID})
		return false
	})
}

// promise is room that a NodeClaim was launched with for pods of one kind.
type promise struct {
	host *room.Host
	left int64
}

// shapeOf is the part of a kind that does not go by labels.
func shapeOf(kind string) string { shape, _, _ := strings.Cut(kind, "."); return shape }

// promises lists, by kind and by what does not go by labels of it, what
// NodeClaims were launched for, less what runs there already.
func (a *Assigner) promises() map[string][]*promise {
	out := map[string][]*promise{}
	for _, h := range a.Room.Coming {
		if h.Claim.Name == "" || h.Stage == room.StageNode {
			continue
		}
		slots := a.Memory.PlannedOn(h.Claim)
		if len(slots) == 0 {
			continue
		}
		there := map[string]int64{}
		if h.State != nil {
			for g, n := range h.State.Groups() {
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
func (a *Assigner) fillPlanned(c *demand.Class, promises []*promise, count func(*demand.Class) int64) (progress bool) {
	for _, p := range promises {
		n := p.host.Take(a.Journal, c, c.Last(), min(p.left, count(c)))
		p.left -= n
		progress = progress || n > 0
	}
	return progress
}

// Fill gives the class, at its level, to room that exists or is on its way: to
// the nodes that run first, where the least room is left over. It says whether
// that may have opened places for others.
func (a *Assigner) Fill(c *demand.Class) (moved bool) {
	candidates := a.candidates(c)
	for progress := true; progress && c.Count() > 0; {
		progress = false
		for _, h := range candidates {
			if h.Take(a.Journal, c, c.Level, c.Count()) > 0 {
				progress, moved = true, true
			}
		}
		if !c.Ruled() {
			break // a second round changes nothing
		}
	}
	return moved
}

// candidates lists the hosts that could take a pod of the class, best first. A
// class without rules about other pods stops looking when it has found room for
// all.
func (a *Assigner) candidates(c *demand.Class) []*room.Host {
	var out []*room.Host
	l := &c.Levels[c.Level]
	ruled := c.Ruled() || len(l.Shape.Ports) > 0 // room is not all that counts
	var holds int64
	nodes := a.Snapshot.Roomy(demand.WithoutAttach(l.Shape.Requests))
	if !a.Room.Reaches(l) {
		nodes = func(func(*cluster.NodeState) bool) {}
	}
	for state := range nodes {
		a.Trace.Objects++
		h := a.Room.Node(state)
		if h == nil || h.Stage != room.StageNode || !l.Shape.Requests.Fits(h.Free) || !h.Accepts(l) {
			continue
		}
		out = append(out, h)
		if holds += l.Shape.Requests.CountIn(h.Free, c.Count()); holds >= c.Count() && !ruled {
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
func (a *Assigner) rated(c *demand.Class) []rated {
	var out []rated
	l := &c.Levels[c.Level]
	for _, h := range a.Room.Coming {
		if h.Stage != room.StageNode && l.Shape.Requests.Fits(h.Free) && h.Accepts(l) {
			n := l.Shape.Requests.CountIn(h.Free, c.Count())
			out = append(out, rated{h, price.Bulk(h.Free.Sub(l.Shape.Requests.Times(n)))})
		}
	}
	slices.SortStableFunc(out, func(a, b rated) int {
		return cmp.Or(cmp.Compare(a.host.Stage, b.host.Stage), cmp.Compare(a.left, b.left))
	})
	return out
}

// rated is a host with the worth of what would be left of it.
type rated struct {
	host *room.Host
	left int64
}
