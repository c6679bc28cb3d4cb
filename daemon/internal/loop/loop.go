// Package loop is the daemon's heartbeat: observe, decide, act, record. It is
// the only caller of the decision core, from one goroutine. So decisions are made
// one after the other, and each sees the effects of the one before.
package loop

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/replay"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

const (
	// gather is how long the loop waits after a change for the changes that come with
	// it: one write often causes several events within a few milliseconds.
	gather = 10 * time.Millisecond
	// rest is how long the loop waits at least between two decisions, in durations of the
	// last one: a sixth of a core goes into decisions at most, however often the cluster
	// changes, of the 30 % that 200 changes of pods a second may cost in all. longestRest
	// bounds that, so that a launch is not late.
	rest        = 5
	longestRest = 250 * time.Millisecond
	// idleRest is how long the loop rests at least after a decision that does nothing: in a busy
	// cluster most changes lead to nothing, and those of so long are looked at together. It is the
	// longest that a pod waits for that.
	idleRest = 50 * time.Millisecond
)

// WorkLimit bounds one Step, in units of work. A larger decision is made in pieces,
// and each piece is carried out before the next. The benchmarks with up to 50,000
// pods need at most 4 units. With 10,000 pods one unit takes 5 to 70 ms on one
// core. So the first launches are made within about a second, however many pools,
// preferences and limits a plan has to consider.
const WorkLimit = 16

// retry is the pause before a new plan, when parts of the last one failed, and undecided when
// there is none.
const retry, undecided = time.Second, 30 * time.Second

// leaveWithin bounds the last writes of a daemon that ends, which looks again after leaveAgain
// whether anything is left.
const leaveWithin, leaveAgain = 5 * time.Second, 100 * time.Millisecond

// World provides the snapshots to decide on.
type World interface {
	Changed() <-chan struct{}
	Snapshot() (cluster.Snapshot, []error)
}

// Actor carries out plans. Do returns after it has tried every action, or left some to the next
// plan (plan.UnfinishedError). Its error joins what failed; the next decision plans that again.
type Actor interface {
	Do(ctx context.Context, p plan.Plan) error
}

// Recorder is told of every Step.
type Recorder interface {
	Record(in engine.Input, out engine.Output, took time.Duration)
}

// Config is what a Loop works with.
type Config struct {
	World    World
	Actor    Actor
	Recorder Recorder
	Policy   engine.Policy // its Hindrances are the start; Bind and CloudAway change the loop's copy
	// Learn notes before each Step what else is known of the cluster by now, such as its
	// version, as the control plane may be upgraded; nil: what Policy says.
	Learn  func(*engine.Hindrances)
	Logger hclog.Logger
	Memory engine.Memory    // that the first Step starts with
	Now    func() time.Time // the clock of the machine; nil: time.Now
	// WorkLimit bounds each Step (engine.Input.WorkLimit); 0 is no limit.
	WorkLimit int
	// Decide makes a decision; nil: engine.Step.
	Decide func(engine.Input) engine.Output
	// Panicked is told when a decision has panicked; Working before one is made, and what it
	// returns after it is carried out. Both may be nil.
	Panicked func(engine.Input, *replay.FaultError)
	Working  func() (done func())
}

// Loop makes decisions one after the other, and holds what each Step hands to the
// next.
type Loop struct {
	config Config
	poke   chan struct{} // receives when a decision is wanted without a change of the world

	mu      sync.Mutex
	hinders engine.Hindrances
	pending []func(engine.Memory) engine.Memory // changes of memory since the last Step

	memory engine.Memory   // only step uses it
	clock  clock           // only step uses it
	guard  guard           // only step uses it
	faults map[string]bool // what the last Step left out, by the text of why; only step uses it
}

// New makes a Loop; Run starts it.
func New(c Config) *Loop {
	return &Loop{
		config: c, poke: make(chan struct{}, 1), clock: newClock(c.Now), hinders: c.Policy.Hindrances, memory: c.Memory,
		guard: guard{decide: c.Decide, logger: c.Logger, panicked: c.Panicked},
	}
}

// Shortages tells the loop what is known of capacity now. It is safe for concurrent use.
func (l *Loop) Shortages(s engine.Shortages) {
	l.mu.Lock()
	l.pending = append(l.pending, func(m engine.Memory) engine.Memory { return m.WithShortages(s) })
	l.mu.Unlock()
	l.decide()
}

// Bind tells the loop whether the daemon may bind pods. If that has changed, the loop logs
// it. Run itself notices when the API server refuses a binding. It is safe for concurrent
// use.
func (l *Loop) Bind(may bool) {
	l.mu.Lock()
	changed := l.hinders.CannotBind == may
	l.hinders.CannotBind = !may
	l.mu.Unlock()
	switch {
	case !changed:
	case may:
		l.config.Logger.Info("evicted pods are bound to their places again")
	default:
		l.config.Logger.Warn("evicted pods are not bound to their places: the kube-scheduler chooses them, and consolidation saves less", "error", kube.ErrMayNotBind)
	}
}

// CloudAway tells the loop whether EC2 does not answer. If that has changed, the loop
// logs it and makes a decision at once. It is safe for concurrent use.
func (l *Loop) CloudAway(away bool) {
	l.mu.Lock()
	changed := l.hinders.CloudAway != away
	if changed {
		l.hinders.CloudAway = away
		if !away {
			l.hinders.Back = l.clock.now()
		}
		l.pending = append(l.pending, engine.Memory.PlanAnew)
	}
	l.mu.Unlock()
	switch {
	case !changed:
		return
	case away:
		l.config.Logger.Warn("EC2 does not answer: no NodeClaim times out, and no node is deleted to save money, until EC2 answers")
	default:
		l.config.Logger.Info("EC2 answers again")
	}
	l.decide()
}

