package forecast

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/sim/machine"
)

// tick is how long a plan takes that does something, so that no two Steps have one time.
const tick = time.Second

// Question is a cluster, and for how long its future is played.
type Question struct {
	Snapshot cluster.Snapshot
	Policy   engine.Policy
	Now      time.Time
	Seed     uint64
	For      time.Duration
	// Scratch plays how the fleet would be launched from nothing: it leaves out all nodes of
	// NodePools, and their pods wait.
	Scratch bool
	// Running is about the pods that run: those that wait are left out.
	Running bool
	// Remade plays how the pods of some nodes would get a place anew: it leaves out the nodes of
	// these NodeClaims, and their pods wait. It is about these pods alone: others that wait are left
	// out, and NodeClaims on their way, which have been launched for such.
	Remade []string
	// Stop is asked before each plan, and its error ends the play; nil plays to the end.
	Stop func() error
}

// Answer is what becomes of the cluster.
type Answer struct {
	Now, Then Fleet
	Remade    quantity.Money // what the nodes cost that were left out by name
	Launches  []Launch       // in their order
	Removals  []Removal      // in their order
	Evicted   int64          // pods that lose their node and are created anew
	Lost      []string       // pods that lose their node and nothing creates anew, namespace/name
	// Waiting is why pods have no place in the end, as the last plan says.
	Waiting []plan.Outcome
	// Unsettled are pods, namespace/name, that are about to get a place as the time ends.
	Unsettled []string
	Standings plan.Standings // in the end
	Played    time.Duration
	// Settled says that nothing is left to do or to wait for but that nodes expire, which changes
	// which nodes there are and not what the fleet is; else something is due after For.
	Settled bool
	Steps   int
}

// Fleet is the nodes of NodePools at a time, and the pods that run then.
type Fleet struct {
	Nodes             int
	Pods              int64 // that run on these nodes and move if their node is deleted
	Elsewhere         int64 // the same of all other nodes
	Waiting           int64 // pods that run nowhere: nothing else here counts them
	Used, Allocatable quantity.Resources
	Audit             plan.Audit // without the pods that wait
	// Static is what the nodes of static NodePools cost, which Audit leaves out: they stay whatever
	// the pods need.
	Static quantity.Money
	ByPool []PoolFleet // by name
}

// PoolFleet is the nodes of one NodePool.
type PoolFleet struct {
	Pool  string
	Nodes int
	Cost  quantity.Money // by the catalogue; a node without a price counts nothing
}

// Launch is a node that is launched.
type Launch struct {
	At    time.Duration
	Plan  plan.Launch
	Type  string // what the launch becomes: the cheapest of its offerings
	Zone  string
	Price quantity.Money
}

// Removal is a node that is deleted.
type Removal struct {
	At                 time.Duration
	Claim, Node, Pool  string
	Type, CapacityType string
	Why                plan.DeleteReason
	Detail             string
	Price              quantity.Money // 0 where nobody knows it
	Evicted            int64          // pods that are created anew elsewhere
}

// Play answers the question. The error is Stop's, or of a Snapshot that contradicts itself.
func Play(q Question) (Answer, error) {
	w := &world{question: q, snapshot: q.Snapshot, now: q.Now, prices: pricesOf(q.Snapshot)}
	w.begin()
	if err := w.write(); err != nil {
		return Answer{}, err
	}
	if q.Running || len(q.Remade) > 0 {
		w.leaveOutWaiting()
		if err := w.write(); err != nil {
			return Answer{}, err
		}
	}
	var err error
	if w.answer.Now, err = w.fleet(engine.Memory{}); err != nil {
		return Answer{}, err
	}
	if q.Scratch || len(q.Remade) > 0 {
		w.leaveOut()
		if err := w.write(); err != nil {
			return Answer{}, err
		}
	}
	memory, err := w.play()
	if err != nil {
		return Answer{}, err
	}
	in := w.input(memory)
	w.answer.Unsettled = w.unsettled()
	w.answer.Standings, w.answer.Played = engine.Standings(in), w.now.Sub(q.Now)
	if w.answer.Then, err = w.fleet(memory); err != nil {
		return Answer{}, err
	}
	return w.answer, nil
}

