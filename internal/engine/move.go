package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/budget"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/consolidate"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/disrupt"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// A node goes by a supposition: a second plan is made as if the node were going. It is
// carried out instead of the first plan if every pod of the node has a place and, where
// the node goes to save money, what is launched costs less than what goes.

// supposition is nodes that a plan takes away although nothing forces them to go.
type supposition struct {
	going    map[string]plan.DeleteReason // by NodeClaim; see View.Going
	replaces bool                         // see View.Replaces
	emptying map[string]bool              // by node; see View.Emptying
}

const (
	// sweepEvery is the least time between two searches of the fleet.
	sweepEvery = time.Second
	// mostVain is how often that time doubles at most.
	mostVain = 5
	// A search takes about sliceOfWork units of work in a Step, and asks for another Step
	// after sliceEvery.
	sliceOfWork = 2_000_000
	sliceEvery  = 10 * time.Millisecond
	// targetLasts is how long a target is followed before the fleet is searched anew.
	targetLasts = 5 * time.Minute
	// A search is repeated if a greater part of the pods has come or gone meanwhile, but
	// only so often in a row.
	changedPart, mostOutdated = 100, 5
	// heldFor is how long evicted pods hold back other moves at most.
	heldFor = time.Minute
	// landsWithin is how long after a drain its pods may still be on their way.
	landsWithin = time.Second
	// suppositions is how many second plans a Step makes at most.
	suppositions = 4
)

// mover looks for moves that begin in this Step.
type mover struct {
	in       Input
	out      Output
	view     view.View
	judge    *disrupt.Judge
	again    time.Time // see sweep
	settling settling
	late     map[string]string // see unready
}

// withMoves returns the plan with moves that begin now: nodes go that are due, else nodes
// go to save money. The plan comes first: a plan that launches, or is not finished, begins
// no moves.
func withMoves(in Input, out Output) Output {
	out.Memory.sweep = in.Memory.sweep
	if out.Trace.Launches > 0 {
		out.Memory.sweep.calm.launches(podsOn(in.Snapshot), in.Now)
	}
	v := in.view()
	out.Memory.sweep.watch(in, v, out)
	if !out.Trace.Complete || out.Trace.Launches > 0 || in.Policy.CloudAway {
		return out
	}
	m := &mover{in: in, out: out, view: v, late: unready(v)}
	m.judge = m.newJudge()
	switch saves := slices.ContainsFunc(in.Snapshot.Supply().Pools, func(p cluster.Pool) bool { return disrupt.MaySave(&p) }); {
	case m.renew():
	case saves:
		m.save()
	default:
		m.out.Memory.sweep.target = target{}
	}
	m.out.Plan.Actions = slices.Concat(m.out.Plan.Actions, m.out.Memory.sweep.marked().preferences(m.view))
	return m.out
}

// save begins moves that save money.
func (m *mover) save() {
	s := &m.out.Memory.sweep
	if m.underWay() {
		return
	}
	if was := len(s.target.names); was > 0 {
		if s.target.names = pick.Those(s.target.names, m.stands); len(s.target.names) == 0 {
			tell(m, "all %d nodes that were to go are going or have to stay", was)
			s.target = target{places: s.target.places}
		}
	}
	if len(s.target.names) == 0 && len(m.view.Going) == 0 {
		s.target = target{} // until then, its places are those of pods of nodes that go
	}
	if len(s.target.names) == 0 && s.whole.next(m) {
		return
	}
	if len(s.target.names) == 0 || !m.in.Now.Before(s.at.Add(targetLasts)) {
		if !m.search() {
			return
		}
	}
	m.begin()
}

// stands says whether the NodeClaim is there and may still go.
func (m *mover) stands(name string) bool {
	c, there := m.view.Snapshot.Claim(name)
	return there && m.may(&c)
}

