package engine

import (
	"fmt"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// gang counts the pods of one gang.
type gang struct {
	id       string // namespace/name
	priority int32
	size     int64 // how many must run
	running  int64
	wanting  int64 // pods that need a place
}

// gangs counts the gangs of the demand, sorted by id.
func (d *demand) gatherGangs() []gang {
	var out []gang
	for _, c := range d.classes {
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
		d.countRunning(out)
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
func (d *demand) countRunning(gangs []gang) {
	for g := range d.Snapshot.Groups() {
		if g.Shape.Gang.Name == "" {
			continue
		}
		i := slices.IndexFunc(gangs, func(x gang) bool { return x.id == g.Namespace+"/"+g.Shape.Gang.Name })
		if i < 0 {
			continue
		}
		gangs[i].size = max(gangs[i].size, g.Shape.Gang.Size)
		gangs[i].running += g.Bound() + d.preempting[g.Key]
	}
}

// excludeGangs takes out the gangs that cannot be complete whatever is launched,
// and those that an earlier try of this Step could not complete.
func (d *demand) excludeGangs() {
	d.gangs = d.gatherGangs()
	if len(d.gangs) == 0 {
		return
	}
	d.classes = pick.Those(d.classes, func(c *demandClass) bool {
		name := c.group.Shape.Gang.Name
		if name == "" {
			return true
		}
		id := c.group.Namespace + "/" + name
		g := d.gangs[slices.IndexFunc(d.gangs, func(x gang) bool { return x.id == id })]
		var detail string
		switch {
		case g.running+g.wanting < g.size:
			detail = id + " needs " + quantity.Count(g.size, "pod") + fmt.Sprintf(" and has %d", g.running+g.wanting)
		case d.without[id]:
			detail = id + " needs room for " + quantity.Count(g.size, "pod") + " at once"
		default:
			return true
		}
		d.refuse(c, []plan.Refusal{{Cause: plan.GangIncomplete, Detail: detail}})
		return false
	})
}

// incomplete returns the gang to plan without: of those that found too little
// room the one of the lowest priority, of these the last by name.
func (d *demand) incomplete() (id string, found bool) {
	var worst gang
	for _, g := range d.gangs {
		if !d.tried(g) || g.running+d.placedOf(g.id) >= g.size {
			continue
		}
		if !found || g.priority < worst.priority || g.priority == worst.priority && g.id > worst.id {
			worst, found = g, true
		}
	}
	return worst.id, found
}

// tried says whether room is sought for the gang.
func (d *demand) tried(g gang) bool { return !d.without[g.id] && g.running+g.wanting >= g.size }

// placedOf counts the pods of the gang that have found room.
func (d *demand) placedOf(id string) int64 {
	var n int64
	for _, g := range d.gangs {
		if g.id == id {
			n = g.wanting
		}
	}
	for _, c := range d.classes {
		if c.group.Shape.Gang.Name != "" && c.group.Namespace+"/"+c.group.Shape.Gang.Name == id {
			n -= c.count() + c.refused
		}
	}
	return n
}

// triesGangs says whether room is sought for any gang.
func (d *demand) triesGangs() bool { return slices.ContainsFunc(d.gangs, d.tried) }
