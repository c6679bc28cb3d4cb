package demand

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/topology"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Demand is what needs room in one try of a Step, and what has become of it so far.
type Demand struct {
	view.View
	*journal.Journal
	memory *memory.Memory

	Classes []*Class // in the order of before
	byKey   map[string]*Class
	gangs   []gang          // sorted by id
	without map[string]bool // gangs that are not tried any more, by id

	preempting  map[string]int64 // by group: pods for which the scheduler is making room
	PortsMatter bool             // a class asks for host ports

	Refused Refused
}

// Gather returns the demand by group. Gangs in the set of excluded ids get no room.
func Gather(v view.View, m *memory.Memory, j *journal.Journal, excluded map[string]bool) *Demand {
	d := &Demand{
		View: v, Journal: j, memory: m, byKey: map[string]*Class{}, without: excluded,
		preempting: map[string]int64{}, Refused: Refused{unplaced: map[rank]int64{}},
	}
	d.gatherPending()
	d.gatherDisplaced()
	d.gatherDeclared()
	d.Classes = pick.Those(d.Classes, func(c *Class) bool { return c.Count() > 0 })
	var all int64
	for _, c := range d.Classes {
		c.Had = c.Count()
		all += c.Had
		d.PortsMatter = d.PortsMatter || len(c.Group.Shape.Ports) > 0
	}
	m.Growth = m.Growth.Next(all, v.Now)
	slices.SortFunc(d.Classes, before)
	j.Trace.Classes = len(d.Classes)
	d.excludeGangs()
	return d
}

// before orders classes by who takes room first: those of higher priority, of these
// those that need devices, of these the larger. What is small finds room beside
// what is large, and seldom the other way round.
func before(a, b *Class) int {
	x, y := &a.Group.Shape, &b.Group.Shape
	return cmp.Or(cmp.Compare(y.Priority, x.Priority), cmp.Compare(cluster.Devices(y.Requests), cluster.Devices(x.Requests)),
		cmp.Compare(price.Bulk(y.Requests), price.Bulk(x.Requests)), strings.Compare(a.Group.Key, b.Group.Key))
}

// gatherPending adds the pods that wait for a node.
func (d *Demand) gatherPending() {
	for g := range d.Snapshot.PendingGroups() {
		d.Trace.Objects++
		c := d.class(g)
		c.Pods = make([]PodRef, 0, g.PendingCount())
		c.Nominated = g.Nominated() > 0
		for id, p := range g.Waiting() {
			if !c.Nominated {
				c.Pods = append(c.Pods, PodRef{id, p})
				continue
			}
			if d.Expected(p) {
				// The scheduler is making room for it by preemption, or is about to bind it.
				verdict := plan.OnNode
				if p.Unschedulable {
					verdict = plan.Preempting
				}
				d.Outcomes = append(d.Outcomes, plan.Outcome{Group: g.Key, Pods: []string{id}, Verdict: verdict, On: p.Nominated})
				d.preempting[g.Key]++
				continue
			}
			c.Pods = append(c.Pods, PodRef{id, p})
		}
		d.Trace.Pods += len(c.Pods)
	}
}

func (d *Demand) class(g *cluster.Group) *Class {
	if c, ok := d.byKey[g.Key]; ok {
		return c
	}
	c := &Class{Group: g, Levels: Levels(g.Shape, d.Policy.IgnorePreferences, d.preferNoSchedule())}
	d.byKey[g.Key] = c
	d.Classes = append(d.Classes, c)
	return c
}

// preferNoSchedule says whether any pool has a taint with the effect
// PreferNoSchedule.
func (d *Demand) preferNoSchedule() bool {
	return slices.ContainsFunc(d.Snapshot.Supply().Pools, func(p cluster.Pool) bool {
		return slices.ContainsFunc(p.Taints, func(t cluster.Taint) bool { return t.Effect == cluster.PreferNoSchedule })
	})
}

