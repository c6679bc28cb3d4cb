package assign

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// replan plans demand anew on hosts: classes that move give up what they were
// promised there, the others keep it. What is taken, or planned, becomes the new
// promise.
type replan struct {
	*Assigner
	hosts []*room.Host
	moves func(*demand.Class) bool
	slots map[string][]cluster.Slot // what the hosts are promised, by NodeClaim
}

// newReplan begins with what is promised to classes that do not move, or to pods of
// which none is here now. A class that moves also gives up what is promised to its
// shape under labels that no class has any more; see keepPlanned.
func (a *Assigner) newReplan(hosts []*room.Host, moves func(*demand.Class) bool) *replan {
	kinds, shapes := map[string]bool{}, map[string]bool{} // what moves
	for _, c := range a.Demand.Classes {
		kinds[c.Group.Kind] = moves(c)
		shapes[shapeOf(c.Group.Kind)] = shapes[shapeOf(c.Group.Kind)] || moves(c)
	}
	given := func(kind string) bool {
		yes, here := kinds[kind]
		return yes || !here && shapes[shapeOf(kind)]
	}
	r := &replan{a, hosts, moves, make(map[string][]cluster.Slot, len(hosts))}
	for _, h := range hosts {
		r.slots[h.Claim.Name] = pick.Those(a.Memory.PlannedOn(h.Claim), func(x cluster.Slot) bool { return !given(x.Kind) })
	}
	return r
}

// bin is what the packer puts on a host.
type bin struct {
	host  *room.Host
	parts []part
}

// part is so many of a class.
type part struct {
	class *demand.Class
	count int64
}

// pack packs so many of each class that moves on the hosts, of which each costs what
// its room is worth. Hosts that are alike are one offer; of these the ones nearest to
// running get what fills them most. It returns nothing where the units of work do
// not suffice.
func (r *replan) pack(count func(*demand.Class) int64) []bin {
	classes := pick.Those(r.Demand.Classes, func(c *demand.Class) bool { return r.moves(c) && count(c) > 0 })
	if len(classes) == 0 || len(r.hosts) == 0 {
		return nil
	}
	p, alike := hostsProblem(r.hosts, classes, count)
	result, done := r.Solver.Solve(p, 0)
	if !done {
		return nil
	}
	bins := slices.Clone(result.Bins) // the answer is kept as it is
	fills := func(b pack.Bin) (sum int64) {
		for _, x := range b.Parts {
			sum += price.Bulk(classes[x.Class].Group.Shape.Requests) * x.Count
		}
		return sum
	}
	slices.SortStableFunc(bins, func(a, b pack.Bin) int { return cmp.Compare(fills(b), fills(a)) })
	var out []bin
	for _, b := range bins {
		parts := make([]part, len(b.Parts))
		for i, x := range b.Parts {
			parts[i] = part{classes[x.Class], x.Count}
		}
		for range b.Copies {
			out = append(out, bin{alike[b.Offer][0], parts})
			alike[b.Offer] = alike[b.Offer][1:]
		}
	}
	return out
}

// take gives up to n pods of the class to the host, and promises it that many.
func (r *replan) take(h *room.Host, c *demand.Class, level int, n int64) (taken int64) {
	taken = h.Take(r.Journal, c, level, n)
	if _, anew := r.slots[h.Claim.Name]; anew {
		r.plan(h, c, taken)
	}
	return taken
}

// fill gives pods of the class, at its level, to running nodes and then to the
// hosts. It says whether any pod found a place.
func (r *replan) fill(c *demand.Class) (moved bool) {
	candidates := r.candidates(c)
	for progress := true; progress && c.Count() > 0; {
		progress = false
		for _, h := range candidates {
			if r.take(h, c, c.Level, c.Count()) > 0 {
				progress, moved = true, true
			}
		}
		if !c.Ruled() {
			break // a second round changes nothing
		}
	}
	return moved
}

// plan promises so many of the class to the host.
func (r *replan) plan(h *room.Host, c *demand.Class, n int64) {
	if n > 0 {
		r.slots[h.Claim.Name] = append(r.slots[h.Claim.Name], cluster.Slot{Kind: c.Group.Kind, Count: n})
	}
}

// promise remembers what the NodeClaims are for from now on.
func (r *replan) promise() {
	m := r.Memory
	m.Planned = pick.Those(m.Planned, func(p memory.Planned) bool { _, anew := r.slots[p.Claim]; return !anew })
	for name, list := range r.slots {
		m.Planned = append(m.Planned, memory.Planned{Claim: name, Slots: room.Merged(list)})
	}
	slices.SortFunc(m.Planned, func(a, b memory.Planned) int { return strings.Compare(a.Claim, b.Claim) })
}

// hostsProblem is demand to be packed on hosts, and for each offer the hosts that
// are alike, nearest to running first.
func hostsProblem(hosts []*room.Host, classes []*demand.Class, count func(*demand.Class) int64) (p pack.Problem, alike [][]*room.Host) {
	dims := demand.DimensionsOf(classes)
	levels, where := demand.PlacesOf(classes)
	for i, c := range classes {
		need := c.Levels[c.Last()].Shape.Requests
		p.Classes = append(p.Classes, pack.Class{Key: c.Group.Key, Need: dims.Vector(need), Count: count(c), Where: where[i]})
	}
	p.Where = make([]pack.Where, len(levels))
	hosts = slices.Clone(hosts)
	slices.SortStableFunc(hosts, func(a, b *room.Host) int {
		return cmp.Or(cmp.Compare(price.Bulk(a.Free), price.Bulk(b.Free)), a.Free.Compare(b.Free), room.Sooner(a, b))
	})
	takes := func(h *room.Host) []bool {
		out := make([]bool, len(levels))
		for w, l := range levels {
			out[w] = h.Accepts(l)
		}
		return out
	}
	var last []bool
	for _, h := range hosts {
		these := takes(h)
		n := len(alike)
		if n > 0 && alike[n-1][0].Free.Compare(h.Free) == 0 && slices.Equal(these, last) {
			alike[n-1] = append(alike[n-1], h)
			p.Offers[n-1].Nodes++
			continue
		}
		alike, last = append(alike, []*room.Host{h}), these
		p.Offers = append(p.Offers, pack.Offer{
			Name: h.Name(), Group: n, Net: dims.Vector(h.Free.Max(quantity.Resources{})),
			Prices: []quantity.Money{quantity.Money(max(1, price.Bulk(h.Free)))}, Zones: 1, Nodes: 1,
		})
		for w, yes := range these {
			zones := uint64(0)
			if yes {
				zones = 1
			}
			p.Where[w].Zones = append(p.Where[w].Zones, zones)
		}
	}
	return p, alike
}
