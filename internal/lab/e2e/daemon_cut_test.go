//go:build lab

package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/proc"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// write is something that the daemon wrote, and that was accepted.
type write struct {
	kind string // what was written; see kindOf
	name string // of the object
}

// cutter stands between the daemon and both the API server and AWS. It ends the daemon
// without notice after a write: the write is done, and the daemon never hears of it.
type cutter struct {
	kube, cloud *httptest.Server
	spec        proc.Spec
	set         *proc.Set

	mu      sync.Mutex
	process *proc.Process
	last    func(write) bool // says after which write the daemon ends; nil for none
	cut     chan struct{}    // closed when it has
	writes  []write          // since the daemon was installed
	said    map[string]bool  // the conditions of NodeClaims that are true
}

// startCutter installs all that the daemon needs but its Deployment. The test itself
// starts the daemon, by the environment and the arguments of that Deployment: a kubelet
// would wait longer and longer between the restarts.
func (d *daemonLab) startCutter(t *testing.T) *cutter {
	t.Helper()
	objects, err := install.Objects(d.options)
	if err != nil {
		t.Fatal(err)
	}
	d.apply(t, objects[:len(objects)-1]...)
	c := &cutter{set: d.Processes, said: map[string]bool{}}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(d.CA) {
		t.Fatal("the API server's certificate authority is no certificate")
	}
	c.kube = httptest.NewUnstartedServer(c.proxy(t, d.Endpoint, &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
	}))
	c.kube.StartTLS()
	t.Cleanup(c.kube.Close)
	c.cloud = httptest.NewServer(c.proxy(t, d.Cloud.URL(), http.DefaultTransport))
	t.Cleanup(c.cloud.Close)
	c.describe(t, d, objects[len(objects)-1].Object)
	t.Cleanup(c.kill)
	return c
}

// describe says how the daemon is started.
func (c *cutter) describe(t *testing.T, d *daemonLab, deployment map[string]any) {
	t.Helper()
	raw, err := json.Marshal(deployment["spec"].(map[string]any)["template"].(map[string]any)["spec"])
	if err != nil {
		t.Fatal(err)
	}
	var pod corev1.PodSpec
	if err := json.Unmarshal(raw, &pod); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	binary, err := toolchain.Self(t.Context(), os.Stderr, "./daemon/cmd/karpenterd")
	if err != nil {
		t.Fatal(err)
	}
	c.spec = proc.Spec{
		Name: "karpenterd", Path: binary, Args: pod.Containers[0].Args, Dir: dir,
		LogFile: filepath.Join(d.LogDir(), "cut_"+install.DefaultName+".log"),
		Env: []string{
			"HOME=" + dir, "TMPDIR=" + dir, "KUBECONFIG=" + c.kubeconfig(t, dir, d.token(t, dir, "kube")),
			"AWS_ROLE_ARN=" + d.options.RoleARN, "AWS_WEB_IDENTITY_TOKEN_FILE=" + d.token(t, dir, "aws", "sts.amazonaws.com"),
			fmt.Sprintf("%s=%d", install.EnvTimeFactor, timeFactor),
		},
	}
	for _, e := range d.Env() {
		if !strings.Contains(e, "_KEY") { // the deployer's
			c.spec.Env = append(c.spec.Env, strings.ReplaceAll(e, d.Cloud.URL(), c.cloud.URL))
		}
	}
	own := map[string]string{install.EnvSystemNamespace: install.DefaultNamespace, install.EnvPodName: "the-daemon", install.EnvBindAddress: "127.0.0.77"}
	for _, e := range pod.Containers[0].Env {
		if value := own[e.Name]; value != "" {
			e.Value = value
		}
		if e.Value != "" {
			c.spec.Env = append(c.spec.Env, e.Name+"="+e.Value)
		}
	}
}

// token writes a token of the daemon's service account into a file.
func (d *daemonLab) token(t *testing.T, dir, name string, audiences ...string) (path string) {
	t.Helper()
	hour := int64(3600)
	got, err := d.Admin.CoreV1().ServiceAccounts(install.DefaultNamespace).CreateToken(t.Context(), install.DefaultServiceAccount,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences, ExpirationSeconds: &hour}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, name+".token")
	if err := os.WriteFile(path, []byte(got.Status.Token), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (c *cutter) kubeconfig(t *testing.T, dir, token string) (path string) {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["cut"] = &clientcmdapi.Cluster{
		Server: c.kube.URL, CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.kube.Certificate().Raw}),
	}
	config.AuthInfos["daemon"] = &clientcmdapi.AuthInfo{TokenFile: token}
	config.Contexts["daemon"] = &clientcmdapi.Context{Cluster: "cut", AuthInfo: "daemon"}
	config.CurrentContext = "daemon"
	path = filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// start starts the daemon.
func (c *cutter) start(t *testing.T) {
	t.Helper()
	p, err := c.set.Start(c.spec)
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.process = p
}

// kill ends the daemon without notice, if it runs.
func (c *cutter) kill() {
	if c.process != nil {
		c.process.Kill()
	}
}