// may says whether the node of the NodeClaim may go to save money. An empty node goes by
// the rules for empty nodes. If it may later, the
// plan asks for another Step.
func (m *mover) may(c *cluster.Claim) bool {
	pool, known := m.view.Snapshot.Pool(c.Pool)
	node, up := m.view.Snapshot.Node(c.Node)
	if !known || !up || !disrupt.MaySave(&pool) || node.Disrupted || m.view.IsGoing(c.Name) || c.Move != nil || !m.view.RunsPods(*c) {
		return false
	}
	if m.late[c.Pool] != "" {
		return false
	}
	if at, quiet := m.judge.Quiet(c, &pool); !quiet {
		m.later(at)
		return false
	}
	if until, held := m.out.Memory.sweep.breakers.held(c.Pool, m.in.Now); held {
		m.later(until)
		return false
	}
	if at, restored := memory.FirstSeen(m.out.Memory.Restored, c.Name); restored {
		m.later(at.Add(memory.StaysFor))
		return false
	}
	stays, until := m.judge.Stays(c, plan.Underutilized)
	switch {
	case until.IsZero():
	case stays.Reason == plan.PodSettles:
		m.settling = m.settling.with(until)
	default:
		m.later(until)
	}
	return stays.Reason == ""
}

// tell notes for the record what the search for savings did.
func tell(m *mover, format string, about ...any) {
	m.out.Trace.Savings = fmt.Sprintf(format, about...)
}

// later notes that a node may go at the time that may not go now.
func (m *mover) later(at time.Time) {
	if m.again.IsZero() || at.Before(m.again) {
		m.again = at
	}
	m.wait(at, plan.QuietLongEnough)
}

// wait asks for another Step at the time, if the plan does not ask for an earlier one.
func (m *mover) wait(at time.Time, why plan.WaitReason) {
	m.out.Plan.Actions = waiting(m.out.Plan.Actions, at, why)
}

// waiting returns the actions with a Wait until the time, unless they ask for an earlier
// Step.
func waiting(actions []plan.Action, at time.Time, why plan.WaitReason) []plan.Action {
	for i, a := range actions {
		if w, is := a.(plan.Wait); is {
			if at.Before(w.Until) {
				actions = slices.Clone(actions)
				actions[i] = plan.Wait{Until: at, Why: why}
			}
			return actions
		}
	}
	return append(slices.Clip(actions), plan.Wait{Until: at, Why: why})
}

// search looks for nodes to take away in the whole fleet, if something has changed since
// the last search, a slice in each Step. It says whether there is a target. The fleet may
// change between slices: what is begun is checked by a second plan.
func (m *mover) search() bool {
	s := &m.out.Memory.sweep
	if s.search == nil {
		if early := s.again.IsZero() || m.in.Now.Before(s.again); s.of.Same(m.in.Snapshot) && len(s.target.names) == 0 && !s.at.IsZero() && early {
			m.waitAgain()
			return false
		}
		s.pace.sees(m.in.Snapshot, m.in.Now)
		if look(m) {
			return len(s.target.names) > 0
		}
		if until, held := s.pace.held(m.in.Now); held && len(s.target.names) == 0 {
			s.calm.uneasy = time.Time{} // nobody waits for calm
			m.wait(until, plan.NextSweep)
			return false
		}
		if next := s.at.Add(s.pause(m.in.Snapshot)); m.in.Now.Before(next) {
			m.wait(next, plan.NextSweep)
			return len(s.target.names) > 0
		}
		if !m.calm() {
			return len(s.target.names) > 0
		}
		m.again, m.settling = time.Time{}, settling{}
		s.search, s.of, s.at, s.whole.queue = consolidate.Begin(m.question()), m.in.Snapshot, m.in.Now, nil
		if !m.settling.first.IsZero() {
			m.later(m.settling.over())
		}
		s.again, s.moving = m.again, s.search.Moving
		s.seen = seen{doubt: doubtful(m), eager: s.pace.eager(m.in.Now)}
		s.seen.keep(s.search)
		tell(m, "search of %d nodes begins, %d pods run", len(s.search.Nodes), podsOn(m.in.Snapshot))
	}
	next, finished := s.search.Go(sliceOfWork)
	if finished && s.outdated < mostOutdated && s.changed(m.in.Snapshot) {
		s.outdated++
		s.search = nil
		tell(m, "search is repeated: many pods have come or gone")
		m.wait(m.in.Now.Add(sliceEvery), plan.NextSweep)
		return len(s.target.names) > 0
	}
	var found target
	if finished {
		s.outdated = 0
		found = aim(m.in.Snapshot, pick.Those(next.Result(), m.stands), next.Alike, next.Places())
		if q, more := m.askMore(next, found); more {
			next, finished = consolidate.Begin(q), false
			s.seen.keep(next)
		}
	}
	if !finished {
		s.search = next
		m.wait(m.in.Now.Add(sliceEvery), plan.NextSweep)
		return len(s.target.names) > 0
	}
	s.whole = s.whole.after(next, m.in.Policy.WholeTries)
	if s.search, s.target = nil, found; len(found.names) == 0 {
		m.waitAgain()
	}
	tell(m, "search ends: %d nodes are to go", len(found.names))
	return len(s.target.names) > 0
}

