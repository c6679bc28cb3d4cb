// Package loop is the daemon's heartbeat: observe, decide, act, record. It is
// the only caller of the decision core, from one goroutine, so that decisions
// are made one after the other and each sees the effects of the one before.
package loop

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// gather is how long the loop waits after a change for what comes with it: one
// write often makes several events within a few milliseconds.
const gather = 10 * time.Millisecond

// WorkLimit is after how many units of work a decision is made in pieces. The
// demand of the benchmarks, up to 50,000 pods, takes at most 4, and one of them 5
// to 70 ms at 10,000 pods on one core: so what is decided goes out within a second
// or so, however many pools, preferences and limits a plan has to go through.
const WorkLimit = 16

// retry is when a plan that could not be carried out in full is made again.
const retry = time.Second

// World is where decisions come from.
type World interface {
	Changed() <-chan struct{}
	Snapshot() (cluster.Snapshot, []error)
}

// Actor carries plans out. It returns after everything was tried; what failed
// is in the error and will be decided again.
type Actor interface {
	Do(ctx context.Context, p plan.Plan) error
}

// Recorder is told of every Step.
type Recorder interface {
	Record(in engine.Input, out engine.Output, took time.Duration)
}

// Loop holds what is carried from Step to Step.
type Loop struct {
	World    World
	Actor    Actor
	Recorder Recorder
	Policy   engine.Policy // what it says of nominations is changed by Nominate
	Logger   hclog.Logger
	// WorkLimit bounds each Step (engine.Input); 0 is no limit.
	WorkLimit int

	mu      sync.Mutex
	pending []func(engine.Memory) engine.Memory
	memory  engine.Memory
	poke    chan struct{}
	once    sync.Once
}

// Unavailable keeps the offerings out of plans until the time given. Safe for
// use by many goroutines.
func (l *Loop) Unavailable(until time.Time, offerings ...catalog.OfferingKey) {
	l.mu.Lock()
	l.pending = append(l.pending, func(m engine.Memory) engine.Memory { return m.WithUnavailable(until, offerings...) })
	l.mu.Unlock()
	l.decide()
}

// Nominate says whether pods may be nominated for nodes. Where that is not what
// it was, the log says so and a decision is made at once. Run finds out by itself
// when a nomination is refused. Safe for use by many goroutines.
func (l *Loop) Nominate(may bool) {
	l.mu.Lock()
	changed := l.Policy.CannotNominate == may
	if changed {
		l.Policy.CannotNominate = !may
		l.pending = append(l.pending, engine.Memory.PlanAnew)
	}
	l.mu.Unlock()
	switch {
	case !changed:
		return
	case may:
		l.Logger.Info("pods are nominated for nodes again")
	default:
		l.Logger.Warn("pods are not nominated for nodes, so the scheduler places them by its own scoring: plans need more nodes", "error", kube.ErrMayNotNominate)
	}
	l.decide()
}

// decide has a decision made soon.
func (l *Loop) decide() {
	select {
	case l.channel() <- struct{}{}:
	default:
	}
}

func (l *Loop) channel() chan struct{} {
	l.once.Do(func() { l.poke = make(chan struct{}, 1) })
	return l.poke
}

// Run decides until the context ends: after every change, and when the plan
// before asked for it.
func (l *Loop) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.World.Changed():
		case <-l.channel():
		case <-timer.C:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(gather):
		}
		next := l.step(ctx)
		timer.Stop()
		if !next.IsZero() {
			timer.Reset(max(0, time.Until(next)))
		}
	}
}

// step makes one decision, carries it out, and returns when the next is due. Of a
// plan that is still being made that is at once.
func (l *Loop) step(ctx context.Context) time.Time {
	snapshot, faults := l.World.Snapshot()
	for _, fault := range faults {
		l.Logger.Error("left out of decisions", "error", fault)
	}
	l.mu.Lock()
	for _, f := range l.pending {
		l.memory = f(l.memory)
	}
	l.pending = nil
	policy := l.Policy
	l.mu.Unlock()

	in := engine.Input{
		Snapshot: snapshot, Memory: l.memory, Policy: policy, Now: time.Now(), WorkLimit: l.WorkLimit,
		Seed: rand.Uint64(), //nolint:gosec // names need to differ, not to be secret
	}
	out := engine.Step(in)
	l.memory = out.Memory
	err := l.act(ctx, in, out)

	var next time.Time
	for _, a := range out.Plan.Actions {
		if w, ok := a.(plan.Wait); ok {
			next = w.Until
		}
	}
	if errors.Is(err, kube.ErrMayNotNominate) {
		l.Nominate(false)
	}
	if err != nil && ctx.Err() == nil {
		l.Logger.Warn("plan carried out in part, it is made again", "error", err)
		l.memory = l.memory.PlanAnew()
		if again := time.Now().Add(retry); next.IsZero() || again.Before(next) || !out.Trace.Complete {
			next = again
		}
	}
	return next
}

// act carries the plan out and records it at the same time: to tell of a large
// plan takes longer than its first NodeClaim should wait. Both are done when it
// returns, so that records keep the order of the decisions.
func (l *Loop) act(ctx context.Context, in engine.Input, out engine.Output) error {
	took, told := time.Since(in.Now), make(chan struct{})
	go func() {
		defer close(told)
		l.Recorder.Record(in, out, took)
	}()
	err := l.Actor.Do(ctx, out.Plan)
	<-told
	return err
}
