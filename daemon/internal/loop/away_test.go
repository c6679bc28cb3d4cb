package loop_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/loop"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// outage is a loop whose pods have NodeClaims that do not come up.
type outage struct {
	*stage
	loop *loop.Loop

	mu    sync.Mutex // the test looks on while the loop works
	steps int
}

func (o *outage) Snapshot() (cluster.Snapshot, []error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stage.Snapshot()
}

func (o *outage) Do(ctx context.Context, p plan.Plan) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stage.Do(ctx, p)
}

func (o *outage) Record(in engine.Input, out engine.Output, took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stage.Record(in, out, took)
}

func (o *outage) decide(in engine.Input) engine.Output {
	o.mu.Lock()
	o.steps++
	o.mu.Unlock()
	return engine.Step(in)
}

// put changes the objects.
func (o *outage) put(t *testing.T, objects cluster.Objects) {
	t.Helper()
	o.mu.Lock()
	var err error
	o.snapshot, err = o.snapshot.Apply(cluster.Delta{Put: objects})
	o.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	o.changed <- struct{}{}
}

// look returns how many decisions were made, how many NodeClaims there are, and whether no node
// may be disrupted by the last decision.
func (o *outage) look() (steps, claims int, paused bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.steps, len(o.snapshot.Claims()), o.policies[len(o.policies)-1].PauseDisruption
}

// newOutage runs the loop until the test ends; now is the clock of the machine, if it is not that
// of the test.
func newOutage(t *testing.T, now func() time.Time) *outage {
	t.Helper()
	o := &outage{stage: newStage(t)}
	o.loop = loop.New(loop.Config{
		World: o, Actor: o, Recorder: o, Policy: engine.DefaultPolicy(), WorkLimit: loop.WorkLimit, Logger: hclog.NewNullLogger(), Now: now,
		Decide: o.decide,
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = o.loop.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	time.Sleep(10 * time.Second)
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.launchedFor) != 9 {
		t.Fatalf("launched for %v", o.launchedFor)
	}
	return o
}

// deleted counts the NodeClaims that plans have deleted.
func (o *outage) deleted() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.plans {
		for _, a := range p.Actions {
			if _, is := a.(plan.Delete); is {
				n++
			}
		}
	}
	return n
}

// launch makes the NodeClaims launched ones, whose nodes have not joined.
func (o *outage) launch(t *testing.T) {
	t.Helper()
	s, _ := o.Snapshot()
	claims := s.Claims()
	for i := range claims {
		claims[i].Launched, claims[i].InstanceID, claims[i].InstanceType = true, "i-"+claims[i].Name, "m5.xlarge"
	}
	o.put(t, cluster.Objects{Claims: claims})
}

// While EC2 does not answer, nothing is to be decided: no NodeClaim times out, no other comes
// beside it, and no decision asks for the next at once.
func TestAway_WhileEC2IsAwayNothingTimesOutOrGrowsAndLittleIsDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(t, nil)
		o.loop.CloudAway(true)
		before, claims, _ := o.look()
		for range 60 { // something always changes
			time.Sleep(time.Minute)
			o.changed <- struct{}{}
		}
		synctest.Wait()
		if steps, now, _ := o.look(); o.deleted() > 0 || steps-before > 2*60 || now != claims {
			t.Errorf("%d NodeClaims deleted, %d decisions in an hour, %d NodeClaims, %d before", o.deleted(), steps-before, now, claims)
		}
	})
}

// What came up while EC2 was away has a while to show it once EC2 is back, and no longer.
func TestAway_NodeClaimsHaveTwoMinutesOnceEC2IsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(t, nil)
		o.loop.CloudAway(true)
		time.Sleep(time.Hour)
		o.loop.CloudAway(false)
		o.within(t, 2*time.Minute)
	})
}

// within checks that no NodeClaim is deleted before the time is over, and the first soon after.
func (o *outage) within(t *testing.T, grace time.Duration) {
	t.Helper()
	time.Sleep(grace - time.Second)
	synctest.Wait()
	if n := o.deleted(); n > 0 {
		t.Errorf("%d NodeClaims deleted before they had time to come up", n)
	}
	time.Sleep(3 * time.Second)
	synctest.Wait()
	if o.deleted() == 0 {
		t.Error("a NodeClaim that does not come up stays")
	}
}

// While the API server is away no node can join, and nobody leads: whoever does then must not take
// the nodes for late that are about to join.
func TestAway_ANewLeaderGivesNodesTimeToJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := newOutage(t, nil)
		before.launch(t)
		time.Sleep(14 * time.Minute)
		synctest.Wait()
		s := newStage(t)
		s.snapshot, _ = before.Snapshot()
		time.Sleep(time.Hour) // the first loop gives them up, and nobody carries that out
		after := &outage{stage: s}
		after.loop = loop.New(loop.Config{
			World: after, Actor: after, Recorder: after, Policy: engine.DefaultPolicy(), WorkLimit: loop.WorkLimit, Logger: hclog.NewNullLogger(),
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = after.loop.Run(ctx)
		}()
		after.within(t, 2*time.Minute)
		cancel()
		<-done
	})
}

// An hour that the clock jumps ahead has not passed: no NodeClaim times out for it.
func TestClock_AJumpAheadEndsNoNodeClaimThatIsComingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var offset atomic.Int64
		o := newOutage(t, func() time.Time { return time.Now().Round(0).Add(time.Duration(offset.Load())) })
		o.launch(t)
		offset.Store(int64(time.Hour))
		o.changed <- struct{}{}
		time.Sleep(4 * time.Minute) // longer than the grace after a jump
		synctest.Wait()
		if n := o.deleted(); n > 0 {
			t.Errorf("%d NodeClaims deleted before they had time to come up", n)
		}
	})
}

// A clock that goes back an hour makes nothing late, and the loop goes on deciding.
func TestClock_AJumpBackStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var offset atomic.Int64
		o := newOutage(t, func() time.Time { return time.Now().Round(0).Add(time.Duration(offset.Load())) })
		offset.Store(int64(-time.Hour))
		pod := cluster.Pod{Namespace: "default", Name: "late", UID: "late", Unschedulable: true, Created: time.Now().Add(-time.Hour), Shape: cluster.Shape{Requests: quantity.Resources{MilliCPU: 1000, PodSlots: 1}}}
		before, _, _ := o.look()
		o.put(t, cluster.Objects{Pods: []cluster.Pod{pod}})
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if steps, _, _ := o.look(); o.deleted() > 0 || steps-before > 600 || steps == before {
			t.Errorf("%d deleted, %d decisions", o.deleted(), steps-before)
		}
	})
}

// Nodes that have been quiet for a minute are not quiet for an hour because the clock says so.
func TestClock_AfterAJumpAheadNoNodeIsDisruptedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var offset atomic.Int64
		o := newOutage(t, func() time.Time { return time.Now().Round(0).Add(time.Duration(offset.Load())) })
		paused := func() bool { _, _, is := o.look(); return is }
		offset.Store(int64(time.Hour))
		o.changed <- struct{}{}
		time.Sleep(time.Second)
		synctest.Wait()
		if !paused() {
			t.Error("nodes may be disrupted right after the jump")
		}
		time.Sleep(15 * time.Minute)
		synctest.Wait()
		if paused() {
			t.Error("nodes may still not be disrupted after a quarter of an hour")
		}
		offset.Store(int64(time.Hour + 2*time.Second)) // NTP slews
		o.changed <- struct{}{}
		time.Sleep(time.Second)
		synctest.Wait()
		if paused() {
			t.Error("two seconds count as a jump")
		}
	})
}
