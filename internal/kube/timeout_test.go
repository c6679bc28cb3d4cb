package kube

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTimeout_ARequestEndsAndAWatchDoesNot(t *testing.T) {
	asked := func(url string, base roundTrip) (*http.Response, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		return (&timeoutTransport{base: base, limit: time.Millisecond}).RoundTrip(r)
	}
	dead := func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, context.Cause(r.Context())
	}
	answer, err := asked("https://a/api/v1/pods?limit=500", dead)
	if answer != nil {
		_ = answer.Body.Close()
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a dead connection: %v", err)
	}
	for url, limited := range map[string]bool{"https://a/api/v1/pods?watch=true": false, "https://a/api/v1/pods?watch=1": false, "https://a/api/v1/pods": true} {
		var context context.Context
		answer, err := asked(url, func(r *http.Request) (*http.Response, error) {
			context = r.Context()
			return &http.Response{Body: io.NopCloser(strings.NewReader("{}"))}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, is := context.Deadline(); is != limited {
			t.Errorf("%s is limited: %v", url, is)
		}
		_ = answer.Body.Close()
		if ended := context.Err() != nil; ended != limited {
			t.Errorf("%s: its context ended with its body: %v", url, ended)
		}
	}
}

func TestDaemonConfig_LimitsRequests(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	err := os.WriteFile(file, []byte(`{"current-context":"a","contexts":[{"name":"a","context":{"cluster":"a"}}],"clusters":[{"name":"a","cluster":{"server":"https://a"}}]}`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(clientcmd.RecommendedConfigPathEnvVar, file)
	config, err := DaemonConfig()
	if err != nil {
		t.Fatal(err)
	}
	if config.WrapTransport == nil {
		t.Fatal("no limit")
	}
	if _, is := config.WrapTransport(http.DefaultTransport).(*timeoutTransport); !is {
		t.Error("no limit")
	}
}
