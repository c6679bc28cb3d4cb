package aws

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
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
// resource may exist. The next try fails with a conflict then; or there is no next try,
// because the tries are over or the user has interrupted the call.
type sendings struct {
	clock *clock
	began time.Time
	lost  int // tries without an answer that tells whether the resource was made
}

func (c *Clients) newSendings() *sendings { return &sendings{clock: c.clock, began: time.Now()} }

// option makes the SDK report the tries of an IAM call.
func (s *sendings) option(o *iam.Options) { o.Retryer = followingRetryer{o.Retryer, s} }

// ofEvents makes the SDK report the tries of an EventBridge call.
func (s *sendings) ofEvents(o *eventbridge.Options) { o.Retryer = followingRetryer{o.Retryer, s} }

// ofEKS makes the SDK report the tries of an EKS call.
func (s *sendings) ofEKS(o *eks.Options) { o.Retryer = followingRetryer{o.Retryer, s} }

// ofSQS makes the SDK report the tries of an SQS call.
func (s *sendings) ofSQS(o *sqs.Options) { o.Retryer = followingRetryer{o.Retryer, s} }

// ofEC2 makes the SDK report the tries of an EC2 call.
func (s *sendings) ofEC2(o *ec2.Options) { o.Retryer = followingRetryer{o.Retryer, s} }

// mayHaveDone reports whether a try of the failed call may have done its work.
func (s *sendings) mayHaveDone(failure error) bool { return s.lost > 0 || !refused(failure) }

// mayHaveMade reports whether a try may have made the existing resource: the resource is
// not older than the call, by the clock of the services.
func (s *sendings) mayHaveMade(created time.Time) bool {
	ahead, known := s.clock.ahead()
	// Both clocks have a precision of one second.
	return known && !created.Before(s.began.Add(ahead-2*time.Second))
}

// afterFailure finds the resource that a create has made although the create failed. ours
// tells whether a resource of that name is as asked and new. A conflict with our own
// resource is no failure: the error is nil. Otherwise the failure is returned, with the
// resource if there is one, which the caller must delete.
func afterFailure[T any](ctx context.Context, c *Clients, s *sendings, failure error, read func(context.Context) (T, error), ours func(T) bool) (T, error) {
	var none T
	if !s.mayHaveDone(failure) {
		return none, failure
	}
	conflict, patience := errors.Is(failure, ErrConflict), c.propagation
	if !conflict {
		// Perhaps nothing was made, so nobody waits for long. The call's own time may be over.
		patience /= 20
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), RequestTimeout)
		defer cancel()
		ctx = detached
	}
	have, err := whenKnown(ctx, c.patient(patience), func() (T, error) { return read(ctx) })
	switch {
	case err != nil, !ours(have):
		return none, failure
	case conflict:
		return have, nil
	}
	return have, failure
}

// patient returns clients that wait that long for IAM's eventual consistency.
func (c *Clients) patient(d time.Duration) *Clients {
	p := *c
	p.propagation = d
	return &p
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

// refused reports whether the call surely did nothing: AWS has answered so, or there was
// no connection. After any other failure the call may have done its work.
func refused(err error) bool {
	var network *net.OpError
	if errors.As(err, &network) && network.Op == "dial" {
		return true
	}
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
