package spread

import (
	"math"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

// spreadRule is one hard topology spread constraint of one class.
type spreadRule struct {
	cluster.Spread
	topology *topology
	voters   *electorate
	base     *base
	self     bool            // the selector selects the class itself
	blank    bool            // the selector is empty: it selects all and counts nobody, as the scheduler has it
	count    map[int32]int64 // of domains; those of base that are missing have 0
	levels   levels
	domains  int64
}

// known says whether the domain takes part in the skew, and its count.
func (r *spreadRule) known(d int32) (int64, bool) {
	if d < 0 {
		return 0, false
	}
	n, ok := r.count[d]
	return n, ok || int(d) < len(r.base.has) && r.base.has[d]
}

// open makes the domain take part.
func (r *spreadRule) open(d int32) {
	if _, ok := r.known(d); ok || d < 0 {
		return
	}
	r.count[d] = 0
	r.levels = r.levels.with(0, 1)
	r.domains++
}

func (r *spreadRule) add(s *spot, n int64) {
	if r.blank || !r.voters.includes(s) {
		return
	}
	d := r.topology.settle(s)
	if d < 0 {
		return
	}
	r.open(d)
	old, _ := r.known(d)
	r.count[d] = old + n
	r.levels = r.levels.with(old, -1).with(old+n, 1)
}

// state is what the rule says of one place.
type state struct {
	missing bool  // the place lacks the topology key
	count   int64 // in its domain
	least   int64 // of the other domains
	alone   bool  // there are no others
	counts  bool  // pods there count
	part    bool  // its domain takes part in the skew, or will
}

func (r *spreadRule) look(s *spot) state {
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
	case known:
		own = n
	case st.counts:
		domains++ // it will be one
	}
	least, others := r.levels.least(own)
	st.least, st.alone = least, !others
	switch {
	case domains < r.MinDomains:
		st.least, st.alone = 0, false
	case st.alone && s.node < 0 && r.topology.hosts():
		// A host to come is never the only one for long.
		st.least, st.alone = 0, false
	}
	return st
}

func (r *spreadRule) room(s *spot) int64 {
	st := r.look(s)
	if st.missing {
		return 0
	}
	if r.blank {
		return math.MaxInt64
	}
	if r.self && st.counts {
		if st.alone {
			return math.MaxInt64
		}
		return max(0, r.MaxSkew+st.least-st.count)
	}
	// Pods added here change nothing, so either none may come or all.
	least := st.floor()
	next := st.count
	if r.self {
		next++
	}
	if next-least > r.MaxSkew {
		return 0
	}
	return math.MaxInt64
}

// floor is the least count of all domains.
func (st state) floor() int64 {
	switch {
	case st.alone:
		return st.count
	case st.part:
		return min(st.least, st.count)
	}
	return st.least
}

// togetherRule is the required affinity of one class. The scheduler counts pods
// that meet all of its terms at once.
type togetherRule struct {
	tallies []*tally // one a term
	total   int64    // pods that meet all terms, where they count at all
	self    bool     // the class meets its own terms
	company []int    // the classes that meet them
}

func (r *togetherRule) add(s *spot, n int64) {
	counted := false
	for _, y := range r.tallies {
		if y.topology.at(s) != missing {
			y.add(s, n)
			counted = true
		}
	}
	if counted {
		r.total += n
	}
}

// allows says whether pods of the class may go to the place. The first of a
// group that wants to be together may go anywhere that has the keys.
func (r *togetherRule) allows(s *spot) bool {
	all := true
	for _, y := range r.tallies {
		n, d := y.at(s)
		if d == missing {
			return false
		}
		all = all && n > 0
	}
	return all || r.self && r.total == 0
}

// apartRule is one term of anti-affinity as it binds one class.
type apartRule struct {
	term  *term
	tally *tally
	self  bool // a pod of the class keeps the next one away
}

func (r *apartRule) room(s *spot) int64 {
	n, d := r.tally.at(s)
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