// play carries out one plan after the other until the time is over or nothing is left.
func (w *world) play() (engine.Memory, error) {
	var memory engine.Memory
	end := w.question.Now.Add(w.question.For)
	for {
		if w.question.Stop != nil {
			if err := w.question.Stop(); err != nil {
				return memory, err
			}
		}
		in := w.input(memory)
		out := engine.Step(in)
		w.answer.Steps++
		memory, w.answer.Waiting = out.Memory, unplaced(out.Plan.Outcomes)
		wait, did := w.carryOut(out.Plan)
		if err := w.write(); err != nil {
			return memory, err
		}
		next := w.now.Add(tick)
		if !did {
			if wait.Until.IsZero() {
				w.answer.Settled = true
				return memory, nil
			}
			if wait.Until.After(next) {
				next = wait.Until
			}
		}
		if next.After(end) {
			w.answer.Settled = !did && wait.Why == plan.NodeToExpire
			return memory, nil
		}
		w.now = next
	}
}

// input is what a Step is given now. The seed of a Step follows from that of the question.
func (w *world) input(m engine.Memory) engine.Input {
	return engine.Input{
		Snapshot: w.snapshot, Memory: m, Policy: w.question.Policy, Now: w.now,
		Seed: w.question.Seed + uint64(w.answer.Steps),
	}
}

// carryOut does what the plan says, and lets pods run where the plan has room for them. It
// returns when to plan again if nothing was done; zero for never.
func (w *world) carryOut(p plan.Plan) (wait plan.Wait, did bool) {
	for _, a := range p.Actions {
		one := false
		switch a := a.(type) {
		case plan.Launch:
			one = w.launch(a)
		case plan.Nominate:
			one = w.nominate(a)
		case plan.Bind:
			one = w.bind(a.Pod, a.Node)
		case plan.Release:
			one = w.retaint(a.Node, a.Puts, append([]cluster.Taint{a.Taint}, a.Lifts...))
		case plan.Close:
			one = w.retaint(a.Node, []cluster.Taint{a.Taint}, nil)
		case plan.Disrupt:
			one = w.disrupt(a.Claim, &cluster.Disrupting{Reason: string(a.Why), Since: w.now})
		case plan.Restore:
			one = w.disrupt(a.Claim, nil)
		case plan.Delete:
			one = w.remove(a)
		case plan.Wait:
			wait = a
		}
		did = did || one
	}
	for _, o := range p.Outcomes {
		if o.Verdict != plan.OnNode {
			continue
		}
		for _, id := range o.Pods {
			did = w.land(id, o.On) || did
		}
	}
	return wait, did
}

// launch makes the NodeClaim, its instance, which is the cheapest that it may become, and the
// node, which is ready at once.
func (w *world) launch(l plan.Launch) bool {
	c, err := machine.Claim(l, w.now)
	if err != nil {
		return false
	}
	o, ok := w.boot(c)
	if ok {
		w.answer.Launches = append(w.answer.Launches, Launch{At: w.now.Sub(w.question.Now), Plan: l, Type: o.Type.Name, Zone: o.Of.Zone, Price: o.Of.Price})
	}
	return ok
}

// unsettled lists the pods that run nowhere and are not among those that have no place.
func (w *world) unsettled() (out []string) {
	waiting := map[string]bool{}
	for _, o := range w.answer.Waiting {
		for _, id := range o.Pods {
			waiting[id] = true
		}
	}
	for p := range w.snapshot.EachPod() {
		if p.Node == "" && p.Moves() && !waiting[p.ID()] {
			out = append(out, p.ID())
		}
	}
	return out
}

// unplaced are the outcomes of pods that have no place.
func unplaced(all []plan.Outcome) (out []plan.Outcome) {
	for _, o := range all {
		switch o.Verdict {
		case plan.Unplaceable, plan.Waiting, plan.AwaitsNodes, plan.Preempting:
			out = append(out, o)
		case plan.OnNode, plan.OnClaim, plan.OnLaunch:
		}
	}
	return out
}
