package engine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/spread"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// demandClass is the demand of one group of interchangeable pods. Pods come
// first, then the displaced, then the declared: real pods take room before those
// that may yet come.
type demandClass struct {
	group     *cluster.Group
	levels    []level
	level     int      // the one in force
	rules     []int    // for each level: its number in the table of rules
	pods      []podRef // pending, oldest first
	nominated bool     // some of them
	displaced []podRef // bound to a node that goes
	declared  int64    // replicas that do not exist yet
	aside     int64    // of them, those whose turn comes later
	had       int64    // at the start of the Step
	refused   int64    // found no place
	waiting   int64    // for company
	movable   bool     // see settle
	joined    bool     // its pods share one node, see sharesOne
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

// gatherDemand collects what needs room, by group.
func (s *step) gatherDemand() {
	for g := range s.in.Snapshot.PendingGroups() {
		s.trace.Objects++
		c := s.class(g)
		c.pods = make([]podRef, 0, g.PendingCount())
		c.nominated = g.Nominated() > 0
		for id, p := range g.Waiting() {
			if !c.nominated {
				c.pods = append(c.pods, podRef{id, p})
				continue
			}
			if _, there := s.in.Snapshot.State(p.Nominated); there && p.Nominated != "" && !p.NominatedByUs {
				// The scheduler is making room for it by preemption.
				s.outcomes = append(s.outcomes, plan.Outcome{Group: g.Key, Pods: []string{id}, Verdict: plan.OnNode, On: p.Nominated})
				s.preempting[g.Key]++
				s.preempted[p.Nominated] = s.preempted[p.Nominated].Add(p.Shape.Requests)
				continue
			}
			c.pods = append(c.pods, podRef{id, p})
		}
		s.trace.Pods += len(c.pods)
	}
	s.gatherDisplaced()
	s.gatherDeclared()
	s.classes = filter(s.classes, func(c *demandClass) bool { return c.count() > 0 })
	var demand int64
	for _, c := range s.classes {
		c.had = c.count()
		demand += c.had
		s.portsMatter = s.portsMatter || len(c.group.Shape.Ports) > 0
	}
	s.gatherAttach()
	s.memory.Growth = s.in.Memory.Growth.next(demand, s.in.Now)
	slices.SortFunc(s.classes, func(a, b *demandClass) int {
		return cmp.Or(cmp.Compare(b.group.Shape.Priority, a.group.Shape.Priority), strings.Compare(a.group.Key, b.group.Key))
	})
	s.trace.Classes = len(s.classes)
	s.excludeGangs()
}

func (s *step) class(g *cluster.Group) *demandClass {
	if c, ok := s.byKey[g.Key]; ok {
		return c
	}
	c := &demandClass{group: g, levels: levels(g.Shape, s.in.Policy.IgnorePreferences, s.preferNoSchedule())}
	s.byKey[g.Key] = c
	s.classes = append(s.classes, c)
	return c
}

// preferNoSchedule says whether a pool has a taint that only prefers to keep
// pods away.
func (s *step) preferNoSchedule() bool {
	return slices.ContainsFunc(s.in.Snapshot.Supply().Pools, func(p cluster.Pool) bool {
		return slices.ContainsFunc(p.Taints, func(t cluster.Taint) bool { return t.Effect == cluster.PreferNoSchedule })
	})
}

// gatherDisplaced adds the pods of nodes that go.
func (s *step) gatherDisplaced() {
	for _, c := range s.claims {
		if c.Node == "" {
			continue
		}
		state, ok := s.in.Snapshot.State(c.Node)
		if !ok || !state.Node.Leaving(&c) {
			continue
		}
		for p := range state.Pods() {
			if p.Pinned || p.Deleting {
				continue
			}
			g, _ := s.in.Snapshot.GroupOf(p.ID())
			class := s.class(g)
			class.displaced = append(class.displaced, podRef{p.ID(), &p})
			s.trace.Pods++
		}
	}
}

const (
	// declaredAtMost is how long declared replicas count at the longest, in units
	// of the patience with their controller.
	declaredAtMost = 10
	// declaredAtOnce is how many declared replicas of one controller count at
	// once: a slip of the keyboard should not order a thousand machines before the
	// first pod exists.
	declaredAtOnce = 5_000
)

// gatherDeclared adds the replicas that controllers have declared, for as long
// as controllers of the kind make progress: one of them may wait for its turn
// behind the others.
func (s *step) gatherDeclared() {
	list := s.in.Snapshot.Workloads()
	since := s.noteProgress(list)
	for i, w := range list {
		s.trace.Objects++
		progress, _ := firstSeen(s.memory.Advanced, w.Kind)
		patience, missing := s.in.Policy.DeclaredPatience, min(w.Missing, declaredAtOnce)
		if w.Missing == 0 || s.in.Now.Sub(progress) >= patience || s.in.Now.Sub(since[i]) >= declaredAtMost*patience {
			continue
		}
		c := s.class(s.in.Snapshot.GroupFor(w.Namespace, w.Labels, w.Shape))
		c.declared += missing
		c.declaredAt = earliest(c.declaredAt, since[i])
		s.waitUntil(earliest(progress.Add(patience), since[i].Add(declaredAtMost*patience)), plan.PlannedPods)
		s.trace.Declared += missing
	}
}

// noteProgress remembers what the workloads lack now, and returns since when
// each has lacked something. A kind of controller has made progress when one of
// its workloads lacks another number than before, and also when it is new or
// lacks nothing any more: then it is not listed now, and all the others may
// still wait for their first turn.
func (s *step) noteProgress(list []cluster.Workload) (since []time.Time) {
	before, now := s.in.Memory.Declared, s.in.Now
	seen := make([]Progress, len(list))
	since = make([]time.Time, len(list))
	found := 0
	for i, w := range list {
		seen[i] = Progress{Workload: w.ID(), Missing: w.Missing, Since: now}
		k, known := slices.BinarySearchFunc(before, seen[i].Workload, func(x Progress, id string) int { return strings.Compare(x.Workload, id) })
		if known {
			seen[i].Since = earliest(before[k].Since, now)
			found++
		}
		if !known || before[k].Missing != w.Missing {
			s.memory.advanced(w.Kind, now)
		}
		since[i] = seen[i].Since
	}
	s.memory.Declared = seen // by workload, as the snapshot lists them
	if found == len(before) {
		return since
	}
	listed := map[string]bool{}
	for _, p := range seen {
		listed[p.Workload] = true
	}
	for _, p := range before {
		if kind, _, _ := strings.Cut(p.Workload, "/"); !listed[p.Workload] {
			s.memory.advanced(kind, now)
		}
	}
	return since
}

// gatherRules builds the table of topology rules, unless no pod has any.
func (s *step) gatherRules() {
	found, levels := false, 0
	for range s.in.Snapshot.AntiAffine() {
		found = true
		break
	}
	for _, c := range s.classes {
		levels += len(c.levels)
	}
	list := make([]spread.Class, 0, levels)
	for _, c := range s.classes {
		c.rules = make([]int, len(c.levels))
		for i, l := range c.levels {
			found = found || len(l.shape.Spread)+len(l.shape.Together)+len(l.shape.Apart) > 0
			c.rules[i] = len(list)
			list = append(list, spread.Class{Namespace: c.group.Namespace, Labels: c.group.Labels, Shape: l.shape})
		}
	}
	if !found {
		return
	}
	s.trace.Objects += s.in.Snapshot.NodeCount() // each of them may be in a domain
	s.rules = spread.Build(s.in.Snapshot, list)
	s.followed = s.rules.Followed()
	for _, c := range s.classes {
		for _, p := range c.displaced {
			if state, ok := s.in.Snapshot.State(p.Node); ok {
				s.rules.Add(c.hard(), spread.Place{Name: p.Node, Labels: state.Node.Labels, Taints: state.Node.Taints}, -1)
			}
		}
	}
}

// earliest returns the earlier of two times, of which a zero one does not count.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
