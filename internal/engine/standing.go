package engine

import (
	"fmt"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/budget"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/disrupt"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/static"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Standings says of every NodeClaim why its node stays or goes, of every NodePool why no
// more of its nodes go, and which moves have begun. The input is that of the last Step,
// with the memory that the Step returned. Standings decides nothing.
func Standings(in Input) plan.Standings {
	s := newStandings(in)
	out := plan.Standings{Moves: s.begun(), Target: s.target()}
	nodes := map[string][]plan.Standing{} // by NodePool
	for c := range s.Snapshot.EachClaim() {
		x := s.of(c)
		out.Nodes, nodes[c.Pool] = append(out.Nodes, x), append(nodes[c.Pool], x)
	}
	for _, p := range s.Snapshot.Supply().Pools {
		out.Pools = append(out.Pools, s.pool(&p, nodes[p.Name]))
	}
	return out
}

func newStandings(in Input) *standings {
	in.Policy = in.Policy.WithDefaults()
	v := in.view()
	s := &standings{
		View: v, memory: &in.Memory, judge: disrupt.NewJudge(v, &in.Memory.Memory), ledger: budget.Open(v), balances: balancesOf(v),
		late: unready(v), due: map[string]disrupt.Due{}, moves: map[string]string{}, next: map[string]bool{}, refusals: map[string]string{},
	}
	list, _ := disrupt.Overdue(v)
	for _, d := range list {
		s.due[d.Claim.Name] = d
	}
	for _, c := range v.Claims {
		for _, x := range v.SourcesOf(c) {
			s.moves[x.Name] = c.Move.ID
		}
	}
	for _, name := range in.Memory.sweep.target.names {
		s.next[name] = true
	}
	return s
}

type standings struct {
	view.View
	memory   *Memory
	judge    *disrupt.Judge
	ledger   *budget.Ledger
	balances map[string]*balance    // by NodePool; see balancesOf
	late     map[string]string      // see unready
	due      map[string]disrupt.Due // by NodeClaim
	moves    map[string]string      // ids by source
	next     map[string]bool        // NodeClaims of the target
	refusals map[string]string      // by static NodePool: why it can launch nothing; see nothingFor
}

func (s *standings) of(c *cluster.Claim) plan.Standing {
	out := plan.Standing{Claim: c.Name, ClaimUID: c.UID, Node: c.Node, Pool: c.Pool, Move: s.moves[c.Name], Lost: s.lost(c)}
	out.Price, _ = s.PriceOf(*c)
	switch {
	case c.Deleting:
		out.Goes = plan.DeletedAlready
	case c.Interruption != nil:
		out.Goes = plan.Interrupted
	case s.IsGoing(c.Name):
		out.Goes = s.Going[c.Name]
	default:
		out.Stay, out.For = s.stay(c)
		if !c.ExpiresAt.IsZero() && !s.Now.Before(c.ExpiresAt) {
			out.Overdue = c.ExpiresAt
		}
	}
	return out
}

// lost names the pods of the node that nothing creates anew.
func (s *standings) lost(c *cluster.Claim) (out []string) {
	if state, up := s.Snapshot.State(c.Node); up {
		for p := range state.Pods() {
			if p.Lost() {
				out = append(out, p.ID())
			}
		}
	}
	return out
}

// stay says why the node stays, and what it would go for.
func (s *standings) stay(c *cluster.Claim) (plan.Stay, plan.DeleteReason) {
	why, due := s.reason(c)
	if len(s.SourcesOf(c)) > 0 {
		return plan.Stay{Reason: plan.Replaces, Detail: c.Move.ID}, why
	}
	pool, _ := s.Snapshot.Pool(c.Pool)
	if pool.Static && !due && c.Initialized {
		return plan.KeptBy(pool.Name, pool.Replicas), ""
	}
	if stays, until := s.judge.Stays(c, why); stays.Reason != "" {
		stays.Until = until
		return stays, why
	}
	if !due {
		if stays := s.mayNotSave(c, why); stays.Reason != "" {
			return stays, why
		}
	}
	return s.waits(c, &pool, why, due), why
}

// reason says what the node goes for, and whether it goes whatever that costs.
func (s *standings) reason(c *cluster.Claim) (why plan.DeleteReason, due bool) {
	if d, is := s.due[c.Name]; is {
		return d.Why, true
	}
	if s.RunsPods(*c) {
		return plan.Underutilized, false
	}
	return plan.Empty, false
}

// waits says what a node waits for that may go.
func (s *standings) waits(c *cluster.Claim, pool *cluster.Pool, why plan.DeleteReason, due bool) plan.Stay {
	if stays := s.judge.Turn(c, why); stays.Reason != "" {
		return stays
	}
	if why == plan.Surplus {
		return plan.Stay{Reason: plan.NextToGo} // no budget bounds it
	}
	sweep := &s.memory.sweep
	searched := sweep.search == nil && sweep.of.Same(s.Snapshot) && !slices.Contains(sweep.whole.queue, c.Name)
	if node := s.late[c.Pool]; node != "" && why != plan.Empty && !disrupt.Asked(why) {
		return plan.Stay{Reason: plan.MovesHeld, Detail: node}
	}
	if until, held := sweep.breakers.held(c.Pool, s.Now); held && why != plan.Empty && !disrupt.Asked(why) && (due || s.next[c.Name] || !searched) {
		return plan.Stay{Reason: plan.MovesHeld, Until: until}
	}
	// What kept the node is not remembered; what still keeps it has been said before.
	if at, restored := memory.FirstSeen(s.memory.Restored, c.Name); restored {
		return plan.Stay{Reason: plan.TriedLately, Until: at.Add(memory.StaysFor)}
	}
	if full, allowed := s.ledger.Allows(c.Pool, why); !allowed {
		return budgetUsed(c.Pool, full)
	}
	if pool.Static && static.Full(s.View, pool) {
		return plan.Stay{Reason: plan.LimitFull, Detail: c.Pool}
	}
	if pool.Static && due {
		if refusal, none := s.nothingFor(pool); none {
			return plan.Stay{Reason: plan.NoReplacement, Detail: refusal}
		}
	}
	if due || why == plan.Empty {
		return plan.Stay{Reason: plan.NextToGo}
	}
	switch {
	case s.next[c.Name]:
		return plan.Stay{Reason: plan.NextToGo}
	case !searched:
		until, _ := sweep.pace.held(s.Now)
		return plan.Stay{Reason: plan.NotSearched, Until: until}
	}
	if _, waits := slices.BinarySearch(sweep.whole.left, c.Name); waits {
		return plan.Stay{Reason: plan.NotTried}
	}
	cost, _ := s.CostOf(*c)
	reason := plan.NoSaving
	if c.CapacityType == label.Spot {
		reason = plan.SpotForSpot
	}
	detail := fmt.Sprintf("the node costs %s an hour, and to remove it must save %s of that", cost.Dollars(), s.least(c).Dollars())
	if s.StandsIn(*c) {
		detail += "; its price stands in for one that nobody knows, so no new node takes its place to save money"
	}
	return plan.Stay{Reason: reason, Detail: detail}
}

// nothingFor says why the static pool can launch no node, if so. A node that is due waits
// for the one that replaces it.
func (s *standings) nothingFor(pool *cluster.Pool) (refusal string, none bool) {
	refusal, looked := s.refusals[pool.Name]
	if !looked {
		remembered := s.memory.Memory
		if launch, why := static.NewLauncher(s.View, &remembered, &journal.Journal{}, 0).One(*pool); launch == nil {
			refusal = why.String()
		}
		s.refusals[pool.Name] = refusal
	}
	return refusal, refusal != ""
}

// budgetUsed names the budget that is used up. It says until when only for a budget with
// windows: nobody knows when nodes that are going will have gone.
func budgetUsed(pool string, full *budget.Refusal) plan.Stay {
	if full == nil {
		return plan.Stay{Reason: plan.BudgetUsed, Detail: fmt.Sprintf("%q", pool)}
	}
	return plan.Stay{Reason: plan.BudgetUsed, Detail: fmt.Sprintf("%q (%s)", pool, plan.DescribeBudget(&full.Budget)), Until: full.Until}
}

// least is what must be saved an hour for the node to go, if its pods go to nodes that run.
func (s *standings) least(c *cluster.Claim) quantity.Money {
	return leastSaving(s.View, &s.memory.sweep, s.balances, c)
}

// mayNotSave says which setting keeps the node from going to save money.
func (s *standings) mayNotSave(c *cluster.Claim, why plan.DeleteReason) plan.Stay {
	pool, _ := s.Snapshot.Pool(c.Pool)
	node, _ := s.Snapshot.Node(c.Node)
	_, known := s.PriceOf(*c)
	since, quiet := s.judge.Quiet(c, &pool)
	switch {
	case pool.Disruption.Never || why == plan.Underutilized && !disrupt.MaySave(&pool):
		return plan.Stay{Reason: plan.PolicyForbids}
	case node.Stays:
		return plan.Stay{Reason: plan.NodeStays}
	case why == plan.Underutilized && !quiet:
		return plan.Stay{Reason: plan.NotQuiet, Until: since}
	case why == plan.Empty:
		at, empty := memory.FirstSeen(s.memory.EmptySince, c.Name)
		switch end := at.Add(pool.Disruption.After); {
		case !empty:
			return plan.Stay{Reason: plan.NotQuiet}
		case s.Now.Before(end):
			return plan.Stay{Reason: plan.NotQuiet, Until: end}
		}
	case !known:
		return plan.Stay{Reason: plan.NoPrice}
	}
	return plan.Stay{}
}
