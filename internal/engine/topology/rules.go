package topology

import (
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

// census counts, for topology spreads, the pods that one selector selects. Spreads
// share a census if their pods may run on the same nodes and the same nodes count.
type census struct {
	topology *topology
	voters   *electorate
	base     *base
	count    map[int32]int64 // by domain; a domain of base that is not in the map has 0
	levels   levels
	domains  int64
	coming   []int32     // domains in which only nodes to come are; see Table.Expect
	vacated  []int32     // domains that no longer take part; see Vacated
	counted  []*labelSet // the sets whose pods it counts
	rules    []*spreadRule
}

// known returns the count of the domain, and whether the domain takes part in the
// skew.
func (c *census) known(d int32) (int64, bool) {
	if d < 0 {
		return 0, false
	}
	n, ok := c.count[d]
	return n, ok || int(d) < len(c.base.has) && c.base.has[d]
}

// open makes the domain take part in the skew.
func (c *census) open(d int32) {
	if _, ok := c.known(d); ok || d < 0 {
		return
	}
	c.count[d] = 0
	c.levels = c.levels.with(0, 1)
	c.domains++
}

// expect makes the domain of a node to come take part in the skew of places to come,
// if the function takes says that pods of the rule may run there.
func (c *census) expect(s *spot, takes func() bool) {
	if c.topology.hosts() {
		return
	}
	d := c.topology.number(s)
	if _, known := c.known(d); known || d < 0 || slices.Contains(c.coming, d) {
		return
	}
	if c.voters.includes(s) && takes() {
		c.coming = append(c.coming, d)
	}
}

// expected counts the domains, other than d, in which only nodes to come are and no
// pods yet.
func (c *census) expected(d int32) (n int64) {
	for _, x := range c.coming {
		if _, known := c.known(x); !known && x != d {
			n++
		}
	}
	return n
}

// vacate takes the domain of the node out of the skew, if it is empty soon after its pod is
// evicted; see Vacated.
func (c *census) vacate(x Vacated, d int32) {
	n, known := c.known(d)
	waits := c.voters.taints == nil // until the node is deleted
	if !known || slices.Contains(c.vacated, d) || n == 0 && !x.Ends || waits && (n > 1 || !x.Alone) {
		return
	}
	c.vacated = append(c.vacated, d)
	c.levels = c.levels.with(n, -1)
	c.domains--
}

func (c *census) add(s *spot, n int64) {
	if !c.voters.includes(s) {
		return
	}
	d := c.topology.number(s)
	if d < 0 || slices.Contains(c.vacated, d) {
		return
	}
	c.open(d)
	old, _ := c.known(d)
	c.count[d] = old + n
	c.levels = c.levels.with(old, -1).with(old+n, 1)
}

// spreadRule is one hard topology spread constraint of one class.
type spreadRule struct {
	*census
	maxSkew, minDomains int64
	self                bool // the selector selects the class itself
	// blank says that the selector is empty: it selects all pods, but the scheduler
	// counts none of them.
	blank bool
	added map[int32]int64 // pods of the class that were added, by domain
}

// state is what the rule says of one place.
type state struct {
	missing  bool  // the place lacks the topology key
	count    int64 // in its domain
	minCount int64 // the least count of the other domains
	alone    bool  // there are no other domains
	counts   bool  // pods there count
	part     bool  // its domain takes part in the skew, or will
}

func (r *spreadRule) stateAt(s *spot) state {
	d := r.topology.at(s)
	if d == missing {
		return state{missing: true}
	}
	n, known := r.known(d)
	st := state{count: n, counts: r.voters.includes(s)}
	st.part = known || st.counts
	own := int64(-1)
	domains := r.domains
	switch {
	case known && !slices.Contains(r.vacated, d):
		own = n
	case st.counts:
		domains++ // the domain of the place will take part
	}
	minCount, others := r.levels.minOther(own)
	st.minCount, st.alone = minCount, !others
	if s.node < 0 {
		if n := r.expected(d); n > 0 {
			domains += n
			st.minCount, st.alone = 0, false
		}
	}
	switch {
	case domains < r.minDomains:
		st.minCount, st.alone = 0, false
	case st.alone && len(r.vacated) > 0:
		st.minCount, st.alone = 0, false // pods that are spread do not all move to one host
	case s.node < 0 && r.topology.hosts():
		// Several new hosts may come at once, and the others are empty, too.
		st.minCount, st.alone = 0, false
	}
	return st
}

func (r *spreadRule) room(s *spot) int64 {
	st := r.stateAt(s)
	if st.missing {
		return 0
	}
	if r.blank {
		return math.MaxInt64
	}
	if r.self && st.counts {
		return r.more(st)
	}
	// Pods added here do not change the counts: either all may come or none.
	next := st.count
	if r.self {
		next++
	}
	if next-st.floor() > r.maxSkew {
		return 0
	}
	return math.MaxInt64
}

// more is how many pods that count may be added before the domain exceeds the skew.
func (r *spreadRule) more(st state) int64 {
	if st.alone || r.maxSkew > math.MaxInt64-st.minCount {
		return math.MaxInt64 // or the sum would wrap around
	}
	return max(0, r.maxSkew+st.minCount-st.count)
}

// floor returns the least count of all domains.
func (st state) floor() int64 {
	switch {
	case st.alone:
		return st.count
	case st.part:
		return min(st.minCount, st.count)
	}
	return st.minCount
}

// cohort counts the pods that meet all terms of a required affinity at once, as the
// scheduler does.
type cohort struct {
	terms   []*term
	tallies []*tally // one for each term
	total   int64    // pods that have at least one of the topology keys
	targets []int    // the classes that meet all terms
}

func (h *cohort) add(s *spot, n int64) {
	counted := false
	for _, y := range h.tallies {
		if y.topology.at(s) != missing {
			y.add(s, n)
			counted = true
		}
	}
	if counted {
		h.total += n
	}
}

// affinityRule is the required affinity of one class.
type affinityRule struct {
	*cohort
	self   bool             // the class meets its own terms
	admits func(Place) bool // where its first pod may run; nil for anywhere
}

// allows says whether pods of the class may run in the place. If the class meets its
// own terms, the first pod of the group may run in any place that has the keys.
func (r *affinityRule) allows(s *spot) bool {
	all := true
	for _, y := range r.tallies {
		n, d := y.at(s)
		if d == missing {
			return false
		}
		all = all && n > 0
	}
	return all || r.first() && (r.admits == nil || r.admits(s.Place))
}

func (r *affinityRule) first() bool { return r.self && r.total == 0 }

// antiAffinityRule is one term of anti-affinity as it binds one class.
type antiAffinityRule struct {
	selector *cluster.PodSelector
	tally    *tally
	self     bool // a pod of the class keeps the next pod of the class away
}

func (r *antiAffinityRule) room(s *spot) int64 {
	n, d := r.tally.most(s)
	switch {
	case d == missing:
		return math.MaxInt64
	case n > 0:
		return 0
	case r.self:
		return 1
	}
	return math.MaxInt64
}