// gatherDisplaced adds the pods of nodes that are leaving, those included that terminate and
// come back: their places are kept until they do. Pods that nothing creates anew need none.
// Then come those of nodes about to be deleted, then those of nodes that are only supposed
// to be.
func (d *Demand) gatherDisplaced() {
	leaving := func(n *cluster.Node, c *cluster.Claim) bool { return n.Leaving(c) }
	d.displacedFrom(leaving, func(p *cluster.Pod) bool { return p.Moves() && !p.Lost() || p.Returns })
	if len(d.Going) == 0 {
		return
	}
	for _, supposed := range [2]bool{false, true} {
		d.displacedFrom(func(n *cluster.Node, c *cluster.Claim) bool {
			return d.IsGoing(c.Name) && !n.Leaving(c) && d.Supposed[c.Name] == supposed
		}, (*cluster.Pod).Moves)
	}
}

func (d *Demand) displacedFrom(from func(*cluster.Node, *cluster.Claim) bool, displaced func(*cluster.Pod) bool) {
	for _, c := range d.Claims {
		if c.Node == "" {
			continue
		}
		state, ok := d.Snapshot.State(c.Node)
		if !ok || !from(&state.Node, c) {
			continue
		}
		for p := range state.Pods() {
			if !displaced(&p) {
				continue
			}
			g, _ := d.Snapshot.GroupOf(p.ID())
			class := d.class(g)
			class.Displaced = append(class.Displaced, PodRef{p.ID(), &p})
			d.Trace.Pods++
		}
	}
}

const (
	// declaredAtMost is how long a declared replica counts at most, in multiples of
	// Policy.DeclaredPatience.
	declaredAtMost = 10
	// declaredAtOnce is how many declared replicas of one workload count at once. A
	// typing error in a replica count must not order a thousand machines before the
	// first pod exists.
	declaredAtOnce = 5_000
)

// gatherDeclared adds the declared replicas that do not exist yet. They count for
// as long as controllers of their kind make progress, because one workload may have
// to wait until the controller has served the others.
func (d *Demand) gatherDeclared() {
	list := d.Snapshot.Workloads()
	since := d.noteProgress(list)
	for i, w := range list {
		d.Trace.Objects++
		progress, _ := memory.FirstSeen(d.memory.Advanced, w.Kind)
		patience, missing := d.Policy.DeclaredPatience, min(w.Missing, declaredAtOnce)
		if w.Missing == 0 || d.Now.Sub(progress) >= patience || d.Now.Sub(since[i]) >= declaredAtMost*patience {
			continue
		}
		c := d.class(d.Snapshot.GroupFor(w.Namespace, w.Labels, w.Shape))
		c.Declared += missing
		c.declaredAt = pick.Earliest(c.declaredAt, since[i])
		d.WaitUntil(pick.Earliest(progress.Add(patience), since[i].Add(declaredAtMost*patience)), plan.PlannedPods)
		d.Trace.Declared += missing
	}
}

// noteProgress remembers how many replicas each workload lacks now, and returns
// since when each has lacked some. A kind of controller has made progress if one of
// its workloads lacks another number than before. A new workload is progress, too.
// So is a workload that is no longer listed because it lacks nothing: all other
// workloads of the kind may still wait for their first turn.
func (d *Demand) noteProgress(list []cluster.Workload) (since []time.Time) {
	before, now := d.memory.Declared, d.Now
	seen := make([]memory.Progress, len(list))
	since = make([]time.Time, len(list))
	found := 0
	for i, w := range list {
		seen[i] = memory.Progress{Workload: w.ID(), Missing: w.Missing, Since: now}
		k, known := slices.BinarySearchFunc(before, seen[i].Workload, func(x memory.Progress, id string) int { return strings.Compare(x.Workload, id) })
		if known {
			seen[i].Since = pick.Earliest(before[k].Since, now)
			found++
		}
		if !known || before[k].Missing != w.Missing {
			d.memory.NoteProgress(w.Kind, now)
		}
		since[i] = seen[i].Since
	}
	d.memory.Declared = seen // in the order of the snapshot: by workload
	if found == len(before) {
		return since
	}
	listed := map[string]bool{}
	for _, p := range seen {
		listed[p.Workload] = true
	}
	for _, p := range before {
		if kind, _, _ := strings.Cut(p.Workload, "/"); !listed[p.Workload] {
			d.memory.NoteProgress(kind, now)
		}
	}
	return since
}

