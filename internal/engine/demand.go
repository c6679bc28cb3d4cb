package engine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/spread"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// demand is what needs room in one try of a Step, and what became of it so far.
type demand struct {
	View
	*journal
	memory *parts

	classes []*demandClass // sorted by priority, then key
	byKey   map[string]*demandClass
	gangs   []gang          // sorted by id
	without map[string]bool // gangs that are not tried any more, by id

	preempting  map[string]int64              // by group: pods for which the scheduler is making room
	preempted   map[string]quantity.Resources // by node: what they will take of it
	portsMatter bool                          // a class asks for host ports

	refused refused
}

// gatherDemand collects what needs room, by group. It leaves out the gangs that are
// excluded, by id.
func gatherDemand(v View, m *parts, j *journal, excluded map[string]bool) *demand {
	d := &demand{
		View: v, journal: j, memory: m, byKey: map[string]*demandClass{}, without: excluded,
		preempting: map[string]int64{}, preempted: map[string]quantity.Resources{}, refused: refused{unplaced: map[rank]int64{}},
	}
	d.gatherPending()
	d.gatherDisplaced()
	d.gatherDeclared()
	d.classes = pick.Those(d.classes, func(c *demandClass) bool { return c.count() > 0 })
	var all int64
	for _, c := range d.classes {
		c.had = c.count()
		all += c.had
		d.portsMatter = d.portsMatter || len(c.group.Shape.Ports) > 0
	}
	m.Growth = m.Growth.next(all, v.Now)
	slices.SortFunc(d.classes, func(a, b *demandClass) int {
		return cmp.Or(cmp.Compare(b.group.Shape.Priority, a.group.Shape.Priority), strings.Compare(a.group.Key, b.group.Key))
	})
	j.trace.Classes = len(d.classes)
	d.excludeGangs()
	return d
}

// gatherPending adds the pods that wait for a node.
func (d *demand) gatherPending() {
	for g := range d.Snapshot.PendingGroups() {
		d.trace.Objects++
		c := d.class(g)
		c.pods = make([]podRef, 0, g.PendingCount())
		c.nominated = g.Nominated() > 0
		for id, p := range g.Waiting() {
			if !c.nominated {
				c.pods = append(c.pods, podRef{id, p})
				continue
			}
			if _, there := d.Snapshot.State(p.Nominated); there && p.Nominated != "" && !p.NominatedByUs {
				// The scheduler is making room for it by preemption.
				d.outcomes = append(d.outcomes, plan.Outcome{Group: g.Key, Pods: []string{id}, Verdict: plan.OnNode, On: p.Nominated})
				d.preempting[g.Key]++
				d.preempted[p.Nominated] = d.preempted[p.Nominated].Add(p.Shape.Requests)
				continue
			}
			c.pods = append(c.pods, podRef{id, p})
		}
		d.trace.Pods += len(c.pods)
	}
}

func (d *demand) class(g *cluster.Group) *demandClass {
	if c, ok := d.byKey[g.Key]; ok {
		return c
	}
	c := &demandClass{group: g, levels: levels(g.Shape, d.Policy.IgnorePreferences, d.preferNoSchedule())}
	d.byKey[g.Key] = c
	d.classes = append(d.classes, c)
	return c
}

// preferNoSchedule says whether a pool has a taint that only prefers to keep
// pods away.
func (d *demand) preferNoSchedule() bool {
	return slices.ContainsFunc(d.Snapshot.Supply().Pools, func(p cluster.Pool) bool {
		return slices.ContainsFunc(p.Taints, func(t cluster.Taint) bool { return t.Effect == cluster.PreferNoSchedule })
	})
}