// calm says whether no pod has come or gone for a while, and nothing was launched, or the
// wait for that is over. If not, the plan asks for another Step.
func (m *mover) calm() bool {
	until, is := m.out.Memory.sweep.calm.is(podsOn(m.in.Snapshot), m.in.Now)
	if !is {
		m.wait(until, plan.QuietLongEnough)
	}
	return is
}

// waitAgain asks for a Step when another node may go.
func (m *mover) waitAgain() {
	if at := m.out.Memory.sweep.again; !at.IsZero() {
		m.wait(at, plan.QuietLongEnough)
	}
}

func (m *mover) question() consolidate.Question {
	q := terms(m)
	q.Nodes = m.nodes()
	q.Alike = !disrupt.Closes(m.view) && slices.ContainsFunc(q.Nodes, func(n consolidate.Node) bool {
		return consolidate.Ratio(&n.State.Node) != consolidate.Ratio(&q.Nodes[0].State.Node)
	})
	return q
}

// askMore says whether the fleet is searched once more after a search that has found the
// target, and with which question. Where pods are to stay on nodes like theirs and no node
// can go, they may go anywhere; where new nodes have to save more and none can go, as much
// as ever.
func (m *mover) askMore(done *consolidate.Search, found target) (q consolidate.Question, more bool) {
	q = *done.Question
	switch none := len(found.names) == 0; {
	case none && q.Alike:
		q.Alike, more = false, true
	case none && q.Share == drainedShare && q.Share > m.in.Policy.MoveShare:
		m.out.Memory.sweep.pace.filled, q.Share, more = true, m.in.Policy.MoveShare, true
	}
	return q, more
}

// nodes returns the nodes that the search is about.
func (m *mover) nodes() (out []consolidate.Node) {
	balances, ledger, most := balancesOf(m.view), budget.Open(m.view), map[string]int64{}
	for _, p := range m.in.Snapshot.Supply().Pools {
		most[p.Name], _ = ledger.Most(p.Name, plan.Underutilized)
	}
	for state := range m.in.Snapshot.States() {
		if x, is := nodeOf(m, state); is {
			c := m.view.ClaimOf(state)
			x.Least, x.May, x.Most = balances[c.Pool].least(state), x.May && m.may(&c), most[c.Pool]
			out = append(out, x)
		}
	}
	return out
}

// mostReplaced is how many nodes one move replaces at most.
const mostReplaced = 12