// after lets the daemon end after the next write of which last says so; nil is none. The
// channel is closed then.
func (c *cutter) after(last func(write) bool) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.cut = last, make(chan struct{})
	return c.cut
}

// since returns the writes but the first n.
func (c *cutter) since(n int) []write {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.writes[n:])
}

type bodyKey struct{}

// errCut says that the daemon is dead, so nobody waits for the answer.
var errCut = errors.New("the daemon has ended")

// proxy passes requests on, and looks at what was written.
func (c *cutter) proxy(t *testing.T, to string, transport http.RoundTripper) http.Handler {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	p := &httputil.ReverseProxy{
		FlushInterval: -1, Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // it is signed
		},
		ModifyResponse: func(r *http.Response) error {
			body, _ := r.Request.Context().Value(bodyKey{}).([]byte)
			if r.StatusCode < http.StatusMultipleChoices && body != nil && c.wrote(r.Request, body) {
				return errCut
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return // the daemon has ended
			}
			// What the daemon sent before it ended may be accepted, and counts as written.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), patience)
			defer cancel()
			r = r.WithContext(context.WithValue(ctx, bodyKey{}, body))
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		}
		p.ServeHTTP(w, r)
	})
}

// wrote notes what was written, and ends the daemon if it was to end after that.
func (c *cutter) wrote(r *http.Request, body []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.writeOf(r, body)
	if w.kind == "" {
		return false
	}
	c.writes = append(c.writes, w)
	if c.last == nil || !c.last(w) {
		return false
	}
	c.process.Kill()
	c.last = nil
	close(c.cut)
	return true
}

// writeOf says what a request wrote. The kind is empty if it has no part in moving a
// node: reads, Events, Leases, reviews, and the statuses of pools and classes.
func (c *cutter) writeOf(r *http.Request, body []byte) write {
	if r.URL.Path == "/" { // AWS
		form, err := url.ParseQuery(string(body))
		action := form.Get("Action")
		if err != nil || action == "" || action == "AssumeRoleWithWebIdentity" || strings.HasPrefix(action, "Describe") || strings.HasPrefix(action, "Get") {
			return write{}
		}
		return write{kind: action}
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	at := slices.IndexFunc(parts, func(s string) bool { return s == "nodeclaims" || s == "nodes" || s == "pods" })
	if at < 0 {
		return write{}
	}
	w := write{kind: r.Method + " " + strings.Join(slices.Delete(slices.Clone(parts[at:]), min(1, len(parts)-at), min(2, len(parts)-at)), "/")}
	if len(parts) > at+1 {
		w.name = parts[at+1]
	}
	if news := c.news(w, body); news != "" {
		w.kind += " " + news
	}
	return w
}

// news says which part of the object a request changed.
func (c *cutter) news(w write, body []byte) string {
	if _, err := kube.ReadFinalizers(body); err == nil {
		return "finalizers"
	}
	var o struct {
		Metadata struct {
			Annotations map[string]any `json:"annotations"`
			Labels      map[string]any `json:"labels"`
			Finalizers  *[]string      `json:"finalizers"`
		} `json:"metadata"`
		Spec struct {
			Taints *[]corev1.Taint `json:"taints"`
		} `json:"spec"`
		Status map[string]any `json:"status"`
	}
	if json.Unmarshal(body, &o) != nil {
		return "" // the API server has understood it: it is protobuf, which patches never are
	}
	switch {
	case strings.HasPrefix(w.kind, http.MethodPut):
		return c.cameTrue(w.name, body)
	case !strings.HasPrefix(w.kind, http.MethodPatch):
		return ""
	}
	attempt, launches := o.Metadata.Annotations[v1.AnnotationLaunchAttempt]
	_, moves := o.Metadata.Annotations[v1.AnnotationMove]
	_, marks := o.Metadata.Annotations[awsv1.AnnotationTagged]
	var parts []string
	for _, part := range []struct {
		name    string
		changed bool
	}{
		{"attempt", launches && attempt != nil},
		{"move", moves},
		{"marks", marks},
		{"nomination", o.Status["nominatedNodeName"] != nil},
		{"labels", len(o.Metadata.Labels) > 0},
		{"finalizers", o.Metadata.Finalizers != nil},
		{"taints", o.Spec.Taints != nil},
		{"disrupted", o.Spec.Taints != nil && slices.ContainsFunc(*o.Spec.Taints, func(t corev1.Taint) bool { return t.Key == v1.DisruptedTaint().Key })},
	} {
		if part.changed {
			parts = append(parts, part.name)
		}
	}
	return strings.Join(parts, ",")
}

// cameTrue names the conditions of a NodeClaim that came true.
func (c *cutter) cameTrue(name string, body []byte) string {
	var claim v1.NodeClaim
	if json.Unmarshal(body, &claim) != nil {
		return ""
	}
	var news []string
	for _, x := range claim.Status.Conditions {
		key := name + "/" + x.Type
		if x.Status == metav1.ConditionTrue && !c.said[key] && x.Type != v1.ConditionReady {
			c.said[key] = true
			news = append(news, x.Type)
		}
	}
	return strings.Join(news, ",")
}
