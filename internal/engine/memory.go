package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// parts is what is remembered from Step to Step because the cluster's objects
// cannot say it. Losing it delays a removal and forgets a penalty; it never breaks
// anything.
type parts struct {
	Unavailable []Penalty  // sorted by offering
	EmptySince  []Since    // claims, sorted
	ReadySince  []Since    // nodes that are kept for their pods, sorted
	OpenSince   []Since    // nodes that have opened a short time ago without nominations, sorted
	Planned     []Planned  // claims, sorted
	Declared    []Progress // by workload
	Advanced    []Since    // kinds of controllers, sorted: when one of them made progress last
	Growth      Growth
}

// PreferencesFor is how long a node that opened without nominations keeps its
// preferences at most.
const PreferencesFor = 30 * time.Second

// Penalty keeps an offering that had no capacity out of plans for a while.
type Penalty struct {
	Offering catalog.OfferingKey
	Until    time.Time
}

// Since says when something was first seen.
type Since struct {
	ID string
	At time.Time
}

// Planned is the content that a NodeClaim was launched for, until the first of
// it has arrived. The NodeClaim says so too, for when the memory is lost.
type Planned struct {
	Claim string
	Slots []cluster.Slot // sorted by kind
}

// Progress says how many replicas a workload lacks.
type Progress struct {
	Workload string
	Missing  int64
	Since    time.Time // when it was seen first
}

// Unavailable returns the memory with the offerings out of plans until t.
func (m parts) without(until time.Time, offerings []catalog.OfferingKey) parts {
	out := slices.Clone(m.Unavailable)
	for _, k := range offerings {
		i, found := slices.BinarySearchFunc(out, k, func(p Penalty, k catalog.OfferingKey) int { return p.Offering.Compare(k) })
		switch {
		case !found:
			out = slices.Insert(out, i, Penalty{Offering: k, Until: until})
		case until.After(out[i].Until):
			out[i].Until = until
		}
	}
	m.Unavailable = out
	return m
}

func (m parts) penalty(k catalog.OfferingKey, now time.Time) (time.Time, bool) {
	i, found := slices.BinarySearchFunc(m.Unavailable, k, func(p Penalty, k catalog.OfferingKey) int { return p.Offering.Compare(k) })
	if !found || !now.Before(m.Unavailable[i].Until) {
		return time.Time{}, false
	}
	return m.Unavailable[i].Until, true
}

// next drops what the snapshot no longer has and what is over: a settled
// NodeClaim has what it was launched for, and is not empty. What was seen later
// than now, because the clock went back, counts as seen now.
func (m parts) next(s cluster.Snapshot, now time.Time) parts {
	m.Unavailable = pick.Those(m.Unavailable, func(p Penalty) bool { return now.Before(p.Until) })
	m.EmptySince = pick.Those(m.EmptySince, func(x Since) bool { return s.IsUnsettled(x.ID) })
	m.ReadySince = pick.Those(m.ReadySince, func(x Since) bool { _, ok := s.Node(x.ID); return ok })
	m.OpenSince = pick.Those(m.OpenSince, func(x Since) bool { _, ok := s.Node(x.ID); return ok && now.Before(x.At.Add(PreferencesFor)) })
	m.Planned = pick.Those(m.Planned, func(x Planned) bool { return s.IsUnsettled(x.Claim) })
	m.Advanced = slices.Clone(m.Advanced)
	for _, list := range [][]Since{m.EmptySince, m.ReadySince, m.OpenSince, m.Advanced} { // copies by now
		for i := range list {
			list[i].At = pick.Earliest(list[i].At, now)
		}
	}
	return m
}

func firstSeen(list []Since, id string) (time.Time, bool) {
	i, found := slices.BinarySearchFunc(list, id, func(s Since, id string) int { return strings.Compare(s.ID, id) })
	if !found {
		return time.Time{}, false
	}
	return list[i].At, true
}

// remember returns the list with id seen at now, unless it was seen before, and
// when it was first seen.
func remember(list []Since, id string, now time.Time) ([]Since, time.Time) {
	if at, ok := firstSeen(list, id); ok {
		return list, at
	}
	i, _ := slices.BinarySearchFunc(list, id, func(s Since, id string) int { return strings.Compare(s.ID, id) })
	return slices.Insert(slices.Clone(list), i, Since{ID: id, At: now}), now
}

// advanced notes that a controller of the kind has made progress.
func (m *parts) advanced(kind string, now time.Time) {
	if at, ok := firstSeen(m.Advanced, kind); !ok || !at.Equal(now) {
		m.Advanced, _ = remember(forget(m.Advanced, kind), kind, now)
	}
}

func forget(list []Since, id string) []Since {
	return pick.Those(list, func(s Since) bool { return s.ID != id })
}

func (m parts) plannedFor(claim string) (slots []cluster.Slot, known bool) {
	i, found := slices.BinarySearchFunc(m.Planned, claim, func(p Planned, c string) int { return strings.Compare(p.Claim, c) })
	if !found {
		return nil, false
	}
	return m.Planned[i].Slots, true
}

// plannedOn is what the NodeClaim is for: what it says itself, where nothing is
// remembered.
func (m parts) plannedOn(c cluster.Claim) []cluster.Slot {
	if slots, known := m.plannedFor(c.Name); known {
		return slots
	}
	return c.Planned
}

// arrived forgets what the claim was launched for: it has come.
func (m *parts) arrived(claim string) {
	m.Planned = pick.Those(m.Planned, func(p Planned) bool { return p.Claim != claim })
}

// plan remembers what launches are for.
func (m *parts) plan(launches []plan.Launch) {
	m.Planned = slices.Grow(slices.Clone(m.Planned), len(launches))
	for i := range launches {
		m.Planned = append(m.Planned, Planned{Claim: launches[i].Name, Slots: launches[i].Planned})
	}
	slices.SortStableFunc(m.Planned, func(a, b Planned) int { return strings.Compare(a.Claim, b.Claim) })
}
