package price

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// group is the classes that can use the same offers.
type group struct {
	offers  []uint64 // bits
	classes []int
	worth   float64 // rough, for merge
}

// model is a problem with its classes grouped.
type model struct {
	Problem
	largest []int64 // capacity per resource
	single  []bool  // per resource: every node has exactly one of it
	groups  []group
	groupOf []int // per class, -1 where it fits nothing
}

func newModel(p Problem) *model {
	m := &model{Problem: p, largest: make([]int64, p.Resources), single: make([]bool, p.Resources), groupOf: make([]int, len(p.Classes))}
	several := make([]bool, p.Resources) // some node has another number of it than one
	for _, o := range p.Offers {
		if o.Limit >= 0 { // what is pooled is larger than any node
			continue
		}
		for r, c := range o.Capacity {
			several[r] = several[r] || c != 1
			m.largest[r] = max(m.largest[r], c)
		}
	}
	for r, n := range m.largest {
		m.single[r] = n == 1 && !several[r]
		if n == 0 {
			for _, o := range p.Offers {
				m.largest[r] = max(m.largest[r], o.Capacity[r])
			}
		}
	}
	length := (len(p.Offers) + 63) / 64
	fits := make([]uint64, length)
	key := make([]byte, 0, length*8)
	index := map[string]int{}
	for i, c := range p.Classes {
		m.groupOf[i] = -1
		if c.Count <= 0 || !m.fitting(c, fits) {
			continue
		}
		key = key[:0]
		for _, w := range fits {
			key = binary.LittleEndian.AppendUint64(key, w)
		}
		g, ok := index[string(key)]
		if !ok {
			g = len(m.groups)
			index[string(key)] = g
			m.groups = append(m.groups, group{offers: slices.Clone(fits)})
		}
		m.groups[g].classes = append(m.groups[g].classes, i)
		m.groups[g].worth += float64(m.share(c) * float64(c.Count)) // rounded before it is added, as everywhere
	}
	m.merge(cmp.Or(p.Groups, defaultGroups))
	for g := range m.groups {
		for _, i := range m.groups[g].classes {
			m.groupOf[i] = g
		}
	}
	return m
}

// fitting sets the bits of the offers that hold at least one pod of the class. It
// returns whether there are any.
func (m *model) fitting(c Class, bits []uint64) bool {
	clear(bits)
	found, holds := false, false
	var room []int64
	for o := range m.Offers {
		offer := &m.Offers[o]
		if !has(offer.Holds, c.Signature) {
			continue
		}
		if len(room) == 0 || &room[0] != &offer.Capacity[0] { // neighbours often share theirs
			room, holds = offer.Capacity, quantity.Fits(c.Need, offer.Capacity)
		}
		if holds {
			bits[o>>6] |= 1 << (o & 63)
			found = true
		}
	}
	return found
}

// share adds up, over all resources, the part of the largest offer that a pod takes.
func (m *model) share(c Class) float64 {
	sum := 0.0
	for r, n := range c.Need {
		if n > 0 {
			sum += float64(n) / float64(m.largest[r])
		}
	}
	return sum
}

// merge leaves at most n groups. A small group joins a group that can use at least
// the same offers, or else the last group, which then can use the offers of both.
// Joining only lowers the bound.
func (m *model) merge(n int) {
	if len(m.groups) <= n {
		return
	}
	slices.SortStableFunc(m.groups, func(a, b group) int { return cmp.Compare(b.worth, a.worth) })
	rest := m.groups[:n]
	for _, small := range m.groups[n:] {
		to := -1
		for g := range rest {
			if covers(rest[g].offers, small.offers) && (to < 0 || covers(rest[to].offers, rest[g].offers)) {
				to = g
			}
		}
		if to < 0 {
			to = n - 1
			for w, b := range small.offers {
				rest[to].offers[w] |= b
			}
		}
		rest[to].classes = append(rest[to].classes, small.classes...)
	}
	m.groups = rest
}

// components lists the groups that share offers, directly or through others.
func (m *model) components() [][]int {
	of := make([]int, len(m.groups))
	for g := range of {
		of[g] = g
	}
	for changed := true; changed; {
		changed = false
		for a := range m.groups {
			for b := range a {
				if of[a] != of[b] && meets(m.groups[a].offers, m.groups[b].offers) {
					low := min(of[a], of[b])
					of[a], of[b], changed = low, low, true
				}
			}
		}
	}
	var out [][]int
	at := make([]int, len(of))
	for g, c := range of {
		if c == g {
			at[g] = len(out)
			out = append(out, nil)
		}
		out[at[c]] = append(out[at[c]], g)
	}
	return out
}

func has(bits []uint64, i int) bool { return i>>6 < len(bits) && bits[i>>6]>>(i&63)&1 == 1 }

func covers(a, b []uint64) bool {
	for i, w := range b {
		if w&^a[i] != 0 {
			return false
		}
	}
	return true
}

func meets(a, b []uint64) bool {
	for i, w := range b {
		if w&a[i] != 0 {
			return true
		}
	}
	return false
}
