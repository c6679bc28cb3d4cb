package kube

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
)

// DeniedWithin is how long an API server may answer 401 or 403 before a wait believes it.
// EKS shows a new access entry, and a new association of an access policy, to the API
// server some seconds later. An API server that starts answers 403 until it has read its
// roles.
const DeniedWithin = 2 * time.Minute

// Polling says how a wait looks again and again. The zero value is the product's.
type Polling struct {
	Every        time.Duration // between two looks; 0: half a second
	DeniedWithin time.Duration // how long 401 and 403 may last; 0: DeniedWithin
	// Told, which may be nil, is called with each error that the wait survives.
	Told func(error)
}

// Until calls look until look is done, or fails in a way that will not pass, or ctx ends.
// An error of the way to the API server, or of a busy one, passes: the next look comes. So
// do 401 and 403, if they do not last. When ctx ends, the error is that of ctx, joined
// with the error of the last look if there was one.
func (p Polling) Until(ctx context.Context, look func(context.Context) (done bool, err error)) error {
	var last error
	var denied time.Time // since when the looks are denied
	err := wait.PollUntilContextCancel(ctx, cmp.Or(p.Every, pollEvery), true, func(ctx context.Context) (done bool, err error) {
		if done, err = look(ctx); err == nil {
			last, denied = nil, time.Time{}
			return done, nil
		}
		if OutOfTime(ctx, err) {
			return false, nil
		}
		last = err
		return false, p.stays(err, &denied)
	})
	if err != nil && last != nil && ctx.Err() != nil && !errors.Is(err, last) {
		return errors.Join(ctx.Err(), last)
	}
	return err
}

// stays returns the error of a look if it will not pass, else nil.
func (p Polling) stays(err error, denied *time.Time) error {
	switch {
	case isDenied(err):
		if denied.IsZero() {
			*denied = time.Now()
		}
		if time.Since(*denied) >= cmp.Or(p.DeniedWithin, DeniedWithin) {
			return err
		}
	case !Transient(err):
		return err
	}
	if p.Told != nil {
		p.Told(err)
	}
	return nil
}

// OutOfTime reports whether a look failed because its time is over. The limit of requests
// says so a moment before ctx does.
func OutOfTime(ctx context.Context, err error) bool {
	return ctx.Err() != nil || err != nil && strings.Contains(err.Error(), "would exceed context deadline")
}

// isDenied reports whether the API server does not know the caller, or does not let the
// caller do this.
func isDenied(err error) bool { return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) }

// Transient reports whether the error comes from the way to the API server, or from an API
// server that is busy or starts: the same request may succeed a moment later.
func Transient(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := status.Status().Code
		return code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= http.StatusInternalServerError && code != http.StatusNotImplemented
	}
	var timeout net.Error
	var operation *net.OpError
	var lookup *net.DNSError
	return errors.As(err, &timeout) && timeout.Timeout() || errors.As(err, &operation) || errors.As(err, &lookup) ||
		utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err) || utilnet.IsConnectionReset(err) || utilnet.IsConnectionRefused(err)
}
