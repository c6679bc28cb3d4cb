package moves

import (
	"maps"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/consolidate"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// The search of a large fleet takes many Steps. Where little has changed since the last
// one, what the changes concern is tried first, which takes a part of one Step: each
// node that they may let be deleted is tried alone, and each node that has changed is
// also tried with new nodes for its pods. What else would save money, as sets of nodes,
// the search finds that follows.

// seen is the fleet with which the last search began; see State.of.
type seen struct {
	image     *consolidate.Image // nil where there is none, or the changes since then have been tried
	uncertain []string           // nodes that the image shows otherwise than the snapshot alone
}

const (
	// In a smaller fleet the search itself takes a few Steps.
	largeFleet = 500
	// triedPart is the part of the nodes of which at most the changes are tried.
	triedPart = 50
	// tryWork is for about how many units of work nodes are tried without new nodes, and again
	// with them. What it leaves out is for the search.
	tryWork = 500_000
)

// keep keeps the image of a search that has not run yet.
func (s *seen) keep(search *consolidate.Search) {
	if len(search.Nodes) >= largeFleet {
		s.image = consolidate.ImageOf(search)
	}
}

// uncertainNodes names the nodes about which not only their objects decide: this plan puts pods
// there, or they are to be deleted. They are sorted.
func uncertainNodes(m *mover) (names []string) {
	names = slices.Collect(maps.Keys(m.out.Placed))
	for claim := range m.View.Going {
		c, _ := m.View.Snapshot.Claim(claim)
		names = append(names, c.Node)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// tryChanged decides about the nodes that the changes since the last search concern, once the
// fleet is stable. It says whether the Step ends with that: it has tried them, or waits.
func tryChanged(m *mover) bool {
	s := &m.state
	if s.seen.image == nil {
		return false
	}
	names := slices.Concat(m.View.Snapshot.NodesChanged(s.of), s.seen.uncertain, uncertainNodes(m))
	slices.Sort(names)
	names = slices.Compact(names)
	fewChanged := len(names) > 0 && len(names) <= m.View.Snapshot.NodeCount()/triedPart
	if !fewChanged || s.of.Supply() != m.View.Snapshot.Supply() || !s.seen.image.Of(terms(m)) {
		s.seen = seen{}
		return false
	}
	since := s.stability.unstableSince
	if until, stable := s.stability.reached(m.View.Snapshot.Bound().Pods, m.View.Now); !stable {
		m.wait(until, plan.QuietLongEnough)
		return true
	}
	image := s.seen.image
	s.seen = seen{}
	if found, places := tryEach(m, image, names); found != "" {
		s.target, s.at, s.rests = aim(m.View.Snapshot, []string{found}, false, places), m.View.Now, 0
		return true
	}
	// The search comes as soon as it may, also where pods keep coming and going, unless the
	// fleet rests.
	s.stability.unstableSince = since
	m.wait(m.View.Now.Add(sliceEvery), plan.NextSweep)
	return true
}

// tryEach tries the nodes that the changes of the named nodes concern, since the image was
// made, and returns the NodeClaim of one that may be deleted to save money, with the
// places of its pods; none if there is none.
func tryEach(m *mover, image *consolidate.Image, names []string) (claim string, places map[string][]view.Place) {
	var put []consolidate.Node
	var removed []string
	for _, name := range names {
		state, there := m.View.Snapshot.State(name)
		var x consolidate.Node
		if there {
			c := m.View.ClaimOf(state)
			x, there = nodeOf(m, m.gates.saving(&c), state)
		}
		if there {
			put = append(put, x)
		} else {
			removed = append(removed, name)
		}
	}
	l := image.With(put, removed)
	if l == nil {
		return "", nil
	}
	try := func(names []string, fresh bool) (all bool) {
		limit := l.Work() + tryWork
		for _, name := range names {
			if claim != "" || l.Work() > limit {
				return false
			}
			state, _ := m.View.Snapshot.State(name)
			c := m.View.ClaimOf(state)
			if move := l.Try(name, m.gates.balance(&c).minSaving(state), fresh); move.Pays && m.deletable(m.gates.saving(&c)) {
				claim, places = c.Name, move.Places
			}
		}
		return true
	}
	// What launches nothing comes first.
	concerned := try(l.Concerned(), false)
	m.out.Trace.ChangesTried = try(l.Changed(), true) && concerned || claim != ""
	return claim, places
}

// terms returns the question of a search, but for the nodes and what follows from them. Moves
// cost what they do within the horizon of the last search.
func terms(m *mover) consolidate.Question {
	p := m.View.Policy
	q := consolidate.Question{
		Fleet: movesFleet(m), Seed: m.Seed, Trials: p.SweepTrials, MinSaving: p.LeastSaving, PerPod: p.PodMove,
		MoveTime: m.state.each(p.MoveTime), LargestMilliCPU: p.SoftMaxMilliCPU,
	}
	q.Left = q.Fleet.LeftIn(m.View.Snapshot)
	return q
}

// movesFleet returns the fleet that new nodes for running pods come from. It has the
// variants that these pods ask for, and is the same one as long as it serves.
func movesFleet(m *mover) *offer.Fleet {
	d, variants := &m.out.Derived, offer.VariantsOfAll(m.View.Snapshot)
	supply, cost := m.View.Snapshot.Supply(), m.View.Policy.NodeCost
	if !d.Moves.Serves(supply, variants, cost) {
		d.Moves = offer.Recompile(supply, variants, cost, d.Fleet)
	}
	return d.Moves
}

// nodeOf returns the node of the candidate for a search, and whether it is part of one. A node that takes no
// pods, as it is cordoned or not ready, has no room, and may be deleted as any other. May says only
// that the node is ours and has a price.
func nodeOf(m *mover, of *candidate, state *cluster.NodeState) (x consolidate.Node, ok bool) {
	c, n := of.claim, &state.Node
	if of.pool.Deleting {
		return x, false
	}
	takes := n.TakesPods(c) && n.Ready
	if n.Disrupted || n.Leaving(c) || m.View.IsGoing(c.Name) || c.Name != "" && !c.Initialized || c.Name == "" && !takes {
		return x, false
	}
	x = consolidate.Node{State: state, Claim: c.Name, Pool: c.Pool}
	if takes {
		x.Free = state.Free.Sub(m.out.Placed[n.Name]).Sub(room.MissingDaemons(m.View, state))
		for p := range state.Nominated() {
			x.Free = x.Free.Sub(p.Shape.Requests)
		}
	}
	if c.Name == "" {
		return x, true
	}
	if cost, known := of.costs(); known {
		x.Price, x.Deletable, x.StandIn = cost, true, m.View.StandsIn(*c)
	}
	return x, true
}
