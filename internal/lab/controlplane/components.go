package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/proc"
)

// advertised is the address that the API server publishes. Nothing connects
// to it: endpoints are not reconciled. It must not be a loopback address, and
// a machine without a network has no other, hence an address of the VPC.
const advertised = "10.0.0.2"

// apiServer is the component's name.
const apiServer = "kube-apiserver"

// KubeletClient is the user that the API server is to kubelets.
const KubeletClient = "kube-apiserver-kubelet-client"

// adminUser is whom the administrator's token belongs to.
const adminUser = "lab-administrator"

// auditPolicy has the API server note every use of the administrator's token, so that a test
// can say who had it, and what pods of user namespaces and of the daemon ask for by their
// service accounts, so that a test can say which rights are used. A watch is noted when it
// begins: it may end with the API server.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- level: Metadata
  users: [` + adminUser + `]
  omitStages: [RequestReceived, ResponseStarted]
- level: None
  userGroups: ["system:serviceaccounts:kube-system"]
- level: Metadata
  userGroups: ["system:serviceaccounts"]
  omitStages: [ResponseStarted, ResponseComplete]
- level: None
`

// reviewCacheTTL is how long the API server keeps a verdict of the token
// webhook. Its default of two minutes would hide a new access entry that long.
const reviewCacheTTL = time.Second

func (c *ControlPlane) startEtcd(ctx context.Context) error {
	peer := "http://127.0.0.1:0" // a single member has no peers
	port, err := c.retryPort(ctx, "etcd", func(port int) (*proc.Process, error) {
		c.EtcdURL = "http://127.0.0.1:" + strconv.Itoa(port)
		return c.run("etcd", c.options.Binaries.Etcd, []string{
			"--name=lab", "--data-dir=" + filepath.Join(c.options.Dir, "etcd"), "--unsafe-no-fsync",
			"--listen-client-urls=" + c.EtcdURL, "--advertise-client-urls=" + c.EtcdURL,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=lab=" + peer,
			"--log-level=warn",
		})
	}, func(ctx context.Context, port int) error {
		return get(ctx, http.DefaultClient, fmt.Sprintf("http://127.0.0.1:%d/health", port), "")
	})
	if err != nil {
		return err
	}
	c.EtcdURL = "http://127.0.0.1:" + strconv.Itoa(port)
	return nil
}

// apiServerFiles writes what the API server reads, and returns the flags that
// name the files.
func (c *ControlPlane) apiServerFiles() ([]string, error) {
	serving, err := c.authority.Server("kube-apiserver")
	if err != nil {
		return nil, err
	}
	signing, err := newSigningKey()
	if err != nil {
		return nil, err
	}
	toKubelets, err := c.authority.Client(KubeletClient)
	if err != nil {
		return nil, err
	}
	c.adminToken = newToken()
	files := []struct {
		name    string
		content []byte
		flags   []string
	}{
		{"ca.crt", c.authority.PEM(), []string{"client-ca-file", "kubelet-certificate-authority"}},
		{"apiserver.crt", serving.Cert, []string{"tls-cert-file"}},
		{"apiserver.key", serving.Key, []string{"tls-private-key-file"}},
		{"kubelet-client.crt", toKubelets.Cert, []string{"kubelet-client-certificate"}},
		{"kubelet-client.key", toKubelets.Key, []string{"kubelet-client-key"}},
		{"service-account.key", signing, []string{"service-account-key-file", "service-account-signing-key-file"}},
		{"audit-policy.yaml", []byte(auditPolicy), []string{"audit-policy-file"}},
		{"tokens.csv", []byte(c.adminToken + "," + adminUser + "," + adminUser + ",\"system:masters\"\n"), []string{"token-auth-file"}},
	}
	var flags []string
	for _, f := range files {
		path, err := c.write(f.name, f.content)
		if err != nil {
			return nil, err
		}
		for _, flag := range f.flags {
			flags = append(flags, "--"+flag+"="+path)
		}
	}
	if c.options.TokenReviewURL == "" {
		return flags, nil
	}
	path := filepath.Join(c.options.Dir, "token-webhook.kubeconfig")
	err = kubeconfig(path, c.options.TokenReviewURL, c.authority.PEM(), clientcmdapi.AuthInfo{})
	return append(flags, "--authentication-token-webhook-config-file="+path, "--authentication-token-webhook-version=v1",
		"--authentication-token-webhook-cache-ttl="+reviewCacheTTL.String()), err
}

func (c *ControlPlane) startAPIServer(ctx context.Context) error {
	files, err := c.apiServerFiles()
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.authority.PEM())
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	c.serve = func(port int) (*proc.Process, error) {
		return c.run(apiServer, c.options.Binaries.APIServer, append([]string{
			"--etcd-servers=" + c.EtcdURL, "--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(port),
			"--advertise-address=" + advertised, "--endpoint-reconciler-type=none",
			// Where a process can be reached is no address of the VPC: see package kubelet.
			"--kubelet-preferred-address-types=ExternalDNS,Hostname,InternalDNS,InternalIP",
			"--cert-dir=" + c.options.Dir, "--service-cluster-ip-range=" + c.options.ServiceCIDR,
			"--service-account-issuer=" + c.options.Issuer,
			"--service-account-jwks-uri=" + c.options.Issuer + "/keys",
			"--audit-log-path=" + c.auditFile(), "--audit-log-mode=blocking",
			"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
			"--shutdown-watch-termination-grace-period=0s", "--profiling=false",
		}, files...))
	}
	c.ready = func(ctx context.Context, port int) error {
		defer client.CloseIdleConnections()
		return get(ctx, client, fmt.Sprintf("https://127.0.0.1:%d/readyz", port), c.adminToken)
	}
	port, err := c.retryPort(ctx, apiServer, c.serve, c.ready)
	if err != nil {
		return err
	}
	c.Endpoint = "https://127.0.0.1:" + strconv.Itoa(port)
	return c.admin()
}

func (c *ControlPlane) startControllerManager(context.Context) error {
	config, err := c.componentKubeconfig("system:kube-controller-manager")
	if err != nil {
		return err
	}
	args := []string{
		"--kubeconfig=" + config, "--use-service-account-credentials", "--leader-elect=false",
		"--service-account-private-key-file=" + filepath.Join(c.options.Dir, "service-account.key"),
		"--root-ca-file=" + filepath.Join(c.options.Dir, "ca.crt"),
		"--secure-port=0", // nobody asks it anything
	}
	if d := c.options.NodeGrace; d > 0 {
		args = append(args, "--node-monitor-grace-period="+d.String(), "--node-monitor-period="+(d/10).String())
	}
	if n := c.options.ControllerQPS; n > 0 {
		args = append(args, fmt.Sprintf("--kube-api-qps=%d", n), fmt.Sprintf("--kube-api-burst=%d", n))
	}
	_, err = c.run("kube-controller-manager", c.options.Binaries.ControllerManager, args)
	return err
}

func (c *ControlPlane) startScheduler(context.Context) error {
	config, err := c.componentKubeconfig("system:kube-scheduler")
	if err != nil {
		return err
	}
	_, err = c.run("kube-scheduler", c.options.Binaries.Scheduler, []string{
		"--kubeconfig=" + config, "--leader-elect=false", "--secure-port=0",
	})
	return err
}

// get succeeds when the URL answers 200.
func get(ctx context.Context, client *http.Client, url, token string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 4096))
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status + ": " + strings.TrimSpace(string(body)))
	}
	return nil
}
