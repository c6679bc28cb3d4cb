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

// AnyID as the id of a delete means: whatever resource has the name.
const AnyID = "*"

// known reports whether a resource has the identity that the caller knows. An empty
// identity matches no resource.
func known(id, have string) bool { return id == AnyID || id != "" && id == have }

// sameIfKnown is for updates: they compare the identity only if the caller knows one.
// Error: ErrReplaced.
func sameIfKnown(id, have string) error {
	if id == "" || known(id, have) {
		return nil
	}
	return fmt.Errorf("%w (expected %q, found %q)", ErrReplaced, id, have)
}

// JustMade returns clients that delete what was made a moment ago. If a delete does not
// find the resource, it waits until AWS knows the resource, instead of taking it for
// gone.
func (c *Clients) JustMade() *Clients {
	d := *c
	d.justMade = true
	return &d
}

// whenKnown reads a resource that was made a moment ago. It waits while the service does
// not know the resource yet.
func whenKnown[T any](ctx context.Context, c *Clients, read func() (T, error)) (T, error) {
	var have T
	err := c.propagate(ctx, func(err error) bool { return errors.Is(err, ErrNotFound) }, func() (err error) {
		have, err = read()
		return err
	})
	return have, err
}

// beforeDelete reads the resource that is to be deleted.
func beforeDelete[T any](ctx context.Context, c *Clients, read func() (T, error)) (T, error) {
	if !c.justMade {
		return read()
	}
	return whenKnown(ctx, c, read)
}

// sendings counts the tries of one create call. If the answer to a try gets lost, the
// resource may exist, and the next try fails with a conflict.
type sendings struct {
	began time.Time
	lost  int // tries without an answer that tells whether the resource was made
}

func newSendings() *sendings { return &sendings{began: time.Now()} }

// option makes the SDK report the tries of an IAM call.
func (s *sendings) option(o *iam.Options) { o.Retryer = followingRetryer{o.Retryer, s} }

// ofEvents makes the SDK report the tries of an EventBridge call.
func (s *sendings) ofEvents(o *eventbridge.Options) { o.Retryer = followingRetryer{o.Retryer, s} }

// mayHaveMade reports whether an earlier try may have made the existing resource: the
// resource is not older than the call. The clock is that of the service, read from its
// refusal of the last try.
func (s *sendings) mayHaveMade(created time.Time, refusal error) bool {
	var answer *smithyhttp.ResponseError
	if !errors.As(refusal, &answer) || answer.Response == nil {
		return false
	}
	there, err := http.ParseTime(answer.Response.Header.Get("Date"))
	if err != nil {
		return false
	}
	// Both clocks have a precision of one second.
	ahead := time.Until(there)
	return !created.Before(s.began.Add(ahead - 2*time.Second))
}

// lostAnswer reads the resource that an earlier try may have made.
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

// RetryDelay is called before each further try. A try that AWS refused, most often by
// throttling, has made nothing.
func (r followingRetryer) RetryDelay(attempt int, err error) (time.Duration, error) {
	if !refused(err) {
		r.sendings.lost++
	}
	return r.Retryer.RetryDelay(attempt, err)
}

// refused reports whether AWS has answered that the call did nothing. After any other
// failure the call may have done its work.
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
