package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Health answers the kubelet's probes.
type Health struct {
	ready atomic.Pointer[string] // nil: ready; else what is missing
}

// NewHealth is not ready for the reason given.
func NewHealth(missing string) *Health {
	h := &Health{}
	h.ready.Store(&missing)
	return h
}

// Ready makes /readyz answer ok.
func (h *Health) Ready() { h.ready.Store(nil) }

// NotReady makes /readyz fail with the reason.
func (h *Health) NotReady(missing string) { h.ready.Store(&missing) }

// Handler serves /healthz and /readyz.
func (h *Health) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if missing := h.ready.Load(); missing != nil {
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
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // answers are of no use any more
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("http serve on %s: %w", address, err)
	}
	return nil
}

func typesUID(s string) types.UID { return types.UID(s) }
