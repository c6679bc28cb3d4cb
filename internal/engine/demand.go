package engine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// demandClass is the demand of one shape. Pods come first, then the displaced,
// then the declared: real pods take room before those that may yet come.
type demandClass struct {
	key       string
	shape     cluster.Shape
	pods      []cluster.Pod // pending, oldest first
	displaced []cluster.Pod // bound to a node that goes
	declared  int64         // replicas that do not exist yet
}

func (c demandClass) count() int64 {
	return int64(len(c.pods)+len(c.displaced)) + c.declared
}

// gatherDemand collects what needs room, by shape.
func (s *step) gatherDemand() {
	byKey := map[string]*demandClass{}
	class := func(shape cluster.Shape) *demandClass {
		key := shape.Key()
		c, ok := byKey[key]
		if !ok {
			c = &demandClass{key: key, shape: shape}
			byKey[key] = c
		}
		return c
	}
	for _, p := range s.in.Snapshot.Pods() {
		if p.Pinned || p.Deleting {
			continue
		}
		switch {
		case p.Node == "" && p.Nominated != "" && !p.NominatedByUs:
			// The scheduler is making room for it by preemption.
			s.outcomes = append(s.outcomes, plan.Outcome{Pod: p.ID(), Verdict: plan.OnNode, On: p.Nominated})
		case p.Node == "":
			c := class(p.Shape)
			c.pods = append(c.pods, p)
			s.trace.Pods++
		case s.goes(p.Node):
			c := class(p.Shape)
			c.displaced = append(c.displaced, p)
			s.trace.Pods++
		}
	}
	s.gatherDeclared(class)
	for _, c := range byKey {
		slices.SortFunc(c.pods, byAge)
		s.classes = append(s.classes, *c)
	}
	slices.SortFunc(s.classes, func(a, b demandClass) int {
		return cmp.Or(cmp.Compare(b.shape.Priority, a.shape.Priority), strings.Compare(a.key, b.key))
	})
	s.trace.Classes = len(s.classes)
}

// gatherDeclared adds the replicas that controllers have declared, for as long
// as the controller makes progress.
func (s *step) gatherDeclared(class func(cluster.Shape) *demandClass) {
	var seen []Progress
	for _, w := range s.in.Snapshot.Workloads() {
		if w.Missing == 0 {
			continue
		}
		p := Progress{Workload: w.ID(), Missing: w.Missing, At: s.in.Now}
		i := slices.IndexFunc(s.in.Memory.Declared, func(x Progress) bool { return x.Workload == p.Workload })
		if i >= 0 && s.in.Memory.Declared[i].Missing == w.Missing {
			p.At = s.in.Memory.Declared[i].At
		}
		seen = append(seen, p)
		if s.in.Now.Sub(p.At) >= s.in.Policy.DeclaredPatience {
			continue
		}
		class(w.Shape).declared += w.Missing
		s.trace.Declared += w.Missing
	}
	s.memory.Declared = seen
}

// goes says whether the node's pods will need another place: it is being
// deleted, or the cloud takes it.
func (s *step) goes(node string) bool {
	n, ok := s.in.Snapshot.Node(node)
	if !ok || n.Claim == "" {
		return false // not ours to replace
	}
	c, ok := s.in.Snapshot.Claim(n.Claim)
	return n.Deleting || ok && (c.Deleting || c.Interruption != nil)
}

func byAge(a, b cluster.Pod) int {
	return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID(), b.ID()))
}

// earliest returns the earlier of two times, of which a zero one does not count.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
