package page

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// Path is where the page is on the daemon's local listener.
const Path = "/ui/"

// writeWithin bounds how long a browser may take for an event: one that has gone without a word is
// forgotten then.
const writeWithin = 30 * time.Second

// policy lets the page run and show what comes from where it came from itself, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed dist
var dist embed.FS

// Handler serves the page under Path, what it is made of, and what it asks for: the events, the
// whole snapshot once, and the details of one node.
func (p *Page) Handler() http.Handler {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		files = dist // it is there: the name is valid
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+Path, http.StripPrefix(Path, http.FileServerFS(files)))
	mux.HandleFunc("GET "+Path+"events", p.events)
	mux.HandleFunc("GET "+Path+"snapshot", p.whole)
	mux.HandleFunc("GET "+Path+"node", p.node)
	return Guarded(policy, mux)
}

// Guarded lets the handler answer browsers of this machine alone, and keeps what it answers from
// other pages. The Content-Security-Policy is that of the pages that it serves.
func Guarded(policy string, of http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		if !local(r) {
			http.Error(w, "this page is for this machine: open it at 127.0.0.1 or localhost", http.StatusForbidden)
			return
		}
		of.ServeHTTP(w, r)
	})
}

// local says whether the browser knows the page by an address of this machine, and whether no
// other page asks. Any page that a user opens may send requests to 127.0.0.1, and a name that
// somebody lets mean 127.0.0.1 would be its own origin.
func local(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	if address, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !address.IsLoopback()) {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return r.URL.Path == Path && r.Header.Get("Sec-Fetch-Mode") == "navigate" // somebody followed a link
}

func (p *Page) events(w http.ResponseWriter, r *http.Request) {
	first, more, err := p.follow(r.Header.Get("Last-Event-ID"))
	if err != nil {
		w.Header().Set("Retry-After", "10")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer p.leave(more)
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	send := func(e event) bool {
		name := "change"
		if e.whole {
			name = "whole"
		}
		if err := control.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return false
		}
		if _, err := fmt.Fprintf(w, "event: %s\nid: %s\ndata: %s\n\n", name, p.viewers.id(e), e.data); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	for _, e := range first {
		if !send(e) {
			return
		}
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case e, open := <-more:
			if !open || !send(e) {
				return
			}
		}
	}
}

// whole answers with the snapshot once, for programs.
func (p *Page) whole(w http.ResponseWriter, _ *http.Request) {
	v := &p.viewers
	v.mu.Lock()
	p.ask()
	e := v.snapshot()
	v.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(e.data) // who asked may not listen any more
	_, _ = io.WriteString(w, "\n")
}

func (p *Page) node(w http.ResponseWriter, r *http.Request) {
	out, known := p.detail(r.URL.Query().Get("key"))
	if !known {
		http.Error(w, "the last plan does not know this node: it may be gone", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) // who asked may not listen any more
}
