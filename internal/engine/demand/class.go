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

// Class is the demand of one group of interchangeable pods. Pods come
// first, then the displaced, then the declared: real pods take room before those
// that may yet come.
type Class struct {
	Group     *cluster.Group
	Levels    []Level
	Level     int             // the one in force
	Table     *topology.Table // what pods say about each other; nil where none says anything
	Rules     []int           // for each level: its number in the table
	sought    []bool          // by number in the table: other classes must go where its pods are
	counted   [][]string      // by number in the table: the topology keys over which spreads count its pods
	Pods      []PodRef        // pending, oldest first
	Nominated bool            // some of them
	Displaced []PodRef        // bound to a node that goes
	Declared  int64           // replicas that do not exist yet
	aside     int64           // of them, those whose turn comes later
	Had       int64           // at the start of the Step
	Refused   int64           // found no place
	Waiting   int64           // for more pods, or for the rest of the plan
	// declaredAt is when a declared one was seen first.
	declaredAt time.Time
}

// PodRef is a pod of the snapshot and its id.
type PodRef struct {
	ID string
	*cluster.Pod
}

// Count counts the demand that is left.
func (c *Class) Count() int64 {
	return int64(len(c.Pods)+len(c.Displaced)) + c.Declared
}

// Shape is what the class asks for at its level.
func (c *Class) Shape() *cluster.Shape { return &c.Levels[c.Level].Shape }

// Rule is the number of the class at its level in the table of rules.
func (c *Class) Rule() int { return c.Rules[c.Level] }

// Last is the level at which nothing is left but what is required.
func (c *Class) Last() int { return len(c.Levels) - 1 }

// Hard is the number of the class with its requirements only: as such its pods
// count for others once they have a place, whatever they preferred.
func (c *Class) Hard() int { return c.Rules[c.Last()] }

// Draw takes n of the class's demand, real pods first.
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

// IDs are those of the draw's pods, in memory that all draws share.
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

// Postpone says that n more of the class wait, and why.
func (c *Class) Postpone(j *journal.Journal, n int64, why []plan.Refusal) {
	c.Waiting += n
	if ids := c.Draw(n).IDs(j); len(ids) > 0 {
		j.Outcomes = append(j.Outcomes, plan.Outcome{Group: c.Group.Key, Pods: ids, Verdict: plan.Waiting, Reasons: why})
	}
}

// Real counts the pods of the class that exist.
func (c *Class) Real() int64 { return int64(len(c.Pods) + len(c.Displaced)) }

// Waited counts the pods of the class that came by then.
func (c *Class) Waited(by time.Time) int64 {
	n, _ := slices.BinarySearchFunc(c.Pods, by, func(p PodRef, t time.Time) int {
		if p.Created.After(t) {
			return 1
		}
		return -1
	})
	return int64(n)
}

// Since is when the oldest of the class's demand came, the first so many pods
// aside.
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

// Placed is how many of the class have a place now.
func (c *Class) Placed() int64 { return c.Had - c.Refused - c.Waiting }

// Ruled says whether other pods have a say in where the class may go.
func (c *Class) Ruled() bool { return c.Table != nil && c.Table.Bound(c.Rule()) }

// IsSought says whether it decides about other classes where pods of this one are:
// they must be near these, or are spread among them.
func (c *Class) IsSought() bool {
	return c.Table != nil && (c.sought[c.Rule()] || len(c.counted[c.Rule()]) > 0)
}

// Free says whether no other pods have a say in where the class goes.
func (c *Class) Free() bool {
	return !c.Ruled() && len(c.Group.Shape.Ports)+len(c.Group.Shape.Unsupported) == 0
}

// Exchangeable says whether a pod of the class may take the place of another as
// far as its size allows: no other pods have a say about it, it has none about
// others, and it prefers nothing.
func (c *Class) Exchangeable() bool {
	return c.Last() == 0 && c.Free() && c.Group.Shape.Gang.Name == "" && !c.IsSought()
}

// DomainKeys lists the topology keys that decide where the class's new nodes may
// be; hostnames are the packer's business.
func (c *Class) DomainKeys() []string {
	if c.Table == nil {
		return nil
	}
	return pick.Those(c.Table.Keys(c.Rule()), func(k string) bool { return k != label.Hostname })
}

// CountedKeys lists the topology keys over which spreads of other classes count its
// pods. They decide nothing for the class. But a pod whose zone is open counts in
// none, and once it is in one it may keep others off.
func (c *Class) CountedKeys() []string {
	if c.Table == nil {
		return nil
	}
	bound := c.Table.Keys(c.Rule())
	return pick.Those(c.counted[c.Rule()], func(k string) bool { return !slices.Contains(bound, k) })
}

// Tell tells the rules of n more pods of the class at the place. Fewer where n is
// negative.
func (c *Class) Tell(place topology.Place, n int64) {
	if c.Table != nil {
		c.Table.Add(c.Hard(), place, n)
	}
}

// Unlimited is the room of a place that no rule limits.
const Unlimited = math.MaxInt64
