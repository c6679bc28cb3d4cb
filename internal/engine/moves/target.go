package moves

import (
	"cmp"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/consolidate"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/static"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Where an evicted pod lands, the scheduler decides, and it likes the emptiest node best,
// whatever mixture of pods suits that node. If all nodes that stay filled at the same
// time, some would run out of CPU and others of memory, and a tenth of the fleet would
// have to stay that the target does without. So a large target is carried out in phases:
// the nodes of one memory ratio are deleted, and meanwhile a preference keeps their pods
// off nodes of other ratios. Nodes whose pods find no room that way wait for the last
// phase, in which all nodes take all pods.

// target is the nodes that are to be deleted, as the last search says.
type target struct {
	names  []string // NodeClaims whose removal has not begun, those first that save most
	ratios []int    // of the phases that are left but the last one; the first is the present one
	places map[string][]view.Place
}

const (
	// A target has phases if it is at least leastPhased nodes and one of phasedPart of the
	// fleet: less does not fill a fleet unevenly, and is not worth a taint on each node.
	leastPhased = 8
	phasedPart  = 20
)

// aim returns the target with these NodeClaims. If the search has kept their pods on nodes
// of like ratio, a large target has phases: the most numerous ratio is deleted first.
func aim(s cluster.Snapshot, names []string, alike bool, places map[string][]view.Place) target {
	t := target{names: names, places: places}
	if !alike || len(names) < leastPhased || len(names)*phasedPart < s.NodeCount() {
		return t
	}
	count := map[int]int{}
	for _, name := range names {
		count[ratioOf(s, name)]++
	}
	for r := range count {
		t.ratios = append(t.ratios, r)
	}
	slices.SortFunc(t.ratios, func(a, b int) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
	return t
}

// ratioOf returns the ratio of the NodeClaim's node.
func ratioOf(s cluster.Snapshot, claim string) int {
	c, _ := s.Claim(claim)
	n, _ := s.Node(c.Node)
	return consolidate.Ratio(&n)
}

// present says whether the NodeClaim's turn has come.
func (t *target) present(s cluster.Snapshot, claim string) bool {
	return len(t.ratios) == 0 || ratioOf(s, claim) == t.ratios[0]
}

// fillsLater says whether pods are kept off the node in the present phase.
func (t *target) fillsLater(n *cluster.Node) bool {
	return len(t.ratios) > 0 && consolidate.Ratio(n) != t.ratios[0]
}

// nodes names the nodes of the target.
func (t *target) nodes(s cluster.Snapshot) map[string]bool {
	if len(t.names) == 0 {
		return nil
	}
	out := map[string]bool{}
	for _, name := range t.names {
		if c, there := s.Claim(name); there {
			out[c.Node] = true
		}
	}
	return out
}

// Emptying names the nodes that are to be deleted next: those of the target, and surplus
// nodes of static pools.
func (s *State) Emptying(v view.View) map[string]bool {
	out := s.target.nodes(v.Snapshot)
	for _, c := range static.Surplus(v) {
		if out == nil {
			out = map[string]bool{}
		}
		out[c.Node] = true
	}
	return out
}

// Places says where pods of nodes of the target are to run; see View.Places.
func (s *State) Places() map[string][]view.Place { return s.target.places }

// preferences returns the changes that keep pods away by preferences: from the nodes of
// the target, and from nodes that fill later. A node of the target has both preferences
// then: a pod that finds room on neither kind does not have to move twice.
func (t *target) preferences(v view.View) (out []plan.Action) {
	next := t.nodes(v.Snapshot)
	change := func(c *cluster.Claim) {
		n, up := v.Snapshot.Node(c.Node)
		if !up || !n.TakesPods(c) {
			return
		}
		a := plan.Release{Node: n.Name, NodeUID: n.UID}
		want := func(taint cluster.Taint, yes bool) {
			switch has := slices.Contains(n.Taints, taint); {
			case yes && !has:
				a.Puts = append(a.Puts, taint)
			case has && !yes:
				a.Lifts = append(a.Lifts, taint)
			}
		}
		want(room.LeavesNext(), next[n.Name])
		want(room.FillsLater(), t.fillsLater(&n) || next[n.Name] && len(t.ratios) > 0)
		if len(a.Puts)+len(a.Lifts) > 0 {
			out = append(out, a)
		}
	}
	if len(t.ratios) > 0 {
		for c := range v.Snapshot.EachClaim() {
			change(c)
		}
		return out
	}
	// Nodes with a preference need attention.
	for _, c := range v.Claims {
		if !next[c.Node] {
			change(c)
		}
	}
	for _, name := range t.names {
		c, _ := v.Snapshot.Claim(name)
		change(&c)
	}
	return out
}
