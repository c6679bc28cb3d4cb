package provider_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

// fakeObjects is as much of an API server as a daemon needs: it keeps objects by their paths,
// and knows who applied which fields. No controller works in it: a Deployment is rolled out at
// once, and a definition is established.
type fakeObjects struct {
	*httptest.Server
	mu      sync.Mutex
	objects map[string]object // by path
	uids    int
}

// The kinds that it serves, by group and version: resource, kind.
func servedKinds() map[string]map[string]string {
	return map[string]map[string]string{
		"v1":                           {"namespaces": "Namespace", "serviceaccounts": "ServiceAccount", "configmaps": "ConfigMap", "services": "Service", "pods": "Pod", "events": "Event", "nodes": "Node"},
		"apps/v1":                      {"deployments": "Deployment", "daemonsets": "DaemonSet"},
		"networking.k8s.io/v1":         {"networkpolicies": "NetworkPolicy"},
		"policy/v1":                    {"poddisruptionbudgets": "PodDisruptionBudget"},
		"coordination.k8s.io/v1":       {"leases": "Lease"},
		"apiextensions.k8s.io/v1":      {"customresourcedefinitions": "CustomResourceDefinition"},
		"rbac.authorization.k8s.io/v1": {"clusterroles": "ClusterRole", "clusterrolebindings": "ClusterRoleBinding", "roles": "Role", "rolebindings": "RoleBinding"},
		"karpenter.sh/v1":              {"nodepools": "NodePool", "nodeclaims": "NodeClaim"},
		"karpenter.k8s.aws/v1":         {"ec2nodeclasses": "EC2NodeClass"},
	}
}

const (
	accountPath    = "/api/v1/namespaces/karpenter/serviceaccounts/karpenter"
	deploymentPath = "/apis/apps/v1/namespaces/karpenter/deployments/karpenterd"
	leasePath      = "/apis/coordination.k8s.io/v1/namespaces/karpenter/leases/karpenter-leader-election"
	poolObjectPath = "/apis/karpenter.sh/v1/nodepools/spot"
	spacePath      = "/api/v1/namespaces/karpenter"
)

func startObjects(t *testing.T) *fakeObjects {
	t.Helper()
	c := &fakeObjects{objects: map[string]object{systemPath: {"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": "kube-system", "uid": "1"}}}}
	c.Server = httptest.NewServer(http.HandlerFunc(c.serve))
	t.Cleanup(c.Close)
	return c
}

// provider is a provider that reaches it, and no AWS.
func (c *fakeObjects) provider(t *testing.T) *harness {
	t.Helper()
	nowhere := object{}
	for service := range endpoints("") {
		nowhere[service] = "http://127.0.0.1:1"
	}
	return hasty(t, object{
		"region": testRegion, "kubernetes": object{"host": c.URL, "token": "t"}, "endpoints": nowhere, "access_key": "nobody", "secret_key": "nothing",
	})
}

// change lets a test do what a controller or somebody else does. An object that is not there is
// empty, and one that becomes nil is removed.
func (c *fakeObjects) change(path string, do func(o object) object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.objects[path]
	if o == nil {
		o = object{}
	}
	if o = do(o); o == nil {
		delete(c.objects, path)
		return
	}
	c.objects[path] = o
}

// look is the object as it is; nil if there is none.
func (c *fakeObjects) look(path string) object {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects[path]
}

// field reads a nested field; nil if there is none.
func field(o object, names ...string) any {
	var at any = o
	for _, name := range names {
		inner, _ := at.(object)
		at = inner[name]
	}
	return at
}

func (c *fakeObjects) serve(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	status, body := c.answer(r)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func (c *fakeObjects) answer(r *http.Request) (int, object) {
	if body := serviceList(r.URL.Path); body != nil {
		return http.StatusOK, body
	}
	var sent object
	if r.Method == http.MethodPost || r.Method == http.MethodPatch {
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			return http.StatusBadRequest, failure(http.StatusBadRequest)
		}
	}
	there, found := c.objects[r.URL.Path]
	switch {
	case r.Method == http.MethodPost:
		path := r.URL.Path + "/" + field(sent, "metadata", "name").(string)
		if _, exists := c.objects[path]; exists {
			body := failure(http.StatusConflict)
			body["reason"] = "AlreadyExists"
			return http.StatusConflict, body
		}
		return http.StatusCreated, c.put(path, sent, false)
	case r.Method == http.MethodPatch && strings.Contains(r.Header.Get("Content-Type"), "apply-patch"):
		return http.StatusOK, c.put(r.URL.Path, sent, true)
	case r.Method == http.MethodGet && !found:
		if list := c.list(r); list != nil {
			return http.StatusOK, list
		}
		return http.StatusNotFound, failure(http.StatusNotFound)
	case !found:
		return http.StatusNotFound, failure(http.StatusNotFound)
	case r.Method == http.MethodDelete:
		if finalizers, _ := field(there, "metadata", "finalizers").(list); len(finalizers) > 0 {
			there["metadata"].(object)["deletionTimestamp"] = "2026-01-02T03:04:05Z"
		} else {
			delete(c.objects, r.URL.Path)
		}
	}
	return http.StatusOK, there
}

