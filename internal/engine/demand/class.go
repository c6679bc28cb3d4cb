package demand

import (
	"math"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/topology"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Class is the demand of one group of interchangeable pods. Real pods take room
// before declared ones: pending pods first, then displaced, then declared.
type Class struct {
	Group     *cluster.Group
	Levels    []Level
	Level     int             // the index of the level in force
	Table     *topology.Table // the rules between pods; nil if no pod has any
	Rules     []int           // for each level: the number of the class in Table
	sought    []bool          // by number in Table: another class may run only where this class is
	counted   [][]string      // by number in Table: the topology keys over which spreads count the pods of the class
	Pods      []PodRef        // pending, oldest first
	Nominated bool            // at least one of Pods is nominated
	Displaced []PodRef        // bound to a node that is leaving
	Declared  int64           // replicas that do not exist yet
	aside     int64           // declared replicas that PutAside took out of the demand
	going     []PodRef        // pods of nodes about to be deleted, which Evacuees.PutAside took out of the demand
	served    Draw            // the other demand, while those are served
	Had       int64           // pods at the start of the Step, declared ones included
	Refused   int64           // pods that found no place
	Waiting   int64           // pods that wait: for more pods, for nodes or for the rest of the plan
	// declaredAt is when the first declared replica was first seen.
	declaredAt time.Time
}

// PodRef is a pod of the snapshot and its id.
type PodRef struct {
	ID string
	*cluster.Pod
}

// Count returns how much demand is left, declared pods included.
func (c *Class) Count() int64 {
	return int64(len(c.Pods)+len(c.Displaced)) + c.Declared
}

// Shape returns what the class asks for at its level.
func (c *Class) Shape() *cluster.Shape { return &c.Levels[c.Level].Shape }

// Rule returns the number of the class, at its level, in Table.
func (c *Class) Rule() int { return c.Rules[c.Level] }

// Last returns the level that has requirements only.
func (c *Class) Last() int { return len(c.Levels) - 1 }

// Hard returns the number in Table of the class with its requirements only. Pods
// that have a place count for other pods under this number, whatever they
// preferred.
func (c *Class) Hard() int { return c.Rules[c.Last()] }

// Draw removes up to n pods from the class's demand and returns them, real pods
// first.
func (c *Class) Draw(n int64) (d Draw) {
	k := min(n, int64(len(c.Pods)))
	d.Pods, c.Pods = c.Pods[:k], c.Pods[k:]
	n -= k
	k = min(n, int64(len(c.Displaced)))
	d.Displaced, c.Displaced = c.Displaced[:k], c.Displaced[k:]
	n -= k
	d.Declared = min(n, c.Declared)
	c.Declared -= d.Declared
	return d
}

// Draw is a part of a class's demand.
type Draw struct {
	Pods, Displaced []PodRef
	Declared        int64
}

// IDs returns the ids of the real pods of the draw. All draws share the memory of
// the ids.
func (d Draw) IDs(j *journal.Journal) []string {
	if j.Names == nil {
		j.Names = make([]string, 0, j.Trace.Pods)
	}
	from := len(j.Names)
	for _, p := range d.Pods {
		j.Names = append(j.Names, p.ID)
	}
	for _, p := range d.Displaced {
		j.Names = append(j.Names, p.ID)
	}
	return j.Names[from:len(j.Names):len(j.Names)]
}

// Postpone takes n pods out of the demand because they wait, and says why.
func (c *Class) Postpone(j *journal.Journal, n int64, why []plan.Refusal) {
	c.Waiting += n
	if ids := c.Draw(n).IDs(j); len(ids) > 0 {
		j.Outcomes = append(j.Outcomes, plan.Outcome{Group: c.Group.Key, Pods: ids, Verdict: plan.Waiting, Reasons: why})
	}
}

// Real returns the number of real pods left.
func (c *Class) Real() int64 { return int64(len(c.Pods) + len(c.Displaced)) }

// Untried counts the pods that the scheduler has not tried to place yet.
func (c *Class) Untried() (n int64) {
	for _, p := range c.Pods {
		if !p.Unschedulable {
			n++
		}
	}
	return n
}

// Waited returns the number of pending pods that were created at that time or
// before.
func (c *Class) Waited(by time.Time) int64 {
	n, _ := slices.BinarySearchFunc(c.Pods, by, func(p PodRef, t time.Time) int {
		if p.Created.After(t) {
			return 1
		}
		return -1
	})
	return int64(n)
}

// Since returns when the oldest demand came, without the first so many pending
// pods: the creation of a pod, or the first sight of a declared replica. It returns
// now if there is none.
func (c *Class) Since(after int64, now time.Time) time.Time {
	t := now
	if after < int64(len(c.Pods)) && c.Pods[after].Created.Before(t) {
		t = c.Pods[after].Created
	}
	if c.Declared > 0 && c.declaredAt.Before(t) {
		t = c.declaredAt
	}
	return t
}

// Placed returns the number of pods that have a place now.
func (c *Class) Placed() int64 { return c.Had - c.Refused - c.Waiting }

// Ruled says whether rules about other pods restrict where the class may run.
func (c *Class) Ruled() bool { return c.Table != nil && c.Table.Bound(c.Rule()) }

// IsSought says whether the place of this class decides about other classes: they
// may run only where its pods are, or are spread among them.
func (c *Class) IsSought() bool {
	return c.Table != nil && (c.sought[c.Rule()] || len(c.counted[c.Rule()]) > 0)
}

// Free says whether the class may run anywhere, whatever pods are there: no rule
// about other pods, no host port and no unsupported constraint restricts it.
func (c *Class) Free() bool {
	return !c.Ruled() && len(c.Group.Shape.Ports)+len(c.Group.Shape.Unsupported) == 0
}

// Exchangeable says whether a pod of the class may swap places with another pod if
// the sizes allow it: no rule relates it to other pods, in either direction, it is
// not in a gang, and it has no preferences.
func (c *Class) Exchangeable() bool {
	return c.Last() == 0 && c.Free() && c.Group.Shape.Gang.Name == "" && !c.IsSought()
}

// DomainKeys returns the topology keys that restrict where new nodes for the class
// may be. The hostname is not among them: the packer handles rules over hostnames.
func (c *Class) DomainKeys() []string {
	if c.Table == nil {
		return nil
	}
	return withoutHost(c.Table.Keys(c.Rule()))
}

// DemandedKeys returns those of the DomainKeys that a node must have as labels.
func (c *Class) DemandedKeys() []string {
	if c.Table == nil {
		return nil
	}
	return withoutHost(c.Table.Demanded(c.Rule()))
}

func withoutHost(keys []string) []string {
	return pick.Those(keys, func(k string) bool { return k != label.Hostname })
}

// CountedKeys returns the topology keys over which spreads of other classes count
// the pods of this one. The keys decide nothing for the class itself. But spreads do
// not count a pod whose zone is undecided. After the zone is decided, the pod counts
// and may keep other pods off.
func (c *Class) CountedKeys() []string {
	if c.Table == nil {
		return nil
	}
	bound := c.Table.Keys(c.Rule())
	return pick.Those(c.counted[c.Rule()], func(k string) bool { return !slices.Contains(bound, k) })
}

// Tell tells the rules that n more pods of the class are at the place. A negative n
// takes pods back.
func (c *Class) Tell(place topology.Place, n int64) {
	if c.Table != nil {
		c.Table.Add(c.Hard(), place, n)
	}
}

// Unlimited is the room of a place that no rule limits.
const Unlimited = math.MaxInt64
