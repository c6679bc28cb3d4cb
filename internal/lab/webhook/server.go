package webhook

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	authenticationv1 "k8s.io/api/authentication/v1"
)

// Paths of the two webhooks of EKS, and of those that somebody else installed and that do not
// work as they should.
const (
	TokenPath = "/token-review"
	PodPath   = "/pod-identity"
	DenyPath  = "/deny"
	HangPath  = "/hang"
)

// Verifier says whom a cluster token belongs to; an error means nobody.
type Verifier interface {
	VerifyClusterToken(ctx context.Context, clusterName, token string) (username string, groups []string, uid string, err error)
}

// RoleSource says which role a service account is annotated with; empty: none.
type RoleSource interface {
	RoleARN(ctx context.Context, namespace, serviceAccount string) (string, error)
}

// roleHolder gives atomic.Value the one concrete type that it wants.
type roleHolder struct{ RoleSource }

// Options is what the server is made of.
type Options struct {
	Cluster, Region string
	CertPEM, KeyPEM []byte
	Verifier        Verifier
	Logger          hclog.Logger
}

// Server is a running webhook server.
type Server struct {
	URL string // https://127.0.0.1:port

	options Options
	http    *http.Server
	roles   atomic.Value // of roleHolder; set by Install, until then no pod is changed
}

// Start listens and serves until Close.
func Start(o Options) (*Server, error) {
	pair, err := tls.X509KeyPair(o.CertPEM, o.KeyPEM)
	if err != nil {
		return nil, fmt.Errorf("webhook certificate read: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("webhook listen: %w", err)
	}
	s := &Server{URL: "https://" + listener.Addr().String(), options: o}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+TokenPath, s.reviewToken)
	mux.HandleFunc("POST "+PodPath, s.mutatePod)
	mux.HandleFunc("POST "+DenyPath, s.deny)
	mux.HandleFunc("POST "+HangPath, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s.http = &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:  o.Logger.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	}
	go func() { _ = s.http.ServeTLS(listener, "", "") }() // ends by Close
	return s, nil
}

// Close stops the server and its connections.
func (s *Server) Close() error {
	if err := s.http.Close(); err != nil {
		return fmt.Errorf("webhook close: %w", err)
	}
	return nil
}

// reviewToken answers a TokenReview. A refusal is an answer, not a failure.
func (s *Server) reviewToken(w http.ResponseWriter, r *http.Request) {
	var review authenticationv1.TokenReview
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&review); err != nil {
		http.Error(w, "token review decode: "+err.Error(), http.StatusBadRequest)
		return
	}
	user, groups, uid, err := s.options.Verifier.VerifyClusterToken(r.Context(), s.options.Cluster, review.Spec.Token)
	review.Spec.Token = "" // the answer need not repeat a secret
	if err != nil {
		s.options.Logger.Debug("token refused", "reason", err)
		review.Status = authenticationv1.TokenReviewStatus{Error: err.Error()}
	} else {
		review.Status = authenticationv1.TokenReviewStatus{
			Authenticated: true,
			User:          authenticationv1.UserInfo{Username: user, Groups: groups, UID: uid},
		}
	}
	answer(w, review)
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // the caller went away: nobody to tell
}
