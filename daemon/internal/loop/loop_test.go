package loop_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/loop"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// stage is the World, the Actor and the Recorder of a loop. A launch becomes a
// NodeClaim, unless Do fails.
type stage struct {
	t        *testing.T
	changed  chan struct{}
	snapshot cluster.Snapshot
	fail     int   // how often Do fails
	fault    error // what Do returns then; nil: some error

	policies         []engine.Policy
	acting, recorded chan struct{} // if not nil: Record waits for the first, and closes the second
	log              []string
	plans            []plan.Plan
	outs             []engine.Output
	at               []time.Time
	launchedFor      map[string]int
}

// newStage has nine pending pods and two pools. The pool that is tried first may
// have one node, which holds four of the pods.
func newStage(t *testing.T) *stage {
	t.Helper()
	size := quantity.Resources{MilliCPU: 4000, MemoryBytes: 16 << 30, EphemeralBytes: 20 << 30, PodSlots: 30}
	o := cluster.Objects{
		Classes: []cluster.Class{{Name: "default", Ready: true, Types: []catalog.InstanceType{{
			Name: "m5.xlarge", Capacity: size, Allocatable: size, Labels: label.FromMap(map[string]string{label.InstanceType: "m5.xlarge"}),
			Offerings: []catalog.Offering{{Zone: "a", CapacityType: label.OnDemand, Price: 192_000_000, Available: true}},
		}}}},
		Pools: []cluster.Pool{
			{Name: "first", UID: "1", Class: "default", Ready: true, Weight: 10, Limits: []quantity.Amount{{Name: "nodes", Count: 1}}},
			{Name: "second", UID: "2", Class: "default", Ready: true},
		},
	}
	for i := range 9 {
		o.Pods = append(o.Pods, cluster.Pod{
			Namespace: "default", Name: fmt.Sprint("web-", i), UID: fmt.Sprint("u", i), Unschedulable: true, Created: time.Now().Add(-time.Hour),
			Shape: cluster.Shape{Requests: quantity.Resources{MilliCPU: 1000, PodSlots: 1}},
		})
	}
	s := &stage{t: t, changed: make(chan struct{}, 1), launchedFor: map[string]int{}}
	var err error
	if s.snapshot, err = cluster.New(o); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stage) Changed() <-chan struct{}              { return s.changed }
func (s *stage) Snapshot() (cluster.Snapshot, []error) { return s.snapshot, nil }

func (s *stage) Do(_ context.Context, p plan.Plan) error {
	if s.acting != nil {
		close(s.acting)
		<-s.recorded
		s.acting = nil
	}
	s.log, s.plans = append(s.log, "done"), append(s.plans, p)
	if s.fail > 0 {
		s.fail--
		if s.fault != nil {
			return s.fault
		}
		return errors.New("the API server does not answer")
	}
	var claims []cluster.Claim
	for _, a := range p.Actions {
		l, ok := a.(plan.Launch)
		if !ok {
			continue
		}
		for _, pod := range l.Pods {
			s.launchedFor[pod]++
		}
		claims = append(claims, cluster.Claim{
			Name: l.Name, UID: "uid-" + l.Name, Pool: l.Pool, Class: l.Class, Labels: l.Labels, Requirements: l.Requirements, Requests: l.Content, Created: time.Now(),
		})
	}
	if len(claims) == 0 {
		return nil
	}
	var err error
	s.snapshot, err = s.snapshot.Apply(cluster.Delta{Put: cluster.Objects{Claims: claims}})
	return err
}

func (s *stage) Record(in engine.Input, out engine.Output, _ time.Duration) {
	if s.recorded != nil && s.acting != nil {
		<-s.acting
		close(s.recorded)
	}
	s.outs, s.at, s.policies = append(s.outs, out), append(s.at, time.Now()), append(s.policies, in.Policy)
}

// run runs the loop for the given time.
func (s *stage) run(workLimit int, during time.Duration) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), during)
	defer cancel()
	l := loop.New(loop.Config{World: s, Actor: s, Recorder: s, Policy: engine.DefaultPolicy(), Logger: hclog.NewNullLogger(), WorkLimit: workLimit})
	if err := l.Run(ctx); err != nil {
		s.t.Error(err)
	}
}

func (s *stage) wantEachPodLaunchedForOnce() {
	s.t.Helper()
	for _, n := range s.launchedFor {
		if n != 1 {
			s.t.Errorf("launches per pod: %v", s.launchedFor)
			break
		}
	}
	if len(s.launchedFor) != 9 {
		s.t.Errorf("launched for %d pods of 9", len(s.launchedFor))
	}
}