// put stores what was sent. What was applied has its manager.
func (c *fakeObjects) put(path string, sent object, applied bool) object {
	before := c.objects[path]
	metadata := sent["metadata"].(object)
	if applied {
		fields := managedFieldsOf(sent)
		metadata["managedFields"] = list{object{"manager": "terraform-provider-karpenter", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": fields}}
	}
	if before == nil {
		c.uids++
		metadata["uid"], metadata["generation"] = fmt.Sprintf("uid-%d", c.uids), 1
	} else {
		old := before["metadata"].(object)
		metadata["uid"], metadata["generation"], sent["status"] = old["uid"], old["generation"], before["status"]
		for _, name := range []string{"finalizers", "deletionTimestamp"} {
			if old[name] != nil {
				metadata[name] = old[name]
			}
		}
		if applied && old["managedFields"] != nil {
			keepOfOthers(metadata, old, "labels")
			keepOfOthers(metadata, old, "annotations")
		}
	}
	switch sent["kind"] {
	case "CustomResourceDefinition":
		sent["status"] = object{"storedVersions": list{"v1"}, "conditions": list{object{"type": "Established", "status": "True"}}}
	case "Deployment":
		replicas := field(sent, "spec", "replicas")
		sent["status"] = object{"observedGeneration": metadata["generation"], "replicas": replicas, "updatedReplicas": replicas, "availableReplicas": replicas}
	}
	c.objects[path] = sent
	return sent
}

// keepOfOthers keeps the labels or annotations that the manager has not applied before.
func keepOfOthers(metadata, old object, name string) {
	kept, _ := metadata[name].(object)
	had, _ := old[name].(object)
	entry := old["managedFields"].(list)[0].(object)
	for key, value := range had {
		if _, sent := kept[key]; !sent && field(entry, "fieldsV1", "f:metadata", "f:"+name, "f:"+key) == nil {
			if kept == nil {
				kept = object{}
				metadata[name] = kept
			}
			kept[key] = value
		}
	}
}

// managedFieldsOf names the fields of an object as the API server does, each list as one field.
func managedFieldsOf(v any) object {
	out := object{}
	fields, _ := v.(object)
	for name, inner := range fields {
		out["f:"+name] = managedFieldsOf(inner)
	}
	return out
}

// list has the objects of the kind at the path that match the selectors; nil if the path is
// none of a list.
func (c *fakeObjects) list(r *http.Request) object {
	where, resource := r.URL.Path[:strings.LastIndex(r.URL.Path, "/")], r.URL.Path[strings.LastIndex(r.URL.Path, "/"):]
	var kind string
	for _, kinds := range servedKinds() {
		kind += kinds[resource[1:]]
	}
	if kind == "" {
		return nil
	}
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil
	}
	items := list{}
	for _, path := range slices.Sorted(maps.Keys(c.objects)) {
		o, set := c.objects[path], labels.Set{}
		given, _ := field(o, "metadata", "labels").(object)
		for key, text := range given {
			set[key] = text.(string)
		}
		name, _ := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
		if o["kind"] == kind && strings.HasPrefix(path, where) && selector.Matches(set) && (name == "" || strings.Contains(name, "type=") || field(o, "metadata", "name") == name) {
			items = append(items, o)
		}
	}
	return object{"apiVersion": "v1", "kind": kind + "List", "metadata": object{}, "items": items}
}

// serviceList answers what clients ask before anything else; nil for other paths.
func serviceList(path string) object {
	switch path {
	case "/version":
		return object{"major": "1", "minor": "34", "gitVersion": "v1.34.1"}
	case "/api":
		return object{"kind": "APIVersions", "versions": list{"v1"}}
	case "/apis":
		groups := list{}
		for _, group := range slices.Sorted(maps.Keys(servedKinds())) {
			if name, version, named := strings.Cut(group, "/"); named {
				v := object{"groupVersion": group, "version": version}
				groups = append(groups, object{"name": name, "versions": list{v}, "preferredVersion": v})
			}
		}
		return object{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
	}
	for group, kinds := range servedKinds() {
		if path != "/apis/"+group && path != "/api/"+group {
			continue
		}
		resources := list{}
		for resource, kind := range kinds {
			namespaced := !slices.Contains([]string{"Namespace", "Node", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding", "NodePool", "NodeClaim", "EC2NodeClass"}, kind)
			resources = append(resources, object{"name": resource, "kind": kind, "namespaced": namespaced, "verbs": list{"get", "list", "create", "patch", "delete"}})
		}
		return object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group, "resources": resources}
	}
	return nil
}
