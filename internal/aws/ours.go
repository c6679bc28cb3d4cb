package aws

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// AnyID in a Delete stands for whatever has the name.
const AnyID = "*"

// known tells whether the identity that a thing has is the one that the caller
// knows. An empty one is nobody's.
func known(id, have string) bool { return id == AnyID || id != "" && id == have }

// sameIfKnown is for updates, which compare only where the caller knows an
// identity. ErrReplaced.
func sameIfKnown(id, have string) error {
	if id == "" || known(id, have) {
		return nil
	}
	return fmt.Errorf("%w (known by %q, found %q)", ErrReplaced, id, have)
}

// JustMade gives the clients for taking back what was made a moment ago: a delete
// that does not find it waits until it is known instead of taking it for gone.
func (c *Clients) JustMade() *Clients {
	d := *c
	d.justMade = true
	return &d
}

// whenKnown reads a thing that was made a moment ago: the service may not know it
// yet.
func whenKnown[T any](ctx context.Context, c *Clients, read func() (T, error)) (T, error) {
	var have T
	err := c.propagate(ctx, func(err error) bool { return errors.Is(err, ErrNotFound) }, func() (err error) {
		have, err = read()
		return err
	})
	return have, err
}

// beforeDelete reads what is to be deleted.
func beforeDelete[T any](ctx context.Context, c *Clients, read func() (T, error)) (T, error) {
	if !c.justMade {
		return read()
	}
	return whenKnown(ctx, c, read)
}

// sendings follows one call that creates something. An answer that got lost leaves a thing that the next sending finds there already.
type sendings struct {
	began time.Time
	lost  int // answers of which it is not known what was done
}

func newSendings() *sendings { return &sendings{began: time.Now()} }

// option makes the call be followed.
func (s *sendings) option(o *iam.Options) { o.Retryer = followingRetryer{o.Retryer, s} }

// ofEvents is option for a call to EventBridge.
func (s *sendings) ofEvents(o *eventbridge.Options) { o.Retryer = followingRetryer{o.Retryer, s} }

// mayHaveMade tells whether an earlier sending, whose answer was lost, may have
// made what is there: the thing is not older than the call, by the clock of the
// service that refused the last sending.
func (s *sendings) mayHaveMade(created time.Time, refusal error) bool {
	var answer *smithyhttp.ResponseError
	if !errors.As(refusal, &answer) || answer.Response == nil {
		return false
	}
	there, err := http.ParseTime(answer.Response.Header.Get("Date"))
	if err != nil {
		return false
	}
	// Both clocks are read to the second.
	ahead := time.Until(there)
	return !created.Before(s.began.Add(ahead - 2*time.Second))
}

// lostAnswer finds what an earlier sending has made.
func lostAnswer[T any](ctx context.Context, c *Clients, s *sendings, refusal error, read func() (T, error)) (T, bool) {
	var have T
	if s.lost == 0 || !errors.Is(refusal, ErrConflict) {
		return have, false
	}
	have, err := whenKnown(ctx, c, read)
	return have, err == nil
}

type followingRetryer struct {
	awssdk.Retryer
	sendings *sendings
}

// RetryDelay is asked for before each further sending. One that AWS refused, for
// its rate most often, did nothing.
func (r followingRetryer) RetryDelay(attempt int, err error) (time.Duration, error) {
	if !refused(err) {
		r.sendings.lost++
	}
	return r.Retryer.RetryDelay(attempt, err)
}

// refused tells whether AWS has answered that it did not do what was asked for.
// After any other failure it may have done it.
func refused(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	if _, throttled := retry.DefaultThrottleErrorCodes[api.ErrorCode()]; throttled {
		return true
	}
	var answer *smithyhttp.ResponseError
	return !errors.As(err, &answer) || answer.HTTPStatusCode() < http.StatusInternalServerError
}
