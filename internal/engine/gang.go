package engine

import (
	"fmt"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// gangTries is how many times a Step is planned anew without a gang that found
// room for some of its pods only; after that all such gangs wait.
const gangTries = 12

// gang counts the pods of one gang.
type gang struct {
	id       string // namespace/name
	priority int32
	size     int64 // how many must run
	running  int64
	wanting  int64 // pods that need a place
}

// gangs counts the gangs of the demand, sorted by id.
func (s *step) gangs() []gang {
	var out []gang
	for _, c := range s.classes {
		g := c.group.Shape.Gang
		if g.Name == "" {
			continue
		}
		id := c.group.Namespace + "/" + g.Name
		i := slices.IndexFunc(out, func(x gang) bool { return x.id == id })
		if i < 0 {
			i = len(out)
			out = append(out, gang{id: id, priority: c.group.Shape.Priority})
		}
		out[i].size = max(out[i].size, g.Size)
		out[i].running -= int64(len(c.displaced))
		out[i].wanting += c.count()
	}
	if len(out) > 0 {
		s.countRunning(out)
	}
	for i := range out {
		if out[i].size == 0 {
			out[i].size = out[i].running + out[i].wanting
		}
	}
	return out
}

// countRunning adds the pods of the gangs that have a node, whatever they ask
// for, and those for which the scheduler is making room.
func (s *step) countRunning(gangs []gang) {
	for g := range s.in.Snapshot.Groups() {
		if g.Shape.Gang.Name == "" {
			continue
		}
		i := slices.IndexFunc(gangs, func(x gang) bool { return x.id == g.Namespace+"/"+g.Shape.Gang.Name })
		if i < 0 {
			continue
		}
		gangs[i].size = max(gangs[i].size, g.Shape.Gang.Size)
		gangs[i].running += g.Bound() + s.preempting[g.Key]
	}
}

// excludeGangs takes out the gangs that cannot be complete whatever is launched,
// and those that an earlier try of this Step could not complete.
func (s *step) excludeGangs() {
	s.ganged = s.gangs()
	if len(s.ganged) == 0 {
		return
	}
	s.classes = filter(s.classes, func(c *demandClass) bool {
		name := c.group.Shape.Gang.Name
		if name == "" {
			return true
		}
		id := c.group.Namespace + "/" + name
		g := s.ganged[slices.IndexFunc(s.ganged, func(x gang) bool { return x.id == id })]
		var detail string
		switch {
		case g.running+g.wanting < g.size:
			detail = id + " needs " + quantity.Count(g.size, "pod") + fmt.Sprintf(" and has %d", g.running+g.wanting)
		case s.excluded[id]:
			detail = id + " needs room for " + quantity.Count(g.size, "pod") + " at once"
		default:
			return true
		}
		s.refuseAll(c, []plan.Refusal{{Cause: plan.GangIncomplete, Detail: detail}})
		return false
	})
}

// incomplete returns the gang to plan without: of those that found too little
// room the one of the lowest priority, of these the last by name.
func (s *step) incomplete() (id string, found bool) {
	var worst gang
	for _, g := range s.ganged {
		if !s.tried(g) || g.running+s.placedOf(g.id) >= g.size {
			continue
		}
		if !found || g.priority < worst.priority || g.priority == worst.priority && g.id > worst.id {
			worst, found = g, true
		}
	}
	return worst.id, found
}

// tried says whether room is sought for the gang.
func (s *step) tried(g gang) bool { return !s.excluded[g.id] && g.running+g.wanting >= g.size }

// placedOf counts the pods of the gang that have found room.
func (s *step) placedOf(id string) int64 {
	var n int64
	for _, g := range s.ganged {
		if g.id == id {
			n = g.wanting
		}
	}
	for _, c := range s.classes {
		if c.group.Shape.Gang.Name != "" && c.group.Namespace+"/"+c.group.Shape.Gang.Name == id {
			n -= c.count() + c.refused
		}
	}
	return n
}
