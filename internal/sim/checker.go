package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/sim/machine"
)

const (
	// again is the time in which no replica is to be evicted twice.
	again = 10 * time.Minute
	// undecided is how long a node may be about to be deleted.
	undecided = 15 * time.Minute
)

// checker looks for broken rules: in every plan before any of it is carried out, and in
// the cluster after every event. It counts each broken rule once for each object.
type checker struct {
	r      *run
	seen   map[string]bool
	steady bool // nothing but moves may make the fleet dearer
}

func newChecker(r *run) *checker {
	c := &r.cfg
	grows := len(c.Running.Nodes) == 0 || len(c.Rollouts)+len(c.CronJobs)+len(c.Deaths) > 0
	before := map[string]int64{} // replicas, by workload
	for _, s := range slices.SortedStableFunc(slices.Values(c.Scales), func(a, b Scale) int { return cmp.Compare(a.At, b.At) }) {
		was, scaled := before[s.Workload]
		if !scaled {
			was = r.controllers.named(s.Workload).Replicas
		}
		grows, before[s.Workload] = grows || s.Replicas > was, s.Replicas
	}
	return &checker{r: r, seen: map[string]bool{}, steady: !grows}
}

func (c *checker) broken(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if c.seen[text] {
		return
	}
	c.seen[text] = true
	if c.r.report.Violations++; c.r.report.Violation == "" {
		c.r.report.Violation = fmt.Sprintf("%s: %s", c.r.clock.now, text)
	}
}

// bounded says whether budgets and pods that opted out are asked before the NodeClaim is
// disrupted. A pool that is terminated asks for nothing, nor does what a deleted pool has not
// up yet, nor what has come to the end of its life and has a terminationGracePeriod. Surplus
// nodes of static pools are deleted as a user asked for it; their drains obey what protects
// pods.
func (x *planned) bounded(k cluster.Claim, why plan.DeleteReason) bool {
	traits := why.Traits()
	if traits.WithPool {
		pool, _ := x.snapshot.Pool(k.Pool)
		state, up := x.snapshot.State(k.Node)
		return !pool.Terminate && (k.Initialized || up && state.Busy())
	}
	ends := k.Grace > 0 && !k.ExpiresAt.IsZero() && !x.now.Before(k.ExpiresAt)
	return traits.Budgets && !(traits.Expires && ends)
}

// binds checks that the node, which is closed, has room for the pod and takes it.
func (c *checker) binds(p *pod, n *node) {
	if p.node != nil || p.dead {
		return // bound or deleted since the plan
	}
	closed := c.r.cfg.Policy.WithDefaults().StartupTaint
	others := slices.DeleteFunc(slices.Clone(n.Taints), func(t cluster.Taint) bool { return t == closed })
	_, labels := fit.Labels(p.kind.shape, n.Labels)
	_, kept := cluster.Untolerated(others, p.Shape.Tolerations)
	if n.closed() || kept || !labels || len(others) == len(n.Taints) || !p.Shape.Requests.Fits(n.Allocatable.Sub(n.used)) || conflict(p, n) {
		c.broken("pod %s is bound to node %s, which is open, has no room or does not take the pod", p.ID(), n.Name)
	}
}

// state checks the cluster.
func (c *checker) state() {
	now := date(c.r.clock.now)
	moves := map[string]string{}
	for _, x := range c.r.claims {
		tainted := x.node != nil && x.node.Disrupted
		switch {
		case x.Deleting || x.Interruption != nil:
		case tainted && x.Disrupting == nil:
			c.broken("node %s is tainted, and its nodeclaim does not say why", x.Node)
		case x.Disrupting != nil && now.Sub(x.Disrupting.Since) > undecided:
			c.broken("nodeclaim %s is about to go (%s) for more than %s", x.Name, x.Disrupting.Reason, undecided)
		}
		if m := x.Move; m != nil {
			id := fmt.Sprintf("replacement %d of move %s", m.Index, m.ID)
			if other := moves[id]; other != "" {
				c.broken("nodeclaims %s and %s are both %s", other, x.Name, id)
			}
			moves[id] = x.Name
		}
	}
	c.limits()
	if cost := c.net(); c.steady && cost > c.r.report.Start {
		c.broken("the fleet costs %s, and cost %s at its start", cost.Dollars(), c.r.report.Start.Dollars())
	}
}

