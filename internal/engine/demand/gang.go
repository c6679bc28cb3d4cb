package demand

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
	size     int64 // the pods that must run together
	running  int64
	wanting  int64 // the pods that need a place
}

// gatherGangs returns the gangs of the demand, sorted by id.
func (d *Demand) gatherGangs() []gang {
	var out []gang
	for _, c := range d.Classes {
		g := c.Group.Shape.Gang
		if g.Name == "" {
			continue
		}
		id := c.Group.Namespace + "/" + g.Name
		i := slices.IndexFunc(out, func(x gang) bool { return x.id == id })
		if i < 0 {
			i = len(out)
			out = append(out, gang{id: id, priority: c.Group.Shape.Priority})
		}
		out[i].size = max(out[i].size, g.Size)
		out[i].running -= int64(len(c.Displaced))
		out[i].wanting += c.Count()
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

// countRunning adds the pods of the gangs that have a node, of any shape, and the
// pods for which the scheduler is preempting others.
func (d *Demand) countRunning(gangs []gang) {
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

// excludeGangs takes two kinds of gangs out of the demand: those that have too few
// pods to be complete, and those that an earlier try of this plan could not
// complete.
func (d *Demand) excludeGangs() {
	d.gangs = d.gatherGangs()
	if len(d.gangs) == 0 {
		return
	}
	d.Classes = pick.Those(d.Classes, func(c *Class) bool {
		name := c.Group.Shape.Gang.Name
		if name == "" {
			return true
		}
		id := c.Group.Namespace + "/" + name
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
		d.Refuse(c, []plan.Refusal{{Cause: plan.GangIncomplete, Detail: detail}})
		return false
	})
}

// Incomplete returns the gang that the next try leaves out. It is the gang of the
// lowest priority that found too little room; among equals, the last by id.
func (d *Demand) Incomplete() (id string, found bool) {
	var worst gang
	for _, g := range d.gangs {
		if !d.tried(g) || g.running+d.placedOf(g) >= g.size {
			continue
		}
		if !found || g.priority < worst.priority || g.priority == worst.priority && g.id > worst.id {
			worst, found = g, true
		}
	}
	return worst.id, found
}

// tried says whether the gang seeks room in this try.
func (d *Demand) tried(g gang) bool { return !d.without[g.id] && g.running+g.wanting >= g.size }

// placedOf returns the number of pods of the gang that found room.
func (d *Demand) placedOf(g gang) int64 {
	n := g.wanting
	for _, c := range d.Classes {
		if c.Group.Shape.Gang.Name != "" && c.Group.Namespace+"/"+c.Group.Shape.Gang.Name == g.id {
			n -= c.Count() + c.Refused
		}
	}
	return n
}

// TriesGangs says whether any gang seeks room in this try.
func (d *Demand) TriesGangs() bool { return slices.ContainsFunc(d.gangs, d.tried) }
