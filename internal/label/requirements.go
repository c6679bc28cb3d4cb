package label

import (
	"slices"
	"strings"
)

// Requirements is a conjunction: sorted by key, one Requirement per key.
type Requirements []Requirement

// All makes the conjunction of the given requirements.
func All(reqs ...Requirement) Requirements {
	sorted := slices.Clone(reqs)
	slices.SortStableFunc(sorted, func(a, b Requirement) int { return strings.Compare(a.key, b.key) })
	out := make(Requirements, 0, len(sorted))
	for _, r := range sorted {
		if n := len(out); n > 0 && out[n-1].key == r.key {
			out[n-1] = out[n-1].Intersect(r)
			continue
		}
		out = append(out, r)
	}
	return out
}

// And returns the conjunction of rs and o.
func (rs Requirements) And(o Requirements) Requirements {
	if len(o) == 0 {
		return rs
	}
	if len(rs) == 0 {
		return o
	}
	return All(append(slices.Clone(rs), o...)...)
}

// Get returns the requirement on key, and whether there is one.
func (rs Requirements) Get(key string) (Requirement, bool) {
	i, found := slices.BinarySearchFunc(rs, key, func(r Requirement, k string) int { return strings.Compare(r.key, k) })
	if !found {
		return Requirement{}, false
	}
	return rs[i], true
}

// Admits says whether the label may have this value. A label without a
// requirement may have any value.
func (rs Requirements) Admits(key, value string) bool {
	r, ok := rs.Get(key)
	return !ok || r.Admits(value)
}

// Contradiction returns the first requirement that nothing can satisfy.
func (rs Requirements) Contradiction() (Requirement, bool) {
	for _, r := range rs {
		if r.Contradicts() {
			return r, true
		}
	}
	return Requirement{}, false
}

// Select says whether the requirements, as those of a selector, match an object with these
// labels: one that is absent satisfies NotIn and DoesNotExist only.
func (rs Requirements) Select(l Lookup) bool {
	for _, r := range rs {
		if !r.selects(l) {
			return false
		}
	}
	return true
}

// Unmet returns the first requirement that a node with these labels does not
// satisfy, as the kube-scheduler judges it: a label that is absent satisfies
// NotIn and DoesNotExist only. See MetBy for the hostname.
func (rs Requirements) Unmet(l Lookup) (Requirement, bool) {
	for _, r := range rs {
		if !r.MetBy(l) {
			return r, true
		}
	}
	return Requirement{}, false
}

// Compare orders conjunctions.
func (rs Requirements) Compare(o Requirements) int {
	return slices.CompareFunc(rs, o, Requirement.Compare)
}

// String joins the requirements with "and".
func (rs Requirements) String() string {
	parts := make([]string, len(rs))
	for i, r := range rs {
		parts[i] = r.String()
	}
	return strings.Join(parts, " and ")
}