func (c *checker) limits() {
	for _, p := range c.r.cfg.Pools {
		for _, l := range p.Limits {
			var used int64
			for _, x := range c.r.claims {
				switch {
				case x.Pool != p.Name:
				case l.Name == "nodes":
					used++
				default:
					used += x.Capacity.Get(l.Name)
				}
			}
			if used > l.Count {
				c.broken("nodepool %s is above its limit of %s", p.Name, l.Name)
			}
		}
	}
}

// net is what the fleet costs without what is about to be deleted.
func (c *checker) net() quantity.Money {
	var sum quantity.Money
	going := map[string]bool{}
	for _, x := range c.r.claims {
		if x.Move != nil {
			for _, s := range x.Move.Sources {
				going[s.UID] = true
			}
		}
	}
	for _, x := range c.r.claims {
		if !x.Deleting && x.Disrupting == nil && !going[x.UID] {
			sum += x.price
		}
	}
	return sum
}

// launched is called before an instance is launched for the NodeClaim.
func (c *checker) launched(x *claim) {
	same := func(o *claim) bool { return o != x && (o.Name == x.Name || o.UID == x.UID) }
	if x.Launched || slices.ContainsFunc(c.r.claims, same) {
		c.broken("nodeclaim %s gets a second instance", x.Name)
	}
}

// evicted is called before a pod is evicted.
func (c *checker) evicted(p *pod, voluntary bool) {
	for _, b := range p.workload.budgets {
		var lacking int64
		for _, w := range b.workloads {
			lacking += w.Replicas
			for _, x := range w.pods {
				if x.Ready {
					lacking--
				}
			}
		}
		if lacking >= b.MaxUnavailable {
			c.broken("pod %s is evicted against the poddisruptionbudget %s", p.ID(), b.Name)
		}
	}
	if !voluntary {
		return
	}
	if p.Protected(date(c.r.clock.now)) {
		c.broken("pod %s must not be disrupted, and is evicted", p.ID())
	}
	if p.evicted >= 0 && c.r.clock.now-p.evicted < again {
		c.r.report.Repeated++
		c.broken("pod %s is evicted %s after the pod before it was", p.ID(), c.r.clock.now-p.evicted)
	}
}

// planned is one plan as the checker sees it.
type planned struct {
	*checker
	snapshot cluster.Snapshot
	now      time.Time
	paused   bool            // by the daemon's setting
	going    map[string]bool // NodeClaims that are charged to the budgets
	byUID    map[string]cluster.Claim
}

// plan checks each prefix of a plan against the snapshot that it was made from.
func (c *checker) plan(in engine.Input, p plan.Plan) {
	if !slices.ContainsFunc(p.Actions, disrupts) {
		return
	}
	x := &planned{checker: c, snapshot: in.Snapshot, now: in.Now, paused: in.Policy.PauseDisruption, going: map[string]bool{}, byUID: map[string]cluster.Claim{}}
	for _, k := range in.Snapshot.Claims() {
		x.byUID[k.UID] = k
		n, _ := in.Snapshot.Node(k.Node)
		if k.Disrupting != nil || k.Leaving() || k.Initialized && (n.Disrupted || n.Deleting || !n.Ready) {
			x.going[k.Name] = true
		}
		if k.Move != nil && !k.Leaving() { // else it replaces nothing any more
			for _, s := range k.Move.Sources {
				x.going[s.Claim] = true
			}
		}
	}
	freed, spent := map[string]quantity.Money{}, map[string]quantity.Money{}
	for _, a := range p.Actions {
		switch a := a.(type) {
		case plan.Launch:
			if a.Move != nil {
				x.move(a, freed, spent)
			}
		case plan.Disrupt:
			x.leave(a.Claim, a.Why)
		case plan.Delete:
			x.leave(a.Claim, a.Why)
		case plan.Nominate, plan.Bind, plan.Release, plan.Close, plan.Restore, plan.Wait:
		}
	}
	for id := range spent {
		if spent[id] >= freed[id] {
			x.broken("move %s frees %s an hour and launches for %s", id, freed[id].Dollars(), spent[id].Dollars())
		}
	}
}

