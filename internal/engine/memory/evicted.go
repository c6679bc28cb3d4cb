package memory

import (
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

// EvictionCooldown is how long a pod that came in place of an evicted one is not evicted
// again to save money.
const EvictionCooldown = 10 * time.Minute

// StaysFor is how long a node that was to be deleted and stays is not looked at again
// to save money.
const StaysFor = 5 * time.Minute

// Evicted says when pods of a kind were evicted.
type Evicted struct {
	Kind        string
	First, Last time.Time
	Saving      time.Time // when last because their node was deleted to save money; zero for never
	Pool        string    // of that node
	Saved       int64     // pods on nodes that were deleted for that, with pauses shorter than UndoneWithin
	Of          int64     // pods of the kind before the first of these was deleted; see Staying
}

// UndoneWithin is how soon after an eviction a launch for pods of the kind undoes the move.
const UndoneWithin = time.Minute

// EvictedOf says when pods of a controller were evicted. A pod that comes in place of an
// evicted one has another name, and another kind if the controller has got another template.
// But it is of the same controller; see cluster.Pod.Controller.
type EvictedOf struct {
	Controller  string
	First, Last time.Time
}

// Evict notes that pods of the kind are evicted now from a node of the pool, and whether
// that is to save money. They are of these controllers.
func (m *Memory) Evict(kind, pool string, saves bool, now time.Time, controllers ...string) {
	m.Evicted, m.EvictedOf = slices.Clone(m.Evicted), slices.Clone(m.EvictedOf)
	evict(kind, pool, saves, now, controllers, m)
}

// evict is Memory.Evict for a memory that has lists of its own. It returns what is noted of the kind.
func evict(kind, pool string, saves bool, now time.Time, controllers []string, m *Memory) *Evicted {
	m.evictOf(controllers, now)
	i, found := m.findEvicted(kind)
	if !found {
		// The API server gives pods the second in which they were created.
		m.Evicted = slices.Insert(m.Evicted, i, Evicted{Kind: kind, First: now.Truncate(time.Second)})
	}
	e := &m.Evicted[i]
	if e.Last = now; saves {
		if !now.Before(e.Saving.Add(UndoneWithin)) {
			e.Saved = 0
		}
		e.Saving, e.Pool = now, pool
	}
	return e
}

// evictOf notes that pods of the controllers are evicted now.
func (m *Memory) evictOf(controllers []string, now time.Time) {
	for _, c := range controllers {
		i, found := m.findEvictedOf(c)
		if !found {
			m.EvictedOf = slices.Insert(m.EvictedOf, i, EvictedOf{Controller: c, First: now.Truncate(time.Second)})
		}
		m.EvictedOf[i].Last = now
	}
}

// Evicting is a node of which a plan deletes the NodeClaim. The daemon may decline a
// deletion, and then nobody is evicted. The next snapshot says what it did.
type Evicting struct {
	Claim, UID, Pool string
	Pods             []EvictingPods // that move
	Saves            bool           // the node is deleted to save money
	At               time.Time
}

// EvictingPods are pods of one kind on one node.
type EvictingPods struct {
	cluster.Slot

	Of          int64    // pods of the kind in the cluster; see Staying
	Controllers []string // of these pods, without pods that nothing creates anew
}

// Staying returns how many pods of each kind there are that are not being deleted, those
// included that controllers have declared and not created yet. Evictions do not change the
// number for long, as controllers create the pods anew.
func Staying(s cluster.Snapshot) func(*cluster.Group) int64 {
	declared := map[*cluster.Group]int64{}
	for _, w := range s.Workloads() {
		if w.Missing > 0 {
			declared[s.GroupFor(w.Namespace, w.Labels, w.Shape)] += w.Missing
		}
	}
	return func(g *cluster.Group) int64 {
		n := g.Size() + declared[g]
		for _, leaving := range g.Leaving() {
			n -= leaving
		}
		return n
	}
}

// noteDeletions notes the evictions of the deletions that were carried out since the last
// plan, and forgets those that were declined.
func (m *Memory) noteDeletions(s cluster.Snapshot) {
	if len(m.Evicting) > 0 {
		m.Evicted, m.EvictedOf = slices.Clone(m.Evicted), slices.Clone(m.EvictedOf) // once: a plan deletes many nodes, and pods of many kinds may have been evicted
	}
	for _, x := range m.Evicting {
		if c, there := s.Claim(x.Claim); there && c.UID == x.UID && !c.Deleting {
			continue
		}
		for _, pods := range x.Pods {
			e := evict(pods.Kind, x.Pool, x.Saves, x.At, pods.Controllers, m)
			if !x.Saves {
				continue
			}
			if e.Saved == 0 {
				e.Of = pods.Of
			}
			e.Saved += pods.Count
		}
	}
	m.Evicting = nil
}

// LastEvicted returns when a pod of the kind was evicted last, as far as the memory knows;
// zero for never.
func (m *Memory) LastEvicted(kind string) time.Time {
	i, found := m.findEvicted(kind)
	if !found {
		return time.Time{}
	}
	return m.Evicted[i].Last
}

// comesBackWithin is how long after an eviction a controller creates the pod anew, about.
const comesBackWithin = 30 * time.Second

// CoolsDown says until when the pod, which is of the kind, may have come in place of one that
// was evicted, and whether that is not over. Its controller tells; of a pod without one, its
// kind. Nobody knows which pods were evicted before the memory begins, so any pod from that
// time counts but those of controllers that are younger.
func (m *Memory) CoolsDown(kind string, p *cluster.Pod, now time.Time) (until time.Time, yes bool) {
	until = p.Created.Add(EvictionCooldown)
	if !now.Before(until) {
		return until, false
	}
	if !m.EvictedUntil.IsZero() && p.Created.Before(m.EvictedUntil.Add(comesBackWithin)) && !p.OwnedSince.After(m.EvictedUntil) {
		return until, true
	}
	if p.Owner != (cluster.Owner{}) {
		if len(m.EvictedOf) == 0 {
			return until, false
		}
		i, found := m.findEvictedOf(p.Controller())
		return until, found && !p.Created.Before(m.EvictedOf[i].First)
	}
	i, found := m.findEvicted(kind)
	return until, found && !p.Created.Before(m.Evicted[i].First)
}

// findEvictedOf returns where the controller is in the list, or where it belongs.
func (m *Memory) findEvictedOf(controller string) (int, bool) {
	return slices.BinarySearchFunc(m.EvictedOf, controller, func(e EvictedOf, c string) int { return strings.Compare(e.Controller, c) })
}

// findEvicted returns where the kind is in the list, or where it belongs.
func (m *Memory) findEvicted(kind string) (int, bool) {
	return slices.BinarySearchFunc(m.Evicted, kind, func(e Evicted, kind string) int { return strings.Compare(e.Kind, kind) })
}

// lately returns the kinds of which pods may still settle.
func lately(list []Evicted, now time.Time) []Evicted {
	return pick.Those(list, func(e Evicted) bool { return isRecent(e.Last, now) })
}

// latelyOf returns the controllers of which pods may still settle.
func latelyOf(list []EvictedOf, now time.Time) []EvictedOf {
	return pick.Those(list, func(e EvictedOf) bool { return isRecent(e.Last, now) })
}

// isRecent says whether pods that come in place of those evicted last then may not be settled yet.
func isRecent(last, now time.Time) bool {
	return now.Before(last.Add(EvictionCooldown + comesBackWithin))
}
