package claim

import (
	"errors"
	"testing"
	"time"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// knowledge is a core that keeps what it was told last.
type knowledge struct{ last engine.Shortages }

func (k *knowledge) Shortages(s engine.Shortages) { k.last = s }

// All 300 NodeClaims of a pool ask the gate whenever it says that they may; each call takes
// a second and fails.
func TestGate_NodeClaimsOfAPoolThatFailsMakeFewCalls(t *testing.T) {
	var g gate
	begin := time.Unix(10_000, 0)
	asks, answers := make([]time.Time, 300), map[int]time.Time{}
	var calls [3]int
	for now := begin; now.Before(begin.Add(3 * time.Hour)); now = now.Add(gatePoll) {
		for i, at := range answers {
			if !now.Before(at) {
				g.failed("pool", now, longestErrorPause)
				g.leave("pool")
				delete(answers, i)
			}
		}
		for i := range asks {
			if _, under := answers[i]; under || now.Before(asks[i]) {
				continue
			}
			wait := g.enter("pool", now)
			if asks[i] = now.Add(wait); wait == 0 {
				answers[i] = now.Add(time.Second)
				calls[now.Sub(begin)/time.Hour]++
			}
		}
	}
	for hour, n := range calls {
		if n == 0 || n > 30 {
			t.Errorf("%d calls in hour %d, want 1 to 30", n, hour)
		}
	}
}

func TestGate_SuccessesLetMoreCallsGoAndAFailureOne(t *testing.T) {
	var g gate
	now := time.Unix(10_000, 0)
	pass := func() (n int) {
		for g.enter("pool", now) == 0 {
			n++
		}
		return n
	}
	if n := pass(); n != fewCalls {
		t.Errorf("%d calls at first", n)
	}
	g.succeeded("pool")
	if n := pass(); n != fewCalls {
		t.Errorf("%d more calls after a success", n)
	}
	for range workers {
		g.succeeded("pool")
	}
	if pass(); g.pools["pool"].under != mostCalls {
		t.Errorf("%d calls at most", g.pools["pool"].under)
	}
	if wait := g.enter("other", now); wait != 0 {
		t.Errorf("another pool waits %s", wait)
	}
	for range mostCalls {
		g.lacked("pool")
		g.leave("pool")
	}
	if n := pass(); n != 1 {
		t.Errorf("%d calls after a failure", n)
	}
	if next := g.failed("pool", now, longestErrorPause); next.Sub(now) != firstErrorPause || g.enter("pool", now) != firstErrorPause {
		t.Errorf("the pause after an error is %s", next.Sub(now))
	}
	if g.succeeded("pool"); g.pools["pool"].errors != 0 || g.enter("pool", now) != 0 {
		t.Error("a success does not end the pause")
	}
}

// NodeClaims of a burst carry the same offerings: what failed for one needs no other call.
func TestLaunch_ANodeClaimWhoseOfferingsHaveJustFailedMakesNoCall(t *testing.T) {
	l := newLaunching(t)
	core := &knowledge{}
	l.controller.Scarcity = core
	l.ec2.answer = nil
	first := nodeClaim(label.OnDemand)
	lack := &aws.InsufficientCapacityError{}
	l.ec2.called = func() {
		for _, o := range l.ec2.requests[0].Overrides {
			lack.Offerings = append(lack.Offerings, aws.OfferingFailure{
				OfferingKey: catalog.OfferingKey{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: label.OnDemand},
				Code:        "VcpuLimitExceeded", Reach: catalog.ReachQuota,
			})
		}
		l.ec2.answer = lack
	}
	second := first.DeepCopy()
	second.Name, second.UID, second.Finalizers = "pool-y", "uid-y", []string{v1.FinalizerTermination}
	l.put(t, second)
	l.Observe(second)
	for _, name := range []string{"pool-x", "pool-y"} {
		if _, err := l.controller.Reconcile(t.Context(), name); err != nil && !errors.Is(err, lack) {
			t.Fatal(err)
		}
		if !l.wrote("DELETE " + claimsPath + name) {
			t.Errorf("nodeclaim %s stays", name)
		}
	}
	if len(l.ec2.requests) != 1 {
		t.Errorf("%d calls, want 1", len(l.ec2.requests))
	}
	if len(core.last.Unavailable) != 1 || len(core.last.Failing) != 1 {
		t.Errorf("the core knows %+v", core.last)
	}
}

// An outage of EC2 is over for pods within a minute.
func TestGate_PauseIsShortWhileEC2IsAtFault(t *testing.T) {
	var g gate
	now := time.Unix(10_000, 0)
	for range 20 {
		now = g.failed("pool", now, longestAwayPause)
	}
	if next := g.failed("pool", now, longestAwayPause); next.Sub(now) != longestAwayPause {
		t.Errorf("the pause after 20 failures is %s, want %s", next.Sub(now), longestAwayPause)
	}
}

// The pause of a pool has grown to five minutes while EC2 was away: whoever waits is tried again
// with EC2's first answer, and not when the pause is over.
func TestGate_OpensWithEC2sFirstAnswerAfterItWasAway(t *testing.T) {
	s, collector, _ := collected(t)
	waiting := nodeClaim(label.OnDemand)
	s.Observe(waiting)
	ec2 := &cloud{err: errors.New("away")}
	s.controller.Cloud = ec2
	for range 120 {
		if err := collector.Sweep(t.Context(), s.now); err == nil {
			t.Fatal("no error of an EC2 that is away")
		}
		s.controller.gate.failed("pool", s.now, longestErrorPause)
		s.now = s.now.Add(30 * time.Second)
	}
	if wait := s.controller.gate.enter("pool", s.now); wait < time.Minute {
		t.Errorf("after an hour in vain the pool pauses %s", wait)
	}
	ec2.err = nil
	if err := collector.Sweep(t.Context(), s.now); err != nil {
		t.Fatal(err)
	}
	if wait := s.controller.gate.enter("pool", s.now); wait != 0 {
		t.Errorf("EC2 answers, and the pool waits %s", wait)
	}
	if n := s.controller.queue.Len(); n != 1 {
		t.Errorf("%d NodeClaims are tried again, want the one without an instance", n)
	}
	_ = collector.Sweep(t.Context(), s.now)
	if n := s.controller.queue.Len(); n != 1 {
		t.Errorf("%d NodeClaims wait after the next sweep: all are tried at each", n)
	}
}
