package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

const (
	// answerWithin is how long a daemon that starts waits for the API server. A process that ends
	// is started again after up to 5 minutes, in which nobody notices that the API server is back;
	// only one that has run for 10 minutes is started again at once (Kubernetes documentation, Pod
	// lifecycle). A process that has waited in vain ends all the same: where something is set up
	// wrong, restarts show it.
	answerWithin = 11 * time.Minute
	// answerAgain is how often it looks.
	answerAgain = 5 * time.Second
)

// whenAnswered returns what check says once the API server answers.
func whenAnswered[T any](ctx context.Context, logger hclog.Logger, check func() (T, error)) (T, error) {
	until, said := time.Now().Add(answerWithin), false
	for {
		result, err := check()
		if err == nil || !unansweredByAPIServer(err) || !time.Now().Before(until) {
			return result, err
		}
		if !said {
			said = true
			logger.Warn("the API server does not answer; waiting for it", "for", answerWithin, "error", err)
		}
		select {
		case <-ctx.Done():
			return result, ctx.Err()
		case <-time.After(answerAgain):
		}
	}
}

// unansweredByAPIServer says whether the error is that the API server cannot be reached or cannot
// answer now. That it refuses something, or is not who it should be, is an answer. What the client
// itself lacks, such as a program that gives it a token, is none of the API server's: every
// *url.Error is a net.Error, so the errors in it count.
func unansweredByAPIServer(err error) bool {
	var certificate *tls.CertificateVerificationError
	var status apierrors.APIStatus
	var network *net.OpError
	var name *net.DNSError
	var slow net.Error
	switch {
	case errors.As(err, &certificate):
		return false
	case errors.As(err, &status):
		code := status.Status().Code
		return code >= http.StatusInternalServerError || code == http.StatusTooManyRequests
	case errors.As(err, &network):
		return network.Op != "remote error" // so crypto/tls says what the other side refuses
	case errors.As(err, &name), errors.As(err, &slow) && slow.Timeout(), utilnet.IsHTTP2ConnectionLost(err), utilnet.IsProbableEOF(err):
		return true
	}
	return slices.ContainsFunc([]error{context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET}, func(is error) bool { return errors.Is(err, is) })
}
