package controlplane

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Requests a second, and in a burst, that the laboratory's own clients may
// send; client-go's default of 5 would make the laboratory wait for itself.
const (
	clientQPS   = 200
	clientBurst = 400
)

// kubeconfig writes a kubeconfig file with one cluster and one user.
func kubeconfig(path, endpoint string, ca []byte, user clientcmdapi.AuthInfo) error {
	c := clientcmdapi.NewConfig()
	c.Clusters["lab"] = &clientcmdapi.Cluster{Server: endpoint, CertificateAuthorityData: ca}
	c.AuthInfos["lab"] = &user
	c.Contexts["lab"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: "lab"}
	c.CurrentContext = "lab"
	raw, err := clientcmd.Write(*c)
	if err != nil {
		return fmt.Errorf("kubeconfig encode: %w", err)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		return fmt.Errorf("kubeconfig write: %w", err)
	}
	return nil
}

// Client makes a configuration for a component of its own user and groups.
func (c *ControlPlane) Client(user string, groups ...string) (*rest.Config, error) {
	pair, err := c.authority.Client(user, groups...)
	if err != nil {
		return nil, fmt.Errorf("client configuration create: %w", err)
	}
	return &rest.Config{
		Host: c.Endpoint, QPS: clientQPS, Burst: clientBurst, UserAgent: user,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.authority.PEM(), CertData: pair.Cert, KeyData: pair.Key},
	}, nil
}

// Server makes a serving certificate for 127.0.0.1 and localhost, by which the
// API server knows a component that it calls.
func (c *ControlPlane) Server(name string) (Pair, error) { return c.authority.Server(name) }

// componentKubeconfig writes the kubeconfig of a component that is a process
// and returns the file's path.
func (c *ControlPlane) componentKubeconfig(user string, groups ...string) (string, error) {
	pair, err := c.authority.Client(user, groups...)
	if err != nil {
		return "", err
	}
	path := filepath.Join(c.options.Dir, "kubeconfig-"+filepath.Base(fileName(user)))
	return path, kubeconfig(path, c.Endpoint, c.authority.PEM(), clientcmdapi.AuthInfo{
		ClientCertificateData: pair.Cert, ClientKeyData: pair.Key,
	})
}
