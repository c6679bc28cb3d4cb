package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
func whenAnswered(ctx context.Context, logger hclog.Logger, check func() (string, error)) (string, error) {
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
			return "", ctx.Err()
		case <-time.After(answerAgain):
		}
	}
}

// unansweredByAPIServer says whether the error is that the API server cannot be reached or cannot
// answer now. That it refuses something, or is not who it should be, is an answer.
func unansweredByAPIServer(err error) bool {
	var certificate *tls.CertificateVerificationError
	var status apierrors.APIStatus
	var network net.Error
	switch {
	case errors.As(err, &certificate):
		return false
	case errors.As(err, &status):
		code := status.Status().Code
		return code >= http.StatusInternalServerError || code == http.StatusTooManyRequests
	}
	return errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
