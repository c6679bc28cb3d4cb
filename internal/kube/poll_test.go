package kube

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

func statusOf(code int32) metav1.Status {
	reasons := map[int32]metav1.StatusReason{http.StatusUnauthorized: metav1.StatusReasonUnauthorized, http.StatusForbidden: metav1.StatusReasonForbidden}
	return metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reasons[code], Message: http.StatusText(int(code))}
}

func statusError(code int32) error { return &apierrors.StatusError{ErrStatus: statusOf(code)} }

// handshake is the error of a TLS handshake that takes too long.
type handshake struct{}

func (handshake) Error() string   { return "net/http: TLS handshake timeout" }
func (handshake) Timeout() bool   { return true }
func (handshake) Temporary() bool { return true }

func TestTransient_TellsWhatPassesFromWhatStays(t *testing.T) {
	asked := func(err error) error {
		return fmt.Errorf("read: %w", &url.Error{Op: "Get", URL: "https://a", Err: err})
	}
	for _, err := range []error{
		statusError(http.StatusTooManyRequests), statusError(http.StatusInternalServerError), statusError(http.StatusBadGateway),
		statusError(http.StatusServiceUnavailable), statusError(http.StatusGatewayTimeout), asked(handshake{}), asked(io.EOF), asked(io.ErrUnexpectedEOF),
		asked(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), asked(&net.OpError{Op: "read", Err: syscall.ECONNRESET}),
		asked(&net.DNSError{Err: "server misbehaving", Name: "a"}),
	} {
		if !Transient(err) {
			t.Errorf("%v ends a wait", err)
		}
	}
	for _, err := range []error{
		statusError(http.StatusBadRequest), statusError(http.StatusNotFound), statusError(http.StatusForbidden), statusError(http.StatusUnauthorized),
		statusError(http.StatusUnprocessableEntity), asked(x509.UnknownAuthorityError{}), ErrNotFound, ErrKindNotServed, errors.New("other"), context.Canceled,
	} {
		if Transient(err) {
			t.Errorf("%v does not end a wait", err)
		}
	}
}

func TestUntil_LivesThroughWhatPassesAndEndsForWhatStays(t *testing.T) {
	busy, denied, wrong := statusError(http.StatusServiceUnavailable), statusError(http.StatusForbidden), statusError(http.StatusBadRequest)
	repeat := func(n int, err error) []error {
		out := make([]error, n)
		for i := range out {
			out[i] = err
		}
		return out
	}
	for name, tt := range map[string]struct {
		errs  []error // of the looks; the one after them is done
		want  error
		after time.Duration
	}{
		"nothing wrong":            {nil, nil, 0},
		"half an hour of busy":     {repeat(1800, busy), nil, 30 * time.Minute},
		"denied for a minute":      {repeat(60, denied), nil, time.Minute},
		"denied for good":          {repeat(1000, denied), denied, 2 * time.Minute},
		"denied, busy, denied":     {append(append(repeat(100, denied), busy), repeat(1000, denied)...), denied, 2 * time.Minute},
		"denied, seen, denied":     {append(append(repeat(100, denied), nil), repeat(100, denied)...), nil, 201 * time.Second},
		"wrong":                    {append(repeat(3, busy), wrong), wrong, 3 * time.Second},
		"busy until the end":       {repeat(10000, busy), busy, time.Hour},
		"the end without an error": {repeat(10000, nil), context.DeadlineExceeded, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				start, looks, told := time.Now(), 0, 0
				err := Polling{Every: time.Second, Told: func(error) { told++ }}.Until(ctx, func(context.Context) (bool, error) {
					looks++
					if looks > len(tt.errs) {
						return true, nil
					}
					return false, tt.errs[looks-1]
				})
				if !errors.Is(err, tt.want) || tt.want == nil && err != nil {
					t.Errorf("got %v, want %v", err, tt.want)
				}
				if name == "busy until the end" && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, which does not say that the time is over", err)
				}
				if took := time.Since(start); took != tt.after {
					t.Errorf("ended after %v, want %v", took, tt.after)
				}
				if tt.want == nil && len(tt.errs) > 0 && told == 0 {
					t.Error("nobody was told of the errors")
				}
			})
		})
	}
}

// TestUntil_SaysWhatFailedBeforeTheTimeWasOver has a limit of requests that refuses the
// last look.
func TestUntil_SaysWhatFailedBeforeTheTimeWasOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		busy, looks := statusError(http.StatusServiceUnavailable), 0
		err := Polling{Every: time.Second}.Until(ctx, func(context.Context) (bool, error) {
			if looks++; looks > 9 {
				return false, errors.New("client rate limiter Wait returned an error: rate: Wait(n=1) would exceed context deadline")
			}
			return false, busy
		})
		if !errors.Is(err, busy) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// TestWait_LivesThroughAnAPIServerThatFails waits with a server that is busy, closes
// connections and does not know the caller, one after the other.
func TestWait_LivesThroughAnAPIServerThatFails(t *testing.T) {
	server, config := newAPIServer(t)
	faults := []func(http.ResponseWriter){
		func(w http.ResponseWriter) { answerJSON(w, 503, statusOf(503)) },
		func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		func(w http.ResponseWriter) { answerJSON(w, 401, statusOf(401)) },
	}
	failing := func(last func(http.ResponseWriter)) {
		var asked atomic.Int32 // a connection that broke and the next one are two goroutines
		server.on("GET /apis/karpenter.sh/v1/nodepools/p", func(w http.ResponseWriter, _ *http.Request) {
			if n := int(asked.Add(1)); n <= len(faults) {
				faults[n-1](w)
				return
			}
			last(w)
		})
	}
	applier, err := NewApplier(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pool := Ref{GroupVersionKind: v1.GroupVersion().WithKind(v1.NodePoolKind), Name: "p"}
	failing(func(w http.ResponseWriter) {
		answerJSON(w, 200, map[string]any{"kind": "NodePool", "apiVersion": "karpenter.sh/v1", "metadata": map[string]any{"name": "p", "uid": "u"}})
	})
	if _, err := applier.Wait(ctx, pool, func(*unstructured.Unstructured) (bool, string) { return true, "" }); err != nil {
		t.Errorf("Wait: %v", err)
	}
	failing(func(w http.ResponseWriter) { answerJSON(w, 404, notFoundStatus()) })
	if err := applier.WaitGone(ctx, pool, "u", nil); err != nil {
		t.Errorf("WaitGone: %v", err)
	}
	server.on("GET /apis/karpenter.sh/v1/nodepools/p", func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, 503, statusOf(503))
	})
	short, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer end()
	if err := applier.WaitGone(short, pool, "u", nil); err == nil || !strings.Contains(err.Error(), "the API server does not answer") {
		t.Errorf("a wait that ends while the server is busy says %v", err)
	}
}

func notFoundStatus() metav1.Status {
	return apierrors.NewNotFound(schema.GroupResource{Group: "karpenter.sh", Resource: "nodepools"}, "p").ErrStatus
}
