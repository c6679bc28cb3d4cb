//go:build lab

package provider_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

var (
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	leases     = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
)

// through is a proxy of the laboratory's API server. answers sees each request
// before the server, and may answer in place of the server.
func (l *theLab) through(t *testing.T, answers func(http.ResponseWriter, *http.Request) bool) string {
	t.Helper()
	transport, err := rest.TransportFor(l.AdminConfig)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(l.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Header.Del("Authorization") // the transport's own identity counts
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answers(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// behind is a provider that reaches the API server through such a proxy.
func (l *theLab) behind(t *testing.T, answers func(http.ResponseWriter, *http.Request) bool) *harness {
	t.Helper()
	return configured(t, object{"region": l.Region, "kubernetes": object{"host": l.through(t, answers), "token": "t"}})
}

// first calls do once, before the first request with that method and path.
func first(method, part string, do func() error) func(http.ResponseWriter, *http.Request) bool {
	done := false
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !done && r.Method == method && strings.Contains(r.URL.Path, part) {
			done = true
			if err := do(); err != nil {
				http.Error(w, err.Error(), http.StatusTeapot)
				return true
			}
		}
		return false
	}
}

func deny(w http.ResponseWriter) bool {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"denied","code":403}`)
	return true
}

func nobody(http.ResponseWriter, *http.Request) bool { return false }

// idle is a daemon's configuration that waits for nothing.
func idle(more object) object {
	config := daemonConfig()
	config["wait"] = false
	maps.Copy(config, more)
	return config
}

func (s somebody) namespace() error {
	return s.create(namespaces, "", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "karpenter", "labels": map[string]any{"owner": "somebody"}}})
}

func (s somebody) gone(gvr schema.GroupVersionResource, namespace, name string) bool {
	_, err := s.client.Resource(gvr).Namespace(namespace).Get(s.t.Context(), name, metav1.GetOptions{})
	return notFound(err)
}

func (s somebody) theirs(t *testing.T, before string, gvr schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	if err := s.unchanged(before, gvr, namespace, name); err != nil {
		t.Error(err)
	}
}

func TestForeign_ANamespaceMadeInBetweenIsLeftAlone(t *testing.T) {
	l := startLab(t)
	s := l.somebody(t)
	daemon := l.behind(t, first(http.MethodPost, "/namespaces", s.namespace)).resource("karpenter_daemon")
	wantError(t, daemon.apply(idle(nil)), `Namespace "karpenter"`, "already exists")
	wantNothingMade(t, daemon)
	before := s.look(namespaces, "", "karpenter")
	wantNoError(t, daemon.apply(idle(nil)))
	s.theirs(t, before, namespaces, "", "karpenter")
	wantNoError(t, daemon.destroy())
	s.theirs(t, before, namespaces, "", "karpenter")
	if err := s.removeNamespace("karpenter"); err != nil {
		t.Fatal(err)
	}
}

func TestForeign_APoolMadeInBetweenIsLeftAlone(t *testing.T) {
	l := startLab(t)
	s := l.somebody(t)
	theirs := map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "spot", "annotations": map[string]any{"owner": "somebody"}},
		"spec": map[string]any{"weight": int64(7), "limits": map[string]any{"cpu": "5"}, "template": map[string]any{"spec": map[string]any{
			"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
			"requirements": []any{map[string]any{"key": "karpenter.sh/capacity-type", "operator": "In", "values": []any{"spot"}}},
		}}},
	}
	h := l.behind(t, first(http.MethodPost, "/nodepools", func() error { return s.create(nodePools, "", theirs) }))
	daemon := h.resource("karpenter_daemon")
	wantNoError(t, daemon.apply(idle(nil)))
	defer func() { wantNoError(t, daemon.destroy()) }()
	pool := h.resource("karpenter_node_pool")
	wantError(t, pool.apply(poolConfig(nil)), `NodePool "spot"`, "already exists")
	wantNothingMade(t, pool)
	if got := s.get(nodePools, "", "spot"); got.GetGeneration() != 1 || len(got.GetManagedFields()) == 0 || got.GetManagedFields()[0].Manager != "kubectl-create" {
		t.Errorf("their pool was changed: %v", got.Object)
	}
	if err := s.remove(nodePools, "", "spot"); err != nil {
		t.Fatal(err)
	}
}

func TestForeign_WhatOthersPutIntoTheNamespaceStays(t *testing.T) {
	l := startLab(t)
	s := l.somebody(t)
	daemon := l.behind(t, nobody).resource("karpenter_daemon")
	wantNoError(t, daemon.apply(idle(nil)))
	if err := s.create(configMaps, "karpenter", map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "theirs"}}); err != nil {
		t.Fatal(err)
	}
	diags := daemon.destroy()
	wantNoError(t, diags)
	if len(diags) != 1 || diags[0].Severity != tfprotov6.DiagnosticSeverityWarning || !strings.Contains(diags[0].Detail, `ConfigMap "karpenter/theirs"`) {
		t.Errorf("diagnostics %v", diags)
	}
	if s.gone(configMaps, "karpenter", "theirs") || !s.gone(deployments, "karpenter", "karpenterd") || !s.gone(definitions, "", "nodepools.karpenter.sh") {
		t.Error("what others made is gone, or something of ours is left")
	}
	if err := s.removeNamespace("karpenter"); err != nil {
		t.Fatal(err)
	}
}

func TestForeign_ANamespaceThatCannotBeLookedIntoStays(t *testing.T) {
	l := startLab(t)
	s := l.somebody(t)
	daemon := l.behind(t, func(w http.ResponseWriter, r *http.Request) bool {
		return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/namespaces/karpenter/configmaps") && deny(w)
	}).resource("karpenter_daemon")
	wantNoError(t, daemon.apply(idle(nil)))
	diags := daemon.destroy()
	wantNoError(t, diags)
	if len(diags) != 1 || !strings.Contains(diags[0].Detail, "possibly configmaps") || s.gone(namespaces, "", "karpenter") {
		t.Errorf("diagnostics %v", diags)
	}
	if err := s.removeNamespace("karpenter"); err != nil {
		t.Fatal(err)
	}
}

func TestDaemon_ANamespaceMadeAnewIsUsedAsItIs(t *testing.T) {
	l := startLab(t)
	s := l.somebody(t)
	daemon := l.behind(t, nobody).resource("karpenter_daemon")
	wantNoError(t, daemon.apply(idle(nil)))
	if err := errors.Join(s.removeNamespace("karpenter"), s.namespace()); err != nil {
		t.Fatal(err)
	}
	before := s.look(namespaces, "", "karpenter")
	wantNoError(t, daemon.read())
	wantNoError(t, daemon.apply(idle(nil)))
	daemon.settled(idle(nil))
	wantNoError(t, daemon.destroy())
	s.theirs(t, before, namespaces, "", "karpenter")
	if err := s.removeNamespace("karpenter"); err != nil {
		t.Fatal(err)
	}
}

func TestDaemon_AnUpdateThatFailsAndIsTakenBackLeavesNothing(t *testing.T) {
	l := startLab(t)
	s := l.somebody(t)
	failing := false
	daemon := l.behind(t, func(w http.ResponseWriter, r *http.Request) bool {
		return failing && r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "clusterrole") && deny(w)
	}).resource("karpenter_daemon")
	wantNoError(t, daemon.apply(idle(nil)))
	failing = true
	wantError(t, daemon.apply(idle(object{"service_account": "second"})), "denied")
	failing = false
	if s.gone(serviceAccounts, "karpenter", "second") {
		t.Fatal("the failed update made nothing: there is nothing to see here")
	}
	wantNoError(t, daemon.read())
	wantNoError(t, daemon.destroy())
	if !s.gone(namespaces, "", "karpenter") && !s.gone(serviceAccounts, "karpenter", "second") {
		t.Error("what the failed update made is left")
	}
}

func TestDaemon_AFailedCreateBesideObjectsOfOthersLeavesNothing(t *testing.T) {
	l := startLab(t)
	s := l.somebody(t)
	crds, err := install.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		if err := s.create(definitions, "", crd.DeepCopy().Object); err != nil {
			t.Fatal(err)
		}
	}
	stray := map[string]any{
		"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": map[string]any{"name": "stray"},
		"spec": map[string]any{
			"instanceProfile": "nodes", "amiSelectorTerms": []any{map[string]any{"alias": "al2023@latest"}},
			"subnetSelectorTerms": []any{map[string]any{"id": l.VPC.SubnetIDs[0]}}, "securityGroupSelectorTerms": []any{map[string]any{"id": l.VPC.ClusterSecurityGroupID}},
		},
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) { // until the kind is served
		if err = s.create(nodeClasses, "", stray); err == nil || time.Now().After(deadline) {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	daemon := l.behind(t, func(w http.ResponseWriter, r *http.Request) bool {
		return r.Method == http.MethodPost && strings.Contains(r.URL.Path, "clusterrole") && deny(w)
	}).resource("karpenter_daemon")
	wantError(t, daemon.apply(idle(nil)), "denied")
	wantNothingMade(t, daemon)
	if !s.gone(serviceAccounts, "karpenter", "karpenter") || s.gone(nodeClasses, "", "stray") || s.gone(definitions, "", "nodepools.karpenter.sh") {
		t.Error("something of ours is left, or something of others is gone")
	}
	err = s.remove(nodeClasses, "", "stray")
	for _, crd := range crds {
		err = errors.Join(err, s.remove(definitions, "", crd.GetName()))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A cluster that was given back to Karpenter keeps its nodes; the daemon alone goes.
func TestDaemon_AClusterThatWasHandedBackDoesNotNeedIt(t *testing.T) {
	l := startLab(t)
	s := l.somebody(t)
	crds, err := install.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		if err := s.create(definitions, "", crd.DeepCopy().Object); err != nil {
			t.Fatal(err)
		}
	}
	daemon := l.behind(t, nobody).resource("karpenter_daemon")
	wantNoError(t, daemon.apply(idle(nil)))
	patch := func(gvr schema.GroupVersionResource, namespace, name, body string) {
		t.Helper()
		if _, err := s.client.Resource(gvr).Namespace(namespace).Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	pool := map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "theirs", "finalizers": []any{"karpenter.sh/termination"}},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}, "requirements": []any{},
		}}},
	}
	if err := s.create(nodePools, "", pool); err != nil {
		t.Fatal(err)
	}
	wantError(t, daemon.destroy(), "karpenterd handback")
	patch(deployments, "karpenter", "karpenterd", `{"spec":{"replicas":0}}`)
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		n, _, _ := unstructured.NestedInt64(s.get(deployments, "karpenter", "karpenterd").Object, "status", "replicas")
		if n == 0 || time.Now().After(deadline) {
			break
		}
	}
	wantError(t, daemon.destroy(), "theirs") // its finalizer would hold it for ever
	patch(nodePools, "", "theirs", `{"metadata":{"finalizers":null}}`)
	wantNoError(t, daemon.destroy())
	if !s.gone(deployments, "karpenter", "karpenterd") || s.gone(nodePools, "", "theirs") || s.gone(definitions, "", "nodepools.karpenter.sh") {
		t.Error("the daemon is left, or something of others is gone")
	}
	err = s.remove(nodePools, "", "theirs")
	for _, crd := range crds {
		err = errors.Join(err, s.remove(definitions, "", crd.GetName()))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestForeign_ALeaseOfKarpentersStays(t *testing.T) {
	l := startLab(t)
	s := l.somebody(t)
	lease := map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": install.LeaseName},
		"spec": map[string]any{"holderIdentity": "upstream_1", "leaseDurationSeconds": int64(15), "renewTime": "2020-01-01T00:00:00.000000Z"},
	}
	if err := errors.Join(s.namespace(), s.create(leases, "karpenter", lease)); err != nil {
		t.Fatal(err)
	}
	before := s.look(leases, "karpenter", install.LeaseName)
	daemon := l.behind(t, nobody).resource("karpenter_daemon")
	wantNoError(t, daemon.apply(idle(nil)))
	wantNoError(t, daemon.destroy())
	s.theirs(t, before, leases, "karpenter", install.LeaseName)
	if err := s.removeNamespace("karpenter"); err != nil {
		t.Fatal(err)
	}
}

// karpenterRuns renews the Lease of a Karpenter in kube-system, until it is told to stop.
func (s somebody) karpenterRuns(t *testing.T, l *theLab) (stop func()) {
	t.Helper()
	now := func() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000000Z") }
	lease := map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": install.LeaseName},
		"spec": map[string]any{"holderIdentity": "karpenter-6d9c_1", "leaseDurationSeconds": int64(15), "renewTime": now()},
	}
	if err := s.create(leases, "kube-system", lease); err != nil {
		t.Fatal(err)
	}
	running, end := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for running.Err() == nil {
			if err := l.patch(leases, "kube-system", install.LeaseName, fmt.Sprintf(`{"spec":{"renewTime":%q}}`, now())); err != nil {
				t.Error(err)
			}
			select {
			case <-running.Done():
			case <-time.After(500 * time.Millisecond):
			}
		}
	}()
	return func() { end(); <-stopped }
}

// TestDaemon_ARunningKarpenterIsAClearRefusal applies a daemon while a controller renews
// Karpenter's Lease in another namespace, and after it has stopped.
func TestDaemon_ARunningKarpenterIsAClearRefusal(t *testing.T) {
	l := startLab(t)
	s := l.somebody(t)
	stop := s.karpenterRuns(t, l)
	daemon := l.behind(t, nobody).resource("karpenter_daemon")
	wantError(t, daemon.apply(idle(nil)), "another controller runs", "kube-system/"+install.LeaseName, "karpenter-6d9c_1", "kubectl scale")
	wantNothingMade(t, daemon)
	if !s.gone(namespaces, "", "karpenter") {
		t.Error("something was installed")
	}
	stop()
	wantNoError(t, daemon.apply(idle(nil))) // waits until the Lease has expired
	wantNoError(t, daemon.destroy())
	if err := s.remove(leases, "kube-system", install.LeaseName); err != nil {
		t.Fatal(err)
	}
}

// losing lets the API server carry out the first request with that method and path,
// and then closes the connection without an answer.
func (l *theLab) losing(t *testing.T, method, part string) func(http.ResponseWriter, *http.Request) bool {
	t.Helper()
	transport, err := rest.TransportFor(l.AdminConfig)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(l.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	lost := false
	return func(_ http.ResponseWriter, r *http.Request) bool {
		if lost || r.Method != method || !strings.Contains(r.URL.Path, part) {
			return false
		}
		lost = true
		again := r.Clone(r.Context())
		again.URL.Scheme, again.URL.Host, again.RequestURI = target.Scheme, target.Host, ""
		again.Header.Del("Authorization")
		answer, err := transport.RoundTrip(again)
		if err != nil {
			t.Error(err)
			return false
		}
		_ = answer.Body.Close()
		panic(http.ErrAbortHandler)
	}
}

func TestCreate_AnObjectWhoseAnswerGotLostIsOurs(t *testing.T) {
	l := startLab(t)
	s := l.somebody(t)
	daemon := l.behind(t, nobody).resource("karpenter_daemon")
	wantNoError(t, daemon.apply(idle(nil)))
	defer func() { wantNoError(t, daemon.destroy()) }()
	pool := l.behind(t, l.losing(t, http.MethodPost, "/nodepools")).resource("karpenter_node_pool")
	config := poolConfig(nil)
	config["wait"] = false
	wantNoError(t, pool.apply(config))
	if marks := s.get(nodePools, "", "spot").GetAnnotations(); len(marks) > 0 {
		t.Errorf("the pool keeps annotations %v", marks)
	}
	pool.settled(config)
	wantNoError(t, pool.destroy())
}
