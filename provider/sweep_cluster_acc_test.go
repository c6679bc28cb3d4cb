//go:build lab

package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// The sweep of the resources in a cluster. See sweep. The cluster is an API server alone:
// no controller, scheduler or daemon changes what the provider writes.

// swept is the cluster of the sweep.
type swept struct {
	*theLab
	somebody
	transport http.RoundTripper

	seen     map[string]wire.Thing // what the last look has found
	revision string                // of the cluster then; empty: something changed meanwhile
}

// TestSweep_Cluster lets somebody else have installed the definitions and the namespace.
func TestSweep_Cluster(t *testing.T) {
	withoutAWS(t) // the destroy of the daemon would ask it
	c := startSwept(t)
	before := c.everything(t)
	remove, err := c.classAndPool()
	must(t, err)
	for _, s := range c.sweepsBesideOthers() {
		s.run(t)
	}
	must(t, remove()) // they need the daemon
	c.sweepOfDaemon().run(t)
	if after := c.everything(t); !slices.Equal(before, after) {
		t.Errorf("before the sweep the cluster had %d objects, now it has %d", len(before), len(after))
		for _, name := range after {
			if !slices.Contains(before, name) {
				t.Errorf("left: %s", name)
			}
		}
	}
}

func startSwept(t *testing.T) *swept {
	t.Helper()
	c := startServers(t)
	must(t, c.othersHave(t))
	return c
}

// startServers starts a cluster in which nobody has installed anything.
func startServers(t *testing.T) *swept {
	t.Helper()
	started, err := lab.Start(t.Context(), lab.Options{Dir: t.TempDir(), Progress: os.Stderr, ServersOnly: true, Prompt: true})
	must(t, err)
	t.Cleanup(func() {
		if err := started.Close(); err != nil {
			t.Error(err)
		}
	})
	c := &swept{theLab: &theLab{Lab: started}}
	config := rest.CopyConfig(started.AdminConfig)
	config.QPS, config.Burst = 1000, 1000
	client, err := dynamic.NewForConfig(config)
	must(t, err)
	c.somebody = somebody{t, client}
	c.transport, err = rest.TransportFor(started.AdminConfig)
	must(t, err)
	return c
}

// othersHave installs what somebody else has.
func (c *swept) othersHave(t *testing.T) error {
	t.Helper()
	definitionsOfOthers, err := install.CRDs()
	must(t, err)
	for _, crd := range definitionsOfOthers {
		must(t, c.create(definitions, "", crd.DeepCopy().Object))
	}
	for _, crd := range definitionsOfOthers {
		c.untilEstablished(t, crd.GetName())
	}
	owner := map[string]any{"owner": "somebody"}
	return errors.Join(
		c.namespace(),
		c.create(configMaps, "karpenter", map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": theirs}, "data": map[string]any{"a": "b"}}),
		c.create(serviceAccounts, "karpenter", map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "karpenter-theirs", "annotations": owner}}),
		c.create(clusterRoles, "", map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": "karpenterd-theirs", "labels": owner}, "rules": []any{}}),
	)
}

func (c *swept) untilEstablished(t *testing.T, name string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		conditions, _, _ := unstructured.NestedSlice(c.get(definitions, "", name).Object, "status", "conditions")
		for _, entry := range conditions {
			if condition, ok := entry.(map[string]any); ok && condition["type"] == "Established" && condition["status"] == "True" {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("definition %s is not established", name)
		}
	}
}

// get is that of somebody: the laboratory has a method of the name, too.
func (c *swept) get(gvr schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	return c.somebody.get(gvr, namespace, name)
}

var clusterRoles = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}

// sweepsBesideOthers are those of the resources with a class and a pool of somebody else.
func (c *swept) sweepsBesideOthers() []*sweep {
	pool := func(more object) object {
		config := poolConfig(object{"wait": false})
		maps.Copy(config, more)
		return config
	}
	return []*sweep{
		{
			kind: "karpenter_node_class", id: "ours", setting: c.set, oneIn: 6, faults: faultsInCluster(), writes: writesCluster, denial: denialInCluster,
			first:  ownClass(object{"object_labels": object{"a": "1", "b": "1"}}),
			second: ownClass(object{"tags": object{"env": "two"}, "detailed_monitoring": true, "object_labels": object{"a": "2"}, "object_annotations": object{"owner": "x"}}),
		},
		{
			kind: "karpenter_node_pool", id: "spot", setting: c.set, oneIn: 6, faults: faultsInCluster(), writes: writesCluster, denial: denialInCluster,
			first: pool(object{"limits": object{"cpu": "5"}}), second: pool(object{"weight": 7, "object_labels": object{"a": "2"}, "object_annotations": paused()}),
			renamed: pool(object{"limits": object{"cpu": "5"}, "name": "other"}), newID: "other",
		},
	}
}

