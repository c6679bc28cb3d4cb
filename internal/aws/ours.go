package aws

import (
	"context"
	"errors"
	"fmt"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
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

// beforeDelete reads what is to be deleted.
func beforeDelete[T any](ctx context.Context, c *Clients, read func() (T, error)) (T, error) {
	if !c.justMade {
		return read()
	}
	var have T
	err := c.propagate(ctx, func(err error) bool { return errors.Is(err, ErrNotFound) }, func() (err error) {
		have, err = read()
		return err
	})
	return have, err
}

// retries counts how often a call to IAM was sent again. An answer that got lost
// leaves a thing that the second sending finds there already.
type retries struct {
	began time.Time
	count int
}

func countRetries() *retries { return &retries{began: time.Now()} }

// option makes a call be counted.
func (r *retries) option(o *iam.Options) { o.Retryer = countingRetryer{o.Retryer, r} }

// clockSkew is the most by which IAM's clock may be apart from ours: it refuses
// requests that are signed further off.
const clockSkew = 5 * time.Minute

// made tells whether a thing of that time of creation may be what an earlier
// sending of the call has made.
func (r *retries) made(created time.Time) bool {
	return r.count > 0 && created.After(r.began.Add(-clockSkew))
}

type countingRetryer struct {
	awssdk.Retryer
	counted *retries
}

// RetryDelay is asked for before each further attempt.
func (r countingRetryer) RetryDelay(attempt int, err error) (time.Duration, error) {
	r.counted.count++
	return r.Retryer.RetryDelay(attempt, err)
}