func TestLoop_ActsOnAPrefixAndGoesOnAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.run(1, 500*time.Millisecond)
		s.wantEachPodLaunchedForOnce()
		if last := len(s.outs) - 1; last < 1 || s.outs[0].Trace.Complete || !s.outs[last].Trace.Complete {
			t.Fatalf("%d Steps; the last should be complete, the first not", len(s.outs))
		}
		if !slices.ContainsFunc(s.outs, func(out engine.Output) bool {
			_, is := out.Plan.Actions[0].(plan.Launch)
			return is && !out.Trace.Complete
		}) {
			t.Error("no Step has launched anything before the last")
		}
		if took := s.at[len(s.at)-1].Sub(s.at[0]); took > 100*time.Millisecond {
			t.Errorf("%d Steps took %s", len(s.outs), took)
		}
	})
}

func TestLoop_PlansAnewAfterAWhileWhereAPrefixCouldNotBeCarriedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.fail = 2
		s.run(1, 5*time.Second)
		s.wantEachPodLaunchedForOnce()
		if pause := s.at[1].Sub(s.at[0]); pause < time.Second {
			t.Errorf("tried again after %s", pause)
		}
	})
}

func TestLoop_GoesOnAtOnceWhereActionsWereLeftToTheNextPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.fail, s.fault = 2, &plan.UnfinishedError{Left: 7}
		s.run(0, 5*time.Second)
		s.wantEachPodLaunchedForOnce()
		if pause := s.at[2].Sub(s.at[0]); pause > 500*time.Millisecond {
			t.Errorf("went on after %s", pause)
		}
	})
}

// Recording a large plan takes longer than its first NodeClaim should wait. The
// next decision waits for both.
func TestLoop_ActsWhileItRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.acting, s.recorded = make(chan struct{}), make(chan struct{})
		s.run(0, time.Second) // a loop that did one after the other would wait for ever
		s.wantEachPodLaunchedForOnce()
		if len(s.log) != len(s.outs) {
			t.Errorf("%d Steps carried out, %d recorded", len(s.log), len(s.outs))
		}
	})
}

// A busy cluster has hundreds of changes a second, of which most lead to nothing.
func TestLoop_ChangesThatLeadToNothingAreLookedAtTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.snapshot, _ = cluster.New(cluster.Objects{}) // so nothing else asks for decisions
		go func() {
			for range 1000 {
				time.Sleep(time.Millisecond)
				select {
				case s.changed <- struct{}{}:
				default:
				}
			}
		}()
		s.run(0, 2*time.Second)
		if n := len(s.outs); n < 15 || n > 25 {
			t.Errorf("%d decisions in a second of changes, want one in 50 ms", n)
		}
	})
}

// logging makes a loop of the stage that logs there.
func (s *stage) logging(log *bytes.Buffer) *loop.Loop {
	return loop.New(loop.Config{World: s, Actor: s, Recorder: s, Policy: engine.DefaultPolicy(), Logger: hclog.New(&hclog.LoggerOptions{Output: log})})
}

// runs runs the loop for the time, and returns it and what it logs.
func (s *stage) runs(d time.Duration) (*loop.Loop, *bytes.Buffer) {
	log := &bytes.Buffer{}
	l := s.logging(log)
	ctx, cancel := context.WithTimeout(s.t.Context(), d)
	defer cancel()
	if err := l.Run(ctx); err != nil {
		s.t.Error(err)
	}
	return l, log
}

func TestLoop_DecidesAtOnceWhenEC2IsAwayOrBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.snapshot, _ = cluster.New(cluster.Objects{}) // so nothing else asks for decisions
		var away []bool
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		l := loop.New(loop.Config{
			World: s, Actor: s, Policy: engine.DefaultPolicy(), Logger: hclog.NewNullLogger(),
			Recorder: onInput(func(in engine.Input) { away = append(away, in.Policy.CloudAway) }),
		})
		done := make(chan error)
		go func() { done <- l.Run(ctx) }()
		for _, is := range []bool{false, true, true, false, true} {
			time.Sleep(time.Minute)
			l.CloudAway(is)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if want := []bool{false, true, false, true}; !slices.Equal(away, want) {
			t.Errorf("EC2 is away in the inputs: %v, want %v", away, want)
		}
	})
}

// onInput is a Recorder that calls the function.
type onInput func(engine.Input)

func (f onInput) Record(in engine.Input, _ engine.Output, _ time.Duration) { f(in) }

func TestLoop_LogsOnceThatBindingsAreForbiddenAndOnceThatTheyAreNotAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.fail, s.fault = 2, fmt.Errorf("pod default/web-0 bind: %w", kube.ErrMayNotBind)
		l, log := s.runs(5 * time.Second)
		for range 2 {
			l.Bind(true)
		}
		for _, text := range []string{"pods are not bound to their places", "pods are bound to their places again"} {
			if got := strings.Count(log.String(), text); got != 1 {
				t.Errorf("%q is logged %d times, want once:\n%s", text, got, log.String())
			}
		}
	})
}

