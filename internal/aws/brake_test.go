package aws

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
)

// bucket is EC2, which throttles each action as it documents.
type bucket struct {
	mu               sync.Mutex
	tokens           float64
	last             time.Time
	perSecond        float64
	most             float64
	takes            time.Duration
	taken, throttled int
}

func (b *bucket) HandleFinalize(context.Context, middleware.FinalizeInput) (middleware.FinalizeOutput, middleware.Metadata, error) {
	time.Sleep(b.takes)
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if !b.last.IsZero() {
		b.tokens += now.Sub(b.last).Seconds() * b.perSecond
	}
	if b.tokens, b.last = min(b.tokens, b.most), now; b.tokens < 1 {
		b.throttled++
		return middleware.FinalizeOutput{}, middleware.Metadata{}, &smithy.GenericAPIError{Code: "RequestLimitExceeded"}
	}
	b.tokens--
	b.taken++
	return middleware.FinalizeOutput{}, middleware.Metadata{}, nil
}

// storm makes so many calls of the action at once, and says how long they took.
func storm(t *testing.T, ec2 *bucket, brake *brake, operation string, calls int) time.Duration {
	t.Helper()
	ctx, start := awsmiddleware.SetOperationName(t.Context(), operation), time.Now()
	var wait sync.WaitGroup
	for range calls {
		wait.Go(func() {
			for {
				_, _, err := brake.HandleFinalize(ctx, middleware.FinalizeInput{}, ec2)
				if err == nil {
					return
				}
				time.Sleep(time.Second) // as the SDK's retries do
			}
		})
	}
	wait.Wait()
	return time.Since(start)
}

func TestBrake_AStormIsNotThrottled(t *testing.T) {
	for operation, allows := range map[string][2]float64{
		"DescribeInstances": {20, 100}, "CreateFleet": {5, 50}, "TerminateInstances": {5, 100}, "CreateTags": {10, 100}, "CreateLaunchTemplate": {5, 50},
	} {
		synctest.Test(t, func(t *testing.T) {
			ec2 := &bucket{perSecond: allows[0], tokens: allows[1], most: allows[1]}
			took := storm(t, ec2, &brake{}, operation, 300)
			if ec2.throttled > 0 || ec2.taken != 300 || took > 2*time.Minute+time.Second {
				t.Errorf("%s: %d throttled, %d taken, %s", operation, ec2.throttled, ec2.taken, took)
			}
		})
	}
}

// Where others use up what EC2 allows, the daemon asks less often, and as often as before once
// they stop.
func TestBrake_ThrottlingSlowsDownUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy, brake := &bucket{perSecond: 1, most: 1}, &brake{}
		storm(t, busy, brake, "DescribeInstances", 200)
		if busy.throttled > busy.taken {
			t.Errorf("%d throttled of %d", busy.throttled, busy.throttled+busy.taken)
		}
		calm := &bucket{perSecond: 20, tokens: 100, most: 100}
		storm(t, calm, brake, "DescribeInstances", 60)
		if took := storm(t, calm, brake, "DescribeInstances", 100); calm.throttled > 0 || took > 10*time.Second {
			t.Errorf("%d throttled, 100 calls take %s after the storm", calm.throttled, took)
		}
	})
}

// Answers to calls that were under way together halve the rate once, and a rate that grows again
// holds for those that wait.
func TestBrake_WhoWaitsIsAsFastAsEC2AllowsByThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ec2, brake := &bucket{perSecond: 5, most: 50, takes: 100 * time.Millisecond}, &brake{}
		start := time.Now()
		ctx := awsmiddleware.SetOperationName(t.Context(), "CreateFleet")
		var wait sync.WaitGroup
		for range 45 { // at once, and all are throttled
			wait.Go(func() { _, _, _ = brake.HandleFinalize(ctx, middleware.FinalizeInput{}, ec2) })
		}
		wait.Wait()
		if l := brake.of("CreateFleet").limiter.Limit(); l != 4.5/2 {
			t.Errorf("a rate of %v after one burst, want half", l)
		}
		if storm(t, ec2, brake, "CreateFleet", 100); time.Since(start) > 40*time.Second {
			t.Errorf("100 launches after the burst take %s", time.Since(start))
		}
	})
}

// While EC2 fails for another reason, the rate does not grow.
func TestBrake_FailuresGiveNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brake := &brake{}
		ctx := awsmiddleware.SetOperationName(t.Context(), "DescribeInstances")
		_, _, _ = brake.HandleFinalize(ctx, middleware.FinalizeInput{}, &bucket{})
		for range 50 {
			_, _, _ = brake.HandleFinalize(ctx, middleware.FinalizeInput{}, failing{})
		}
		if l := brake.of("DescribeInstances").limiter.Limit(); l != 5 {
			t.Errorf("a rate of %v, want half of the allowance", l)
		}
	})
}

// failing is EC2 during an outage.
type failing struct{}

func (failing) HandleFinalize(context.Context, middleware.FinalizeInput) (middleware.FinalizeOutput, middleware.Metadata, error) {
	return middleware.FinalizeOutput{}, middleware.Metadata{}, &smithy.GenericAPIError{Code: "InternalError"}
}

func TestBrake_ActionsDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		none, brake := &bucket{}, &brake{}
		for range 50 {
			_, _, _ = brake.HandleFinalize(awsmiddleware.SetOperationName(t.Context(), "DescribeInstances"), middleware.FinalizeInput{}, none)
		}
		if took := storm(t, &bucket{tokens: 9, most: 9}, brake, "CreateFleet", 9); took > 0 {
			t.Errorf("launches wait for %s while describes are throttled", took)
		}
	})
}

// What would come after the caller's deadline is no outage.
func TestBrake_ATurnAfterTheDeadlineIsThrottling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brake, ec2 := &brake{}, &bucket{perSecond: 100, tokens: 1000, most: 1000}
		storm(t, ec2, brake, "CreateFleet", 50)
		ctx, cancel := context.WithTimeout(awsmiddleware.SetOperationName(t.Context(), "CreateFleet"), time.Millisecond)
		defer cancel()
		if _, _, err := brake.HandleFinalize(ctx, middleware.FinalizeInput{}, ec2); !errors.Is(err, ErrThrottled) || Unanswered(err) {
			t.Errorf("error %v", err)
		}
	})
}
