package telemetry_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/telemetry"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// The Deployment's probes ask for the paths of package install.
func TestHealth_IsReadyOnceToldAndAliveBefore(t *testing.T) {
	h := telemetry.NewHealth("starting")
	status := func(path string) int {
		answer := httptest.NewRecorder()
		h.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		return answer.Code
	}
	if alive, ready := status(install.HealthPath), status(install.ReadyPath); alive != http.StatusOK || ready != http.StatusServiceUnavailable {
		t.Errorf("at the start: %s answers %d and %s %d", install.HealthPath, alive, install.ReadyPath, ready)
	}
	h.Ready()
	if ready := status(install.ReadyPath); ready != http.StatusOK {
		t.Errorf("once ready: %s answers %d", install.ReadyPath, ready)
	}
}