func paused() object { return object{"karpenterd.sh/pause-disruption": "true"} }

func (c *swept) sweepOfDaemon() *sweep {
	return &sweep{
		kind: "karpenter_daemon", id: "karpenter", setting: c.set, turns: true, oneIn: 12, once: true, faults: faultsInCluster(), writes: writesCluster, denial: denialInCluster,
		// What changes: every object by its labels, the service account by its name, and the definitions by their adoption.
		first: idle(nil), second: idle(object{"labels": object{"team": "platform"}, "service_account": "other", "adopt_definitions": true}),
	}
}

func ownClass(more object) object {
	config := object{
		"name": "ours", "instance_profile": "nodes", "wait": false, "ami_selector_terms": list{object{"alias": "al2023@latest"}},
		"subnet_selector_terms":         list{object{"tags": object{"karpenter.sh/discovery": "lab"}}},
		"security_group_selector_terms": list{object{"tags": object{"karpenter.sh/discovery": "lab"}}},
	}
	maps.Copy(config, more)
	return config
}

// classAndPool are a class and a pool of somebody else. The result removes them.
func (c *swept) classAndPool() (remove func() error, err error) {
	class := map[string]any{
		"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": map[string]any{"name": theirs},
		"spec": map[string]any{
			"instanceProfile": "nodes", "amiSelectorTerms": []any{map[string]any{"alias": "al2023@latest"}},
			"subnetSelectorTerms": []any{map[string]any{"id": "subnet-1"}}, "securityGroupSelectorTerms": []any{map[string]any{"id": "sg-1"}},
		},
	}
	pool := map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": theirs},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": theirs}, "requirements": []any{},
		}}},
	}
	remove = func() error { return errors.Join(c.remove(nodePools, "", theirs), c.remove(nodeClasses, "", theirs)) }
	return remove, errors.Join(c.create(nodeClasses, "", class), c.create(nodePools, "", pool))
}

// set makes a scene in the cluster.
func (c *swept) set(t *testing.T) *scene {
	t.Helper()
	target, err := url.Parse(c.Endpoint)
	must(t, err)
	before := c.things(t)
	s := &scene{look: func() map[string]wire.Thing { return c.things(t) }, meddle: map[string]func(){}}
	s.clean = func() { c.removeAllBut(t, before) }
	t.Cleanup(s.clean)
	s.gate = &gate{identify: identifyInCluster, refuse: refuseInCluster, deaf: func(name string) bool { return name == discoveryCall || name == versionCall }}
	proxy := &httputil.ReverseProxy{Transport: c.transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Header.Del("Authorization") // the transport's own identity counts
	}}
	s.gate.service = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, isPool := strings.CutPrefix(r.URL.Path, "/apis/karpenter.sh/v1/nodepools/"); isPool && r.Method == http.MethodGet && name != theirs {
			c.makeReady(t, name)
		}
		if namespacePath.MatchString(r.URL.Path) && r.Method == http.MethodGet {
			c.finalize(t, strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/"))
		}
		proxy.ServeHTTP(w, r)
	})
	s.config = object{"region": testRegion, "kubernetes": object{"host": s.gate.start(t), "token": "t"}}
	return s
}

// finalize does for a namespace that is being deleted what the namespace controller would do.
// Its objects are gone: the provider deletes them before.
func (c *swept) finalize(t *testing.T, name string) {
	t.Helper()
	live, err := c.client.Resource(namespaces).Get(context.Background(), name, metav1.GetOptions{})
	if notFound(err) || err == nil && live.GetDeletionTimestamp() == nil {
		return
	}
	must(t, err)
	unstructured.RemoveNestedField(live.Object, "spec", "finalizers")
	_, err = c.client.Resource(namespaces).Update(context.Background(), live, metav1.UpdateOptions{}, "finalize")
	if !notFound(err) {
		must(t, err)
	}
}

// makeReady does for the pool what the daemon would do before anybody reads it.
func (c *swept) makeReady(t *testing.T, name string) {
	t.Helper()
	live, err := c.client.Resource(nodePools).Get(context.Background(), name, metav1.GetOptions{})
	if notFound(err) {
		return
	}
	must(t, err)
	patch := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":"True","reason":"Ready","message":"","lastTransitionTime":"2026-01-01T00:00:00Z","observedGeneration":%d}]}}`, live.GetGeneration())
	_, err = c.client.Resource(nodePools).Patch(context.Background(), name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "daemon"}, "status")
	if !notFound(err) {
		must(t, err)
	}
}

