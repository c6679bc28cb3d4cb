package moves

import (
	"fmt"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/budget"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/consolidate"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/disrupt"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/static"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// A node is deleted when no gate holds. The gates are one list: a Step asks it to decide,
// and Standings asks it to explain. What a user has set, and what lasts, comes before what
// ends by itself, so that the first gate that holds is what somebody can act on.
//
// Of facts about the node, its pods and its pool that keep it whatever it is to be deleted for,
// disrupt.Judge.Stays decides, which disruptionStays asks. Steps ask it without the gates where
// nobody chooses: of empty nodes, and of nodes that are announced. A gate of its own has only
// what concerns the choice of nodes, or saving money.
//
// About empty nodes package disrupt decides in each plan, by the rule that toRetire asks. Of
// nodes that wait for a replacement (toReplace) or that the search has not chosen (toSave),
// the gates only explain what others have decided.

// gate is one reason for which nodes stay.
type gate struct {
	// at is the stage that the gate belongs to. Steps ask the gates of toChoose, toBegin and
	// toFollow, and Standings those of every stage.
	at stage
	// keeps says why the node stays, and until when if time alone may change that. The
	// reason is empty where the gate does not hold.
	keeps func(*candidate) plan.Stay
	// slow gates look at each pod of the node. A search asks them last.
	slow bool
}

// stage is a part of the way of a node to its deletion.
type stage int

const (
	// toChoose is before nodes are chosen: the search, or the list of those that are due, has
	// only nodes for which these gates do not hold.
	toChoose stage = iota
	// toRetire is before an empty node is announced.
	toRetire
	// toBegin is before the removal of a chosen node begins, when others begin in the
	// same Step.
	toBegin
	// toReplace is before new nodes are launched for pods of a node that is due.
	toReplace
	// toSave is what the search of the fleet says about nodes that are deleted to save
	// money.
	toSave
	// toFollow is before a node is deleted that the search has chosen.
	toFollow
)

// ordered returns the gates in their order.
func ordered() []gate {
	return []gate{
		{toRetire, (*candidate).empty, false},          // all that keeps an empty node but drains and budgets
		{toChoose, (*candidate).replaces, false},       // it replaces nodes that have not gone yet
		{toChoose, (*candidate).ofStaticPool, false},   // its static pool keeps as many nodes
		{toChoose, (*candidate).disruptionStays, true}, // state, pauses, annotations, pods and PodDisruptionBudgets
		{toChoose, (*candidate).policy, false},         // its pool's consolidationPolicy
		{toChoose, (*candidate).quiet, false},          // consolidateAfter
		{toChoose, (*candidate).price, false},          // nobody knows what it saves
		{toChoose, (*candidate).replicasLate, false},   // a drain of the pool waits for replicas that do not get ready
		{toChoose, (*candidate).breaker, false},        // moves of the pool went wrong lately
		{toReplace, (*candidate).breakerOfDue, false},  // moves of the pool went wrong lately
		{toChoose, (*candidate).triedLately, false},    // it was to go lately and could not
		{toBegin, (*candidate).awaitsDrains, false},    // PodDisruptionBudgets, beside nodes that go already
		{toBegin, (*candidate).budget, false},          // budgets of the pool
		{toReplace, (*candidate).limit, false},         // limits.nodes of its static pool
		{toReplace, (*candidate).replacement, false},   // nothing can be launched in its place
		{toSave, (*candidate).searched, false},         // the fleet has changed since the last search
		{toSave, (*candidate).tried, false},            // only a plan for it alone could say
		{toSave, (*candidate).pays, false},             // no cheaper place for its pods
		{toSave, (*candidate).landing, false},          // evicted pods find their places first
		{toFollow, (*candidate).phase, false},          // nodes of other memory ratios are deleted first
	}
}

// gates is what the gates look at.
type gates struct {
	list     []gate
	view     view.View
	memory   *memory.Memory
	state    *State
	judge    *disrupt.Judge
	opened   *budget.Ledger    // see ledger
	late     map[string]string // see unready
	refusals map[string]string // by static NodePool: why it can launch nothing; see replacement
	balances map[string]*balance
	balanced bool   // whether balances are known
	delay    *delay // of the next search; nil where that is not known yet
}

// newGates returns the gates for a view. What is begun in the Step is charged to the ledger
// and promised to the judge.
func newGates(v view.View, m *memory.Memory, s *State) *gates {
	g := &gates{list: ordered(), view: v, memory: m, state: s, judge: disrupt.NewJudge(v, m), late: unready(v), refusals: map[string]string{}}
	for _, c := range v.Claims {
		// Nodes that others are to replace and that are not announced yet: no more moves
		// begin than the PodDisruptionBudgets of their pods allow.
		if v.IsGoing(c.Name) && c.Disrupting == nil && !c.Leaving() {
			g.judge.Promise(c)
		}
	}
	return g
}

// ledger returns what the budgets allow. Most Steps do not ask.
func (g *gates) ledger() *budget.Ledger {
	if g.opened == nil {
		g.opened = budget.Open(g.view)
	}
	return g.opened
}

// begins notes that the removal of the NodeClaim's node begins.
func (g *gates) begins(c *cluster.Claim) {
	g.ledger().Charge(c.Pool)
	g.judge.Promise(c)
}

// balance returns the balance of the NodeClaim's pool; see balancesOf.
func (g *gates) balance(c *cluster.Claim) *balance {
	if !g.balanced {
		g.balances, g.balanced = balancesOf(g.view), true
	}
	return g.balances[c.Pool]
}

// minSaving is what must be saved an hour for the node of the NodeClaim to be deleted, if its
// pods move to nodes that run.
func (g *gates) minSaving(c *cluster.Claim) quantity.Money {
	state, up := g.view.Snapshot.State(c.Node)
	if !up {
		return g.view.Policy.LeastSaving
	}
	moving := consolidate.MoveCost(max(g.view.Policy.PodMove, g.state.moving), state.EvictionCost())
	return max(g.view.Policy.LeastSaving, g.balance(c).minSaving(state)).Add(moving)
}

// candidate is a node that may be deleted for a reason.
type candidate struct {
	gates *gates
	claim *cluster.Claim
	pool  cluster.Pool
	why   plan.DeleteReason
	due   bool // it is deleted whatever that costs

	cost          quantity.Money // of the whole node, an hour; see price
	priced, known bool
}

// candidate returns the node of the NodeClaim as one that is deleted for the reason.
func (g *gates) candidate(c *cluster.Claim, why plan.DeleteReason, due bool) *candidate {
	pool, _ := g.view.Snapshot.Pool(c.Pool)
	return &candidate{gates: g, claim: c, pool: pool, why: why, due: due}
}

// saving returns the node of the NodeClaim as one that is deleted to save money.
func (g *gates) saving(c *cluster.Claim) *candidate { return g.candidate(c, plan.Underutilized, false) }

// saves says whether the node is deleted only to save money, with pods that move.
func (x *candidate) saves() bool { return x.why.Traits().EvictsToSave() }

// keeps returns why the node stays, by the first gate of the stages that holds. The reason
// is empty if none holds.
func (g *gates) keeps(x *candidate, stages ...stage) plan.Stay {
	for _, gate := range g.list {
		if slices.Contains(stages, gate.at) {
			if s := gate.keeps(x); s.Reason != "" {
				return s
			}
		}
	}
	return plan.Stay{}
}

// excludes says why the search leaves the node out. It asks what is cheap first, and notes
// the latest time until which something does; none where something does without end.
func (g *gates) excludes(x *candidate) (stays plan.Stay) {
	for _, slow := range []bool{false, true} {
		for _, gate := range g.list {
			if gate.at != toChoose || gate.slow != slow {
				continue
			}
			s := gate.keeps(x)
			if s.Reason != "" && s.Until.IsZero() {
				return s
			}
			if s.Until.After(stays.Until) {
				stays = s
			}
		}
		if stays.Reason != "" {
			return stays
		}
	}
	return stays
}

func (x *candidate) empty() plan.Stay { return x.gates.judge.KeepsEmpty(x.claim) }

func (x *candidate) replaces() plan.Stay {
	if x.claim.Move == nil {
		return plan.Stay{}
	}
	return plan.Stay{Reason: plan.Replaces, Detail: x.claim.Move.ID}
}

func (x *candidate) ofStaticPool() plan.Stay {
	if !x.pool.Static || x.due || !x.claim.Initialized {
		return plan.Stay{}
	}
	return plan.OfStatic(x.pool.Name, x.pool.Replicas)
}

func (x *candidate) disruptionStays() plan.Stay {
	s, until := x.gates.judge.Stays(x.claim, x.why)
	s.Until = until
	return s
}

func (x *candidate) policy() plan.Stay {
	if x.saves() && !disrupt.MaySave(&x.pool) {
		return plan.Stay{Reason: plan.PolicyForbids}
	}
	return plan.Stay{}
}

// quiet is for how long the node has had the same pods.
func (x *candidate) quiet() plan.Stay {
	if x.saves() {
		if at, quiet := x.gates.judge.Quiet(x.claim, &x.pool); !quiet {
			return plan.Stay{Reason: plan.NotQuiet, Until: at}
		}
	}
	return plan.Stay{}
}

func (x *candidate) price() plan.Stay {
	if x.saves() {
		if _, known := x.costs(); !known {
			return plan.Stay{Reason: plan.NoPrice}
		}
	}
	return plan.Stay{}
}

// costs returns what the whole node costs an hour, and whether anybody knows. It is looked up
// once for the search and the gates.
func (x *candidate) costs() (cost quantity.Money, known bool) {
	if !x.priced {
		x.cost, x.known = x.gates.view.CostOf(*x.claim)
		x.priced = true
	}
	return x.cost, x.known
}

// evicts says whether the daemon alone wants the node deleted, and pods are evicted for
// that.
func (x *candidate) evicts() bool { t := x.why.Traits(); return !t.Empty && !t.Asked }

func (x *candidate) replicasLate() plan.Stay {
	if node := x.gates.late[x.claim.Pool]; node != "" && x.evicts() {
		return plan.Stay{Reason: plan.MovesHeld, Detail: node}
	}
	return plan.Stay{}
}

func (x *candidate) breaker() plan.Stay {
	if x.saves() {
		return x.breakerOpen()
	}
	return plan.Stay{}
}

// breakerOfDue holds a node that is due only where new nodes come for it.
func (x *candidate) breakerOfDue() plan.Stay {
	if x.due && x.evicts() {
		return x.breakerOpen()
	}
	return plan.Stay{}
}

func (x *candidate) breakerOpen() plan.Stay {
	if until, open := x.gates.state.breakers.open(x.claim.Pool, x.gates.view.Now); open {
		return plan.Stay{Reason: plan.MovesHeld, Until: until}
	}
	return plan.Stay{}
}

// triedLately does not say what kept the node then: what still keeps it, other gates say.
func (x *candidate) triedLately() plan.Stay {
	if at, restored := memory.FirstSeen(x.gates.memory.Restored, x.claim.Name); restored && x.why.Traits().Budgets && !x.why.Traits().Empty {
		return plan.Stay{Reason: plan.TriedLately, Until: at.Add(memory.StaysFor)}
	}
	return plan.Stay{}
}

func (x *candidate) awaitsDrains() plan.Stay { return x.gates.judge.AwaitsDrains(x.claim, x.why) }

// budget names the budget that is used up. It says until when only for a budget with
// windows: nobody knows how long nodes about to be deleted take.
func (x *candidate) budget() plan.Stay {
	if !x.why.Traits().Budgets { // the user asked for it
		return plan.Stay{}
	}
	full, allowed := x.gates.ledger().Allows(x.claim.Pool, x.why)
	switch {
	case allowed:
		return plan.Stay{}
	case full == nil:
		return plan.Stay{Reason: plan.BudgetUsed, Detail: fmt.Sprintf("%q", x.claim.Pool)}
	}
	return plan.Stay{Reason: plan.BudgetUsed, Detail: fmt.Sprintf("%q (%s)", x.claim.Pool, plan.DescribeBudget(&full.Budget)), Until: full.Until}
}

func (x *candidate) limit() plan.Stay {
	if x.pool.Static && x.why.Traits().Budgets && static.Full(x.gates.view, &x.pool) {
		return plan.Stay{Reason: plan.LimitFull, Detail: x.claim.Pool}
	}
	return plan.Stay{}
}

// replacement says why the static pool of the node can launch no node. A node that is due
// waits for the one that replaces it.
func (x *candidate) replacement() plan.Stay {
	if !x.pool.Static || !x.due || !x.why.Traits().Budgets {
		return plan.Stay{}
	}
	refusal, known := x.gates.refusals[x.pool.Name]
	if !known {
		remembered := *x.gates.memory
		if launch, why := static.NewLauncher(x.gates.view, &remembered, &journal.Journal{}, 0).One(x.pool); launch == nil {
			refusal = why.String()
		}
		x.gates.refusals[x.pool.Name] = refusal
	}
	if refusal == "" {
		return plan.Stay{}
	}
	return plan.Stay{Reason: plan.NoReplacement, Detail: refusal}
}

// isTarget says whether the search has chosen the node.
func (x *candidate) isTarget() bool {
	return slices.Contains(x.gates.state.target.names, x.claim.Name)
}

func (x *candidate) searched() plan.Stay {
	s := x.gates.state
	if !x.saves() || x.isTarget() || s.search == nil && s.of.Same(x.gates.view.Snapshot) && !slices.Contains(s.whole.queue, x.claim.Name) {
		return plan.Stay{}
	}
	if x.gates.delay == nil {
		d := s.expected(x.gates.view)
		x.gates.delay = &d
	}
	return plan.Stay{Reason: plan.NotSearched, Detail: x.gates.delay.says, Until: x.gates.delay.until}
}

func (x *candidate) tried() plan.Stay {
	if _, waits := slices.BinarySearch(x.gates.state.whole.left, x.claim.Name); waits && x.saves() && !x.isTarget() {
		return plan.Stay{Reason: plan.NotTried}
	}
	return plan.Stay{}
}

func (x *candidate) pays() plan.Stay {
	if !x.saves() || x.isTarget() {
		return plan.Stay{}
	}
	cost, _ := x.costs()
	reason := plan.NoSaving
	if x.claim.CapacityType == label.Spot {
		reason = plan.SpotForSpot
	}
	detail := fmt.Sprintf("the node costs %s an hour, and a move must save at least %s an hour", cost.Dollars(), x.gates.minSaving(x.claim).Dollars())
	if h := x.gates.state.horizon; h > 0 && h < x.gates.view.Policy.PayBack {
		detail += fmt.Sprintf("; moves have to pay back within %s, because the demand has changed so fast in the last hours", h.Round(time.Second))
	}
	if x.gates.view.StandsIn(*x.claim) {
		detail += "; its price stands in for one that nobody knows, so no new node takes its place to save money"
	}
	return plan.Stay{Reason: reason, Detail: detail}
}

// landing is while evicted pods have not found their places.
func (x *candidate) landing() plan.Stay {
	if !x.saves() {
		return plan.Stay{}
	}
	later := *x.gates.state
	_, most, ok := later.underWay(x.gates.view, x.gates.lands())
	if !ok {
		return plan.Stay{}
	}
	return plan.Stay{Reason: plan.NextToGo, Detail: "evicted pods find their places first", Until: most}
}

// lands says whether nodes are closed for evicted pods.
func (g *gates) lands() bool { return g.memory.Landing.UnderWay() }

func (x *candidate) phase() plan.Stay {
	if !x.saves() || x.gates.state.target.present(x.gates.view.Snapshot, x.claim.Name) {
		return plan.Stay{}
	}
	return plan.Stay{Reason: plan.NextToGo, Detail: "nodes with more or less memory for each CPU are deleted first"}
}
