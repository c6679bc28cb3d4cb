package consolidate

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Node is a node of the fleet that runs.
type Node struct {
	State *cluster.NodeState
	Claim string
	Free  quantity.Resources
	Price quantity.Money // of the whole node, an hour; 0 where it is not ours or has no price
	// StandIn says that the price of the instance stands in for one that nobody knows. To take
	// the node away saves money for sure, and to replace it may not.
	StandIn   bool
	Deletable bool           // it may be deleted
	MinSaving quantity.Money // what a move must save for each node that it takes away, an hour; beside Question.MinSaving
	Pool      string
	Most      int64 // how many nodes of its pool may be deleted at once by its budgets; 0 for any number, or none now
}

// Question is a fleet to search.
type Question struct {
	Nodes  []Node // by name
	Fleet  *offer.Fleet
	Seed   uint64
	Trials int // at most
	// MinSaving is what each node that is deleted must save, an hour. Moving a pod costs each
	// hour as much as the average pod is worth in MoveTime of it, and PerPod at least; a new
	// node costs its price in MoveTime beside its price.
	MinSaving, PerPod quantity.Money
	MoveTime          time.Duration
	// LargestMilliCPU is the size beyond which no new node is looked at; 0 is no limit.
	LargestMilliCPU int64
	// SpotToSpot allows to replace spot nodes by spot nodes.
	SpotToSpot bool
	// Left is how many nodes each capacity reservation has room for, by id.
	Left map[string]int64
	// Alike keeps pods that move on nodes of the Ratio of theirs, and on new nodes.
	Alike bool
}

// packing is what a trial packs on new nodes. A copy of a search has its own.
type packing struct {
	// counts and best are pods of each part that is being packed: in the row that is
	// looked at, and in the best so far.
	counts, best []int64
	wanted       []wanted // the parts
	rest         []part   // what has no place on nodes that run
	content      []part   // of the node that is opened
}

// Search is a search that is made in slices. A Search is a value that Go does not change.
type Search struct {
	*Question
	*shadow
	rows []*offer.Row
	packing
	queue  queue // of the first round
	order  []int // the nodes that run and may be deleted, the most wasteful first
	done   int   // trials, those of the first round included
	failed int   // trials since the shadow was last the cheapest of all
	// total is what all trials together save, an hour, and highest the most that it has been;
	// zero until a trial has saved something.
	// loss is what a trial may lose.
	total, highest, loss int64
	mean                 quantity.Money // price of a node
	bound                quantity.Money // the least that any fleet for these pods costs, an hour
	// Moving is what moving an ordinary pod costs; see Question.PerPod.
	Moving quantity.Money
}

// Begin begins the search.
func Begin(q Question) *Search { return PricesOf(q).Begin(q.MoveTime) }

// Prices are what CPU, memory and the nodes of a fleet cost, before a search of it begins.
type Prices struct{ s *Search }

// PricesOf returns the prices of the fleet. What moves cost is not known yet.
func PricesOf(q Question) Prices {
	s := &Search{Question: &q}
	s.shadow = newShadow(s.Question)
	if q.Fleet != nil {
		s.rows = goodRows(q.Fleet, q.LargestMilliCPU)
		s.kinds.fresh = make([]int32, len(s.rows)*len(q.Fleet.Zones))
		s.lambda()
	}
	for i := range s.nodes {
		s.mean += s.nodes[i].price / quantity.Money(len(s.nodes))
	}
	return Prices{s}
}

// CouldSave returns how many pods run on the nodes that could be saved at most, were moves free
// of charge: what the fleet costs above its lower bound, at what a pod costs on average. The
// bound knows CPU and memory only; nodes that must stay cannot be saved.
func (p Prices) CouldSave() (pods int64) {
	var cost, deletable quantity.Money
	for i := range p.s.nodes {
		n := &p.s.nodes[i]
		if n.price > 0 {
			cost, pods = cost+n.price, pods+n.pods
		}
		if n.Deletable {
			deletable += n.price
		}
	}
	saving := max(0, min(deletable, cost-p.s.bound))
	return quantity.MulDiv(pods, int64(saving), int64(max(1, cost)))
}

// Begin begins the search, with moves that cost what so much of each hour does, in place of
// Question.MoveTime.
func (p Prices) Begin(each time.Duration) *Search {
	n, q := *p.s, *p.s.Question
	n.Question, q.MoveTime = &q, each
	priceMoves(&n)
	n.order = n.candidates()
	return &n
}