// decide asks Run for a decision.
func (l *Loop) decide() {
	select {
	case l.poke <- struct{}{}:
	default:
	}
}

// Run decides until the context ends: after every change, and at the time that
// the last plan asked for. In the end it takes back what is only for a moment.
func (l *Loop) Run(ctx context.Context) error {
	l.mu.Lock()
	l.hinders.Back = l.clock.now() // nobody has registered nodes before
	l.mu.Unlock()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var rested time.Time // when the loop may decide again
	for {
		select {
		case <-ctx.Done():
			l.leave(ctx)
			return nil
		case <-l.config.World.Changed():
		case <-l.poke:
		case <-timer.C:
		}
		select {
		case <-ctx.Done():
			l.leave(ctx)
			return nil
		case <-time.After(max(gather, time.Until(rested))):
		}
		next, pause := l.step(ctx)
		rested = time.Now().Add(pause)
		timer.Stop()
		if !next.IsZero() {
			timer.Reset(max(0, next.Sub(l.clock.now())))
		}
	}
}

// leave opens nodes that are closed for a moment, and takes back preferences of moves that
// have not begun: it may be that no daemon comes after this one.
func (l *Loop) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveWithin)
	defer cancel()
	var err error
	for err == nil {
		snapshot, _ := l.config.World.Snapshot() // faults were logged by the last decision
		p := engine.Leave(engine.Input{Snapshot: snapshot, Memory: l.memory, Policy: l.config.Policy, Now: time.Now()})
		if len(p.Actions) == 0 {
			return
		}
		if err = l.config.Actor.Do(ctx, p); err != nil {
			break
		}
		// A node that has changed meanwhile is left as it is, and its change is on the way.
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-time.After(leaveAgain):
		}
	}
	l.config.Logger.Warn("some nodes keep taints of karpenterd.sh that were to last a moment; the next daemon removes them", "error", err)
}

// step makes one decision, carries it out, and returns when the next is due, and how long the
// loop rests at least. A plan that is not complete is continued at once.
func (l *Loop) step(ctx context.Context) (next time.Time, pause time.Duration) {
	if l.config.Working != nil {
		done := l.config.Working()
		defer done()
	}
	snapshot, faults := l.config.World.Snapshot()
	l.tellFaults(faults)
	now := l.readClock()
	l.mu.Lock()
	for _, f := range l.pending {
		l.memory = f(l.memory)
	}
	l.pending = nil
	policy := l.config.Policy
	policy.Hindrances, policy.PauseDisruption = l.hinders, policy.PauseDisruption || now.Before(l.clock.trusted)
	l.mu.Unlock()
	if l.config.Learn != nil {
		l.config.Learn(&policy.Hindrances)
	}

	in := engine.Input{
		Snapshot: snapshot, Memory: l.memory, Policy: policy, Now: now, WorkLimit: l.config.WorkLimit,
		Seed: rand.Uint64(), //nolint:gosec // names need to differ, not to be secret
	}
	began := time.Now()
	out, decided := l.guard.make(in)
	took := time.Since(began)
	if !decided {
		return l.clock.now().Add(undecided), undecided
	}
	pause = restAfter(out, took)
	l.memory = out.Memory
	err := l.act(ctx, in, out, took)
	var unfinished *plan.UnfinishedError
	if errors.As(err, &unfinished) {
		err = unfinished.Failed
	}
	for _, a := range out.Plan.Actions {
		if w, ok := a.(plan.Wait); ok {
			next = w.Until
		}
	}
	if t := l.clock.trusted; now.Before(t) && (next.IsZero() || t.Before(next)) {
		next = t
	}
	if errors.Is(err, kube.ErrMayNotBind) {
		l.Bind(false)
	}
	if err != nil && ctx.Err() == nil {
		l.config.Logger.Warn("parts of the plan failed; a new plan follows", "error", err)
		l.memory = l.memory.PlanAnew()
		if again := l.clock.now().Add(retry); next.IsZero() || again.Before(next) || !out.Trace.Complete {
			next = again
		}
	}
	if unfinished != nil {
		l.memory, next = l.memory.PlanAnew(), l.clock.now()
	}
	return next, pause
}

// restAfter is how long the loop rests after the decision, which took so long.
func restAfter(out engine.Output, took time.Duration) time.Duration {
	if !out.Trace.Complete {
		return 0
	}
	pause := min(rest*took, longestRest)
	if acts := slices.ContainsFunc(out.Plan.Actions, func(a plan.Action) bool { _, wait := a.(plan.Wait); return !wait }); !acts {
		pause = max(pause, idleRest)
	}
	return pause
}

// tellFaults logs each object that is left out of decisions once for as long as it is left
// out for the same reason: there are many Steps a second.
func (l *Loop) tellFaults(faults []error) {
	before := l.faults
	l.faults = make(map[string]bool, len(faults))
	for _, fault := range faults {
		l.faults[fault.Error()] = true
		if !before[fault.Error()] {
			l.config.Logger.Error("an object is left out of decisions until it is corrected", "error", fault)
		}
	}
}

// act carries out the plan and records it at the same time: recording a large
// plan takes longer than its first NodeClaim should wait. act returns when both
// are done, so that records keep the order of the decisions.
func (l *Loop) act(ctx context.Context, in engine.Input, out engine.Output, took time.Duration) error {
	recorded := make(chan struct{})
	go func() {
		defer close(recorded)
		l.config.Recorder.Record(in, out, took)
	}()
	err := l.config.Actor.Do(ctx, out.Plan)
	<-recorded
	return err
}
