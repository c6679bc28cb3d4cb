package engine

import (
	"iter"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fleet"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// market is what can be bought in one try of a Step: the fleet that the pools can
// launch, without what has no capacity now, and what limits and reservations have
// left. Rows are numbers in the fleet.
type market struct {
	View
	*ledger
	fleet        *fleet.Fleet
	sale         []uint64                // by row: zones with capacity
	unavailable  int                     // offerings left out for want of capacity
	placeCache   map[string][]uint64     // of the fleet
	vocabularies map[int]plan.Vocabulary // by pool
}

// openMarket compiles what can be launched, unless the fleet of the Step before
// serves, and takes out what has no capacity now.
func openMarket(v View, known *fleet.Fleet, m *parts, j *journal, classes []*demandClass) *market {
	out := &market{View: v, ledger: newLedger(v, j)}
	out.use(compile(v.Snapshot.Supply(), variants(v.Snapshot.Supply(), classes), known))
	out.sale = make([]uint64, len(out.fleet.Rows))
	for i := range out.fleet.Rows {
		r := &out.fleet.Rows[i]
		out.sale[i] = r.Zones
		if len(m.Unavailable) == 0 {
			continue
		}
		for z, zone := range out.fleet.Zones {
			if out.sale[i]>>z&1 == 0 {
				continue
			}
			key := catalog.OfferingKey{CapacityType: r.CapacityType, InstanceType: r.Type.Name, Zone: zone, Reservation: r.Reservation}
			if until, missing := m.penalty(key, v.Now); missing {
				out.sale[i] &^= 1 << z
				out.unavailable++
				j.waitUntil(until, plan.CapacityToReturn)
			}
		}
	}
	j.trace.Types = len(out.fleet.Rows)
	return out
}

// compile lists what the supply can launch, unless the known fleet does.
func compile(supply *cluster.Supply, variants []string, known *fleet.Fleet) *fleet.Fleet {
	if known.Serves(supply, variants) {
		return known
	}
	return fleet.Compile(supply, variants)
}

// variants lists the label keys by which the demand tells nodes apart and that a
// pool may leave open.
func variants(supply *cluster.Supply, classes []*demandClass) []string {
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
		for _, l := range c.levels {
			for _, key := range keysOf(&l.shape) {
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

// use plans with the fleet from here on.
func (m *market) use(f *fleet.Fleet) {
	m.fleet, m.placeCache, m.vocabularies = f, map[string][]uint64{}, map[int]plan.Vocabulary{}
}

// large says whether the row is larger than nodes ought to be.
func (m *market) large(r *fleet.Row) bool {
	return m.Policy.SoftMaxMilliCPU > 0 && r.Type.Capacity.MilliCPU > m.Policy.SoftMaxMilliCPU
}

// places returns the zones of every row in which the level's pods may run; the
// key is that of placeKey.
func (m *market) places(key string, l *level, avoid bool) []uint64 {
	w, known := m.placeCache[key]
	if !known {
		w = m.fleet.Where(l.shape, avoid)
		m.placeCache[key] = w
	}
	return w
}

// where returns the zones of every row in which the class may run.
func (m *market) where(c *demandClass) []uint64 {
	l := &c.levels[c.level]
	return m.places(placeKey(&l.shape, l.avoid), l, l.avoid)
}

// poolsOf says of each pool whether the class may run there.
func (m *market) poolsOf(c *demandClass, known map[*uint64][]bool) []bool {
	where := m.where(c)
	if len(where) == 0 {
		return nil
	}
	out, found := known[&where[0]]
	if !found {
		out = make([]bool, len(m.fleet.Pools))
		for i, zones := range where {
			out[m.fleet.Rows[i].Pool] = out[m.fleet.Rows[i].Pool] || zones != 0
		}
		known[&where[0]] = out
	}
	return out
}

// labelsIn lists the labels of all nodes to come that are in the zones of the rows.
func (m *market) labelsIn(where []uint64) iter.Seq[label.Lookup] {
	return func(yield func(label.Lookup) bool) {
		for x, zones := range where {
			for ; zones != 0; zones &= zones - 1 {
				if !yield(m.fleet.Rows[x].Labels(bits.TrailingZeros64(zones))) {
					return
				}
			}
		}
	}
}

// zonesFor is in how many zones a node for such pods is for sale.
func (m *market) zonesFor(shape *cluster.Shape, where pack.Where) int64 {
	need := withoutAttach(shape.Requests)
	var zones uint64
	for i := range m.fleet.Rows {
		// Most rows have no zone that is new, and need not be compared.
		if r := &m.fleet.Rows[i]; r.Left < 0 && where.Zones[i]&r.Zones&^zones != 0 && need.Fits(r.Net) {
			zones |= where.Zones[i] & r.Zones
		}
	}
	return int64(bits.OnesCount64(zones))
}

// zonesOf is where a launch of the row could take the bin's place, its size
// aside.
func (m *market) zonesOf(row int, b pack.Bin, wheres [][]uint64) uint64 {
	zones := b.Zones & m.sale[row]
	for _, w := range wheres {
		zones &= w[row]
	}
	return zones
}

// strays says whether the row can be had in a zone of the bin where some of its
// content may not run: what is launched may be of any carried type in any of the
// zones.
func (m *market) strays(row int, b pack.Bin, wheres [][]uint64) bool {
	sold := b.Zones & m.fleet.Rows[row].Zones
	return slices.ContainsFunc(wheres, func(w []uint64) bool { return sold&^w[row] != 0 })
}

// ask finds a requirement of the shape that no node of the pool meets. Where each
// is met by some, but not all by one, it is all of them.
func (m *market) ask(shape *cluster.Shape, pool int) (detail string, ask *plan.Ask) {
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
func (m *market) absent(key string, pool int) bool {
	return slices.ContainsFunc(m.fleet.Rows, func(r fleet.Row) bool {
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
func (m *market) vocabulary(pool int) plan.Vocabulary {
	v, known := m.vocabularies[pool]
	if known {
		return v
	}
	v = plan.NewVocabulary(func(yield func(label.Labels) bool) {
		seen := map[*label.Label]bool{}
		for i := range m.fleet.Rows {
			row := &m.fleet.Rows[i]
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

// scarce says whether some of the demand can only go to pools whose limits and
// reservations may be too short for it. Then nothing is launched before the plan
// is whole.
func (m *market) scarce(classes []*demandClass) bool {
	asked := make([]quantity.Resources, len(m.fleet.Pools)) // of each pool, if all went there
	pools := map[*uint64][]bool{}
	for _, c := range classes {
		for i, runs := range m.poolsOf(c, pools) {
			if runs {
				asked[i] = asked[i].Add(withoutAttach(c.shape().Requests).Times(c.count()).Times(ample))
			}
		}
	}
	enough := make([]bool, len(asked))
	for i := range enough {
		enough[i] = m.suffices(i, asked[i])
	}
	return slices.ContainsFunc(classes, func(c *demandClass) bool {
		somewhere := false
		for i, runs := range m.poolsOf(c, pools) {
			if runs && enough[i] {
				return false
			}
			somewhere = somewhere || runs
		}
		return somewhere && c.count() > 0
	})
}

// suffices says whether what the pool may yet have is as much as asked for.
func (m *market) suffices(pool int, asked quantity.Resources) bool {
	var largest quantity.Resources
	var nodes int64
	reserved := map[string]bool{}
	for i := range m.fleet.Rows {
		r := &m.fleet.Rows[i]
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
	b := m.usage(m.fleet.Pools[pool])
	for _, l := range b.limits {
		if l.Name == limitNodes {
			nodes = min(nodes, max(0, l.Count-b.nodes))
		} else if asked.Get(l.Name) > l.Count-b.used.Get(l.Name) {
			return false
		}
	}
	return nodes == math.MaxInt64 || asked.Fits(largest.Times(nodes))
}
