package kubelet

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// eagerPeriod is how often a readiness probe is tried until it succeeds, where
// its own period is longer. A kubelet keeps to the period; here that would only
// be waiting.
const eagerPeriod = 500 * time.Millisecond

// check is one probe with the defaults of the API filled in.
type check struct {
	try                 func(context.Context) error
	delay, period, wait time.Duration
	success, failure    int32
	eager               bool // until it succeeds; for readiness, whose further failures change nothing
}

// newCheck prepares a probe; nil stays nil.
func (p *pod) newCheck(c corev1.Container, probe *corev1.Probe) (*check, error) {
	if probe == nil {
		return nil, nil
	}
	k := &check{
		delay:   seconds(probe.InitialDelaySeconds),
		period:  seconds(max(probe.PeriodSeconds, 1)),
		wait:    seconds(max(probe.TimeoutSeconds, 1)),
		success: max(probe.SuccessThreshold, 1), failure: max(probe.FailureThreshold, 1),
	}
	switch {
	case probe.HTTPGet != nil:
		address, err := p.target(c, probe.HTTPGet.Host, probe.HTTPGet.Port)
		if err != nil {
			return nil, err
		}
		k.try = httpCheck(address, probe.HTTPGet)
	case probe.TCPSocket != nil:
		address, err := p.target(c, probe.TCPSocket.Host, probe.TCPSocket.Port)
		if err != nil {
			return nil, err
		}
		k.try = func(ctx context.Context) error {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			if err != nil {
				return err
			}
			return conn.Close()
		}
	default:
		return nil, fmt.Errorf("container %s: probes by command or gRPC: %w", c.Name, errUnsupported)
	}
	return k, nil
}

// target is the address of a probe: the pod's local one, port names resolved.
func (p *pod) target(c corev1.Container, host string, port intstr.IntOrString) (string, error) {
	number := port.IntVal
	if port.Type == intstr.String {
		for _, have := range c.Ports {
			if have.Name == port.StrVal {
				number = have.ContainerPort
			}
		}
	}
	if number == 0 {
		return "", fmt.Errorf("container %s: probe port %q is not a port of the container", c.Name, port.String())
	}
	if host == "" {
		host = p.address.local
	}
	return net.JoinHostPort(host, strconv.Itoa(int(number))), nil
}

func httpCheck(address string, get *corev1.HTTPGetAction) func(context.Context) error {
	scheme := "http"
	if get.Scheme == corev1.URISchemeHTTPS {
		scheme = "https"
	}
	client := &http.Client{
		// Kubelets do not verify the certificate of a probed container either.
		Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, //nolint:gosec // a probe asks for life, not for identity
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+address+get.Path, nil)
		if err != nil {
			return err
		}
		for _, h := range get.HTTPHeaders {
			request.Header.Add(h.Name, h.Value)
		}
		answer, err := client.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 10<<10))
		if answer.StatusCode < 200 || answer.StatusCode >= 400 {
			return fmt.Errorf("answered %s", answer.Status)
		}
		return nil
	}
}

// run probes until ctx ends and calls changed with each verdict that differs
// from the one before; the first verdict always counts as a change.
func (k *check) run(ctx context.Context, changed func(ok bool, err error)) {
	if !pause(ctx, k.delay) {
		return
	}
	var good, bad int32
	verdict, decided := false, false
	for {
		attempt, cancel := context.WithTimeout(ctx, k.wait)
		err := k.try(attempt)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			good, bad = good+1, 0
		} else {
			good, bad = 0, bad+1
		}
		switch {
		case good >= k.success && (!decided || !verdict):
			verdict, decided = true, true
			changed(true, nil)
		case bad >= k.failure && (!decided || verdict):
			verdict, decided = false, true
			changed(false, err)
		}
		period := k.period
		if k.eager && (!decided || !verdict) {
			period = min(period, eagerPeriod)
		}
		if !pause(ctx, period) {
			return
		}
	}
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

// pause waits; false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