// A control plane that is upgraded brings another scheduler.
func TestLoop_PlansAsTheSchedulerOfTheMomentReadsNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, exact := newStage(t), false
		l := loop.New(loop.Config{
			World: s, Actor: s, Recorder: s, Policy: engine.DefaultPolicy(), Logger: hclog.NewNullLogger(), Learn: func(h *engine.Hindrances) { h.ExactNamespaces = exact },
		})
		for range 2 {
			s.policies = nil
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := l.Run(ctx); err != nil {
				t.Fatal(err)
			}
			cancel()
			if len(s.policies) == 0 || slices.ContainsFunc(s.policies, func(p engine.Policy) bool { return p.ExactNamespaces != exact }) {
				t.Errorf("exact %t: planned by %+v", exact, s.policies)
			}
			exact = true
		}
	})
}

// onRecord calls a function with every Step that is recorded.
type onRecord struct {
	*stage
	also func()
}

func (r onRecord) Record(in engine.Input, out engine.Output, took time.Duration) {
	r.stage.Record(in, out, took)
	r.also()
}

// Nobody may come after a daemon that is uninstalled in the moment for which it has closed
// a node.
func TestLoop_InTheEndItOpensNodesThatItClosedForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		taint, next := engine.DefaultPolicy().StartupTaint, cluster.Taint{Key: "karpenterd.sh/goes-next", Effect: cluster.PreferNoSchedule}
		var claims []cluster.Claim
		var nodes []cluster.Node
		for name, taints := range map[string][]cluster.Taint{"closed": {taint, next}, "next": {next}, "open": nil, "new": {taint}} {
			claims = append(claims, cluster.Claim{Name: name, UID: name, Pool: "first", Class: "default", Node: name, Launched: true, Registered: true, Initialized: name != "new"})
			nodes = append(nodes, cluster.Node{Name: name, UID: "uid-" + name, Claim: name, Ready: true, Taints: taints})
		}
		var err error
		if s.snapshot, err = s.snapshot.Apply(cluster.Delta{Put: cluster.Objects{Claims: claims, Nodes: nodes}}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		l := loop.New(loop.Config{World: s, Actor: s, Recorder: s, Policy: engine.DefaultPolicy(), Logger: hclog.NewNullLogger()})
		if err := l.Run(ctx); err != nil {
			t.Error(err)
		}
		var got []string
		for _, a := range s.plans[0].Actions {
			r, _ := a.(plan.Release)
			got = append(got, fmt.Sprintf("%s opens %v lifts %d", r.Node, r.Taint == taint, len(r.Lifts)))
		}
		slices.Sort(got)
		if want := []string{"closed opens true lifts 1", "next opens false lifts 1"}; len(s.outs) > 0 || !slices.Equal(got, want) {
			t.Errorf("%d decisions; in the end %q, want %q", len(s.outs), got, want)
		}
	})
}

// busyWorld changes 200 times a second, and has objects that cannot be read.
type busyWorld struct {
	*stage
	faults func(step int) []error
}

func (b busyWorld) Snapshot() (cluster.Snapshot, []error) {
	return b.snapshot, b.faults(len(b.outs))
}

func TestLoop_LogsAnObjectThatIsLeftOutOnceWhileItStaysSo(t *testing.T) {
	broken, other := errors.New("nodeclaim broken: cannot be read"), errors.New("nodeclaim other: cannot be read")
	for name, c := range map[string]struct {
		faults func(step int) []error
		lines  int
	}{
		"one":                   {func(int) []error { return []error{broken} }, 1},
		"two":                   {func(int) []error { return []error{broken, other} }, 2},
		"one, and later one":    {func(step int) []error { return []error{broken, other}[:1+min(step/100, 1)] }, 2},
		"mended, and not again": {func(step int) []error { return []error{broken}[:1-min(step/100, 1)] }, 1},
		"broken again":          {func(step int) []error { return []error{broken}[:1-step/100%2] }, 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				var log bytes.Buffer
				ctx, cancel := context.WithCancel(t.Context())
				var busy sync.WaitGroup
				busy.Go(func() {
					for ctx.Err() == nil {
						select {
						case s.changed <- struct{}{}:
						default:
						}
						time.Sleep(5 * time.Millisecond)
					}
				})
				recorder := onRecord{s, func() {
					if len(s.outs) == 900 {
						cancel()
					}
				}}
				logger := hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Error})
				l := loop.New(loop.Config{World: busyWorld{s, c.faults}, Actor: s, Recorder: recorder, Policy: engine.DefaultPolicy(), Logger: logger, WorkLimit: loop.WorkLimit})
				if err := l.Run(ctx); err != nil {
					t.Error(err)
				}
				busy.Wait()
				if lines := strings.Count(log.String(), "left out of decisions"); lines != c.lines {
					t.Errorf("%d lines in %d Steps, want %d", lines, len(s.outs), c.lines)
				}
			})
		})
	}
}
