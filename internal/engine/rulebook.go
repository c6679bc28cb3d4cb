package engine

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/spread"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// rulebook is what pods say about each other: topology spread, affinity and
// anti-affinity, by the numbers of the classes in the table.
type rulebook struct {
	rules    *spread.Table // nil where no pod has a say about another
	followed []bool        // by number in rules: others must go where its pods are
}

// room returns how many of up to n more pods of the class the host can take.
func (r *rulebook) room(c *demandClass, level int, h *host, n int64) int64 {
	l := &c.levels[level]
	n = l.shape.Requests.CountIn(h.free, n)
	if n <= 0 || !h.accepts(l) {
		return 0
	}
	if len(l.shape.Ports) > 0 {
		if fit.PortsConflict(h.ports, l.shape.Ports) {
			return 0
		}
		n = min(n, 1)
	}
	if r.rules != nil {
		n = min(n, r.rules.Room(c.rules[level], h.place()))
	}
	return max(0, n)
}

// domainKeys lists the topology keys that decide where the class's new nodes may
// be; hostnames are the packer's business.
func (r *rulebook) domainKeys(c *demandClass) []string {
	if r.rules == nil {
		return nil
	}
	return filter(r.rules.Keys(c.rule()), func(k string) bool { return k != label.Hostname })
}

// follows says whether pods of some item could meet the required affinity of the
// class, wherever they are launched.
func (r *rulebook) follows(c *demandClass, items []*item) bool {
	company := r.rules.Company(c.rule())
	return slices.ContainsFunc(items, func(x *item) bool { return slices.Contains(company, x.class.rule()) })
}

// accompanied says whether the pods of the bin that must be near others have them
// there: on nodes, among what is launched, or in the bin.
func (r *rulebook) accompanied(items []*item, b pack.Bin) bool {
	var follow, there []*item
	for _, p := range b.Parts {
		switch x := items[p.Class]; {
		case x.cell == nil:
		case r.followsOthers(x):
			follow = append(follow, x)
		default:
			there = append(there, x)
		}
	}
	if len(follow) == 0 {
		return true
	}
	for _, x := range there {
		r.count(x, 1)
	}
	for progress := true; progress && len(follow) > 0; {
		before := len(follow)
		follow = slices.DeleteFunc(follow, func(x *item) bool {
			near := r.rules.Accompanied(x.class.rule(), x.cell.place)
			if near {
				r.count(x, 1)
				there = append(there, x)
			}
			return near
		})
		progress = len(follow) < before
	}
	for _, x := range there {
		r.count(x, -1)
	}
	return len(follow) == 0
}

// count tells the rules of n more pods in the domain that was planned for them.
func (r *rulebook) count(x *item, n int64) {
	r.rules.Add(x.class.hard(), x.cell.place, n)
}

// followsOthers says whether the item's pods, which were divided, must be near
// others.
func (r *rulebook) followsOthers(x *item) bool {
	return x.cell != nil && x.with == nil && r.rules.Company(x.class.rule()) != nil
}

// untie takes the followers out of the first bin that also has pods which follow
// nobody, where each bin waits for another, and says whether there is one: with
// these launched others may follow them, and those taken out come in the next
// round.
func (r *rulebook) untie(t *tier, items []*item, bins []pack.Bin) bool {
	follows := func(p pack.Part) bool { return r.followsOthers(items[p.Class]) }
	for i := range bins {
		b := &bins[i]
		if !slices.ContainsFunc(b.Parts, func(p pack.Part) bool { return items[p.Class].cell != nil && !follows(p) }) {
			continue
		}
		parts, used := b.Parts, slices.Clone(b.Used)
		b.Parts = nil
		for _, p := range parts {
			x := items[p.Class]
			if !follows(p) {
				b.Parts = append(b.Parts, p)
				continue
			}
			x.untied = true
			for d, need := range t.dims.vector(x.need()) {
				used[d] -= need * p.Count
			}
		}
		b.Used = used
		return true
	}
	return false
}

// ruleAt tells the rules of n pods of the class that are launched for.
func (r *rulebook) ruleAt(c *demandClass, place spread.Place, n int64) {
	if r.rules != nil {
		r.rules.Add(c.hard(), place, n)
	}
}
