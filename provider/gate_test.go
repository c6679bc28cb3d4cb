package provider_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// fault is one way in which a call goes wrong.
type fault string

const (
	denied    fault = "denied"    // the service refuses the call
	throttled fault = "throttled" // the service refuses the call and each repetition, until the client gives up
	conflict  fault = "conflict"  // the service refuses the call because of another writer
	// The call is carried out, and the connection is closed without an answer.
	lost       fault = "lost"       // a repetition is answered
	unanswered fault = "unanswered" // no repetition is answered either
	// The call is carried out. Before the answer comes, the user interrupts Terraform.
	interrupted fault = "interrupted"
	// The provider is killed: no later call of it reaches the service, and what it knows is
	// lost. The call itself comes too late, or is carried out.
	killedBefore fault = "killed before"
	killedAfter  fault = "killed after"
)

// kills tells whether the fault ends the provider.
func (f fault) kills() bool { return f == killedBefore || f == killedAfter }

// gate stands between the provider and the services that it calls. It numbers the calls
// from 1, and lets one of them fail. A call and its repetitions are one call.
type gate struct {
	service http.Handler
	// identify gives a text that a call and its repetitions share, and the name of the call.
	identify func(r *http.Request, body []byte) (id, name string)
	// refuse answers with an error of the service and carries out nothing.
	refuse func(w http.ResponseWriter, r *http.Request, name string, f fault)
	// deaf tells whether the client does not give the call up when it is interrupted.
	deaf func(name string) bool
	// counts tells which calls are numbered; nil: all. How often a wait reads depends on time.
	counts func(name string) bool

	server *httptest.Server

	mu        sync.Mutex
	ended     *sync.Cond        // a connection has ended
	connected map[net.Conn]bool // the connections
	last      string
	names     []string
	n         int // the call that fails; 0: none
	fault     fault
	stop      func() // interrupts or kills the provider
	hits      int
	dead      bool // the provider was killed
}

// start serves the gate on a port of its own until the test ends, and returns its URL.
func (g *gate) start(t *testing.T) string {
	t.Helper()
	g.connected, g.ended = map[net.Conn]bool{}, sync.NewCond(&g.mu)
	g.server = httptest.NewUnstartedServer(g)
	g.server.Config.ConnState = func(c net.Conn, state http.ConnState) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.connected[c] = true
		if state == http.StateClosed || state == http.StateHijacked {
			delete(g.connected, c)
			g.ended.Broadcast()
		}
	}
	g.server.Start()
	t.Cleanup(g.server.Close)
	return g.server.URL
}

// watch counts from 1 again. Call n fails; with n = 0 none does.
func (g *gate) watch(n int, f fault, stop func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last, g.names, g.n, g.fault, g.stop, g.hits, g.dead = "", nil, n, f, stop, 0, false
}

// open ends the watch. It returns the names of the calls, and whether the fault has hit.
// Calls of a provider that was killed may still be on their way: they end first, so that
// none of them reaches the service later, and none is refused in the place of a later one.
func (g *gate) open() (names []string, hit bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead {
		g.mu.Unlock()
		g.server.CloseClientConnections()
		g.mu.Lock()
		for len(g.connected) > 0 {
			g.ended.Wait()
		}
	}
	g.n, g.dead = 0, false
	return g.names, g.hits > 0
}

// number notes a request. It returns the name of its call, the fault that hits the
// request, and which request of this call it is.
func (g *gate) number(r *http.Request, body []byte) (name string, f fault, hit int, stop func()) {
	id, name := g.identify(r, body)
	g.mu.Lock()
	defer g.mu.Unlock()
	counts := g.counts == nil || g.counts(name)
	if id != g.last && counts {
		g.names = append(g.names, name)
	}
	g.last = id
	if g.dead {
		return name, killedBefore, 0, nil
	}
	if g.n == 0 || len(g.names) != g.n || !counts {
		return name, "", 0, nil
	}
	g.hits++
	g.dead = g.fault.kills()
	return name, g.fault, g.hits, g.stop
}

// ServeHTTP passes the request on, or lets it fail.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has given up
	}
	received := func(ctx context.Context) *http.Request {
		again := r.WithContext(ctx)
		again.Body = io.NopCloser(bytes.NewReader(body))
		return again
	}
	name, f, hit, stop := g.number(r, body)
	switch {
	case f == "", f == lost && hit > 1, f == interrupted && hit > 1:
		g.service.ServeHTTP(w, received(r.Context()))
	case f == lost, f == unanswered:
		g.service.ServeHTTP(httptest.NewRecorder(), received(context.WithoutCancel(r.Context())))
		panic(http.ErrAbortHandler)
	case f.kills():
		if f == killedAfter {
			g.service.ServeHTTP(httptest.NewRecorder(), received(context.WithoutCancel(r.Context())))
		}
		if stop != nil {
			stop()
		}
		g.refuse(w, received(r.Context()), name, denied) // so that a provider in the test's process ends at once
	case f == interrupted && g.deaf(name):
		stop()
		g.service.ServeHTTP(w, received(r.Context()))
	case f == interrupted:
		g.service.ServeHTTP(httptest.NewRecorder(), received(context.WithoutCancel(r.Context())))
		stop()
		<-r.Context().Done()
	default:
		g.refuse(w, received(r.Context()), name, f)
	}
}

// The refusal of a killed provider's call once outlived the provider, and hit the same call
// of the next one.
func TestGate_NoCallOfAKilledProviderOutlivesIt(t *testing.T) {
	refusing, refused := make(chan struct{}), false
	ctx, kill := context.WithCancel(t.Context())
	g := &gate{
		service:  http.NotFoundHandler(),
		identify: func(*http.Request, []byte) (id, name string) { return "1", "call" },
		refuse: func(http.ResponseWriter, *http.Request, string, fault) {
			<-refusing
			refused = true
		},
	}
	at := g.start(t)
	g.watch(1, killedBefore, kill)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, http.NoBody)
	must(t, err)
	if resp, err := http.DefaultClient.Do(req); err == nil {
		_ = resp.Body.Close()
		t.Fatal("the killed provider got an answer")
	}
	go close(refusing)
	if _, hit := g.open(); !hit || !refused {
		t.Errorf("hit %v, refused %v: the watch ended before the call", hit, refused)
	}
}
