package provider_test

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// fakeCluster is as much of an API server as a node class needs: it keeps what it is told,
// and a test tells it whom to refuse.
type fakeCluster struct {
	*httptest.Server
	mu      sync.Mutex
	uid     string // of kube-system
	classes map[string]map[string]any
	refuse  []int // status of the next answers, one each
	seen    []string
	who     []string
}

const (
	classPath  = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses"
	systemPath = "/api/v1/namespaces/kube-system"
)

func startAPIServer(t *testing.T) *fakeCluster {
	t.Helper()
	c := &fakeCluster{uid: "11111111-1111-1111-1111-111111111111", classes: map[string]map[string]any{}}
	c.Server = httptest.NewTLSServer(http.HandlerFunc(c.serve))
	t.Cleanup(c.Close)
	return c
}

// authority is the PEM certificate that the server's certificate is checked with.
func (c *fakeCluster) authority() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw}))
}

// access is the attribute kubernetes that leads to it, with other attributes.
func (c *fakeCluster) access(more object) object {
	return with(object{"host": c.URL, "cluster_ca_certificate": c.authority()}, more)
}

// kubeconfig writes a file that leads to it, with two users.
func (c *fakeCluster) kubeconfig(t *testing.T) string {
	t.Helper()
	text, err := json.Marshal(object{
		"apiVersion": "v1", "kind": "Config", "current-context": "a",
		"clusters": list{object{"name": "a", "cluster": object{"server": c.URL, "certificate-authority-data": []byte(c.authority())}}},
		"contexts": list{object{"name": "a", "context": object{"cluster": "a", "user": "u"}}, object{"name": "b", "context": object{"cluster": "a", "user": "w"}}},
		"users":    list{object{"name": "u", "user": object{"token": "of-u"}}, object{"name": "w", "user": object{"token": "of-w"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// tunnel is a proxy that connects to the cluster whatever address it is asked for, and
// notes the address.
func (c *fakeCluster) tunnel(t *testing.T) (address string, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var hosts []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		hosts = append(hosts, r.Method+" "+r.Host)
		mu.Unlock()
		server, err := net.Dial("tcp", c.Listener.Addr().String())
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusOK)
		client, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		go func() {
			_, _ = io.Copy(server, client)
			_ = server.Close()
		}()
		_, _ = io.Copy(client, server)
		_ = client.Close()
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(hosts)
	}
}

func (c *fakeCluster) serve(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, r.Method+" "+r.URL.Path)
	c.who = append(c.who, r.Header.Get("Authorization"))
	if len(c.refuse) > 0 {
		status := c.refuse[0]
		c.refuse = c.refuse[1:]
		c.answer(w, status, failure(status))
		return
	}
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, classPath), "/")
	switch {
	case r.URL.Path == systemPath:
		c.answer(w, http.StatusOK, object{"kind": "Namespace", "apiVersion": "v1", "metadata": object{"name": "kube-system", "uid": c.uid}})
	case r.URL.Path == "/api":
		c.answer(w, http.StatusOK, object{"kind": "APIVersions", "versions": list{"v1"}})
	case r.URL.Path == "/apis":
		version := object{"groupVersion": "karpenter.k8s.aws/v1", "version": "v1"}
		c.answer(w, http.StatusOK, object{"kind": "APIGroupList", "apiVersion": "v1", "groups": list{object{"name": "karpenter.k8s.aws", "versions": list{version}, "preferredVersion": version}}})
	case r.URL.Path == "/api/v1":
		c.answer(w, http.StatusOK, object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": list{}})
	case r.URL.Path == "/apis/karpenter.k8s.aws/v1":
		c.answer(w, http.StatusOK, object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "karpenter.k8s.aws/v1", "resources": list{
			object{"name": "ec2nodeclasses", "kind": "EC2NodeClass", "namespaced": false, "verbs": list{"get", "create", "patch", "delete"}},
		}})
	case strings.HasPrefix(r.URL.Path, classPath):
		c.serveClass(w, r, name)
	default:
		c.answer(w, http.StatusNotFound, failure(http.StatusNotFound))
	}
}

func (c *fakeCluster) serveClass(w http.ResponseWriter, r *http.Request, name string) {
	class, there := c.classes[name]
	var body map[string]any
	if r.Method == http.MethodPost || r.Method == http.MethodPatch {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			c.answer(w, http.StatusBadRequest, failure(http.StatusBadRequest))
			return
		}
	}
	switch {
	case r.Method == http.MethodPost:
		metadata := body["metadata"].(map[string]any)
		metadata["uid"], metadata["generation"] = "of "+c.uid, 1
		c.classes[metadata["name"].(string)] = body
		c.answer(w, http.StatusCreated, body)
	case !there:
		c.answer(w, http.StatusNotFound, failure(http.StatusNotFound))
	case r.Method == http.MethodPatch:
		class["spec"] = body["spec"]
		c.answer(w, http.StatusOK, class)
	case r.Method == http.MethodDelete:
		delete(c.classes, name)
		c.answer(w, http.StatusOK, object{"kind": "Status", "apiVersion": "v1", "status": "Success"})
	default:
		c.answer(w, http.StatusOK, class)
	}
}

func failure(status int) object {
	reasons := map[int]string{http.StatusUnauthorized: "Unauthorized", http.StatusForbidden: "Forbidden", http.StatusNotFound: "NotFound"}
	return object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "reason": reasons[status], "message": http.StatusText(status)}
}

func (*fakeCluster) answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// deny refuses the next requests.
func (c *fakeCluster) deny(status ...int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse = status
}

// recreate makes it another cluster that has the same objects.
func (c *fakeCluster) recreate(uid string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uid = uid
}

// empty removes the objects.
func (c *fakeCluster) empty() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.classes)
}

func (c *fakeCluster) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen, c.who = nil, nil
}

// requests are the requests since forget: method and path.
func (c *fakeCluster) requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.seen)
}

// authorizations are the Authorization headers since forget.
func (c *fakeCluster) authorizations() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.who)
}

// count is how many classes there are.
func (c *fakeCluster) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.classes)
}
