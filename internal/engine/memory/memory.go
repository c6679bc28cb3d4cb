package memory

import (
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Memory is what Steps remember because the cluster's objects cannot say it. Losing
// it delays a removal and forgets a penalty; nothing breaks.
type Memory struct {
	Shortages

	EmptySince  []Since    // NodeClaims whose node is empty, sorted
	ReadySince  []Since    // nodes that are kept for their pods, sorted
	TaintedAt   []Since    // NodeClaims about to be deleted, sorted: when the taint of their node was asked for last
	Asked       []Since    // NodeClaims of nodes that are announced, sorted: when their deletion was planned first
	Planned     []Planned  // sorted by NodeClaim
	Declared    []Progress // sorted by workload
	Advanced    []Since    // kinds of controllers, sorted: when a controller of the kind last made progress
	Growth      Growth
	Lost        []Since      // kinds of pods that lost their place in a rearrangement, sorted: when first
	Nominations []Nomination // for nodes that are open, sorted by class and node
	Evicted     []Evicted    // sorted by kind
	EvictedOf   []EvictedOf  // sorted by controller
	Evicting    []Evicting   // nodes of which the last plan deletes the NodeClaims
	// EvictedUntil is when pods of deleted nodes may have been evicted last before this
	// memory began; zero for never.
	EvictedUntil time.Time
	Backoffs     Backoffs
	Restored     []Since // NodeClaims that were to be deleted and stay, sorted
	Landing      Landing
}

// LostFor is how long pods that lost their place wait at most for room on nodes on
// their way. It counts from the first loss of their kind.
const LostFor = time.Minute

// Since says when something was first seen.
type Since struct {
	ID string
	At time.Time
}

// Planned is what the last plan put on the node of a NodeClaim, until the first pod
// has arrived. The NodeClaim says what it was launched for; that counts if the memory
// is lost.
type Planned struct {
	Claim string
	Slots []cluster.Slot // sorted by kind
}

// Progress says how many replicas a workload lacks.
type Progress struct {
	Workload string
	Missing  int64
	Since    time.Time // when the workload was first seen to lack replicas
}

// Next returns the memory for the next Step. It drops what the snapshot no longer
// has, and penalties that are over. It also drops NodeClaims that are no longer in
// Snapshot.InTransition: their pods have come. A time later than now, which occurs if
// the clock went back, becomes now.
func (m Memory) Next(s cluster.Snapshot, now time.Time) Memory {
	m.Shortages = m.lasting(now)
	m.EmptySince = pick.Those(m.EmptySince, func(x Since) bool { return s.IsInTransition(x.ID) })
	m.ReadySince = pick.Those(m.ReadySince, func(x Since) bool { _, ok := s.Node(x.ID); return ok })
	m.TaintedAt = pick.Those(m.TaintedAt, func(x Since) bool { _, ok := s.Claim(x.ID); return ok })
	m.Asked = pick.Those(m.Asked, func(x Since) bool { c, ok := s.Claim(x.ID); return ok && !c.Deleting })
	m.Planned = pick.Those(m.Planned, func(x Planned) bool { return s.IsInTransition(x.Claim) })
	m.Nominations = m.countRefusals(s, now)
	m.Evicted, m.EvictedOf = lately(m.Evicted, now), latelyOf(m.EvictedOf, now)
	m.noteDeletions(s)
	if m.EvictedUntil.After(now) {
		m.EvictedUntil = now
	}
	m.Advanced = slices.Clone(m.Advanced)
	m.Backoffs = backoffsNow(m.Backoffs, s, now)
	m.Lost = pick.Those(m.Lost, func(x Since) bool { return now.Before(x.At.Add(LostFor)) })
	m.Restored = pick.Those(m.Restored, func(x Since) bool { return now.Before(x.At.Add(StaysFor)) })
	for _, list := range [][]Since{m.EmptySince, m.ReadySince, m.TaintedAt, m.Asked, m.Advanced, m.Lost, m.Restored} { // all are copies already
		for i := range list {
			list[i].At = pick.Earliest(list[i].At, now)
		}
	}
	return m
}

// FirstSeen returns when the id was first seen. The list must be sorted.
func FirstSeen(list []Since, id string) (time.Time, bool) {
	i, found := slices.BinarySearchFunc(list, id, func(s Since, id string) int { return strings.Compare(s.ID, id) })
	if !found {
		return time.Time{}, false
	}
	return list[i].At, true
}

// Remember returns the list with the id first seen now, unless the list has it
// already. It also returns when the id was first seen.
func Remember(list []Since, id string, now time.Time) ([]Since, time.Time) {
	if at, ok := FirstSeen(list, id); ok {
		return list, at
	}
	i, _ := slices.BinarySearchFunc(list, id, func(s Since, id string) int { return strings.Compare(s.ID, id) })
	return slices.Insert(slices.Clone(list), i, Since{ID: id, At: now}), now
}

// NoteProgress notes that a controller of the kind has made progress.
func (m *Memory) NoteProgress(kind string, now time.Time) {
	if at, ok := FirstSeen(m.Advanced, kind); !ok || !at.Equal(now) {
		m.Advanced, _ = Remember(Forget(m.Advanced, kind), kind, now)
	}
}

// Forget returns the list without the id.
func Forget(list []Since, id string) []Since {
	return pick.Those(list, func(s Since) bool { return s.ID != id })
}

// PlannedFor returns what is planned on the node of the NodeClaim, and whether the memory
// knows it.
func (m Memory) PlannedFor(claim string) (slots []cluster.Slot, known bool) {
	i, found := slices.BinarySearchFunc(m.Planned, claim, func(p Planned, c string) int { return strings.Compare(p.Claim, c) })
	if !found {
		return nil, false
	}
	return m.Planned[i].Slots, true
}

// PlannedOn returns what is planned on the node of the NodeClaim: what the memory knows,
// else what the NodeClaim says. It says which of the two it is. What the NodeClaim says
// holds until its node has opened.
func (m *Memory) PlannedOn(c *cluster.Claim) (slots []cluster.Slot, known bool) {
	if slots, known = m.PlannedFor(c.Name); known {
		return slots, true
	}
	if c.Initialized {
		return nil, false
	}
	return c.Planned, false
}

// Arrived forgets what is planned on the node of the NodeClaim, because its first pod has
// come.
func (m *Memory) Arrived(claim string) {
	m.Planned = pick.Those(m.Planned, func(p Planned) bool { return p.Claim != claim })
}

// Promise remembers what each of the NodeClaims is for from now on.
func (m *Memory) Promise(promised map[string][]cluster.Slot) {
	m.Planned = pick.Those(m.Planned, func(p Planned) bool { _, anew := promised[p.Claim]; return !anew })
	for claim, list := range promised {
		m.Planned = append(m.Planned, Planned{Claim: claim, Slots: list})
	}
	slices.SortFunc(m.Planned, func(a, b Planned) int { return strings.Compare(a.Claim, b.Claim) })
}

// Plan remembers what each launch is for.
func (m *Memory) Plan(launches []plan.Launch) {
	m.Planned = slices.Grow(slices.Clone(m.Planned), len(launches))
	for i := range launches {
		m.Planned = append(m.Planned, Planned{Claim: launches[i].Name, Slots: launches[i].Planned})
	}
	slices.SortStableFunc(m.Planned, func(a, b Planned) int { return strings.Compare(a.Claim, b.Claim) })
}
