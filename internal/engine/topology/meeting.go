package topology

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// Meeting is classes that must all run in one domain larger than a host, and of which no
// pod has a place yet: their first pod decides for all.
type Meeting struct {
	Keys    []string // topology keys of the domain, sorted
	Begin   []int    // the classes whose pods may be the first
	Classes []int    // those, and the ones that may only follow them
}

// Meetings lists the meetings of the given classes. A class that may run where pods of
// several meetings are is in none of them.
func (t *Table) Meetings(of []int) []Meeting {
	var out []Meeting
	var order []*cohort
	var follow []int // classes that may only run where others are
	begin := map[*cohort][]int{}
	for _, i := range of {
		switch r := t.classes[i].affinity; {
		case r == nil || r.total > 0:
		case !r.self:
			follow = append(follow, i)
		case !slices.ContainsFunc(r.tallies, func(y *tally) bool { return y.topology.hosts() }):
			if begin[r.cohort] == nil {
				order = append(order, r.cohort)
			}
			begin[r.cohort] = append(begin[r.cohort], i)
		}
	}
	for _, r := range order {
		m := Meeting{Begin: begin[r]}
		for _, y := range r.tallies {
			m.Keys = append(m.Keys, y.topology.key)
		}
		slices.Sort(m.Keys)
		m.Keys = slices.Compact(m.Keys)
		m.Classes = t.followers(m, follow)
		out = append(out, m)
	}
	return out
}

// followers returns the classes of the meeting, with those of the given ones that may only
// run where they are.
func (t *Table) followers(m Meeting, of []int) []int {
	out := slices.Clone(m.Begin)
	in := map[*labelSet]bool{}
	for _, i := range m.Begin {
		in[t.classes[i].labelSet] = true
	}
	for more := true; more; {
		more = false
		for _, i := range of {
			r := t.classes[i].affinity
			if slices.Contains(out, i) || len(r.targets) == 0 || !r.within(m) ||
				slices.ContainsFunc(r.targets, func(k int) bool { return !in[t.classes[k].labelSet] }) {
				continue
			}
			out, in[t.classes[i].labelSet], more = append(out, i), true, true
		}
	}
	return out
}

// within says whether who follows by the rule is in the domain of the meeting, too.
func (r *affinityRule) within(m Meeting) bool {
	keys := map[string]bool{}
	for _, y := range r.tallies {
		keys[y.topology.key] = true
	}
	return keys[label.Hostname] || !slices.ContainsFunc(m.Keys, func(k string) bool { return !keys[k] })
}

// MeetIn lets the class begin its meeting only in places that the function admits.
func (t *Table) MeetIn(class int, admits func(Place) bool) {
	if r := t.classes[class].affinity; r != nil {
		r.admits = admits
	}
}

// DomainOf joins the values of the keys. It returns false if one of them is missing, or
// not decided yet.
func DomainOf(p Place, keys []string) (name string, ok bool) {
	for _, key := range keys {
		v, there := p.value(key)
		if !there {
			return "", false
		}
		name += "/" + v
	}
	return name, true
}
