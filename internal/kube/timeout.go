package kube

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// requestTimeout is how long a request of the daemon may take, with its answer. A page of
// the largest list takes a few seconds.
const requestTimeout = 30 * time.Second

// timeoutTransport limits every request but watches. The limit of rest.Config would end
// watches, too.
type timeoutTransport struct {
	base  http.RoundTripper
	limit time.Duration
}

func (t *timeoutTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if w := request.URL.Query().Get("watch"); w == "true" || w == "1" {
		return t.base.RoundTrip(request)
	}
	ctx, cancel := context.WithTimeoutCause(request.Context(), t.limit,
		fmt.Errorf("no answer of the API server within %s: %w", t.limit, context.DeadlineExceeded))
	answer, err := t.base.RoundTrip(request.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	answer.Body = &limitedBody{answer.Body, cancel}
	return answer, nil
}

// WrappedRoundTripper lets client-go find the transport below.
func (t *timeoutTransport) WrappedRoundTripper() http.RoundTripper { return t.base }

// limitedBody ends the limit of its request when it is closed.
type limitedBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *limitedBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
