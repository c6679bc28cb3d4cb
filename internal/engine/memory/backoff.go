package memory

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// The pauses after nodes that came in vain. One such node may be an accident
// (catalog.Accidents): the pods get another at once. After more in a row the pods wait, each time twice as long. So what is
// wrong with all nodes of a pool costs fewer and fewer of them, and pods wait about as long
// again as it was wrong. A node that is too small is no accident, unless it lacks a device:
// the next of its type is as small.
const (
	firstBackoff     = 15 * time.Minute
	firstSmall       = time.Hour
	longestBackoff   = 4 * time.Hour
	forgetBackoffFor = 12 * time.Hour // after the pause
)

// Backoff is pods of one kind whose last nodes of a pool came in vain: the nodes did not join, or
// did not become ready for these pods, in time; or those of one instance type were too small
// for them when they were up.
type Backoff struct {
	Pool, Kind string
	Type       string    // that was too small; empty for the other causes
	Nodes      int       // in a row
	At         time.Time // when the last of them was given up
	Why        plan.DeleteReason
	Taint      cluster.Taint // that kept the pods off the last of them; zero if that was not the cause
	Lacks      string        // the resource of which the last of them had too little
	Device     bool          // Lacks is a device, which may be broken
	Claim      string        // of the last of them
	Made       Made
}

// Made is what nodes of a NodePool are made from. After a change of it, the next node is
// another one.
type Made struct {
	Pool                            string // its UID
	PoolGeneration, ClassGeneration int64
}

// madeFrom returns what nodes of the NodePool are made from now.
func madeFrom(s cluster.Snapshot, pool string) Made {
	p, _ := s.Pool(pool)
	c, _ := s.Class(p.Class)
	return Made{p.UID, p.Generation, c.Generation}
}

// Backoffs is what came in vain, sorted by pool, kind and type.
type Backoffs []Backoff

func (v Backoff) compare(o Backoff) int {
	return cmp.Or(strings.Compare(v.Pool, o.Pool), strings.Compare(v.Kind, o.Kind), strings.Compare(v.Type, o.Type))
}

// Until returns when pods of the kind may have another node of the pool, or of the type.
func (v Backoff) Until() time.Time {
	free, pause := catalog.Accidents, firstBackoff
	if v.Type != "" {
		pause = firstSmall
		if !v.Device {
			free = 0
		}
	}
	if v.Nodes <= free {
		return v.At
	}
	for n := free + 1; n < v.Nodes && pause < longestBackoff; n++ {
		pause = min(2*pause, longestBackoff)
	}
	return v.At.Add(pause)
}

// BackOff notes what came in vain with the node of the NodeClaim; the caller says for
// which pods and why. Of nodes that were ordered together, one counts.
func (m *Memory) BackOff(x Backoff, c *cluster.Claim, s cluster.Snapshot, now time.Time) {
	x.Pool, x.Made = c.Pool, madeFrom(s, c.Pool)
	list := slices.Clone(m.Backoffs)
	i, found := slices.BinarySearchFunc(list, x, Backoff.compare)
	switch {
	case !found:
		x.Nodes = 0
		list = slices.Insert(list, i, x)
	case list[i].Claim == c.Name || c.Created.Before(list[i].At.Truncate(time.Second)): // the API server counts seconds
		return
	}
	x.Nodes, x.At, x.Claim = list[i].Nodes+1, now, c.Name
	list[i], m.Backoffs = x, list
}

// CameUp notes that a node of the pool and the type takes pods of the kind.
func (m *Memory) CameUp(pool, kind, instanceType string) {
	if len(m.Backoffs) > 0 {
		m.Backoffs = pick.Those(m.Backoffs, func(v Backoff) bool {
			return v.Pool != pool || v.Kind != kind || v.Type != "" && v.Type != instanceType
		})
	}
}

// WaitsFor returns what came in vain for pods of the kind, if they wait because of that
// before they get another node of the type from the pool.
func (list Backoffs) WaitsFor(pool, kind, instanceType string, now time.Time) (v Backoff, waits bool) {
	for _, of := range [2]string{"", instanceType} {
		i, found := slices.BinarySearchFunc(list, Backoff{Pool: pool, Kind: kind, Type: of}, Backoff.compare)
		if found && now.Before(list[i].Until()) {
			return list[i], true
		}
	}
	return Backoff{}, false
}

// backoffsNow returns what still counts: nothing of before a change of the NodePool or its
// class. A time later than now, which occurs if the clock went back, becomes now.
func backoffsNow(list Backoffs, s cluster.Snapshot, now time.Time) Backoffs {
	out := pick.Those(list, func(v Backoff) bool {
		return now.Before(v.Until().Add(forgetBackoffFor)) && v.Made == madeFrom(s, v.Pool)
	})
	for i := range out {
		out[i].At = pick.Earliest(out[i].At, now)
	}
	return out
}