const (
	// A small fleet has fewer trials than Question.Trials: trialsPerNode for each node that may
	// be deleted, and moreTrials once the search has found something.
	trialsPerNode = 50
	moreTrials    = 600
	// If at most smallFleet nodes may be deleted, Question.Trials counts smallFactor times,
	// as each trial takes less; the more may be deleted, the fewer times, down to once.
	smallFleet  = 200
	smallFactor = 4
	// mostFailed is how many trials in a row may be without success before the search ends.
	mostFailed = 2_000
)

// A search that has found something keeps trials that cost more, at first up to this much of
// the mean price of a node, in thousandths, then less, and in the last third of the trials
// none.
const mostLoss = 100

// mayLose returns what the trial may lose. A large fleet has too few trials for detours.
func mayLose(s *Search, drawn int) int64 {
	most := s.most()
	if s.highest == 0 || most < trialsPerNode*len(s.order) {
		return 0
	}
	return max(0, quantity.MulDiv(int64(s.mean)*mostLoss/1000, int64(most*2/3-drawn), int64(most)))
}

// most is how many trials there are at most beside those of the first round.
func (s *Search) most() int {
	perNode := trialsPerNode
	if s.highest > 0 {
		perNode = moreTrials
	}
	most := s.Trials
	if n := len(s.order); n < smallFactor*smallFleet {
		most = most * smallFactor * smallFleet / max(n, smallFleet)
	}
	return min(most, perNode*len(s.order))
}

// nodesPerUnit is how many nodes a unit of work looks at where it looks at all of them.
const nodesPerUnit = 16

// Advance returns the search after about so many units of work more, and whether it is
// finished. A unit is a look at one node, or at one kind of new nodes, for pods of one
// class. First each node is tried alone, without new nodes, in an order that keeps what
// is scarce. Then follow the trials.
func (s *Search) Advance(work int) (next *Search, finished bool) {
	if len(s.order) == 0 {
		return s, true
	}
	n := *s
	n.shadow, n.packing = s.shadow.clone(), packing{}
	for end := n.work + work; n.work < end; n.done++ {
		drawn := n.done - len(n.order)
		switch {
		case drawn >= n.most() || n.failed >= mostFailed && n.loss == 0:
			return &n, true
		case drawn < 0:
			if i := n.next(); i >= 0 {
				n.nodes[i].tried = true
				n.takeAway(i)
				n.queue.taken = n.judge(n.placeAll(false))
				n.highest = n.total
			}
		default:
			n.loss = mayLose(&n, drawn)
			if n.trial(uint64(drawn)); n.total > n.highest {
				n.highest, n.failed = n.total, 0
			} else {
				n.failed++
			}
		}
	}
	return &n, false
}

// Result returns the NodeClaims to delete: those first that waste the most for what
// moving their pods costs. All pods of all of them fit on the nodes that stay and on new
// nodes that cost less.
func (s *Search) Result() (out []string) {
	if s.total <= 0 {
		return nil // a detour ended where nothing is saved
	}
	for _, i := range s.order {
		if s.nodes[i].removed {
			out = append(out, s.nodes[i].Claim)
		}
	}
	return out
}

// Places returns, by kind, the nodes that stay and take pods of deleted nodes, and how many
// pods of the kind they run in the end.
func (s *Search) Places() map[string][]view.Place {
	out := map[string][]view.Place{}
	for i := range s.nodes {
		n := &s.nodes[i]
		if n.removed || n.Node == nil || len(n.guests) == 0 {
			continue
		}
		most := map[string]int64{}
		for _, p := range n.guests {
			most[s.classes[p.class].group.Kind] += p.n
		}
		for kind, pods := range most {
			out[kind] = append(out[kind], view.Place{Node: n.State.Node.Name, Most: n.State.CountOf(kind) + pods})
		}
	}
	return out
}

// candidates returns the nodes that may be deleted, those that waste the most for what
// moving them costs first.
func (s *Search) candidates() []int {
	var order []int
	for i := range s.nodes {
		if n := &s.nodes[i]; n.Deletable && s.sellable(n) {
			order = append(order, i)
		}
	}
	s.sortByWaste(order)
	return order
}
