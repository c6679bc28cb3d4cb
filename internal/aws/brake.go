package aws

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	"golang.org/x/time/rate"
)

const (
	// slowest is how much of its rate an action keeps at least while EC2 throttles it.
	slowest = 1.0 / 32
	// regain is how much of its rate an action gets back with each call that succeeds.
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
// When EC2 throttles an action, its rate halves; each call that succeeds gives some of it back.
// So a storm of one action leaves room to launches, and to other users of the account.
type brake struct {
	mu    sync.Mutex
	lanes map[string]*lane
}

// lane is the calls of one action. One of them at a time waits for its token, so that a rate
// that changes holds for all that wait behind it.
type lane struct {
	allowance
	turn    chan struct{} // holds a value while a call waits for its token
	limiter *rate.Limiter

	mu     sync.Mutex
	slowed time.Time // when the rate was halved last
}

// sentKey is the key of a counter in the context: how often a call is sent, retries included.
type sentKey struct{}

// ID names the middleware.
func (*brake) ID() string { return "Brake" }

// HandleFinalize waits for its turn, and makes the call.
func (b *brake) HandleFinalize(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
	l := b.of(awsmiddleware.GetOperationName(ctx))
	if sent, counts := ctx.Value(sentKey{}).(*int); counts {
		*sent++
	}
	if err := l.wait(ctx); err != nil {
		return middleware.FinalizeOutput{}, middleware.Metadata{}, err
	}
	began := time.Now()
	out, meta, err := next.HandleFinalize(ctx, in)
	switch {
	case err == nil:
		l.faster()
	case errors.Is(classify(err), ErrThrottled):
		l.slower(began)
	}
	return out, meta, err
}

func (b *brake) of(operation string) *lane {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lanes[operation]
	if l == nil {
		if b.lanes == nil {
			b.lanes = map[string]*lane{}
		}
		a := allowanceOf(operation)
		l = &lane{allowance: a, turn: make(chan struct{}, 1), limiter: rate.NewLimiter(a.perSecond, a.burst)}
		b.lanes[operation] = l
	}
	return l
}

// wait waits for a token. What would have to wait for longer than its caller does is throttled:
// EC2 was not asked.
func (l *lane) wait(ctx context.Context) error {
	var err error
	select {
	case l.turn <- struct{}{}:
		err = l.limiter.Wait(ctx)
		<-l.turn
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil || errors.Is(ctx.Err(), context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: too many calls wait for their turn: %w", ErrThrottled, err)
}

// slower halves the rate, once for all calls that were under way together. While the rate is
// below the allowance, there is no burst.
func (l *lane) slower(began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !began.After(l.slowed) {
		return
	}
	l.slowed = time.Now()
	l.limiter.SetLimit(max(l.limiter.Limit()/2, l.perSecond*slowest))
	l.limiter.SetBurst(1)
}

func (l *lane) faster() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limiter.Limit() >= l.perSecond {
		return
	}
	if l.limiter.SetLimit(min(l.perSecond, l.limiter.Limit()+l.perSecond*regain)); l.limiter.Limit() >= l.perSecond {
		l.limiter.SetBurst(l.burst)
	}
}

// hold puts the brake behind the SDK's retries.
func (b *brake) hold(stack *middleware.Stack) error {
	return stack.Finalize.Insert(b, "Retry", middleware.After)
}
