package engine

import (
	"reflect"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

const (
	// paceFor is how long the fleet is not searched again after a target, unless one pod of
	// goneParts has gone since; and for how long all moves that pay are made after a
	// scale-down, in which one pod of shrunkPart has gone.
	paceFor               = 20 * time.Minute
	goneParts, shrunkPart = 33, 10
	// youngFor is how long a pod is dear to move after it came.
	youngFor = 24 * time.Hour
)

// YoungTimes is how much dearer a pod is to move that came in the last day.
const YoungTimes = 48

// pace says how soon the fleet is searched again after a target, and which pods are dear to
// move. In a fleet whose pods come and go all day, the next hour may undo what a target saves,
// and a pod that came lately may be one that has just been moved. So moves wait, and have to
// save more. After a scale-down, at the start of the daemon and after a change of the
// NodePools, all moves that pay are made at once; only what they moved is dear to move again.
type pace struct {
	supply *cluster.Supply
	from   time.Time // when a target was found, the first one after a scale-down; zero for never
	then   int       // how many pods ran at that time
	most   int       // the most that have run since
	pods   int       // that run now
	shrunk bool      // whether the target followed a scale-down
}

// sees notes how many pods run, and begins anew where the NodePools ask for other nodes.
func (p *pace) sees(s cluster.Snapshot, now time.Time) {
	if p.from.After(now) { // the clock went back
		*p = pace{}
	}
	if supply := s.Supply(); p.supply != supply {
		if p.supply != nil && !slices.EqualFunc(p.supply.Pools, supply.Pools, asksSame) {
			*p = pace{}
		}
		p.supply = supply
	}
	p.pods = podsOn(s)
	p.most = max(p.most, p.pods)
}

// asksSame says whether the NodePools ask for the same nodes.
func asksSame(a, b cluster.Pool) bool {
	for _, p := range []*cluster.Pool{&a, &b} {
		p.Ready, p.NotReady, p.Disruption = false, "", cluster.Disruption{}
	}
	return reflect.DeepEqual(a, b)
}

// found notes that a search has ended with a target.
func (p *pace) found(now time.Time) {
	if !p.follows(now) {
		*p = pace{supply: p.supply, from: now, then: p.pods, most: p.pods, pods: p.pods, shrunk: p.shrinks()}
	}
}

// held says until when the fleet is not searched.
func (p *pace) held(now time.Time) (until time.Time, yes bool) {
	if p.eager(now) || p.then-p.pods > p.then/goneParts {
		return time.Time{}, false
	}
	if until = p.from.Add(paceFor); !now.Before(until) {
		return time.Time{}, false
	}
	return until, true
}

// eager says whether all moves that pay are made at once.
func (p *pace) eager(now time.Time) bool { return p.follows(now) || p.shrinks() }

// shrinks says whether the fleet is to be searched for the first time, or for the first time
// after a scale-down.
func (p *pace) shrinks() bool { return p.from.IsZero() || p.most-p.pods > p.most/shrunkPart }

// follows says whether the target for a scale-down was found lately.
func (p *pace) follows(now time.Time) bool {
	return p.shrunk && now.Before(p.from.Add(paceFor))
}

// young returns the time after which the pods have come that are dear to move.
func (p *pace) young(now time.Time) time.Time {
	switch {
	case p.follows(now):
		return p.from
	case p.shrinks():
		return now
	}
	return now.Add(-youngFor)
}

// youngOn returns what it costs more to evict the pods of the node because some came after
// the time; see cluster.OrdinaryPod.
func youngOn(state *cluster.NodeState, after time.Time) (cost int64) {
	for p := range state.Pods() {
		if p.Moves() && p.Created.After(after) {
			cost += YoungTimes * cluster.OrdinaryPod
		}
	}
	return cost
}
