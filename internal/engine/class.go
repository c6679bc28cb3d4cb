package engine

import (
	"math"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/spread"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// demandClass is the demand of one group of interchangeable pods. Pods come
// first, then the displaced, then the declared: real pods take room before those
// that may yet come.
type demandClass struct {
	group     *cluster.Group
	levels    []level
	level     int           // the one in force
	table     *spread.Table // what pods say about each other; nil where none says anything
	rules     []int         // for each level: its number in the table
	sought    []bool        // by number in the table: other classes must go where its pods are
	pods      []podRef      // pending, oldest first
	nominated bool          // some of them
	displaced []podRef      // bound to a node that goes
	declared  int64         // replicas that do not exist yet
	aside     int64         // of them, those whose turn comes later
	had       int64         // at the start of the Step
	refused   int64         // found no place
	waiting   int64         // for company
	// declaredAt is when a declared one was seen first.
	declaredAt time.Time
}

// podRef is a pod of the snapshot and its id.
type podRef struct {
	id string
	*cluster.Pod
}

func (c *demandClass) count() int64 {
	return int64(len(c.pods)+len(c.displaced)) + c.declared
}

// shape is what the class asks for at its level.
func (c *demandClass) shape() *cluster.Shape { return &c.levels[c.level].shape }

// rule is the number of the class at its level in the table of rules.
func (c *demandClass) rule() int { return c.rules[c.level] }

func (c *demandClass) last() int { return len(c.levels) - 1 }

// hard is the number of the class with its requirements only: as such its pods
// count for others once they have a place, whatever they preferred.
func (c *demandClass) hard() int { return c.rules[c.last()] }

// draw takes n of the class's demand, real pods first.
func (c *demandClass) draw(n int64) (d draw) {
	k := min(n, int64(len(c.pods)))
	d.pods, c.pods = c.pods[:k], c.pods[k:]
	n -= k
	k = min(n, int64(len(c.displaced)))
	d.displaced, c.displaced = c.displaced[:k], c.displaced[k:]
	n -= k
	d.declared = min(n, c.declared)
	c.declared -= d.declared
	return d
}

// draw is a part of a class's demand.
type draw struct {
	pods, displaced []podRef
	declared        int64
}

// ids are those of the draw's pods, in memory that all draws share.
func (d draw) ids(j *journal) []string {
	if j.names == nil {
		j.names = make([]string, 0, j.trace.Pods)
	}
	from := len(j.names)
	for _, p := range d.pods {
		j.names = append(j.names, p.id)
	}
	for _, p := range d.displaced {
		j.names = append(j.names, p.id)
	}
	return j.names[from:len(j.names):len(j.names)]
}

// postpone says that n more of the class wait, and why.
func (c *demandClass) postpone(j *journal, n int64, why []plan.Refusal) {
	c.waiting += n
	if ids := c.draw(n).ids(j); len(ids) > 0 {
		j.outcomes = append(j.outcomes, plan.Outcome{Group: c.group.Key, Pods: ids, Verdict: plan.Waiting, Reasons: why})
	}
}

// real counts the pods of the class that exist.
func (c *demandClass) real() int64 { return int64(len(c.pods) + len(c.displaced)) }

// waited counts the pods of the class that came by then.
func (c *demandClass) waited(by time.Time) int64 {
	n, _ := slices.BinarySearchFunc(c.pods, by, func(p podRef, t time.Time) int {
		if p.Created.After(t) {
			return 1
		}
		return -1
	})
	return int64(n)
}

// since is when the oldest of the class's demand came, the first so many pods
// aside.
func (c *demandClass) since(after int64, now time.Time) time.Time {
	t := now
	if after < int64(len(c.pods)) && c.pods[after].Created.Before(t) {
		t = c.pods[after].Created
	}
	if c.declared > 0 && c.declaredAt.Before(t) {
		t = c.declaredAt
	}
	return t
}

// placed is how many of the class have a place now.
func (c *demandClass) placed() int64 { return c.had - c.refused - c.waiting }

// ruled says whether other pods have a say in where the class may go.
func (c *demandClass) ruled() bool { return c.table != nil && c.table.Bound(c.rule()) }

// isSought says whether other classes may go only where pods of this one are.
func (c *demandClass) isSought() bool { return c.table != nil && c.sought[c.rule()] }

// free says whether no other pods have a say in where the class goes.
func (c *demandClass) free() bool {
	return !c.ruled() && len(c.group.Shape.Ports)+len(c.group.Shape.Unsupported) == 0
}

// exchangeable says whether a pod of the class may take the place of another as
// far as its size allows: no other pods have a say about it, it has none about
// others, and it prefers nothing.
func (c *demandClass) exchangeable() bool {
	return c.last() == 0 && c.free() && c.group.Shape.Gang.Name == "" && !c.isSought()
}

// domainKeys lists the topology keys that decide where the class's new nodes may
// be; hostnames are the packer's business.
func (c *demandClass) domainKeys() []string {
	if c.table == nil {
		return nil
	}
	return pick.Those(c.table.Keys(c.rule()), func(k string) bool { return k != label.Hostname })
}

// tell tells the rules of n more pods of the class at the place. Fewer where n is
// negative.
func (c *demandClass) tell(place spread.Place, n int64) {
	if c.table != nil {
		c.table.Add(c.hard(), place, n)
	}
}

// unlimited is the room of a place that no rule limits.
const unlimited = math.MaxInt64