// removeAllBut removes what a case leaves that is not played to its end.
func (c *swept) removeAllBut(t *testing.T, before map[string]wire.Thing) {
	t.Helper()
	for key := range c.things(t) {
		if _, there := before[key]; !there {
			gvr, namespace, name := parsed(key)
			if gvr == namespaces {
				c.endNamespace(t, name)
				continue
			}
			must(t, c.remove(gvr, namespace, name))
		}
	}
}

// endNamespace removes a namespace, and is the controller of it.
func (c *swept) endNamespace(t *testing.T, name string) {
	t.Helper()
	if err := c.client.Resource(namespaces).Delete(context.Background(), name, metav1.DeleteOptions{}); !notFound(err) {
		must(t, err)
	}
	c.finalize(t, name)
}

// The names of requests that are about no object. client-go does not give them up when
// Terraform is interrupted.
const (
	discoveryCall = "discover" // what the API server serves
	versionCall   = "version"
)

var (
	resourcePath  = regexp.MustCompile(`^/(?:api/v1|apis/[^/]+/[^/]+)/(?:namespaces/[^/]+/)?([a-z0-9]+)(?:/([^/]+))?$`)
	namespacePath = regexp.MustCompile(`^/api/v1/namespaces/[^/]+$`)
)

// identifyInCluster names a call by verb and resource. client-go does not number its
// calls: a request that equals the one before is a repetition of it.
func identifyInCluster(r *http.Request, _ []byte) (id, name string) {
	path := r.URL.Path
	m := resourcePath.FindStringSubmatch(path)
	if namespacePath.MatchString(path) {
		m = []string{path, "namespaces", strings.TrimPrefix(path, "/api/v1/namespaces/")}
	}
	switch {
	case path == "/version":
		return versionCall, versionCall
	case m == nil:
		return discoveryCall, discoveryCall
	}
	verb := map[string]string{http.MethodPost: "create", http.MethodDelete: "delete", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodGet: "get"}[r.Method]
	switch {
	case r.Method == http.MethodGet && m[2] == "":
		verb = "list"
	case strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch"):
		verb = "apply"
	}
	return verb + " " + path, verb + " " + m[1]
}

func writesCluster(call string) bool {
	verb, _, _ := strings.Cut(call, " ")
	return verb != discoveryCall && verb != versionCall && verb != "get" && verb != "list"
}

// faultsInCluster leaves out unanswered: client-go does not repeat a write, and repeats a
// read for ten seconds.
func faultsInCluster() []fault {
	// Waits live through 429 until their own time is over: see TestWait_LivesThroughAnAPIServerThatFails.
	return []fault{denied, conflict, lost, interrupted, killedBefore, killedAfter}
}

// denialInCluster is what the API server says of a call that it denies.
func denialInCluster(call string) string {
	verb, resource, _ := strings.Cut(call, " ")
	switch verb {
	case discoveryCall:
		return "discovery of the API server's kinds"
	case versionCall:
		return "kubernetes version read"
	case "apply":
		verb = "patch" // as RBAC names it
	}
	return fmt.Sprintf("cannot %s resource %q", verb, resource)
}

// refuseInCluster answers as the API server does.
func refuseInCluster(w http.ResponseWriter, _ *http.Request, name string, f fault) {
	status := metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure}
	switch f {
	case throttled:
		status.Code, status.Reason, status.Message = http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "too many requests, please try again later"
		w.Header().Set("Retry-After", "0")
	case conflict:
		status.Code, status.Reason, status.Message = http.StatusConflict, metav1.StatusReasonConflict, "the object has been modified; please apply your changes to the latest version and try again"
		if strings.HasPrefix(name, "create ") {
			status.Reason, status.Message = metav1.StatusReasonAlreadyExists, "already exists"
		}
	default:
		status.Code, status.Reason, status.Message = http.StatusForbidden, metav1.StatusReasonForbidden, `it is forbidden: User "deployer" `+denialInCluster(name)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status)
}

