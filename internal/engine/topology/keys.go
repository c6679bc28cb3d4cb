package topology

import "slices"

// Bound says whether any rule restricts where pods of the class may run.
func (t *Table) Bound(class int) bool {
	c := &t.classes[class]
	return len(c.spreads) > 0 || c.affinity != nil || len(c.antiAffinity) > 0 || len(c.labelSet.inverse) > 0
}

// Keys returns the topology keys of the rules that bind the class, sorted. Nodes
// with equal values of these keys are one place for the class.
func (t *Table) Keys(class int) []string {
	c := &t.classes[class]
	out := t.Demanded(class)
	for _, rules := range [][]antiAffinityRule{c.antiAffinity, c.labelSet.inverse} {
		for i := range rules {
			out = append(out, rules[i].tally.topology.key)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Demanded returns those of the Keys that a node must have as labels, sorted: the keys of
// spreads and of affinity. A node without the label of an anti-affinity is outside of
// that rule, as the scheduler sees it.
func (t *Table) Demanded(class int) []string {
	c, out := &t.classes[class], []string(nil)
	for _, r := range c.spreads {
		out = append(out, r.topology.key)
	}
	if c.affinity != nil {
		for _, y := range c.affinity.tallies {
			out = append(out, y.topology.key)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// AffinityTargets returns the classes whose pods meet the required affinity of the
// class; nil if the class has none.
func (t *Table) AffinityTargets(class int) []int {
	if r := t.classes[class].affinity; r != nil {
		return r.targets
	}
	return nil
}

// AffinityMet says whether the required affinity of the class is met at the place.
func (t *Table) AffinityMet(class int, p Place) bool {
	r, spot := t.classes[class].affinity, t.locate(p)
	return r == nil || r.allows(&spot)
}

// Sought returns, for each class, whether another class may run only where pods of
// this class are.
func (t *Table) Sought() []bool {
	out := make([]bool, len(t.classes))
	for i := range t.classes {
		if r := t.classes[i].affinity; r != nil {
			for _, k := range r.targets {
				out[k] = out[k] || k != i
			}
		}
	}
	return out
}

// Counted lists, by class, the topology keys over which spreads of the given classes
// count its pods, hostnames aside: where these pods are decides where others may run.
func (t *Table) Counted(by []int) [][]string {
	out := make([][]string, len(t.classes))
	seen := map[*census]bool{}
	for _, i := range by {
		for _, r := range t.classes[i].spreads {
			if seen[r.census] || r.topology.hosts() {
				continue
			}
			seen[r.census] = true
			for _, k := range r.counted {
				for _, c := range k.classes {
					if !slices.Contains(out[c], r.topology.key) {
						out[c] = append(out[c], r.topology.key)
					}
				}
			}
		}
	}
	return out
}
