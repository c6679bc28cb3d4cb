package aws

import (
	"context"
	"fmt"
	"time"
)

// propagate repeats do while it fails with an error that retry accepts: those
// are the errors that a consumer of a just-created IAM thing answers with until
// the thing is known to it. It gives up after the configured bound; every other
// error ends it at once, so that a wrong name is told at the first try wherever
// AWS tells the two apart.
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
