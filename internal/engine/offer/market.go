package offer

import (
	"iter"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Market is what can be bought in one try of a Step: the fleet that the pools can
// launch, without what has no capacity now, and what limits and reservations have
// left. Rows are numbers in the fleet.
type Market struct {
	view.View
	*ledger
	Fleet        *Fleet
	Sale         []uint64                // by row: zones with capacity
	Unavailable  int                     // offerings left out for want of capacity
	placeCache   map[string][]uint64     // of the fleet
	vocabularies map[int]plan.Vocabulary // by pool
}

// Open compiles what can be launched, unless the fleet of the Step before
// serves, and takes out what has no capacity now.
func Open(v view.View, known *Fleet, m *memory.Memory, j *journal.Journal, classes []*demand.Class) *Market {
	out := &Market{View: v, ledger: newLedger(v, j)}
	out.Use(Recompile(v.Snapshot.Supply(), Variants(v.Snapshot.Supply(), classes), known))
	out.Sale = make([]uint64, len(out.Fleet.Rows))
	for i := range out.Fleet.Rows {
		r := &out.Fleet.Rows[i]
		out.Sale[i] = r.Zones
		if len(m.Unavailable) == 0 {
			continue
		}
		for z, zone := range out.Fleet.Zones {
			if out.Sale[i]>>z&1 == 0 {
				continue
			}
			key := catalog.OfferingKey{CapacityType: r.CapacityType, InstanceType: r.Type.Name, Zone: zone, Reservation: r.Reservation}
			if until, missing := m.Penalty(key, v.Now); missing {
				out.Sale[i] &^= 1 << z
				out.Unavailable++
				j.WaitUntil(until, plan.CapacityToReturn)
			}
		}
	}
	j.Trace.Types = len(out.Fleet.Rows)
	return out
}

// Variants lists the label keys by which the demand tells nodes apart and that a
// pool may leave open.
func Variants(supply *cluster.Supply, classes []*demand.Class) []string {
	open := map[string]bool{}
	for _, p := range supply.Pools {
		for _, r := range p.Requirements {
			if values, listed := r.Values(); listed && len(values) > 1 && !label.OfInstance(r.Key()) {
				open[r.Key()] = true
			}
		}
	}
	if len(open) == 0 {
		return nil
	}
	used := map[string]bool{}
	for _, c := range classes {
		for _, l := range c.Levels {
			for _, key := range demand.KeysOf(&l.Shape) {
				used[key] = used[key] || open[key]
			}
		}
	}
	var out []string
	for key, yes := range used {
		if yes {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// Use plans with the fleet from here on.
func (m *Market) Use(f *Fleet) {
	m.Fleet, m.placeCache, m.vocabularies = f, map[string][]uint64{}, map[int]plan.Vocabulary{}
}

// Large says whether the row is larger than nodes ought to be.
func (m *Market) Large(r *Row) bool {
	return m.Policy.SoftMaxMilliCPU > 0 && r.Type.Capacity.MilliCPU > m.Policy.SoftMaxMilliCPU
}

// Places returns the zones of every row in which the level's pods may run; the
// key is that of placeKey.
func (m *Market) Places(key string, l *demand.Level, avoid bool) []uint64 {
	w, known := m.placeCache[key]
	if !known {
		w = m.Fleet.Where(l.Shape, avoid)
		m.placeCache[key] = w
	}
	return w
}

// Where returns the zones of every row in which the class may run.
func (m *Market) Where(c *demand.Class) []uint64 {
	l := &c.Levels[c.Level]
	return m.Places(demand.PlaceKey(&l.Shape, l.Avoid), l, l.Avoid)
}

// poolsOf says of each pool whether the class may run there.
func (m *Market) poolsOf(c *demand.Class, known map[*uint64][]bool) []bool {
	where := m.Where(c)
	if len(where) == 0 {
		return nil
	}
	out, found := known[&where[0]]
	if !found {
		out = make([]bool, len(m.Fleet.Pools))
		for i, zones := range where {
			out[m.Fleet.Rows[i].Pool] = out[m.Fleet.Rows[i].Pool] || zones != 0
		}
		known[&where[0]] = out
	}
	return out
}

// LabelsIn lists the labels of all nodes to come that are in the zones of the rows.
func (m *Market) LabelsIn(where []uint64) iter.Seq[label.Lookup] {
	return func(yield func(label.Lookup) bool) {
		for x, zones := range where {
			for ; zones != 0; zones &= zones - 1 {
				if !yield(m.Fleet.Rows[x].Labels(bits.TrailingZeros64(zones))) {
					return
				}
			}
		}
	}
}

// ZonesOf is where a launch of the row could take the bin's place, its size
// aside.
func (m *Market) ZonesOf(row int, b pack.Bin, wheres [][]uint64) uint64 {
	zones := b.Zones & m.Sale[row]
	for _, w := range wheres {
		zones &= w[row]
	}
	return zones
}

// Strays says whether the row can be had in a zone of the bin where some of its
// content may not run: what is launched may be of any carried type in any of the
// zones.
func (m *Market) Strays(row int, b pack.Bin, wheres [][]uint64) bool {
	sold := b.Zones & m.Fleet.Rows[row].Zones
	return slices.ContainsFunc(wheres, func(w []uint64) bool { return sold&^w[row] != 0 })
}

// Ask finds a requirement of the shape that no node of the pool meets. Where each
// is met by some, but not all by one, it is all of them.
func (m *Market) Ask(shape *cluster.Shape, pool int) (detail string, ask *plan.Ask) {
	alternatives := shape.Alternatives()
	all := make([]string, len(alternatives))
	for i, alternative := range alternatives {
		all[i] = alternative.String()
		for _, x := range alternative {
			if a := m.vocabulary(pool).Ask(x); !slices.ContainsFunc(a.Known, x.Admits) && !(x.AdmitsAbsence() && m.absent(x.Key(), pool)) {
				return x.String(), a
			}
		}
	}
	return strings.Join(all, ", or "), nil
}

// absent says whether some node of the pool lacks the label.
func (m *Market) absent(key string, pool int) bool {
	return slices.ContainsFunc(m.Fleet.Rows, func(r Row) bool {
		if r.Pool != pool {
			return false
		}
		for m := r.Zones; m != 0; m &= m - 1 {
			if _, there := r.Labels(bits.TrailingZeros64(m)).Get(key); !there {
				return true
			}
		}
		return false
	})
}

// vocabulary is the labels of the pool's nodes; they are collected once in a Step.
func (m *Market) vocabulary(pool int) plan.Vocabulary {
	v, known := m.vocabularies[pool]
	if known {
		return v
	}
	v = plan.NewVocabulary(func(yield func(label.Labels) bool) {
		seen := map[*label.Label]bool{}
		for i := range m.Fleet.Rows {
			row := &m.Fleet.Rows[i]
			for m := row.Zones; m != 0 && row.Pool == pool; m &= m - 1 {
				for _, l := range row.Labels(bits.TrailingZeros64(m)) {
					if len(l) == 0 || seen[&l[0]] {
						continue // most rows share them
					}
					seen[&l[0]] = true
					if !yield(l) {
						return
					}
				}
			}
		}
	})
	m.vocabularies[pool] = v
	return v
}

// ample is how many times the demand must fit into what pools may have for that not
// to be taken for scarce.
const ample = 2

// Scarce says whether some of the demand can only go to pools whose limits and
// reservations may be too short for it. Then nothing is launched before the plan
// is whole.
func (m *Market) Scarce(classes []*demand.Class) bool {
	asked := make([]quantity.Resources, len(m.Fleet.Pools)) // of each pool, if all went there
	pools := map[*uint64][]bool{}
	for _, c := range classes {
		for i, runs := range m.poolsOf(c, pools) {
			if runs {
				asked[i] = asked[i].Add(demand.WithoutAttach(c.Shape().Requests).Times(c.Count()).Times(ample))
			}
		}
	}
	enough := make([]bool, len(asked))
	for i := range enough {
		enough[i] = m.suffices(i, asked[i])
	}
	return slices.ContainsFunc(classes, func(c *demand.Class) bool {
		somewhere := false
		for i, runs := range m.poolsOf(c, pools) {
			if runs && enough[i] {
				return false
			}
			somewhere = somewhere || runs
		}
		return somewhere && c.Count() > 0
	})
}

// suffices says whether what the pool may yet have is as much as asked for.
func (m *Market) suffices(pool int, asked quantity.Resources) bool {
	var largest quantity.Resources
	var nodes int64
	reserved := map[string]bool{}
	for i := range m.Fleet.Rows {
		r := &m.Fleet.Rows[i]
		if r.Pool != pool {
			continue
		}
		largest = largest.Max(r.Net)
		switch {
		case r.Left < 0:
			nodes = math.MaxInt64
		case !reserved[r.Reservation]:
			reserved[r.Reservation] = true
			nodes += min(r.Left, math.MaxInt64-nodes)
		}
	}
	b := m.Usage(m.Fleet.Pools[pool])
	for _, l := range b.limits {
		if l.Name == LimitNodes {
			nodes = min(nodes, max(0, l.Count-b.nodes))
		} else if asked.Get(l.Name) > l.Count-b.used.Get(l.Name) {
			return false
		}
	}
	return nodes == math.MaxInt64 || asked.Fits(largest.Times(nodes))
}
