package moves

import (
	"reflect"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

const (
	// paceFor is how long the fleet is not searched again after a target, unless one pod of
	// goneParts has gone since; and for how long all moves that pay are made after a
	// scale-down.
	paceFor   = 20 * time.Minute
	goneParts = 33
	// shrunkPart: a scale-down is one in which one pod of so many has gone.
	shrunkPart = 10
	// drainedPart: after a scale-down in which one pod of so many has gone, new nodes have to
	// save drainedShare of their price, in thousandths, unless nodes are closed for evicted
	// pods: the pods fill the nodes that stay otherwise than planned, and new nodes that are
	// planned beside them come to nothing. The searches that follow replace what is left.
	drainedPart  = 4
	drainedShare = 600
	// youngFor is how long a pod is dear to move after it came.
	youngFor = 24 * time.Hour
)

// YoungTimes is how much dearer a pod is to move that came in the last day.
const YoungTimes = 46

// pace says how soon the fleet is searched again after moves, and which pods are dear to
// move. In a fleet whose pods come and go all day, the next hour may undo what moves save,
// and a pod that came lately may be one that has just been moved. So moves wait, and have to
// save more. After a scale-down, after the start of the daemon and after a change of the
// NodePools, all moves that pay are made at once, from the first one on for a while; only
// what they moved is dear to move again.
type pace struct {
	supply *cluster.Supply
	from   time.Time // when the moves of a target began, of the first one after a scale-down; zero for never
	then   int64     // how many pods ran at that time; those of DaemonSets and Jobs do not count
	most   int64     // the most that have run since
	pods   int64     // that run now
	shrunk bool      // whether the target followed a scale-down
	filled bool      // whether a search after a large scale-down has found that nothing fills what stays
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
	p.pods = 0
	for state := range s.States() {
		p.pods += state.CountServing()
	}
	p.most = max(p.most, p.pods)
}

// asksSame says whether the NodePools ask for the same nodes.
func asksSame(a, b cluster.Pool) bool {
	for _, p := range []*cluster.Pool{&a, &b} {
		p.Ready, p.NotReady, p.Disruption, p.Replicas, p.Generation = false, "", cluster.Disruption{}, 0, 0
	}
	return reflect.DeepEqual(a, b)
}

// begins notes that the moves of a target begin.
func (p *pace) begins(now time.Time) {
	if !p.follows(now) {
		*p = pace{supply: p.supply, from: now, then: p.pods, most: p.pods, pods: p.pods, shrunk: p.shrinks()}
	}
}

// held says until when the fleet is not searched.
func (p *pace) held(now time.Time) (until time.Time, yes bool) {
	until = p.from.Add(paceFor)
	if p.eager(now) || p.then-p.pods > p.then/goneParts || !now.Before(until) {
		return time.Time{}, false
	}
	return until, true
}

// eager says whether all moves that pay are made at once.
func (p *pace) eager(now time.Time) bool { return p.follows(now) || p.shrinks() }

// shrinks says whether no moves have begun yet, or none since many pods have gone.
func (p *pace) shrinks() bool { return p.from.IsZero() || p.most-p.pods > p.most/shrunkPart }

// drained says whether no moves have begun since a large scale-down, and some may without
// new nodes.
func (p *pace) drained() bool { return !p.filled && p.most-p.pods > p.most/drainedPart }

// follows says whether the first moves for a scale-down began lately.
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
