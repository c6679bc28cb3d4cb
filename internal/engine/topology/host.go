package topology

import (
	"cmp"
	"slices"
)

// HostRule is a rule over hostnames as one class sees it. If a place holds a pod of
// a class that the rule binds, the place may hold at most Max pods of the classes
// that the rule counts.
type HostRule struct {
	ID             int // the same for every class
	Max            int64
	Binds, Counted bool
}

// Hosting is what the rules over hostnames ask of one place to come.
type Hosting struct {
	Rules []HostRule // sorted by ID
	// Shares says that the class has required affinity over hostnames: a pod of it
	// must share its place with a pod of one of the classes With. First says that
	// the next pod need not, because no such pod runs anywhere.
	Shares, First bool
	With          []int
}

// hostSpread identifies the spreads over hostnames that set one limit.
type hostSpread struct {
	*census
	maxSkew int64
}

// Host returns the rules over hostnames that bind or count the class, for places
// that hold no pods yet. The limit of a spread is its maxSkew, because other new
// nodes come at the same time, and they are empty, too.
func (t *Table) Host(class int) Hosting {
	c := &t.classes[class]
	var h Hosting
	for _, id := range c.capped {
		h.Rules = append(h.Rules, HostRule{ID: int(id), Max: t.hosts[id], Binds: true})
	}
	for _, id := range c.labelSet.capped {
		if i := slices.IndexFunc(h.Rules, func(r HostRule) bool { return r.ID == int(id) }); i >= 0 {
			h.Rules[i].Counted = true
			continue
		}
		h.Rules = append(h.Rules, HostRule{ID: int(id), Max: t.hosts[id], Counted: true})
	}
	slices.SortFunc(h.Rules, func(a, b HostRule) int { return cmp.Compare(a.ID, b.ID) })
	if r := c.affinity; r != nil && slices.ContainsFunc(r.tallies, func(y *tally) bool { return y.topology.hosts() }) {
		h.Shares, h.First, h.With = true, r.first(), r.targets
	}
	return h
}

// limitSpread binds the class to the limit that the spread sets for each host.
func (b *builder) limitSpread(c *class, r *spreadRule) {
	if !r.topology.hosts() || r.blank {
		return
	}
	h := hostSpread{r.census, r.maxSkew}
	id, known := b.limits[h]
	if !known {
		id = b.limit(r.maxSkew, r.counted)
		b.limits[h] = id
	}
	if !slices.Contains(c.capped, id) {
		c.capped = append(c.capped, id)
	}
}

// limitHosts makes the limits of anti-affinity over hostnames. A host holds no pod
// that the term selects, or only the one pod of the class if the term selects the
// class itself.
func (b *builder) limitHosts() {
	for _, x := range b.order {
		for self, binds := range x.binds {
			if len(binds) == 0 || !x.owners.topology.hosts() {
				continue
			}
			id := b.limit(int64(self), x.wantedSets)
			for _, c := range slices.Compact(binds) {
				b.classes[c].capped = append(b.classes[c].capped, id)
			}
		}
	}
}

func (b *builder) limit(most int64, counted []*labelSet) int32 {
	id := int32(len(b.hosts))
	b.hosts = append(b.hosts, most)
	for _, k := range counted {
		k.capped = append(k.capped, id)
	}
	return id
}
