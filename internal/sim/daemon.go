package sim

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// daemon is the loop around the core: it observes, decides and acts.
type daemon struct {
	r      *run
	memory engine.Memory
	due    bool          // a Step is on its way
	busy   time.Duration // acting until then
	known  engine.Shortages
	news   bool             // known is news to the memory
	gates  map[string]*gate // by pool
	wait   int64            // number of the wait that counts
	acting []plan.Action    // that are being carried out
	starts int64            // how often the daemon has started anew
	down   time.Duration    // no drain continues until then

	reports catalog.Reports          // what nodes have reported; a restart keeps it
	small   map[string]time.Duration // by instance type: when the first node reported
}

// changed asks for a Step soon.
func (d *daemon) changed() {
	if d.due {
		return
	}
	d.due = true
	d.r.clock.at(max(d.r.clock.now+d.r.cfg.Gather, d.busy), d.step)
}

// tried notes what came of a launch.
func (d *daemon) tried(t engine.Tried) {
	if len(t.Lacks) == 0 && len(d.known.Unavailable) == 0 && len(d.known.Failing) == 0 {
		return
	}
	d.known, d.news = d.known.After(t, date(d.r.clock.now)), true
	d.changed()
}

// step makes one decision and carries it out.
func (d *daemon) step() {
	r := d.r
	if r.clock.now < d.busy { // the daemon starts anew
		r.clock.at(d.busy, d.step)
		return
	}
	d.due = false
	if d.news {
		d.memory, d.news = d.memory.WithShortages(d.known), false
	}
	in := d.input()
	in.Seed = r.chance.next()
	out := r.cfg.Decide(in)
	r.checker.plan(in, out.Plan)
	d.memory = out.Memory
	r.report.Steps++
	if r.cfg.Seen != nil {
		r.cfg.Seen(out)
	}
	d.note(out.Plan.Outcomes)
	var actions []plan.Action
	for _, a := range out.Plan.Actions {
		if w, ok := a.(plan.Wait); ok {
			d.wait++
			number := d.wait
			r.clock.at(max(w.Until.Sub(date(0)), r.clock.now+time.Millisecond), func() {
				if number == d.wait {
					d.changed()
				}
			})
			continue
		}
		actions = append(actions, a)
	}
	if len(actions) > 0 {
		d.act(inTurn(actions))
	}
}

// act carries the actions out, one after the other.
func (d *daemon) act(actions []plan.Action) {
	r, starts := d.r, d.starts
	d.acting, d.busy = actions, r.clock.now+r.cfg.Act+time.Duration(len(actions)-1)*r.cfg.Write
	for i := range actions {
		r.clock.at(r.clock.now+r.cfg.Act+time.Duration(i)*r.cfg.Write, func() {
			if starts != d.starts {
				return
			}
			r.carryOut(d.acting[0])
			if d.acting = d.acting[1:]; len(d.acting) == 0 {
				d.changed()
			}
		})
	}
}

// inTurn returns the actions in the order in which they are carried out; see daemon/internal/act.
func inTurn(actions []plan.Action) []plan.Action {
	turn := func(a plan.Action) int {
		switch a.(type) {
		case plan.Launch:
			return 0
		case plan.Nominate, plan.Bind, plan.Close:
			return 1
		case plan.Release, plan.Disrupt, plan.Restore, plan.Delete, plan.Wait:
		}
		return 2
	}
	slices.SortStableFunc(actions, func(a, b plan.Action) int { return turn(a) - turn(b) })
	return actions
}

// carryOut does the first actions of those that are waiting, and forgets the rest.
func (d *daemon) carryOut(n int) {
	for _, a := range d.acting[:n] {
		d.r.carryOut(a)
	}
	d.acting = nil
}

// restart loses what only the daemon knew, at any point of a plan.
func (d *daemon) restart() {
	d.carryOut(int(d.r.chance.below(int64(len(d.acting) + 1))))
	evicted := d.r.evicted
	if slices.ContainsFunc(d.r.claims, (*claim).moves) {
		evicted = date(d.r.clock.now + d.r.cfg.Down)
	}
	d.memory, d.known, d.news = engine.After(evicted), engine.Shortages{}, false
	for _, g := range d.gates {
		g.window = fewCalls
	}
	d.starts++
	d.wait++
	d.busy = d.r.clock.now + d.r.cfg.Down
	d.down = d.busy
	for _, w := range d.r.controllers.all {
		w.paced = nil
	}
	for _, c := range d.r.claims {
		c.stops = nil
	}
	d.changed()
}

// input is what a Step is given now.
func (d *daemon) input() engine.Input {
	return engine.Input{Snapshot: d.r.view.snapshot(), Memory: d.memory, Policy: d.r.cfg.Policy, Now: date(d.r.clock.now)}
}

// note keeps what the plan says of each pod.
func (d *daemon) note(outcomes []plan.Outcome) {
	for _, o := range outcomes {
		for _, id := range o.Pods {
			if p := d.r.pods[id]; p != nil && p.node == nil {
				d.noteOne(p, o)
			}
		}
	}
}

func (d *daemon) noteOne(p *pod, o plan.Outcome) {
	now := d.r.clock.now
	if p.seen < 0 {
		p.seen = now
	}
	p.placed = false
	switch o.Verdict {
	case plan.OnNode, plan.OnClaim, plan.OnLaunch:
		p.planned, p.placed = o.On, true
		if p.decided < 0 {
			p.decided = now
		}
	case plan.Preempting, plan.Waiting, plan.AwaitsNodes, plan.Unplaceable:
	}
}

// carryOut does what one action says.
func (r *run) carryOut(a plan.Action) {
	r.touched = r.clock.now
	switch a := a.(type) {
	case plan.Launch:
		r.report.Launches++
		r.report.LastLaunch = r.clock.now
		r.order(a)
	case plan.Nominate:
		if p := r.pods[a.Pod]; p != nil {
			r.report.Nominations++
			r.scheduler.nominate(p, a.Node)
			r.view.pod(p)
		}
	case plan.Bind:
		if p, n := r.pods[a.Pod], r.scheduler.byName[a.Node]; p != nil && n != nil && p.UID == a.PodUID {
			r.report.Binds++
			r.checker.binds(p, n)
			r.scheduler.bind(p, n)
		}
	case plan.Release:
		r.release(a)
	case plan.Close:
		r.release(plan.Release{Node: a.Node, Puts: []cluster.Taint{a.Taint}})
	case plan.Disrupt:
		r.disrupt(a.Claim, &cluster.Disrupting{Reason: string(a.Why), Since: date(r.clock.now)})
	case plan.Restore:
		r.disrupt(a.Claim, nil)
	case plan.Delete:
		r.delete(a)
	case plan.Wait:
	}
}
