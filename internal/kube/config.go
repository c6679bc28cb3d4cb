package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Requests per second and their burst: the daemon has those of Karpenter's controller,
// the provider those of kubectl.
const (
	daemonQPS, daemonBurst     = 200, 300
	providerQPS, providerBurst = 50, 300
)

// TokenSource makes bearer tokens.
type TokenSource interface {
	// Token returns a token and the time until which it is valid. It is called for
	// every request, so an implementation keeps a token while it is valid.
	Token(ctx context.Context) (token string, expiry time.Time, err error)
}

// ConfigFromEKS makes the configuration for an EKS cluster. endpoint is the https URL, ca
// the certificate authority (PEM). Every request has a token of ts.
func ConfigFromEKS(endpoint string, ca []byte, ts TokenSource) *rest.Config {
	return &rest.Config{
		Host:            endpoint,
		TLSClientConfig: rest.TLSClientConfig{CAData: ca},
		QPS:             providerQPS,
		Burst:           providerBurst,
		WrapTransport: func(base http.RoundTripper) http.RoundTripper {
			return &tokenTransport{base: base, source: ts}
		},
	}
}

// tokenTransport adds a valid token to every request.
type tokenTransport struct {
	base   http.RoundTripper
	source TokenSource
}

func (t *tokenTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	token, _, err := t.source.Token(request.Context())
	if err != nil {
		if request.Body != nil {
			err = errors.Join(err, request.Body.Close()) // a RoundTripper must close it, also on error
		}
		return nil, fmt.Errorf("token get: %w", err)
	}
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+token)
	return t.base.RoundTrip(request)
}

// WrappedRoundTripper lets client-go find the transport below.
func (t *tokenTransport) WrappedRoundTripper() http.RoundTripper { return t.base }

// Access says how to reach an API server: by kubeconfig files, by single settings,
// or by both. The names are those of Terraform's Kubernetes provider.
type Access struct {
	ConfigPaths                  []string // kubeconfig files; ~/ is the home directory
	ConfigContext                string   // empty: the files' current context
	ConfigContextAuthInfo        string   // user of the context; empty: the context's own
	ConfigContextCluster         string   // cluster of the context; empty: the context's own
	Host                         string   // https URL
	Username, Password           string
	Token                        string
	ClusterCACertificate         string // PEM
	ClientCertificate, ClientKey string // PEM
	TLSServerName                string
	Insecure                     bool
	ProxyURL                     string // http, https or socks5
	Exec                         *Exec
}

// Exec is a program that prints credentials, as kubectl calls it.
type Exec struct {
	APIVersion string // client.authentication.k8s.io/v1 or /v1beta1
	Command    string
	Args       []string
	Env        map[string]string // in addition to the environment of this process
}

func (e *Exec) config() *clientcmdapi.ExecConfig {
	if e == nil {
		return nil
	}
	c := &clientcmdapi.ExecConfig{
		APIVersion: e.APIVersion, Command: e.Command, Args: e.Args,
		// Nobody can answer a question of the program: Terraform has the terminal.
		InteractiveMode: clientcmdapi.NeverExecInteractiveMode, StdinUnavailable: true,
	}
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		c.Env = append(c.Env, clientcmdapi.ExecEnvVar{Name: name, Value: e.Env[name]})
	}
	return c
}

// ConfigFromKubeconfig turns an Access into a client configuration. The single settings
// win over the files. It reads only the files of the Access, and neither ~/.kube/config
// nor the in-cluster configuration.
func ConfigFromKubeconfig(a Access) (*rest.Config, error) {
	if len(a.ConfigPaths) == 0 && a.Host == "" {
		return nil, fmt.Errorf("%w: neither host nor config_path is set; set one of them, or eks.cluster_name", ErrAccess)
	}
	paths, err := expand(a.ConfigPaths)
	if err != nil {
		return nil, err
	}
	overrides := &clientcmd.ConfigOverrides{
		CurrentContext: a.ConfigContext,
		Context:        clientcmdapi.Context{AuthInfo: a.ConfigContextAuthInfo, Cluster: a.ConfigContextCluster},
		ClusterInfo: clientcmdapi.Cluster{
			Server: a.Host, TLSServerName: a.TLSServerName, InsecureSkipTLSVerify: a.Insecure, ProxyURL: a.ProxyURL,
			CertificateAuthorityData: []byte(a.ClusterCACertificate),
		},
		AuthInfo: clientcmdapi.AuthInfo{
			Username: a.Username, Password: a.Password, Token: a.Token, Exec: a.Exec.config(),
			ClientCertificateData: []byte(a.ClientCertificate), ClientKeyData: []byte(a.ClientKey),
		},
	}
	loaded, err := (&clientcmd.ClientConfigLoadingRules{Precedence: paths}).Load()
	if err != nil {
		return nil, fmt.Errorf("%w: load kubeconfig: %w", ErrAccess, err)
	}
	config, err := clientcmd.NewDefaultClientConfig(*loaded, overrides).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAccess, err)
	}
	config.QPS, config.Burst = providerQPS, providerBurst
	return config, nil
}

// expand resolves ~/ and refuses files that do not exist: client-go would treat them as
// empty without a message.
func expand(paths []string) ([]string, error) {
	out := make([]string, 0, len(paths))
	for _, path := range paths {
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			home, err := os.UserHomeDir()
			if err != nil {
				return nil, fmt.Errorf("%w: config_path %q: %w", ErrAccess, path, err)
			}
			path = filepath.Join(home, rest)
		}
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("%w: config_path: %w", ErrAccess, err)
		}
		out = append(out, path)
	}
	return out, nil
}

// DaemonConfig makes the daemon's configuration: from the file that $KUBECONFIG names,
// or else from the pod's service account.
func DaemonConfig() (*rest.Config, error) {
	var config *rest.Config
	var err error
	if path := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); path != "" {
		config, err = clientcmd.BuildConfigFromFlags("", path)
	} else {
		config, err = rest.InClusterConfig()
	}
	if err != nil {
		return nil, fmt.Errorf("kubernetes access: %w; run in a pod with a service account, or set KUBECONFIG", err)
	}
	config.QPS, config.Burst = daemonQPS, daemonBurst
	// As in kube-scheduler and kube-controller-manager: to compress a list of pods takes the API
	// server longer than to send it through the cluster's own network.
	config.DisableCompression = true
	config.Wrap(func(base http.RoundTripper) http.RoundTripper {
		return &timeoutTransport{base: base, limit: requestTimeout}
	})
	return config, nil
}
