package kubelet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Waits of the kubelet API.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 4 * time.Hour // of streams on which nothing moves, as containerd has it
)

// server is the kubelet API of a node, as far as kubectl port-forward, exec and
// logs need it. Its one client is the API server.
type server struct {
	kubelet *Kubelet
	http    *http.Server
	lines   *lines
	roots   *x509.CertPool
	port    int32
	calls   calls
	serving sync.WaitGroup
}

// serve starts the server on a free port of 127.0.0.1.
func (k *Kubelet) serve() (*server, error) {
	certificate, err := tls.X509KeyPair(k.options.CertPEM, k.options.KeyPEM)
	if err != nil {
		return nil, fmt.Errorf("serving certificate: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("kubelet API: %w", err)
	}
	s := &server{
		kubelet: k, lines: &lines{Listener: listener, open: map[*line]bool{}}, roots: x509.NewCertPool(),
		port: int32(listener.Addr().(*net.TCPAddr).Port),
	}
	s.roots.AppendCertsFromPEM(k.options.Config.CAData)
	mux := http.NewServeMux()
	for path, answer := range map[string]http.HandlerFunc{
		"/portForward/{namespace}/{pod}":                   s.portForward,
		"/portForward/{namespace}/{pod}/{uid}":             s.portForward,
		"/exec/{namespace}/{pod}/{container}":              s.exec,
		"/exec/{namespace}/{pod}/{uid}/{container}":        s.exec,
		"GET /containerLogs/{namespace}/{pod}/{container}": s.logs,
	} {
		mux.HandleFunc(path, answer)
	}
	s.http = &http.Server{
		Handler: s.admit(mux), ReadHeaderTimeout: headerTimeout,
		ErrorLog: k.options.Logger.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
		// The server verifies by itself, so that a caller is told what is wrong.
		TLSConfig:   &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12},
		Protocols:   new(http.Protocols), // HTTP/2 connections cannot be taken over for streams
		ConnContext: identify,
	}
	s.http.Protocols.SetHTTP1(true)
	s.serving.Go(func() {
		if err := s.http.ServeTLS(s.lines, "", ""); !errors.Is(err, http.ErrServerClosed) {
			k.options.Logger.Error("kubelet API ended", "node", k.options.Name, "error", err)
		}
	})
	return s, nil
}

// close returns when nothing of the server runs. Streams have ended or are about
// to, as all pods have: clients are still told how their commands ended.
func (s *server) close() {
	_ = s.http.Close() // the listener's error: it is closed all the same
	s.serving.Wait()
	s.calls.wait()
	s.lines.hangUp()
}

// admit lets only the API server in.
func (s *server) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, err := s.caller(r)
		switch {
		case err != nil:
			http.Error(w, "Unauthorized: "+err.Error(), http.StatusUnauthorized)
		case user != s.kubelet.options.APIServer:
			http.Error(w, "Forbidden: user "+user+" is not the API server", http.StatusForbidden)
		case !s.calls.begin():
			http.Error(w, "the kubelet is closing", http.StatusServiceUnavailable)
		default:
			defer s.calls.end()
			next.ServeHTTP(w, r)
		}
	})
}

// caller is the user whom a client certificate of the cluster's authority names.
func (s *server) caller(r *http.Request) (string, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return "", errors.New("no client certificate")
	}
	certificate := r.TLS.PeerCertificates[0]
	_, err := certificate.Verify(x509.VerifyOptions{Roots: s.roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return certificate.Subject.CommonName, err
}

// pod finds the pod that a request is about, or answers that there is none.
func (s *server) pod(w http.ResponseWriter, r *http.Request) (*pod, bool) {
	k := s.kubelet
	k.mu.Lock()
	defer k.mu.Unlock()
	var found *pod
	for uid, p := range k.pods {
		named := p.object.Namespace == r.PathValue("namespace") && p.object.Name == r.PathValue("pod")
		asked := r.PathValue("uid")
		// A pod that was forced away and its successor have the same name for a moment.
		if named && (asked == "" || asked == string(uid)) && (found == nil || found.going()) {
			found = p
		}
	}
	if found == nil {
		http.Error(w, "pod does not exist", http.StatusNotFound)
		return nil, false
	}
	return found, true
}

// calls are what is under way and is to be waited for.
type calls struct {
	mu    sync.Mutex
	over  bool
	under sync.WaitGroup
}

// begin is false once somebody waits.
func (c *calls) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.under.Add(1)
	}
	return !c.over
}

func (c *calls) end() { c.under.Done() }

// wait lets nothing more begin and returns when all has ended.
func (c *calls) wait() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.under.Wait()
}

// lines are the connections of a server. net/http forgets those that were taken
// over for streams.
type lines struct {
	net.Listener
	mu   sync.Mutex
	open map[*line]bool
}

// Accept takes the next connection.
func (l *lines) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	one := &line{Conn: conn, lines: l}
	one.life, one.end = context.WithCancel(context.Background())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[one] = true
	return one, nil
}

// hangUp closes the connections that are left.
func (l *lines) hangUp() {
	l.mu.Lock()
	left := make([]*line, 0, len(l.open))
	for one := range l.open {
		left = append(left, one)
	}
	l.mu.Unlock()
	for _, one := range left {
		_ = one.Close() // it may have ended meanwhile
	}
}

// line is a connection whose end cancels the requests that came by it. net/http
// no longer does that for one that was taken over.
type line struct {
	net.Conn
	lines *lines
	life  context.Context
	end   context.CancelFunc
}

// Read also notices the end.
func (l *line) Read(into []byte) (int, error) {
	n, err := l.Conn.Read(into)
	var timeout net.Error
	if err != nil && !(errors.As(err, &timeout) && timeout.Timeout()) {
		l.end()
	}
	return n, err
}

// Close also tells who waits for the end.
func (l *line) Close() error {
	l.end()
	l.lines.mu.Lock()
	delete(l.lines.open, l)
	l.lines.mu.Unlock()
	return l.Conn.Close()
}

// connKey is the key of a request's connection in its context.
type connKey struct{}

// identify gives requests their connection, and has them end with it.
func identify(ctx context.Context, conn net.Conn) context.Context {
	if encrypted, ok := conn.(*tls.Conn); ok {
		if one, ok := encrypted.NetConn().(*line); ok {
			connected, cancel := context.WithCancel(ctx)
			context.AfterFunc(one.life, cancel)
			ctx = connected
		}
	}
	return context.WithValue(ctx, connKey{}, conn)
}

// closeAfter closes a request's connection some time after ctx has ended, unless
// the request is over before: then the caller calls stop.
func closeAfter(ctx context.Context, r *http.Request, delay time.Duration) (stop func() bool) {
	conn, ok := r.Context().Value(connKey{}).(net.Conn)
	return context.AfterFunc(ctx, func() {
		if ok && pause(r.Context(), delay) {
			_ = conn.Close() // the client may have been faster
		}
	})
}
