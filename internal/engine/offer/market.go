package offer

import (
	"iter"
	"math/bits"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/topology"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Market is what can be bought in one try of a Step: the fleet without offerings
// that lack capacity now, and what limits and reservations have left. Rows are
// indexes into the fleet.
type Market struct {
	view.View
	*ledger
	Fleet        *Fleet
	Sale         []uint64 // by row: zones with capacity
	Unavailable  int      // offerings left out because they lack capacity
	places       *Places
	vocabularies map[int]plan.Vocabulary // by pool
	shortages    memory.Shortages
	backoffs     memory.Backoffs // for which classes wait
	without      map[withoutKey][]uint64
}

// Places holds answers of Fleet.Where, by demand.PlaceKey. It is kept from Step to Step.
type Places = memory.Cache[*Fleet, string, []uint64]

// Open returns the Market. It compiles the fleet unless the known one serves, and
// takes out the offerings that have no capacity now.
func Open(v view.View, known *Fleet, places *Places, m *memory.Memory, j *journal.Journal, classes []*demand.Class) *Market {
	out := open(v, Recompile(v.Snapshot.Supply(), VariantsOf(v.Snapshot, classes), v.Policy.NodeCost, known), places, m, j)
	out.await(m, j, classes)
	return out
}

// OpenStatic returns the Market of static pools.
func OpenStatic(v view.View, m *memory.Memory, j *journal.Journal) *Market {
	return open(v, compile(&Fleet{NodeCost: v.Policy.NodeCost, supply: v.Snapshot.Supply(), Static: true}), nil, m, j)
}

func open(v view.View, f *Fleet, places *Places, m *memory.Memory, j *journal.Journal) *Market {
	out := &Market{View: v, ledger: newLedger(v, j), places: places, shortages: m.Shortages}
	out.Use(f)
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
			if until, _, shut := m.Shut(out.Fleet.Pools[r.Pool].Name, r.Offering(zone), v.Now); shut {
				out.Sale[i] &^= 1 << z
				out.Unavailable++
				j.WaitUntil(until, plan.CapacityToReturn)
			}
		}
	}
	j.Trace.Types = len(out.Fleet.Rows)
	return out
}

// Use makes the market use the fleet.
func (m *Market) Use(f *Fleet) {
	m.Fleet, m.vocabularies = f, map[int]plan.Vocabulary{}
	if m.places == nil {
		m.places = &Places{}
	}
}

// Large says whether the row exceeds the soft limit of the node size.
func (m *Market) Large(r *Row) bool {
	return m.Policy.SoftMaxMilliCPU > 0 && r.Type.Capacity.MilliCPU > m.Policy.SoftMaxMilliCPU
}

// CostOfNodes returns what the cheapest new nodes of one row cost an hour that have so much
// room in sum, in zones of where. Where nothing on sale has any of it, it is the price of
// the room in bulk.
func (m *Market) CostOfNodes(room quantity.Resources, where []uint64) quantity.Money {
	best := quantity.Money(-1)
	for i, zones := range where {
		r := &m.Fleet.Rows[i]
		if zones&m.Sale[i] == 0 || best >= 0 && r.Price >= best {
			continue
		}
		if n, can := room.Copies(r.Net); can && (best < 0 || r.Price.Times(n) < best) {
			best = r.Price.Times(n)
		}
	}
	if best < 0 {
		return quantity.Money(price.Bulk(room))
	}
	return best
}

// Places returns for each row the zones in which pods of the level may run.
func (m *Market) Places(l *demand.Level) []uint64 {
	return m.places.Get(m.Fleet, demand.PlaceKey(&l.Shape, l.Avoid), func() []uint64 { return m.Fleet.Where(l.Shape, l.Avoid) })
}

// Where returns for each row the zones in which the class may get a node now.
func (m *Market) Where(c *demand.Class) []uint64 {
	return m.withoutBackoffs(c, m.Places(&c.Levels[c.Level]))
}

// Domains returns the topology domains, by the values of the keys, in which a pod of the
// level fits on a new node within the limits. A shortage of capacity passes, so a domain
// that has one counts.
func (m *Market) Domains(l *demand.Level, keys []string) map[string]bool {
	out, where, need := map[string]bool{}, m.Places(l), demand.WithoutAttach(l.Shape.Requests)
	ofTypes := slices.ContainsFunc(keys, m.Fleet.OfTypes)
	seen := make([]bool, m.Fleet.Sites())
	uses := make([]Usage, len(m.Fleet.Pools))
	for i, p := range m.Fleet.Pools {
		uses[i] = m.Usage(p)
	}
	for x := range m.Fleet.Rows {
		r := &m.Fleet.Rows[x]
		if where[x] == 0 || !need.Fits(r.Net) || m.NodesLeft(r) == 0 {
			continue
		}
		if _, exceeded := uses[r.Pool].Refuses(r.Type.Capacity); exceeded {
			continue
		}
		for zones := where[x]; zones != 0; zones &= zones - 1 {
			z := bits.TrailingZeros64(zones)
			if seen[r.Site(z)] && !ofTypes {
				continue
			}
			seen[r.Site(z)] = true
			if name, ok := topology.DomainOf(topology.Place{Labels: r.Labels(z)}, keys); ok {
				out[name] = true
			}
		}
	}
	return out
}

// poolsOf returns for each pool whether the class may run there.
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

// LabelsIn yields the labels of all new nodes in the given zones of the rows.
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

// ZonesOf returns the zones in which a launch of the row could replace the bin,
// whatever the size of the row.
func (m *Market) ZonesOf(row int, b pack.Bin, wheres [][]uint64) uint64 {
	zones := b.Zones & m.Sale[row]
	for _, w := range wheres {
		zones &= w[row]
	}
	return zones
}

// Strays says whether the row is sold in a zone of the bin where some of the bin's
// content may not run. A launch of the row could then land there, because EC2 may
// choose any carried type in any zone.
func (m *Market) Strays(row int, b pack.Bin, wheres [][]uint64) bool {
	sold := b.Zones & m.Fleet.Rows[row].Zones
	return slices.ContainsFunc(wheres, func(w []uint64) bool { return sold&^w[row] != 0 })
}

// Ask returns the requirement of the shape that no node of the pool meets. If some
// node meets each requirement but no node meets all, it returns the text of all.
func (m *Market) Ask(shape *cluster.Shape, pool int) (detail string, ask *plan.Ask) {
	alternatives := shape.Alternatives()
	all := make([]string, len(alternatives))
	for i, alternative := range alternatives {
		all[i] = alternative.String()
		for _, x := range alternative {
			if x.Key() == label.Hostname && x.MetBy(label.Labels{}) {
				continue // the name of a node to come is not in the vocabulary
			}
			if a := m.vocabulary(pool).Ask(x); !slices.ContainsFunc(a.Known, x.Admits) && !(x.AdmitsAbsence() && m.absent(x.Key(), pool)) {
				return x.String(), a
			}
		}
	}
	return strings.Join(all, ", or "), nil
}

// absent says whether any node of the pool lacks the label.
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

// vocabulary returns the labels of the pool's nodes. They are collected once in a
// try.
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