// gatherDisplaced adds the pods of nodes that go.
func (d *demand) gatherDisplaced() {
	for _, c := range d.Claims {
		if c.Node == "" {
			continue
		}
		state, ok := d.Snapshot.State(c.Node)
		if !ok || !state.Node.Leaving(&c) {
			continue
		}
		for p := range state.Pods() {
			if p.Pinned || p.Deleting {
				continue
			}
			g, _ := d.Snapshot.GroupOf(p.ID())
			class := d.class(g)
			class.displaced = append(class.displaced, podRef{p.ID(), &p})
			d.trace.Pods++
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
func (d *demand) gatherDeclared() {
	list := d.Snapshot.Workloads()
	since := d.noteProgress(list)
	for i, w := range list {
		d.trace.Objects++
		progress, _ := firstSeen(d.memory.Advanced, w.Kind)
		patience, missing := d.Policy.DeclaredPatience, min(w.Missing, declaredAtOnce)
		if w.Missing == 0 || d.Now.Sub(progress) >= patience || d.Now.Sub(since[i]) >= declaredAtMost*patience {
			continue
		}
		c := d.class(d.Snapshot.GroupFor(w.Namespace, w.Labels, w.Shape))
		c.declared += missing
		c.declaredAt = pick.Earliest(c.declaredAt, since[i])
		d.waitUntil(pick.Earliest(progress.Add(patience), since[i].Add(declaredAtMost*patience)), plan.PlannedPods)
		d.trace.Declared += missing
	}
}

// noteProgress remembers what the workloads lack now, and returns since when
// each has lacked something. A kind of controller has made progress when one of
// its workloads lacks another number than before, and also when it is new or
// lacks nothing any more: then it is not listed now, and all the others may
// still wait for their first turn.
func (d *demand) noteProgress(list []cluster.Workload) (since []time.Time) {
	before, now := d.memory.Declared, d.Now
	seen := make([]Progress, len(list))
	since = make([]time.Time, len(list))
	found := 0
	for i, w := range list {
		seen[i] = Progress{Workload: w.ID(), Missing: w.Missing, Since: now}
		k, known := slices.BinarySearchFunc(before, seen[i].Workload, func(x Progress, id string) int { return strings.Compare(x.Workload, id) })
		if known {
			seen[i].Since = pick.Earliest(before[k].Since, now)
			found++
		}
		if !known || before[k].Missing != w.Missing {
			d.memory.advanced(w.Kind, now)
		}
		since[i] = seen[i].Since
	}
	d.memory.Declared = seen // by workload, as the snapshot lists them
	if found == len(before) {
		return since
	}
	listed := map[string]bool{}
	for _, p := range seen {
		listed[p.Workload] = true
	}
	for _, p := range before {
		if kind, _, _ := strings.Cut(p.Workload, "/"); !listed[p.Workload] {
			d.memory.advanced(kind, now)
		}
	}
	return since
}

// gatherRules builds the table of what pods say about each other, unless no pod
// says anything.
func (d *demand) gatherRules() {
	found, levels := false, 0
	for range d.Snapshot.AntiAffine() {
		found = true
		break
	}
	for _, c := range d.classes {
		levels += len(c.levels)
	}
	list := make([]spread.Class, 0, levels)
	for _, c := range d.classes {
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
	d.trace.Objects += d.Snapshot.NodeCount() // each of them may be in a domain
	table := spread.Build(d.Snapshot, list)
	sought := table.Followed()
	for _, c := range d.classes {
		c.table, c.sought = table, sought
		for _, p := range c.displaced {
			if state, ok := d.Snapshot.State(p.Node); ok {
				c.tell(spread.Place{Name: p.Node, Labels: state.Node.Labels, Taints: state.Node.Taints}, -1)
			}
		}
	}
}

// remaining counts the demand that has no place yet.
func (d *demand) remaining() int64 {
	var n int64
	for _, c := range d.classes {
		n += c.count()
	}
	return n
}

// relax lets every class that has no place yet give up its next preference. It
// returns false where none has another.
func (d *demand) relax() (more bool) {
	for _, c := range d.classes {
		if c.count() > 0 && c.level < c.last() {
			c.level++
			more = true
		}
	}
	return more
}

// putAside takes the declared pods out of the demand.
func (d *demand) putAside() {
	for _, c := range d.classes {
		c.aside, c.declared = c.declared, 0
	}
}

// bringBack puts the declared pods in again, with all their preferences.
func (d *demand) bringBack() {
	for _, c := range d.classes {
		if c.aside > 0 && c.count() == 0 {
			c.level = 0
		}
		c.declared += c.aside
		c.aside = 0
	}
}
