package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// Health answers the kubelet's probes.
type Health struct {
	missing atomic.Pointer[string] // why the daemon is not ready; nil: it is ready
}

// NewHealth makes a Health that is not ready, for the given reason.
func NewHealth(missing string) *Health {
	h := &Health{}
	h.missing.Store(&missing)
	return h
}

// Ready makes /readyz answer ok.
func (h *Health) Ready() { h.missing.Store(nil) }

// Handler serves /healthz and /readyz.
func (h *Health) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(install.HealthPath, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc(install.ReadyPath, func(w http.ResponseWriter, _ *http.Request) {
		if missing := h.missing.Load(); missing != nil {
			http.Error(w, *missing, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// Serve answers on the address until the context ends.
func Serve(ctx context.Context, address string, handler http.Handler) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("http listen on %s: %w", address, err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // nobody needs the answers of a daemon that ends
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("http serve on %s: %w", address, err)
	}
	return nil
}
