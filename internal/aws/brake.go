package aws

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	"golang.org/x/time/rate"
)

const (
	// slowest is how much of its rate an action keeps at least while EC2 throttles it.
	slowest = 1.0 / 32
	// regain is how much of its rate an action gets back with each call that EC2 takes.
	regain = 1.0 / 20
)

// allowance is how many calls of an action are made: so many a second, and so many at once
// after a pause.
type allowance struct {
	perSecond rate.Limit
	burst     int
}

// allowanceOf is nine tenths of what EC2 allows an account in a Region, for launches, and half
// of it for all else, as the account has other users. Source: the EC2 developer guide, Request
// throttling (non-mutating actions 20 a second and 100 at once, mutating ones 5 and 50,
// terminations 5 and 100, tags 10 and 100).
func allowanceOf(operation string) allowance {
	switch {
	case operation == "CreateFleet":
		return allowance{4.5, 45}
	case operation == "TerminateInstances":
		return allowance{2.5, 50}
	case operation == "CreateTags", operation == "DeleteTags":
		return allowance{5, 50}
	case strings.HasPrefix(operation, "Describe"), strings.HasPrefix(operation, "Get"):
		return allowance{10, 50}
	}
	return allowance{2.5, 25}
}

// brake holds the calls of each action of EC2 to its allowance, each try of the SDK included.
// When EC2 throttles an action, its rate halves; each call that EC2 takes gives some of it
// back. So a storm of one action leaves room to launches, and to other users of the account.
type brake struct {
	mu      sync.Mutex
	buckets map[string]*rate.Limiter
}

// ID names the middleware.
func (*brake) ID() string { return "Brake" }

// HandleFinalize waits for its turn, and makes the call.
func (b *brake) HandleFinalize(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
	operation := awsmiddleware.GetOperationName(ctx)
	if err := b.of(operation).Wait(ctx); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		} else { // its turn would come after its deadline
			err = fmt.Errorf("%w: too many calls wait for their turn: %w", ErrThrottled, err)
		}
		return middleware.FinalizeOutput{}, middleware.Metadata{}, err
	}
	out, meta, err := next.HandleFinalize(ctx, in)
	b.answered(operation, err != nil && errors.Is(classify(err), ErrThrottled))
	return out, meta, err
}

func (b *brake) of(operation string) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.buckets[operation]
	if l == nil {
		if b.buckets == nil {
			b.buckets = map[string]*rate.Limiter{}
		}
		a := allowanceOf(operation)
		l = rate.NewLimiter(a.perSecond, a.burst)
		b.buckets[operation] = l
	}
	return l
}

// answered makes the action slower or faster. While it is slower than its allowance, no two
// calls are made at once.
func (b *brake) answered(operation string, throttled bool) {
	l, a := b.of(operation), allowanceOf(operation)
	b.mu.Lock()
	defer b.mu.Unlock()
	if throttled {
		l.SetLimit(max(l.Limit()/2, a.perSecond*slowest))
		l.SetBurst(1)
		return
	}
	if l.Limit() < a.perSecond {
		l.SetLimit(min(a.perSecond, l.Limit()+a.perSecond*regain))
	}
	if l.Limit() >= a.perSecond {
		l.SetBurst(a.burst)
	}
}

// hold puts the brake behind the SDK's retries.
func (b *brake) hold(stack *middleware.Stack) error {
	return stack.Finalize.Insert(b, "Retry", middleware.After)
}
