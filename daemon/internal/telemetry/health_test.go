package telemetry_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/telemetry"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// The Deployment's probes ask for the paths of package install.
func TestHealth_IsReadyOnceToldAndAliveBefore(t *testing.T) {
	h := telemetry.NewHealth("starting")
	status := func(path string) int { code, _ := get(h, path); return code }
	if alive, ready := status(install.HealthPath), status(install.ReadyPath); alive != http.StatusOK || ready != http.StatusServiceUnavailable {
		t.Errorf("at the start: %s answers %d and %s %d", install.HealthPath, alive, install.ReadyPath, ready)
	}
	h.Ready()
	if ready := status(install.ReadyPath); ready != http.StatusOK {
		t.Errorf("once ready: %s answers %d", install.ReadyPath, ready)
	}
}

// get is the status and body of an answer.
func get(h *telemetry.Health, path string) (int, string) {
	w := httptest.NewRecorder()
	h.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

func TestHealthz_FailsWhileWorkStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := telemetry.NewHealth("starting")
		keeper, decision := h.Begin("nodepool status update", 10*time.Minute), h.Begin("decision", 5*time.Minute)
		time.Sleep(5*time.Minute - time.Second)
		if code, body := get(h, "/healthz"); code != http.StatusOK {
			t.Errorf("in time: %d %s", code, body)
		}
		time.Sleep(time.Second)
		if code, body := get(h, "/healthz"); code != http.StatusServiceUnavailable || !strings.HasPrefix(body, "decision began at 2000-01-01T00:00:00Z") {
			t.Errorf("late: %d %s", code, body)
		}
		decision()
		if code, body := get(h, "/healthz"); code != http.StatusOK {
			t.Errorf("ended: %d %s", code, body)
		}
		keeper()
		time.Sleep(time.Hour)
		if code, body := get(h, "/healthz"); code != http.StatusOK {
			t.Errorf("idle: %d %s", code, body)
		}
	})
}

// A kubelet that does not end the process must not keep the other replica waiting.
func TestWatch_EndsAProcessThatStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, start := telemetry.NewHealth("starting"), time.Now()
		h.Begin("decision", 5*time.Minute)
		err := h.Watch(t.Context())
		if err == nil || !strings.Contains(err.Error(), "decision") || time.Since(start) < 6*time.Minute || time.Since(start) > 7*time.Minute {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := telemetry.NewHealth("starting").Watch(ctx); err != nil {
			t.Errorf("idle: %v", err)
		}
	})
}