func disrupts(a plan.Action) bool {
	switch a := a.(type) {
	case plan.Launch:
		return a.Move != nil
	case plan.Disrupt, plan.Delete:
		return true
	case plan.Nominate, plan.Bind, plan.Release, plan.Close, plan.Restore, plan.Wait:
	}
	return false
}

// move charges the sources of a move, and adds up what it frees and launches at worst.
func (x *planned) move(l plan.Launch, freed, spent map[string]quantity.Money) {
	why := plan.DeleteReason(l.Move.Reason)
	for _, s := range l.Move.Sources {
		k, ok := x.byUID[s.UID]
		if !ok {
			x.broken("move %s has the source %s, which is gone", l.Move.ID, s.Claim)
			continue
		}
		if !x.going[s.Claim] {
			x.pauses(k, why)
		}
		x.disrupt(s.Claim, why)
		if spent[l.Move.ID] == 0 {
			freed[l.Move.ID] += x.r.priceOf(&claim{Claim: k})
		}
	}
	if !why.Traits().Saves {
		return
	}
	var worst quantity.Money
	c, err := machine.Claim(l, date(0))
	if err != nil {
		x.broken("%v", err)
	}
	for _, o := range x.r.candidates(&claim{Claim: c}) {
		worst = max(worst, o.Of.Price)
	}
	spent[l.Move.ID] += worst
}

// leave checks the next step of a node to its deletion. A pause holds back each, as all
// can be taken back until the deletion.
func (x *planned) leave(name string, why plan.DeleteReason) {
	if k, ok := x.snapshot.Claim(name); ok && !k.Deleting {
		x.pauses(k, why)
	}
	x.disrupt(name, why)
}

// pauses checks that neither the daemon nor the pool pauses what is voluntary.
func (x *planned) pauses(k cluster.Claim, why plan.DeleteReason) {
	pool, _ := x.snapshot.Pool(k.Pool)
	traits := why.Traits()
	switch {
	case pool.Terminate && pool.Deleting: // the user ends it all
	case !traits.Budgets && !(traits.Asked && k.Initialized):
	case traits.WithPool && !x.bounded(k, why):
	case x.paused && traits.Budgets:
		x.broken("nodeclaim %s is disrupted (%s) while disruption is paused", k.Name, why)
	case pool.Disruption.Paused:
		x.broken("nodeclaim %s is disrupted (%s) while nodepool %s is paused", k.Name, why, pool.Name)
	}
}

// youngest is the share of its life, in thousandths, before which no node expires.
const youngest = 900

// reason checks that what is said of the node is so.
func (x *planned) reason(k cluster.Claim, why plan.DeleteReason) {
	pool, _ := x.snapshot.Pool(k.Pool)
	life, age := k.ExpiresAt.Sub(k.Created), x.now.Sub(k.Created)
	switch {
	case why == plan.PoolDeleted && !pool.Deleting:
		x.broken("nodepool %s is not deleted, and nodeclaim %s is disrupted (%s)", pool.Name, k.Name, why)
	case why == plan.Surplus && !x.surplus(k, pool):
		x.broken("nodeclaim %s is not surplus, and is disrupted (%s)", k.Name, why)
	case why == plan.ReplacementUnused && (k.Move == nil || slices.ContainsFunc(x.snapshot.PodsOn(k.Node), func(p cluster.Pod) bool { return p.Moves() })):
		x.broken("nodeclaim %s is no replacement that runs nothing, and is disrupted (%s)", k.Name, why)
	case why == plan.Drifted && k.Drift == nil:
		x.broken("nodeclaim %s has not drifted, and is disrupted (%s)", k.Name, why)
	case why == plan.Expired && (k.ExpiresAt.IsZero() || age < life*youngest/1000):
		x.broken("nodeclaim %s does not expire yet, and is disrupted (%s)", k.Name, why)
	case why == plan.Empty && slices.ContainsFunc(x.snapshot.PodsOn(k.Node), func(p cluster.Pod) bool { return p.Moves() }):
		x.broken("nodeclaim %s has pods, and is disrupted (%s)", k.Name, why)
	case why == plan.Underutilized && (pool.Disruption.Policy == cluster.WhenEmpty || pool.Disruption.Never):
		x.broken("nodepool %s lets no node go that has pods, and nodeclaim %s is disrupted (%s)", pool.Name, k.Name, why)
	case why.Traits().Saves && x.now.Before(k.LastPodEvent.Add(pool.Disruption.After)):
		x.broken("nodeclaim %s is disrupted (%s) %s after its last pod event, before %s have passed", k.Name, why, x.now.Sub(k.LastPodEvent), pool.Disruption.After)
	}
}