// begin lets as many nodes of the target's present phase go as the budgets allow and a
// second plan confirms: those whose pods have places on nodes that stay; in the last
// phase, if there are none, some that new nodes replace.
func (m *mover) begin() {
	ledger := budget.Open(m.view)
	t := &m.out.Memory.sweep.target
	x := supposition{going: map[string]plan.DeleteReason{}, emptying: t.nodes(m.in.Snapshot)}
	var chosen []string
	held := false
	with, inTurn := togetherOf(m.view), ""
	choose := func(c *cluster.Claim) {
		ledger.Charge(c.Pool)
		m.judge.Promise(c)
		chosen = append(chosen, c.Name)
		x.going[c.Name] = plan.Underutilized
	}
	for _, name := range t.names {
		if c, _ := m.view.Snapshot.Claim(name); t.present(m.in.Snapshot, name) {
			_, allowed := ledger.Allows(c.Pool, plan.Underutilized)
			if !allowed || m.judge.Turn(&c, plan.Underutilized).Reason != "" {
				held = true
				continue
			}
			if state, up := m.in.Snapshot.State(c.Node); up && !with.add(state) {
				inTurn = cmp.Or(inTurn, name)
				continue
			}
			choose(&c)
		}
	}
	if len(chosen) == 0 && inTurn != "" {
		c, _ := m.view.Snapshot.Claim(inTurn)
		choose(&c)
	}
	if len(chosen) == 0 && held {
		m.awaitBudget(ledger)
		return
	}
	if len(t.ratios) > 0 {
		for state := range m.in.Snapshot.States() {
			if t.fillsLater(&state.Node) {
				x.emptying[state.Node.Name] = true
			}
		}
	}
	if m.remove(x) {
		m.out.Memory.sweep.begins(m.in.Now)
		return
	}
	if len(t.ratios) > 0 {
		t.ratios = t.ratios[1:]
		m.wait(m.in.Now.Add(sliceEvery), plan.NextSweep)
		return
	}
	if m.replaceSome(chosen, plan.Underutilized, x) {
		m.out.Memory.sweep.begins(m.in.Now)
		return
	}
	// There is something that the search did not know, as a budget.
	t.names = pick.Those(t.names, func(name string) bool { return !slices.Contains(chosen, name) })
	tell(m, "%d nodes that were to go have to stay, %d are left", len(chosen), len(t.names))
	if len(t.names) == 0 {
		m.out.Memory.sweep.vain++
	}
}

// underWay says whether pods are being evicted, or evicted pods may not have found their
// places yet. Until they have, the room that is seen is not what is left, and nothing
// begins to go. A drain that takes long does not count.
func (m *mover) underWay() bool {
	s := &m.out.Memory.sweep
	if slices.ContainsFunc(m.view.Claims, func(c *cluster.Claim) bool {
		n, up := m.in.Snapshot.Node(c.Node)
		return up && (c.Disrupting != nil || n.Disrupted) && (!c.Leaving() || m.view.RunsPods(*c))
	}) {
		s.busy = m.in.Now
	}
	if !m.out.Memory.Landing.Since.IsZero() {
		s.busy = m.in.Now
	}
	if s.busy.IsZero() || !m.in.Now.Before(s.busy.Add(landsWithin)) {
		s.held = time.Time{}
		return false
	}
	if s.held.IsZero() {
		s.held = m.in.Now
	}
	if !m.in.Now.Before(s.held.Add(heldFor)) {
		return false
	}
	m.wait(pick.Earliest(s.busy.Add(landsWithin), s.held.Add(heldFor)), plan.QuietLongEnough)
	return true
}

// awaitBudget asks for another Step when the window of a budget opens or closes.
func (m *mover) awaitBudget(ledger *budget.Ledger) {
	if at := ledger.Changes(); !at.IsZero() {
		m.wait(at, plan.BudgetToOpen)
	}
}

// suppose returns the plan in which the nodes go.
func (m *mover) suppose(x supposition) Output {
	in := m.in
	in.Memory.derived, in.Memory.cursor, in.Memory.sweep.target = m.out.Memory.derived, nil, m.out.Memory.sweep.target
	out := planned(cursor{in: in, try: 1, excluded: map[string]bool{}, suppose: x}, 1<<30)
	out.Memory.sweep, out.Trace.Looked, out.Trace.Savings = m.out.Memory.sweep, m.out.Trace.Looked, m.out.Trace.Savings
	return out
}

