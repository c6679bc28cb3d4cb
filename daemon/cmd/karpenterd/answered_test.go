package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os/exec"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func refused() error {
	return fmt.Errorf("kubernetes api reach: %w", &url.Error{Op: "Get", URL: "https://10.0.0.1/version", Err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}})
}

// A pod that ended whenever the API server is away would be back up to five minutes after it.
func TestStart_WaitsForAnAPIServerThatIsAwayAndIsBackWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		back := began.Add(7*time.Minute + time.Second)
		got, err := whenAnswered(t.Context(), hclog.NewNullLogger(), func() (string, error) {
			switch now := time.Now(); {
			case now.Before(began.Add(3 * time.Minute)):
				return "", refused()
			case now.Before(back):
				return "", apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
			}
			return "1.36", nil
		})
		if late := time.Since(back); err != nil || got != "1.36" || late > answerAgain {
			t.Errorf("got %q, %v, %s after it is back", got, err, late)
		}
	})
}

// What waiting does not mend is said at once, and what seems to be an outage in the end.
func TestStart_EndsWithWhatTheAPIServerRefuses(t *testing.T) {
	for name, x := range map[string]struct {
		err   error
		waits bool
	}{
		"forbidden":     {fmt.Errorf("not allowed: %w", apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil)), false},
		"no login":      {apierrors.NewUnauthorized("expired"), false},
		"another CA":    {&url.Error{Op: "Get", Err: &tls.CertificateVerificationError{Err: errors.New("unknown authority")}}, false},
		"no definition": {errors.New("the cluster has no nodepools.karpenter.sh"), false},
		"nobody there":  {refused(), true},
		"no plugin":     {&url.Error{Op: "Get", Err: fmt.Errorf("getting credentials: exec: %w", &exec.Error{Name: "aws", Err: exec.ErrNotFound})}, false},
		"HTTP":          {&url.Error{Op: "Get", Err: errors.New("http: server gave HTTP response to HTTPS client")}, false},
		"TLS refused":   {&url.Error{Op: "Get", Err: &net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")}}, false},
		"no such name":  {&url.Error{Op: "Get", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}, true},
		"no answer":     {&url.Error{Op: "Get", Err: context.DeadlineExceeded}, true},
		"cut off":       {&url.Error{Op: "Get", Err: io.EOF}, true},
		"reset":         {&url.Error{Op: "Get", Err: syscall.ECONNRESET}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			_, err := whenAnswered(t.Context(), hclog.NewNullLogger(), func() (string, error) { return "", x.err })
			if waited := time.Since(began); !errors.Is(err, x.err) || (waited >= answerWithin) != x.waits || !x.waits && waited > 0 {
				t.Errorf("%s: %v after %s", name, err, waited)
			}
		})
	}
}
