package faults

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Active is a fault that is in force.
type Active struct {
	ID     string     `json:"id"`
	Fault  string     `json:"fault"`
	Values url.Values `json:"values,omitempty"`
	Since  time.Time  `json:"since"`
}

// State is what the endpoint answers to a GET.
type State struct {
	Known  []Known  `json:"known"`
	Active []Active `json:"active"`
}

// Known is a fault that can be begun.
type Known struct {
	Name  string      `json:"name"`
	Does  string      `json:"does"`
	Takes []Parameter `json:"takes,omitempty"`
}

// Server is a running control endpoint. Close it.
type Server struct {
	faults   []Fault
	logger   hclog.Logger
	listener net.Listener
	server   *http.Server

	mu     sync.Mutex
	closed bool
	last   int
	active map[string]*running
}

type running struct {
	Active
	end   func(context.Context) error
	timer *time.Timer // of the parameter "for"; nil without
}

// Start serves the faults on a free port of 127.0.0.1.
func Start(all []Fault, logger hclog.Logger) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for faults: %w", err)
	}
	s := &Server{faults: all, logger: logger, listener: listener, active: map[string]*running{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /faults/{name}", s.begin)
	mux.HandleFunc("GET /faults", s.list)
	mux.HandleFunc("DELETE /faults/{id}", s.finish)
	mux.HandleFunc("DELETE /faults", s.finishAll)
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("fault endpoint stopped", "error", err)
		}
	}()
	return s, nil
}

// URL is where the faults are, without a slash at its end.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/faults" }

// Known lists the faults by name.
func (s *Server) Known() []Known {
	out := make([]Known, 0, len(s.faults))
	for _, f := range s.faults {
		out = append(out, Known{f.Name, f.Does, f.Takes})
	}
	return out
}

// Close ends the faults in force, and the endpoint.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	return errors.Join(s.EndAll(context.Background()), s.server.Close())
}

// Begin begins a fault and returns its id. Errors wrap ErrNone or ErrParameter where the
// request is wrong.
func (s *Server) Begin(ctx context.Context, name string, given url.Values) (Active, error) {
	at := slices.IndexFunc(s.faults, func(f Fault) bool { return f.Name == name })
	if at < 0 {
		return Active{}, fmt.Errorf("fault %q: %w", name, ErrNone)
	}
	f := s.faults[at]
	v, err := f.read(given)
	if err != nil {
		return Active{}, err
	}
	last := v.Duration(lasting)
	if v.Err() != nil {
		return Active{}, fmt.Errorf("fault %s: %w", name, v.Err())
	}
	end, err := f.Begin(ctx, v)
	if err != nil {
		return Active{}, fmt.Errorf("fault %s: %w", name, err)
	}
	s.logger.Info("fault begun", "fault", name, "values", given.Encode())
	return s.keep(ctx, Active{Fault: name, Values: given, Since: time.Now()}, end, last)
}

// keep remembers a fault until it is ended.
func (s *Server) keep(ctx context.Context, a Active, end func(context.Context) error, last time.Duration) (Active, error) {
	s.mu.Lock()
	s.last++
	a.ID = strconv.Itoa(s.last)
	closed := s.closed
	if end != nil && !closed {
		r := &running{Active: a, end: end}
		s.active[a.ID] = r
		if last > 0 {
			r.timer = time.AfterFunc(last, func() {
				if err := s.End(context.Background(), a.ID); err != nil && !errors.Is(err, ErrNone) {
					s.logger.Error("fault not ended", "fault", a.Fault, "error", err)
				}
			})
		}
	}
	s.mu.Unlock()
	if closed && end != nil {
		return Active{}, errors.Join(http.ErrServerClosed, end(ctx))
	}
	return a, nil
}

// End ends a fault. The error wraps ErrNone for one that is not in force.
func (s *Server) End(ctx context.Context, id string) error {
	s.mu.Lock()
	r, ok := s.active[id]
	delete(s.active, id)
	s.mu.Unlock()
	if !ok {
		return fmt.Errorf("fault with id %q: %w in force", id, ErrNone)
	}
	if r.timer != nil {
		r.timer.Stop()
	}
	s.logger.Info("fault ended", "fault", r.Fault)
	if err := r.end(ctx); err != nil {
		s.mu.Lock()
		s.active[id] = r // it is still in force, and can be ended again
		s.mu.Unlock()
		return fmt.Errorf("fault %s end: %w", r.Fault, err)
	}
	return nil
}

// EndAll ends the faults in force, the youngest first.
func (s *Server) EndAll(ctx context.Context) error {
	var errs []error
	for _, a := range slices.Backward(s.inForce()) {
		if err := s.End(ctx, a.ID); err != nil && !errors.Is(err, ErrNone) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// inForce lists the faults in force, the oldest first.
func (s *Server) inForce() []Active {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Active, 0, len(s.active))
	for _, r := range s.active {
		out = append(out, r.Active)
	}
	slices.SortFunc(out, func(a, b Active) int { return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID)) })
	return out
}

func (s *Server) begin(w http.ResponseWriter, r *http.Request) {
	// A fault is begun also if the client gives up meanwhile: it could not be ended else.
	a, err := s.Begin(context.WithoutCancel(r.Context()), r.PathValue("name"), r.URL.Query())
	answer(w, http.StatusCreated, a, err)
}

func (s *Server) list(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, State{s.Known(), s.inForce()}, nil)
}

func (s *Server) finish(w http.ResponseWriter, r *http.Request) {
	answer(w, http.StatusOK, struct{}{}, s.End(context.WithoutCancel(r.Context()), r.PathValue("id")))
}

func (s *Server) finishAll(w http.ResponseWriter, r *http.Request) {
	answer(w, http.StatusOK, struct{}{}, s.EndAll(context.WithoutCancel(r.Context())))
}

// answer writes the value, or the error as text.
func answer(w http.ResponseWriter, status int, value any, err error) {
	switch {
	case errors.Is(err, ErrNone):
		status = http.StatusNotFound
	case errors.Is(err, ErrParameter):
		status = http.StatusBadRequest
	case err != nil:
		status = http.StatusInternalServerError
	}
	if err != nil {
		http.Error(w, err.Error(), status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(value) // the client may be gone; there is nobody to tell
}
