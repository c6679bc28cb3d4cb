package assign

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Assigner puts the demand of one try of a Step onto room that exists or is on its
// way.
type Assigner struct {
	view.View
	*journal.Journal
	Memory *memory.Memory
	Demand *demand.Demand
	Room   *room.Room
	Solver *pack.Solver
	// MinPriority is the least priority whose promises are kept.
	MinPriority int32
	toStay      bool // pods of nodes about to be deleted are served: they move to nodes that stay
	gathered    bool // nodes were up that are kept for declared pods; see gatherOnKept
}

// KeepPromises puts demand where it was promised room: first nominated pods on
// their nodes, then the planned content of every NodeClaim. It checks requirements
// only: a promise may have been made after preferences were given up. A node that
// was ordered later, in an empty zone, breaks no promise.
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
		// Real pods come before declared ones.
		a.keepPlanned(promises, (*demand.Class).Real)
		for _, c := range a.Demand.Classes {
			if c.Real() > 0 && c.Last() == 0 && !c.Ruled() {
				a.fillReal(c)
			}
		}
	}
	a.keepPlanned(promises, (*demand.Class).Count)
	a.Room.Expect()
}

// keepPlanned puts pods on the NodeClaims that are promised to them. The function
// count says how many pods of each class may be put.
func (a *Assigner) keepPlanned(promises map[string][]*promise, count func(*demand.Class) int64) {
	goRound(ruledFirst(a.Demand.Classes), func(c *demand.Class) bool { return a.fillPlanned(c, promises[c.Group.Kind], count) })
	for _, c := range a.Demand.Classes { // pods of the same shape whose labels have changed
		a.fillPlanned(c, promises[shapeOf(c.Group.Kind)], count)
	}
}

// fillReal puts the real pods of the class onto room that exists or is on its way.
func (a *Assigner) fillReal(c *demand.Class) {
	for _, h := range a.candidates(c) {
		h.Take(a.Journal, c, c.Level, c.Real())
	}
}

// FillAll puts the demand of the priority or above, each class at its level, onto
// room that exists or is on its way.
func (a *Assigner) FillAll(minPriority int32) {
	if a.Solver.Cut() {
		return
	}
	a.fillUntried()
	goRound(pick.Those(a.Demand.Classes, func(c *demand.Class) bool { return c.Group.Shape.Priority >= minPriority }), a.Fill)
}

// KeepMoves puts pods of nodes about to be deleted on the nodes that replace theirs, before
// others can take the room.
func KeepMoves(a *Assigner) {
	replaces := func(h *room.Host) bool { return a.Snapshot.Replaces(h.Claim) }
	if len(a.Going) == 0 || !slices.ContainsFunc(a.Room.Coming, replaces) {
		return
	}
	owing := owed(a)
	a.Demand.Evacuees().PutAside()
	a.Demand.Evacuees().BringBack()
	promises := a.promises()
	for kind, list := range promises {
		promises[kind] = pick.Those(list, func(p *promise) bool { return replaces(p.host) })
	}
	for kind, n := range owing {
		for _, p := range promises[kind] {
			k := min(n, p.left)
			n, p.left = n-k, p.left-k
		}
	}
	a.keepPlanned(promises, (*demand.Class).Count)
	var found []demand.PodRef
	for _, h := range a.Room.Coming {
		found = append(found, h.Displaced...)
	}
	a.Demand.Evacuees().BringOthersBack(found)
}

// owed counts, by kind, the pods of sources that are deleted: those on nodes that drain,
// and those that may have come in place of evicted ones and have no node yet. Their places
// are not for the sources that are still there, which may stay: a daemon that ended in
// between may have launched fewer nodes than the sources need.
func owed(a *Assigner) map[string]int64 {
	sources := map[string]bool{} // by NodeClaim
	for _, h := range a.Room.Coming {
		if h.Claim.Move != nil {
			for _, s := range h.Claim.Move.Sources {
				sources[s.Claim] = true
			}
		}
	}
	out := map[string]int64{}
	for _, c := range a.Demand.Classes {
		for _, p := range c.Pods {
			if _, cooling := a.Memory.CoolsDown(c.Group.Kind, p.Pod, a.Now); cooling {
				out[c.Group.Kind]++
			}
		}
		for _, p := range c.Displaced {
			if n, _ := a.Snapshot.Node(p.Node); sources[n.Claim] && !a.IsGoing(n.Claim) {
				out[c.Group.Kind]++
			}
		}
	}
	return out
}

// Evacuate finds places for the pods of nodes about to be deleted: room that all other
// demand has left on nodes that stay. No pod gives up a preference: once it is evicted,
// a node would be launched for it.
func Evacuate(a *Assigner, m *offer.Market) {
	a.Demand.Evacuees().BringBack()
	Meet(a, m)
	a.toStay = true
	FillPlaces(a)
	a.FillAll(math.MinInt32)
	a.toStay = false
}

