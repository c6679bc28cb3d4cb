package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/telemetry"
)

// What stands still would keep the process, and so its Lease, for ever.
func TestUnless_AProcessThatStandsStillEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		d := &daemon{health: telemetry.NewHealth("starting"), logger: hclog.New(&hclog.LoggerOptions{Output: &log})}
		end := make(chan struct{})
		defer close(end)
		d.health.Begin("a decision", decisionWithin)
		start := time.Now()
		err := d.unless(t.Context(), func() error { <-end; return nil })
		if err == nil || !strings.Contains(err.Error(), "a decision began at") || time.Since(start) > 2*decisionWithin || !strings.Contains(log.String(), "goroutine ") {
			t.Errorf("after %s: %v, log %q", time.Since(start), err, log.String())
		}
	})
}

func TestUnless_ReturnsTheErrorOfTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, lost := &daemon{health: telemetry.NewHealth("starting"), logger: hclog.NewNullLogger()}, errors.New("lease lost")
		if err := d.unless(t.Context(), func() error { return lost }); !errors.Is(err, lost) {
			t.Errorf("error %v", err)
		}
	})
}