// remove lets nodes go whose pods have places on nodes that stay, and says whether there
// are any. A node of which a pod has no place stays.
func (m *mover) remove(x supposition) bool {
	x.going = maps.Clone(x.going)
	for range suppositions {
		if len(x.going) == 0 {
			return false
		}
		out := m.suppose(x)
		if m.harms(out) {
			return false
		}
		stays := false
		for name := range maps.Clone(x.going) {
			c, _ := m.view.Snapshot.Claim(name)
			if out.stay[c.Node] {
				delete(x.going, name)
				stays = true
			}
		}
		switch {
		case !stays && out.Trace.Launches == 0:
			m.out = out
			return true
		case !stays:
			return false // the next plan would be the same
		}
	}
	return false
}

// harms says whether pods of nodes that are going already lack a place in the second
// plan that they have in the first.
func (m *mover) harms(second Output) bool {
	for node := range second.stay {
		n, _ := m.view.Snapshot.Node(node)
		if m.view.IsGoing(n.Claim) && !m.out.stay[node] {
			return true
		}
	}
	return false
}

// replaceSome replaces as many of the NodeClaims' nodes as one move may, those first in
// the list, else half as many and so on, for the reason. It says whether it replaces any.
func (m *mover) replaceSome(names []string, why plan.DeleteReason, x supposition) bool {
	x.replaces = true
	for size := min(len(names), mostReplaced); size > 0; size /= 2 {
		x.going = map[string]plan.DeleteReason{}
		for _, name := range names[:size] {
			x.going[name] = why
		}
		if m.replace(names[:size], why, x) {
			return true
		}
	}
	return false
}

// replace lets the nodes go if the plan finds places for their pods. If they go to save
// money, these must cost less. It says whether the nodes go.
func (m *mover) replace(names []string, why plan.DeleteReason, x supposition) bool {
	out := m.suppose(x)
	saving := why == plan.Underutilized
	var frees quantity.Money
	spot := false
	var sources []cluster.Source
	for _, name := range names {
		c, _ := m.view.Snapshot.Claim(name)
		frees = frees.Add(m.view.LeastCostOf(c))
		sources, spot = append(sources, cluster.Source{Claim: name, UID: c.UID}), spot || c.CapacityType == label.Spot
	}
	cost := out.Plan.Cost.Add(out.Plan.Extra.Total())
	saves := frees - cost
	if !out.Trace.Complete || m.harms(out) || m.stay(names, out) || out.Trace.Launches == 0 || !disrupt.Asked(why) && holdsLaunch(m, out.Plan.Actions) {
		return false
	}
	if saving && (saves < leastOf(m.view, names) || saves < cost/1000*quantity.Money(m.in.Policy.MoveShare)) {
		return false
	}
	move := cluster.Move{Reason: string(why), Sources: sources, Deadline: deadline(m.in)}
	slices.SortFunc(move.Sources, func(a, b cluster.Source) int { return strings.Compare(a.Claim, b.Claim) })
	actions, launched := slices.Clone(out.Plan.Actions), 0
	for i, a := range actions {
		l, is := a.(plan.Launch)
		if !is {
			continue
		}
		if saving && spot && l.CapacityType == label.Spot {
			return false
		}
		y := move
		y.ID, y.Index, y.Count = fmt.Sprintf("%016x", m.in.Seed), launched, out.Trace.Launches
		launched++
		l.Move = &y
		actions[i] = l
	}
	if saving && !cheaper(out.Memory.derived.fleet, actions, frees) {
		return false
	}
	out.Plan.Actions = actions
	m.out = out
	return true
}

// deadline returns when a move that begins now is over also if its sources are still there.
// Its replacements have twice the RegistrationTimeout to become ready, and then the sources
// have it once more.
func deadline(in Input) time.Time { return in.Now.Add(3 * in.Policy.RegistrationTimeout) }

// stay says whether one of the NodeClaims' nodes has a pod without a place.
func (m *mover) stay(names []string, out Output) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		c, _ := m.view.Snapshot.Claim(name)
		return out.stay[c.Node]
	})
}