// FillPlaces puts demand on the nodes where the search of the fleet wants pods of its kind.
func FillPlaces(a *Assigner) {
	if len(a.Places) == 0 || a.Solver.Cut() {
		return
	}
	for _, c := range a.Demand.Classes {
		for _, p := range a.Places[c.Group.Kind] {
			if c.Count() == 0 {
				break
			}
			state, up := a.Snapshot.State(p.Node)
			if !up {
				continue
			}
			if h := a.Room.Node(state); h != nil && h.Stage <= room.StageKept && !a.leftOut(c, h) && c.Levels[c.Level].Shape.Requests.Fits(h.Free) {
				h.Take(a.Journal, c, c.Level, min(c.Count(), p.Most-state.CountOf(c.Group.Kind)))
			}
		}
	}
}

// fillUntried gives pods that the scheduler has not tried yet to nodes that run: it
// places them there at once, before it tries the others again.
func (a *Assigner) fillUntried() {
	for _, c := range a.Demand.Classes {
		if n := c.Untried(); n > 0 {
			a.fillRunning(c, c.Level, n)
		}
	}
}

// fillRunning puts up to n pods of the class on nodes that run.
func (a *Assigner) fillRunning(c *demand.Class, level int, n int64) {
	hosts, _ := a.running(c, level, n)
	for _, h := range hosts {
		n -= h.Take(a.Journal, c, level, n)
	}
}

// goRound gives places to one class after the other. It then repeats the classes
// that depend on other pods until no pod moves, because a placed pod may open
// places for pods that must be near it.
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

// ruledFirst returns the classes with those first that depend on other pods, and
// classes with required affinity before all. The first pod of an affinity group may
// run anywhere, so it must get its promised place before another pod of the group
// has a place elsewhere. Pods with a spread come next: the counts of their domains
// may have changed since the promise.
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

// keepNominations puts the nominated pods of the class on the nodes that they are
// nominated to. It leaves the rules about other pods to the scheduler: the pods that
// a pod depends on may be nominated elsewhere and not run yet, and the scheduler
// keeps the room until it clears the nomination.
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
		if h == nil || !h.Holds(c, c.Last()) {
			return true
		}
		h.Put(a.Journal, c, c.Last(), 1)
		h.Pods = append(h.Pods, p)
		h.Real = h.Real.Add(c.Levels[c.Last()].Shape.Requests)
		h.Report(a.Journal, c, []string{p.ID})
		return false
	})
}

// promise is room on the node of a NodeClaim that is planned for pods of one kind.
type promise struct {
	host *room.Host
	left int64
}

// shapeOf returns the part of a kind that does not depend on labels.
func shapeOf(kind string) string { shape, _, _ := strings.Cut(kind, "."); return shape }

