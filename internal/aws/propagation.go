package aws

import (
	"context"
	"fmt"
	"time"
)

// propagate repeats do while it fails with an error that retry accepts. Those are the
// errors that a service returns until it knows a new IAM resource. It gives up after the
// configured time. Every other error ends it at once: where AWS has different errors for
// the two cases, a wrong name fails at the first try.
func (c *Clients) propagate(ctx context.Context, retry func(error) bool, do func() error) error {
	deadline := time.Now().Add(c.propagation)
	pause := c.propagation / 100
	for {
		err := do()
		if err == nil || !retry(err) {
			return err
		}
		if time.Now().Add(pause).After(deadline) {
			return fmt.Errorf("still failing after %v of waiting for IAM: %w", c.propagation, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", err, ctx.Err())
		case <-time.After(pause):
		}
		pause = min(pause*3/2, c.propagation/20)
	}
}