// surplus says whether the static pool has more nodes than it is to have, this one among
// them. The node itself may be about to be deleted already.
func (x *planned) surplus(k cluster.Claim, pool cluster.Pool) bool {
	n := int64(0)
	for _, o := range x.byUID {
		if o.Pool == pool.Name && !o.Leaving() && (o.Name == k.Name || !x.going[o.Name]) {
			n++
		}
	}
	return pool.Static && n > pool.Replicas
}

// disrupt checks that the node of the NodeClaim may be disrupted.
func (x *planned) disrupt(name string, why plan.DeleteReason) {
	k, ok := x.snapshot.Claim(name)
	if !ok || k.Deleting {
		return
	}
	if !x.bounded(k, why) {
		x.reason(k, why)
		x.going[name] = true
		return
	}
	begins := !x.going[name]
	if begins {
		x.going[name] = true
		x.budgets(k, why)
		x.reason(k, why)
	}
	n, _ := x.snapshot.Node(k.Node)
	traits := why.Traits()
	if n.Protected(x.now) || n.Stays && traits.Saves {
		x.broken("node %s opted out, and is disrupted (%s)", n.Name, why)
	}
	if !traits.PodsKeep(k.Grace) {
		return
	}
	for _, p := range x.snapshot.PodsOn(k.Node) {
		if p.Moves() && p.Protected(x.now) {
			x.broken("pod %s opted out, and its node is disrupted (%s)", p.ID(), why)
		}
	}
	if begins {
		x.blocked(k.Node)
	}
}

// budgets checks the budgets of the pool after one more node of it is deleted.
func (x *planned) budgets(k cluster.Claim, why plan.DeleteReason) {
	pool, _ := x.snapshot.Pool(k.Pool)
	var all, going int64
	for _, o := range x.byUID {
		if o.Pool == k.Pool && o.Initialized && !o.Ending { // an instance that ends frees its budget
			all++
			if x.going[o.Name] {
				going++
			}
		}
	}
	for i, b := range pool.Disruption.Budgets {
		if len(b.Reasons) > 0 && !slices.Contains(b.Reasons, string(why)) || !holds(b, x.now) {
			continue
		}
		most := b.Most
		if b.Percent {
			most = (all*b.Most + 99) / 100
		}
		if b.Invalid != "" || going > most {
			x.broken("nodepool %s: budget %d allows %d, and %d nodes are disrupted", pool.Name, i, most, going)
		}
	}
}

// holds says whether the budget has a window now. A budget that cannot be read always
// holds.
func holds(b cluster.Budget, now time.Time) bool {
	s := b.Schedule
	if s == nil || b.Invalid != "" {
		return true
	}
	bit := func(set uint64, i int) bool { return set>>i&1 == 1 }
	for at := now.In(s.Zone).Truncate(time.Minute); now.Sub(at) < b.Duration; at = at.Add(-time.Minute) {
		day, weekday := bit(s.Days, at.Day()), bit(s.Weekdays, int(at.Weekday()))
		fits := day && weekday
		if !s.AnyDay && !s.AnyWeekday {
			fits = day || weekday
		}
		if fits && bit(s.Minutes, at.Minute()) && bit(s.Hours, at.Hour()) && bit(s.Months, int(at.Month())) {
			return true
		}
	}
	return false
}

// blocked checks that a drain of the node would not stand still at once. Later the drain
// waits, as the budgets change while other nodes drain.
func (x *planned) blocked(node string) {
	for _, p := range x.snapshot.PodsOn(node) {
		for _, b := range x.snapshot.PodBudgets() {
			if p.Moves() && b.Selects(p.Namespace, p.Labels) && !b.Evicts(&p) {
				x.broken("node %s is disrupted, and the poddisruptionbudget %s keeps pod %s on it", node, b.Name, p.ID())
			}
		}
	}
}
