package kube

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

type tokens func() (string, error)

func (t tokens) Token(context.Context) (string, time.Time, error) {
	token, err := t()
	return token, time.Time{}, err
}

func TestConfigFromEKS_PutsAFreshTokenOnEveryRequest(t *testing.T) {
	server, local := newAPIServer(t)
	var seen []string
	server.on("GET /x", func(_ http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
	})
	n := 0
	config := ConfigFromEKS(local.Host, nil, tokens(func() (string, error) {
		n++
		return strings.Repeat("t", n), nil
	}))
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		response, err := client.Get(local.Host + "/x")
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 2 || seen[0] != "Bearer t" || seen[1] != "Bearer tt" {
		t.Errorf("got %q", seen)
	}
	broken := errors.New("no credentials")
	client, err = rest.HTTPClientFor(ConfigFromEKS(local.Host, nil, tokens(func() (string, error) { return "", broken })))
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Get(local.Host + "/x")
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want the token's error", err)
	}
	if response != nil {
		t.Errorf("got a response: %s", errors.Join(errors.New(response.Status), response.Body.Close()))
	}
}

const kubeconfig = `
apiVersion: v1
kind: Config
current-context: a
clusters:
- {name: a, cluster: {server: "https://a.example"}}
- {name: b, cluster: {server: "https://b.example"}}
contexts:
- {name: a, context: {cluster: a, user: u}}
- {name: b, context: {cluster: b, user: u}}
users:
- {name: u, user: {token: from-file}}
`

func TestConfigFromKubeconfig_PrefersSingleSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name              string
		access            Access
		host, token, fail string
	}{
		{name: "nothing set", fail: "neither host nor config_path is set"},
		{name: "file", access: Access{ConfigPaths: []string{path}}, host: "https://a.example", token: "from-file"},
		{name: "context", access: Access{ConfigPaths: []string{path}, ConfigContext: "b"}, host: "https://b.example", token: "from-file"},
		{name: "unknown context", access: Access{ConfigPaths: []string{path}, ConfigContext: "c"}, fail: `context "c" does not exist`},
		{name: "missing file", access: Access{ConfigPaths: []string{path + "x"}}, fail: "no such file"},
		{name: "host and token", access: Access{Host: "https://c.example", Token: "t"}, host: "https://c.example", token: "t"},
		{name: "token over file", access: Access{ConfigPaths: []string{path}, Token: "t"}, host: "https://a.example", token: "t"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			config, err := ConfigFromKubeconfig(tt.access)
			if tt.fail != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fail) {
					t.Fatalf("got %v, want %q in it", err, tt.fail)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if config.Host != tt.host || config.BearerToken != tt.token {
				t.Errorf("got %s with token %q", config.Host, config.BearerToken)
			}
		})
	}
}

func TestDaemonConfig_SaysWhereItLooked(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := DaemonConfig(); err == nil || !strings.Contains(err.Error(), "set KUBECONFIG") {
		t.Errorf("got %v", err)
	}
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", path)
	config, err := DaemonConfig()
	if err != nil || config.Host != "https://a.example" || config.QPS != daemonQPS {
		t.Errorf("got %+v, %v", config, err)
	}
}