// GatherRules builds the table of rules between pods, and gives it to every class if
// any rule concerns the demand.
func (d *Demand) GatherRules(known *topology.Known) {
	levels := 0
	for _, c := range d.Classes {
		levels += len(c.Levels)
	}
	list := make([]topology.Class, 0, levels)
	for _, c := range d.Classes {
		c.Rules = make([]int, len(c.Levels))
		for i, l := range c.Levels {
			c.Rules[i] = len(list)
			list = append(list, topology.Class{Namespace: c.Group.Namespace, Labels: c.Group.Labels, Shape: l.Shape})
		}
	}
	table := known.Build(d.Snapshot, list, d.Policy.ExactNamespaces, vacated(d)...)
	if table.Empty() {
		return
	}
	d.Trace.Objects += d.Snapshot.NodeCount() // each node may be in a domain
	required := make([]int, len(d.Classes))   // nobody is kept off by what others prefer
	for i, c := range d.Classes {
		required[i] = c.Hard()
	}
	sought, counted := table.Sought(), table.Counted(required)
	for _, c := range d.Classes {
		c.Table, c.sought, c.counted = table, sought, counted
		d.tellRunning(c, c.Displaced, -1)
	}
}

// vacated lists the nodes about to be deleted with pods that are evicted to save money. One node
// at a time may be supposed to be, so that one pod waits for the end of its node. If the node is
// not deleted when a launched one would have to be, or its drain does not get on, a node is
// launched for the pod.
func vacated(d *Demand) (out []topology.Vacated) {
	for _, c := range d.Claims {
		state, up := d.Snapshot.State(c.Node)
		why, leaves := d.Going[c.Name], d.Supposed[c.Name] && len(d.Supposed) == 1 && !d.Replaces
		var until time.Time
		if c.Disrupting != nil && c.Interruption == nil && !c.ReplicasLate {
			until = c.Disrupting.Since.Add(d.Policy.LaunchTimeout)
			why, leaves = plan.DeleteReason(c.Disrupting.Reason), d.Now.Before(until)
		}
		if !up || !leaves || !why.Traits().EvictsToSave() {
			continue
		}
		x := topology.Vacated{Node: c.Node, Alone: state.CountMoving() <= 1, Ends: c.Leaving()}
		if out = append(out, x); x.Alone && x.Ends {
			d.WaitUntil(until, plan.PlannedPods)
		}
	}
	return out
}

// tellRunning tells the rules that the pods count where they run, or with -1 that they
// do not.
func (d *Demand) tellRunning(c *Class, pods []PodRef, sign int64) {
	for _, p := range pods {
		if p.Deleting {
			continue // rules between pods look at it where it is, or not at all
		}
		if state, ok := d.Snapshot.State(p.Node); ok {
			c.Tell(topology.Place{Name: p.Node, Labels: state.Node.Labels, Taints: state.Node.Taints}, sign)
		}
	}
}

// Priorities lists those of the classes at the highest one and below, descending.
// The first is at least the highest.
func (d *Demand) Priorities(highest int32) []int32 {
	out := []int32{highest}
	for _, c := range d.Classes { // by priority, descending
		if p := c.Group.Shape.Priority; p < out[len(out)-1] {
			out = append(out, p)
		}
	}
	return out
}

// Remaining returns how much demand has no place yet.
func (d *Demand) Remaining() int64 {
	var n int64
	for _, c := range d.Classes {
		n += c.Count()
	}
	return n
}

// Relax lets every class of the priority or above that has no place give up its next
// preference. It returns false if no such class has a preference left.
func (d *Demand) Relax(minPriority int32) (more bool) {
	for _, c := range d.Classes {
		if c.Group.Shape.Priority >= minPriority && c.Count() > 0 && c.Level < c.Last() {
			c.Level++
			more = true
		}
	}
	return more
}

// PutAside takes the declared pods out of the demand.
func (d *Demand) PutAside() {
	for _, c := range d.Classes {
		c.aside, c.Declared = c.Declared, 0
	}
}

// BringBack puts the declared pods back that PutAside took out. A class of which
// nothing else is left gets all its preferences back.
func (d *Demand) BringBack() {
	for _, c := range d.Classes {
		if c.aside > 0 && c.Count() == 0 {
			c.Level = 0
		}
		c.Declared += c.aside
		c.aside = 0
	}
}
