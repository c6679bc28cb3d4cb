package aws

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// clock is the clock of the services, read from their latest answer. It is safe for
// concurrent use.
type clock struct{ offset atomic.Pointer[time.Duration] }

// ahead is how far the clock is ahead of ours, to the second; known is false before the
// first answer.
func (k *clock) ahead() (d time.Duration, known bool) {
	if offset := k.offset.Load(); offset != nil {
		return *offset, true
	}
	return 0, false
}

// follow makes the SDK report each answer.
func (k *clock) follow(stack *middleware.Stack) error {
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("ServiceClock", func(
		ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
	) (middleware.DeserializeOutput, middleware.Metadata, error) {
		out, meta, err := next.HandleDeserialize(ctx, in)
		if answer, ok := out.RawResponse.(*smithyhttp.Response); ok && answer != nil && answer.Response != nil {
			if there, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
				offset := time.Until(there)
				k.offset.Store(&offset)
			}
		}
		return out, meta, err
	}), middleware.After)
}
