package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

const (
	// watchEvery is how often Watch looks, and watchGrace how long it leaves the end of the
	// process to the kubelet.
	watchEvery = 5 * time.Second
	watchGrace = time.Minute
)

// Health answers the kubelet's probes. It is safe for concurrent use.
type Health struct {
	missing atomic.Pointer[string] // why the daemon is not ready; nil: it is ready

	mu    sync.Mutex
	tasks map[*task]bool // under way
}

// task is work that has to end.
type task struct {
	what         string
	began, until time.Time
}

// NewHealth makes a Health that is not ready, for the given reason.
func NewHealth(missing string) *Health {
	h := &Health{tasks: map[*task]bool{}}
	h.missing.Store(&missing)
	return h
}

// Ready makes /readyz answer ok.
func (h *Health) Ready() { h.missing.Store(nil) }

// Begin says that work begins which ends within the given time, by a call of done. Where it
// does not, the daemon stands still.
func (h *Health) Begin(what string, within time.Duration) (done func()) {
	now := time.Now()
	t := &task{what, now, now.Add(within)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tasks[t] = true
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.tasks, t)
	}
}

// Still says what has stood still, by now plus the given time, for longest; "" is nothing.
func (h *Health) Still(more time.Duration) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var late *task
	for t := range h.tasks {
		if time.Since(t.until) >= more && (late == nil || t.began.Before(late.began)) {
			late = t
		}
	}
	if late == nil {
		return ""
	}
	return fmt.Sprintf("%s began at %s and has not ended: the daemon stands still", late.what, late.began.UTC().Format(time.RFC3339))
}

// Watch waits until the daemon has stood still for so long that the kubelet should have ended
// it, and returns an error that says what stands still; or until the context ends.
func (h *Health) Watch(ctx context.Context) error {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if what := h.Still(watchGrace); what != "" {
			return errors.New(what)
		}
	}
}

// Handler serves /healthz, which fails when the daemon stands still, and /readyz.
func (h *Health) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(install.HealthPath, func(w http.ResponseWriter, _ *http.Request) { answer(w, h.Still(0)) })
	mux.HandleFunc(install.ReadyPath, func(w http.ResponseWriter, _ *http.Request) {
		fault := ""
		if missing := h.missing.Load(); missing != nil {
			fault = *missing
		}
		answer(w, fault)
	})
	return mux
}

func answer(w http.ResponseWriter, fault string) {
	if fault != "" {
		http.Error(w, fault, http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
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
