// Package relay stands between processes and a server on loopback, byte by byte, and makes the
// network between them as bad as it is told: cut, silent, or slow.
package relay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// State is how the network is.
type State struct {
	Cut    bool          // connections end, and no new one is made
	Silent bool          // connections stay, and nothing comes through
	Delay  time.Duration // from the server to its clients
}

const (
	chunkBytes = 32 << 10
	// behind is how many chunks may be on their way in one direction: a client that is far
	// behind is what a slow network makes.
	behind = 4096
)

// Relay is a running relay. Close it.
type Relay struct {
	Addr string // host and port

	to       string
	listener net.Listener
	ctx      context.Context
	cancel   context.CancelFunc
	work     sync.WaitGroup

	mu      sync.Mutex
	state   State
	changed chan struct{} // closed at each change
	open    map[net.Conn]struct{}
}

// Start relays from a free port of 127.0.0.1 to host and port.
func Start(to string) (*Relay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("relay start: %w", err)
	}
	r := &Relay{Addr: listener.Addr().String(), to: to, listener: listener, changed: make(chan struct{}), open: map[net.Conn]struct{}{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.work.Go(r.accept)
	return r, nil
}

// Set makes the network so from now on.
func (r *Relay) Set(s State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = s
	close(r.changed)
	r.changed = make(chan struct{})
	if s.Cut {
		r.closeAll()
	}
}

// Close ends all connections and the relay.
func (r *Relay) Close() error {
	r.cancel()
	err := r.listener.Close()
	r.mu.Lock()
	r.closeAll()
	r.mu.Unlock()
	r.work.Wait()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("relay close: %w", err)
	}
	return nil
}

// closeAll ends the connections; the caller holds the mutex.
func (r *Relay) closeAll() {
	for c := range r.open {
		_ = c.Close() // its readers see the end
	}
}

func (r *Relay) now() (State, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state, r.changed
}

func (r *Relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.work.Go(func() { r.serve(client) })
	}
}

// serve relays one connection until one side ends it.
func (r *Relay) serve(client net.Conn) {
	defer client.Close()
	if s, _ := r.now(); s.Cut {
		return
	}
	server, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(r.ctx, "tcp", r.to)
	if err != nil {
		return // as if the server refused
	}
	defer server.Close()
	if !r.keep(client, server) {
		return
	}
	defer r.forget(client, server)
	var both sync.WaitGroup
	end := func() { _ = client.Close(); _ = server.Close() }
	both.Go(func() { defer end(); r.pass(client, server, false) })
	both.Go(func() { defer end(); r.pass(server, client, true) })
	both.Wait()
}

// keep remembers connections that are to end with the relay, if it has not ended.
func (r *Relay) keep(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil || r.state.Cut {
		return false
	}
	for _, c := range conns {
		r.open[c] = struct{}{}
	}
	return true
}

func (r *Relay) forget(conns ...net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range conns {
		delete(r.open, c)
	}
}

type chunk struct {
	bytes []byte
	at    time.Time
}

// pass carries bytes one way; late ones that are delayed.
func (r *Relay) pass(from, to net.Conn, delayed bool) {
	chunks := make(chan chunk, behind)
	r.work.Go(func() {
		defer close(chunks)
		for {
			buffer := make([]byte, chunkBytes)
			n, err := from.Read(buffer)
			if n > 0 {
				select {
				case chunks <- chunk{buffer[:n], time.Now()}:
				case <-r.ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	defer from.Close() // ends the reader
	for c := range chunks {
		if !r.hold(c.at, delayed) {
			return
		}
		if _, err := to.Write(c.bytes); err != nil {
			return
		}
	}
}

// hold waits until a chunk that came then may pass; false means never.
func (r *Relay) hold(came time.Time, delayed bool) bool {
	for {
		s, changed := r.now()
		wait := time.Duration(0)
		if delayed {
			wait = s.Delay - time.Since(came)
		}
		switch {
		case r.ctx.Err() != nil || s.Cut:
			return false
		case !s.Silent && wait <= 0:
			return true
		}
		var due <-chan time.Time
		if !s.Silent {
			due = time.After(wait)
		}
		select {
		case <-changed:
		case <-due:
		case <-r.ctx.Done():
		}
	}
}
