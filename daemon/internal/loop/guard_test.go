package loop_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/loop"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/replay"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
)

// faulty is engine.Step with a fault: it panics where the snapshot has what is at fault.
func faulty(steps *int, atFault func(cluster.Snapshot) bool) func(engine.Input) engine.Output {
	return func(in engine.Input) engine.Output {
		*steps++
		if atFault(in.Snapshot) {
			panic("out of range")
		}
		return engine.Step(in)
	}
}

func pending(in cluster.Snapshot, pods ...string) bool {
	return !slices.ContainsFunc(pods, func(id string) bool { p, there := in.Pod(id); return !there || p.Node != "" })
}

func launches(in cluster.Snapshot, pool string) bool {
	return slices.ContainsFunc(in.Pools(), func(p cluster.Pool) bool { return p.Name == pool && p.Ready })
}

// guarded runs a loop for so long whose decisions panic where the snapshot is at fault.
func guarded(t *testing.T, s *stage, lasts time.Duration, atFault func(cluster.Snapshot) bool) (log string, steps, panics int) {
	t.Helper()
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	l := loop.New(loop.Config{
		World: s, Actor: s, Recorder: s, Policy: engine.DefaultPolicy(), WorkLimit: loop.WorkLimit,
		Logger: hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Error}),
		Decide: faulty(&steps, atFault), Panicked: func(in engine.Input, _ *replay.FaultError) {
			panics++
			if _, again := replay.Try(faulty(new(int), atFault), in); again == nil {
				t.Error("the input that is told of does not panic")
			}
		},
	})
	if err := l.Run(ctx); err != nil {
		t.Error(err)
	}
	return out.String(), steps, panics
}

func TestGuard_APodAtFaultHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		log, _, panics := guarded(t, s, 5*time.Second, func(in cluster.Snapshot) bool { return pending(in, "default/web-4") })
		for i := range 9 {
			id, want := fmt.Sprint("default/web-", i), 1
			if i == 4 {
				want = 0
			}
			if s.launchedFor[id] != want {
				t.Errorf("%s: %d launches, want %d", id, s.launchedFor[id], want)
			}
		}
		if panics != 1 || !strings.Contains(log, "name=default/web-4") || !strings.Contains(log, "guard_test.go") || strings.Count(log, "left out of decisions") != 1 {
			t.Errorf("%d panics, log:\n%s", panics, log)
		}
	})
}

func TestGuard_ANodePoolAtFaultLeavesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		log, _, _ := guarded(t, s, 5*time.Second, func(in cluster.Snapshot) bool { return launches(in, "first") })
		if !strings.Contains(log, "kind=NodePool name=first") {
			t.Error(log)
		}
		for i := range 9 {
			if id := fmt.Sprint("default/web-", i); s.launchedFor[id] != 1 {
				t.Errorf("%s: %d launches", id, s.launchedFor[id])
			}
		}
		for _, c := range s.snapshot.Claims() {
			if c.Pool != "second" {
				t.Errorf("NodeClaim of pool %s", c.Pool)
			}
		}
	})
}

func TestGuard_SeveralAtFaultAreAllFound(t *testing.T) {
	for name, tc := range map[string]struct {
		atFault func(cluster.Snapshot) bool
		out     []string
	}{
		"each by itself": {func(in cluster.Snapshot) bool {
			return pending(in, "default/web-1") || pending(in, "default/web-7") || launches(in, "first")
		}, []string{"default/web-1", "default/web-7"}},
		"only together": {func(in cluster.Snapshot) bool { return pending(in, "default/web-2", "default/web-8") }, []string{"default/web-8"}},
		"of both kinds": {func(in cluster.Snapshot) bool {
			return pending(in, "default/web-0") || pending(in, "default/web-1", "default/web-8")
		}, []string{"default/web-0", "default/web-8"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t)
			log, _, _ := guarded(t, s, 5*time.Second, tc.atFault)
			for _, id := range tc.out {
				if !strings.Contains(log, "name="+id) || s.launchedFor[id] > 0 {
					t.Errorf("%s: %s: %d launches, log:\n%s", name, id, s.launchedFor[id], log)
				}
			}
			if len(s.launchedFor) != 9-len(tc.out) {
				t.Errorf("%s: launched for %v", name, s.launchedFor)
			}
			if strings.Contains(log, "no decision can be made") {
				t.Errorf("%s: log:\n%s", name, log)
			}
		})
	}
}

// Nothing can be left out that holds up a decision always: none is made, which costs little,
// and the process goes on.
func TestGuard_WithoutADecisionNothingIsDoneAndLittleIsTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		log, steps, panics := guarded(t, s, 5*time.Minute, func(cluster.Snapshot) bool { return true })
		if len(s.plans) > 0 || panics > 11 || steps > 11*2 || !strings.Contains(log, "no decision can be made") {
			t.Errorf("%d plans, %d panics, %d steps", len(s.plans), panics, steps)
		}
	})
}

// Where neither pods nor NodePools are at fault, nothing is left out, and all is as before once
// the fault is gone.
func TestGuard_AFaultElsewhereLeavesNothingOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, until := newStage(t), time.Now().Add(time.Minute)
		_, steps, _ := guarded(t, s, 2*time.Minute, func(cluster.Snapshot) bool { return time.Now().Before(until) })
		for i := range 9 {
			if id := fmt.Sprint("default/web-", i); s.launchedFor[id] != 1 {
				t.Errorf("%s: %d launches within a minute after the fault", id, s.launchedFor[id])
			}
		}
		if steps > 30 {
			t.Errorf("%d decisions were tried", steps)
		}
	})
}

// What was at fault is tried again after a while: the fault may be gone.
func TestGuard_WhatWasLeftOutIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, until := newStage(t), time.Now().Add(time.Minute)
		go func() {
			for range 13 {
				time.Sleep(time.Minute)
				s.changed <- struct{}{}
			}
		}()
		guarded(t, s, 15*time.Minute, func(in cluster.Snapshot) bool { return time.Now().Before(until) && pending(in, "default/web-4") })
		if s.launchedFor["default/web-4"] != 1 {
			t.Errorf("launched for %v", s.launchedFor)
		}
	})
}

// However often the cluster changes, decisions take a sixth of a core at most.
func TestRun_RestsForFiveTimesAsLongAsADecisionTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, steps := newStage(t), 0
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for ctx.Err() == nil {
				select {
				case s.changed <- struct{}{}:
				default:
				}
				time.Sleep(5 * time.Millisecond)
			}
		}()
		l := loop.New(loop.Config{
			World: s, Actor: s, Recorder: s, Policy: engine.DefaultPolicy(), Logger: hclog.NewNullLogger(), WorkLimit: loop.WorkLimit,
			Decide: func(in engine.Input) engine.Output {
				steps++
				time.Sleep(20 * time.Millisecond)
				return engine.Step(in)
			},
		})
		if err := l.Run(ctx); err != nil {
			t.Error(err)
		}
		<-ended
		if busy := time.Duration(steps) * 20 * time.Millisecond; busy > 1700*time.Millisecond || busy < 1500*time.Millisecond {
			t.Errorf("%d decisions in 10 s take %s, want a sixth", steps, busy)
		}
	})
}
