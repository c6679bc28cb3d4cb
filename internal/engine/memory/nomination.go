package memory

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

const (
	// RefusedAtMost is how often the scheduler refuses pods of a class on a node
	// before the node is left out.
	RefusedAtMost = 3
	// refusalGap is the least time between two refusals that count. The scheduler
	// clears a nomination each time an attempt fails, which happens several times
	// within a second while nodes open.
	refusalGap = time.Second
	// LeftOutFor is how long a node is left out. The cluster changes meanwhile.
	LeftOutFor = 10 * time.Minute
	// LeftOutAtMost is how many nodes are left out for one class at a time. Where
	// the scheduler refuses a class on more nodes, the cause lies with the pods: yet
	// another node would cost money and be refused as well.
	LeftOutAtMost = 3
)

// Nomination is the last nomination of a pod of a class for a node that is open, and
// how often the scheduler has refused pods of the class there: it cleared a
// nomination and did not bind the pod.
type Nomination struct {
	Class   string // kind of the group
	Node    string
	Pod     string    // namespace/name
	Shown   bool      // a snapshot showed the nomination
	Refused int       // times
	At      time.Time // of the first nomination, then of the last refusal
	Until   time.Time // the node is left out for the class; zero where it is not
}

func (x Nomination) compare(o Nomination) int {
	return cmp.Or(strings.Compare(x.Class, o.Class), strings.Compare(x.Node, o.Node))
}

// LeftOut returns until when the node is left out for the class, if it is.
func (m *Memory) LeftOut(class, node string) (until time.Time, yes bool) {
	i, found := slices.BinarySearchFunc(m.Nominations, Nomination{Class: class, Node: node}, Nomination.compare)
	if !found {
		return time.Time{}, false
	}
	return m.Nominations[i].Until, !m.Nominations[i].Until.IsZero()
}

// LeftOutFrom lists what is left out from now on.
func (m *Memory) LeftOutFrom(now time.Time) (out []plan.LeftOut) {
	for _, x := range m.Nominations {
		if x.Until.Equal(now.Add(LeftOutFor)) {
			out = append(out, plan.LeftOut{Pod: x.Pod, Node: x.Node, Times: x.Refused, Until: x.Until})
		}
	}
	return out
}

// Nominated notes that the pod is nominated for a node that is open.
func (m *Memory) Nominated(class, node, pod string, now time.Time) {
	x := Nomination{Class: class, Node: node, Pod: pod, At: now}
	i, found := slices.BinarySearchFunc(m.Nominations, x, Nomination.compare)
	if !found {
		m.Nominations = slices.Insert(m.Nominations, i, x)
		return
	}
	m.Nominations[i].Pod, m.Nominations[i].Shown = pod, false
}

// countRefusals returns the nominations after a look at their pods, without those that
// are over. A node that is left out stays so after it is deleted: the next one for
// the class may be refused as well.
func (m *Memory) countRefusals(s cluster.Snapshot, now time.Time) []Nomination {
	if len(m.Nominations) == 0 {
		return nil
	}
	classes, leftOut := map[string]bool{}, map[string]int{}
	for g := range s.Groups() {
		classes[g.Kind] = true
	}
	list := pick.Those(m.Nominations, func(x Nomination) bool { return classes[x.Class] && x.lasts(s, now) })
	for _, x := range list {
		if !x.Until.IsZero() {
			leftOut[x.Class]++
		}
	}
	for i := range list {
		x := &list[i]
		x.countRefusal(s, now)
		if x.Until.IsZero() && x.Refused >= RefusedAtMost && leftOut[x.Class] < LeftOutAtMost {
			x.Until = now.Add(LeftOutFor)
			leftOut[x.Class]++
		}
	}
	return list
}

// lasts says whether the nomination is worth remembering: the node is left out, or
// the pod still waits for it. A pod that was bound was not refused.
func (x Nomination) lasts(s cluster.Snapshot, now time.Time) bool {
	if !x.Until.IsZero() {
		return now.Before(x.Until)
	}
	_, up := s.Node(x.Node)
	p, there := s.Pod(x.Pod)
	return up && there && p.Node == "" && !p.Deleting
}

// countRefusal counts a refusal where the scheduler has cleared a nomination that was seen.
func (x *Nomination) countRefusal(s cluster.Snapshot, now time.Time) {
	x.At = pick.Earliest(x.At, now)
	p, _ := s.Pod(x.Pod)
	switch {
	case p.Nominated != "":
		x.Shown = p.Nominated == x.Node && p.NominatedByUs
	case x.Shown && p.Unschedulable:
		x.Shown = false
		if !now.Before(x.At.Add(refusalGap)) {
			x.Refused, x.At = x.Refused+1, now
		}
	}
}
