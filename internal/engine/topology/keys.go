package topology

import "slices"

// Bound says whether any rule has a say about where pods of the class may go.
func (t *Table) Bound(class int) bool {
	c := &t.classes[class]
	return len(c.spreads) > 0 || c.together != nil || len(c.apart) > 0 || len(c.kin.inverse) > 0
}

// Keys returns the topology keys of the rules that bind the class, sorted: nodes
// that agree on them are one place to it.
func (t *Table) Keys(class int) []string {
	c := &t.classes[class]
	var out []string
	for _, r := range c.spreads {
		out = append(out, r.topology.key)
	}
	if c.together != nil {
		for _, y := range c.together.tallies {
			out = append(out, y.topology.key)
		}
	}
	for _, rules := range [][]apartRule{c.apart, c.kin.inverse} {
		for i := range rules {
			out = append(out, rules[i].tally.topology.key)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Company lists the classes whose pods meet the required affinity of the class.
func (t *Table) Company(class int) []int {
	if r := t.classes[class].together; r != nil {
		return r.company
	}
	return nil
}

// Accompanied says whether the required affinity of the class is met at the place.
func (t *Table) Accompanied(class int, p Place) bool {
	r, spot := t.classes[class].together, t.locate(p)
	return r == nil || r.allows(&spot)
}

// Followed lists, by class, whether another class may go only where pods of it
// are.
func (t *Table) Followed() []bool {
	out := make([]bool, len(t.classes))
	for i := range t.classes {
		if r := t.classes[i].together; r != nil {
			for _, k := range r.company {
				out[k] = out[k] || k != i
			}
		}
	}
	return out
}