// promises returns what is planned on the nodes of NodeClaims, less what runs there
// already. It lists each promise twice: by kind, and by the shape of the kind.
func (a *Assigner) promises() map[string][]*promise {
	out := map[string][]*promise{}
	for _, h := range a.Room.Coming {
		slots, _ := a.Memory.PlannedOn(h.Claim)
		if len(slots) == 0 {
			continue
		}
		there := runningOn(h)
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

// runningOn returns how many pods of each kind run on the host.
func runningOn(h *room.Host) map[string]int64 {
	if h.State == nil {
		return nil
	}
	out := map[string]int64{}
	for g, n := range h.State.Groups() {
		out[g.Kind] += n
	}
	return out
}

// Promise remembers what this plan puts on every node that is on its way, so that
// the next plan keeps it. Without that, pods would lose room that was left over to
// pods that were once promised it. An older promise to pods that are deleted stays as
// long as the room is left: evicted pods do not exist until their controller creates
// them again. The size of pods of which none is here is not known; their promise ends
// when the plan puts more on the node than before.
func (a *Assigner) Promise() {
	here := map[string]*demand.Class{} // by kind, and by the shape of the kind
	for _, c := range a.Demand.Classes {
		here[c.Group.Kind], here[shapeOf(c.Group.Kind)] = c, c
	}
	var left map[string]int64 // pods of each kind that are deleted; asked for only where a promise is not taken up
	anew := map[string][]cluster.Slot{}
	for _, h := range a.Room.Coming {
		old, known := a.Memory.PlannedOn(h.Claim)
		there, now, free := runningOn(h), h.Slots(), h.Free
		for i := range now {
			now[i].Count += there[now[i].Kind]
		}
		more := exceeds(now, old)
		var stays []cluster.Slot
		for _, x := range old {
			c := here[x.Kind]
			switch short := x.Count - countOf(now, x.Kind); {
			case short <= 0 || c == nil && (more || here[shapeOf(x.Kind)] != nil):
				continue
			case c != nil:
				if left == nil {
					left = absentPods(a)
				}
				need := c.Levels[c.Last()].Shape.Requests
				x.Count = max(0, need.CountIn(free, min(left[x.Kind], short)))
				free, left[x.Kind] = free.Sub(need.Times(x.Count)), left[x.Kind]-x.Count
			}
			if x.Count > 0 {
				stays = append(stays, x)
			}
		}
		if now = room.Merged(append(now, stays...)); !known || !slices.Equal(now, old) {
			anew[h.Claim.Name] = now
		}
	}
	if len(anew) > 0 {
		a.Memory.Promise(anew)
	}
}

// absentPods returns how many pods of each kind were promised room and are not here.
func absentPods(a *Assigner) map[string]int64 {
	out := map[string]int64{}
	for _, h := range a.Room.Coming {
		slots, _ := a.Memory.PlannedOn(h.Claim)
		for _, x := range slots {
			out[x.Kind] += x.Count
		}
	}
	for _, c := range a.Demand.Classes {
		out[c.Group.Kind] -= c.Had
	}
	return out
}

// countOf returns the count of the kind in the slots, which are sorted by kind.
func countOf(slots []cluster.Slot, kind string) int64 {
	i, found := slices.BinarySearchFunc(slots, kind, func(x cluster.Slot, kind string) int { return strings.Compare(x.Kind, kind) })
	if !found {
		return 0
	}
	return slots[i].Count
}

// exceeds says whether the slots have more of any kind than the old ones. Both are
// sorted by kind.
func exceeds(now, old []cluster.Slot) bool {
	return slices.ContainsFunc(now, func(x cluster.Slot) bool { return x.Count > countOf(old, x.Kind) })
}

// fillPlanned puts up to count(c) pods of the class on the NodeClaims that promise
// room to them. It says whether any pod found a place.
func (a *Assigner) fillPlanned(c *demand.Class, promises []*promise, count func(*demand.Class) int64) (progress bool) {
	if c.Group.Shape.Priority < a.MinPriority {
		return false
	}
	for _, p := range promises {
		n := p.host.Take(a.Journal, c, c.Last(), min(p.left, count(c)))
		p.left -= n
		progress = progress || n > 0
	}
	return progress
}

// Fill puts the class, at its level, onto room that exists or is on its way: first
// onto the running nodes with the least room. It says whether any pod found a
// place.
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

// candidates returns the hosts that could take a pod of the class, best first. For
// a class that does not depend on other pods it stops as soon as the hosts hold all
// pods.
func (a *Assigner) candidates(c *demand.Class) []*room.Host {
	out, enough := a.running(c, c.Level, c.Count())
	if enough {
		return out
	}
	for _, x := range a.rated(c) {
		out = append(out, x.host)
	}
	return out
}

// running lists the nodes that run and could take a pod of the class, at this level,
// best first and those that are deleted next last. It says whether they have room for n; then it
// has not looked at all of them.
func (a *Assigner) running(c *demand.Class, level int, n int64) (out []*room.Host, enough bool) {
	l := &c.Levels[level]
	if !a.Room.Reaches(l) {
		return nil, false
	}
	ruled := c.Ruled() || len(l.Shape.Ports) > 0 // free resources alone do not decide
	var holds int64
	var goNext []*room.Host
	for state := range a.Snapshot.Roomy(demand.WithoutAttach(l.Shape.Requests)) {
		a.Trace.Objects++
		h := a.Room.Node(state)
		if h == nil || h.Stage != room.StageNode || !l.Shape.Requests.Fits(h.Free) || !h.Accepts(l) || a.leftOut(c, h) {
			continue
		}
		if a.Emptying[h.Node.Name] {
			goNext = append(goNext, h)
			continue
		}
		out = append(out, h)
		if holds += l.Shape.Requests.CountIn(h.Free, n); holds >= n && !ruled {
			return out, true
		}
	}
	if !a.toStay {
		out = append(out, goNext...)
	}
	return out, false
}

// leftOut says whether the scheduler has refused the class on the node again and
// again. Then the node is not tried for a while.
func (a *Assigner) leftOut(c *demand.Class, h *room.Host) bool {
	until, yes := a.Memory.LeftOut(c.Group.Kind, h.Node.Name)
	if yes {
		a.WaitUntil(until, plan.RefusedNode)
	}
	return yes
}

// rated returns the hosts that do not take pods yet and that could take a pod of
// the class. The hosts nearest to running come first, then those on which the fewest
// kinds of devices would be left, then those with the least room left.
func (a *Assigner) rated(c *demand.Class) []rated {
	var out []rated
	l := &c.Levels[c.Level]
	for _, h := range a.Room.Coming {
		if l.Shape.Requests.Fits(h.Free) && h.Accepts(l) {
			n := l.Shape.Requests.CountIn(h.Free, c.Count())
			left := h.Free.Sub(l.Shape.Requests.Times(n))
			out = append(out, rated{h, cluster.Devices(left), price.Bulk(left)})
		}
	}
	slices.SortStableFunc(out, func(a, b rated) int {
		return cmp.Or(cmp.Compare(a.host.Stage, b.host.Stage), cmp.Compare(a.devices, b.devices), cmp.Compare(a.left, b.left))
	})
	return out
}

// rated is a host with what the class would leave on it: kinds of devices, and room.
type rated struct {
	host    *room.Host
	devices int
	left    int64
}