// things are the objects of the kinds that the provider makes, but the definitions. Every
// write of anybody gives the cluster another revision, and each list says which it has:
// what one list says is as it was is not listed again.
func (c *swept) things(t *testing.T) map[string]wire.Thing {
	t.Helper()
	out := map[string]wire.Thing{}
	before := c.thingsOf(t, namespaces, "", out)
	if before == c.revision {
		return maps.Clone(c.seen)
	}
	for _, gvr := range []schema.GroupVersionResource{
		clusterRoles, nodePools, nodeClasses,
		{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"},
	} {
		c.thingsOf(t, gvr, "", out)
	}
	for _, gvr := range []schema.GroupVersionResource{
		serviceAccounts, configMaps, deployments, leases,
		{Version: "v1", Resource: "services"},
		{Version: "v1", Resource: "secrets"},
		{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
	} {
		c.thingsOf(t, gvr, "karpenter", out)
	}
	after := c.thingsOf(t, schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}, "karpenter", out)
	c.seen, c.revision = maps.Clone(out), ""
	if after == before {
		c.revision = after
	}
	return out
}

// renamedFrom is the label of a pool that has taken the place of another, with its owner.
// The label stays until the next update, and nothing depends on it then.
var renamedFrom = regexp.MustCompile(`"labels": \{\s*"karpenterd.sh/renamed-from": "UID"\s*\},?\s*|"f:metadata": \{\s*"f:labels": \{\s*"f:karpenterd.sh/renamed-from": \{\}\s*\}\s*\},?\s*`)

// ofAccount is what follows from the UID of the daemon's service account.
var ofAccount = regexp.MustCompile(`"` + install.ChecksumAnnotation + `": "[0-9a-f]+"`)

// thingsOf adds the objects of a kind. The identity has the version, so that every write
// counts. The content has who owns which field. The result is the revision of the cluster.
func (c *swept) thingsOf(t *testing.T, gvr schema.GroupVersionResource, namespace string, into map[string]wire.Thing) (revision string) {
	t.Helper()
	// The API server's own roles are many.
	found, err := c.client.Resource(gvr).Namespace(namespace).List(context.Background(), metav1.ListOptions{LabelSelector: "kubernetes.io/bootstrapping!=rbac-defaults"})
	if notFound(err) {
		return "" // the definition is not installed
	}
	must(t, err)
	for _, obj := range found.Items {
		name, version := obj.GetName(), string(obj.GetUID())+"@"+obj.GetResourceVersion()
		managed := slices.DeleteFunc(obj.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool { return f.Subresource == "status" })
		for i := range managed {
			managed[i].Time = nil
		}
		slices.SortFunc(managed, func(a, b metav1.ManagedFieldsEntry) int {
			return strings.Compare(a.Manager+string(a.Operation), b.Manager+string(b.Operation))
		})
		obj.SetManagedFields(managed)
		for _, field := range [][]string{
			{"metadata", "uid"},
			{"metadata", "resourceVersion"},
			{"metadata", "creationTimestamp"},
			{"metadata", "generation"},
			{"spec", "clusterIP"},
			{"spec", "clusterIPs"},
			{"status"},
		} {
			unstructured.RemoveNestedField(obj.Object, field...)
		}
		text, err := json.MarshalIndent(obj.Object, "", " ")
		must(t, err)
		content := renamedFrom.ReplaceAllString(ofAccount.ReplaceAllString(uids.ReplaceAllString(string(text), "UID"), ""), "")
		into[strings.Join([]string{gvr.Group, gvr.Version, gvr.Resource, namespace, name}, "/")] = wire.Thing{Identity: version, Content: content}
	}
	return found.GetResourceVersion()
}

// parsed is the inverse of the keys that thingsOf makes.
func parsed(key string) (gvr schema.GroupVersionResource, namespace, name string) {
	parts := strings.SplitN(key, "/", 5)
	return schema.GroupVersionResource{Group: parts[0], Version: parts[1], Resource: parts[2]}, parts[3], parts[4]
}

// everything names all objects in the cluster that nobody makes by himself.
func (c *swept) everything(t *testing.T) []string {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(c.AdminConfig)
	must(t, err)
	lists, err := client.ServerPreferredResources()
	must(t, err)
	var all []string
	for _, kinds := range lists {
		version, err := schema.ParseGroupVersion(kinds.GroupVersion)
		must(t, err)
		for _, kind := range kinds.APIResources {
			if !slices.Contains(kind.Verbs, "list") || kind.Name == "events" || kind.Name == "leases" {
				continue
			}
			found, err := c.client.Resource(version.WithResource(kind.Name)).List(t.Context(), metav1.ListOptions{})
			must(t, err)
			for _, obj := range found.Items {
				if kind.Name == "services" && obj.GetNamespace() == "default" && obj.GetName() == "kubernetes" {
					continue // the API server makes it some time after its start
				}
				all = append(all, kind.Name+" "+obj.GetNamespace()+"/"+obj.GetName()+" "+string(obj.GetUID()))
			}
		}
	}
	slices.Sort(all)
	return all
}
