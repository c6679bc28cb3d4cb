package size

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

// writers is how many requests are under way at once: enough to keep an API
// server of a few processors busy.
const writers = 64

// each calls f for 0 to n-1, side by side, and says now and then how far it is.
func (r *run) each(ctx context.Context, what string, n int, f func(context.Context, int) error) error {
	const often = 15 * time.Second
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	said := time.Now()
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		if time.Since(said) >= often {
			r.say("%d of %d %s written", i, n, what)
			said = time.Now()
		}
		group.Go(func() error { return f(ctx, i) })
	}
	return group.Wait()
}
