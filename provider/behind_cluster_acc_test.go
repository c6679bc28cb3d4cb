//go:build lab && whole

package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
	"github.com/karpenterd/terraform-provider-karpenter/internal/share"
)

// exceptionsInCluster are what is not mended in a cluster.
func exceptionsInCluster() []exception {
	const foreign, deployment = "labels and annotations of others are left alone", "apps/v1/deployments/"
	const keyed, pods = "server-side apply takes an entry with another key for an addition of somebody else", "spec template spec "
	const twins = "two ports of one object cannot have one name"
	return []exception{
		{key: deployment, path: pods + "containers * name", end: beside, says: "other keys", why: keyed},
		{key: deployment, path: pods + "containers * env * name", end: beside, says: "other keys", why: keyed},
		{key: deployment, path: pods + "imagePullSecrets * name", end: beside, says: "other keys", why: keyed},
		{key: deployment, path: pods + "topologySpreadConstraints * topologyKey", end: beside, says: "other keys", why: keyed},
		{key: deployment, path: pods + "containers * ports * containerPort", end: refused, says: "other keys", why: twins},
		{key: "/v1/services/", path: "spec ports * port", end: refused, says: "other keys", why: twins},
		{path: "metadata labels somebodys", end: left, why: foreign},
		{path: "metadata annotations somebodys", end: left, why: foreign},
	}
}

// TestBehind_EveryChangeOfEveryObjectInAClusterIsSeenAndMended plays in a cluster that is an
// API server alone.
func TestBehind_EveryChangeOfEveryObjectInAClusterIsSeenAndMended(t *testing.T) {
	exceptions, used, played := exceptionsInCluster(), map[int]bool{}, map[string]bool{}
	c, unplayed := startServers(t), 3 // kinds
	for n, begin := range []func(*testing.T) *trials{trialsOfDaemon, trialsOfClass, trialsOfPool} {
		s := begin(t)
		if n == 1 {
			must(t, c.othersHave(t)) // the definitions
		}
		t.Run(s.kind, func(t *testing.T) {
			s.h.t = t
			unplayed--
			fulls := s.fulls(t)
			for n, config := range share.Of(t.Name(), len(fulls), fulls) {
				t.Run(fmt.Sprint(n), func(t *testing.T) {
					withoutAWS(t) // the destroy of the daemon would ask it
					s.h = hasty(t, c.set(t).config)
					b := behind{kind: s.kind, i: s.h.resource(s.kind), config: config, base: s.base, world: c.world(t), exceptions: exceptions, used: used, played: played}
					b.walk(t, 2)
				})
			}
		})
	}
	for n, e := range exceptions {
		if unplayed == 0 && !used[n] { // a run of one kind needs fewer
			t.Errorf("nothing needs the exception for %q any more: remove it", e.path)
		}
	}
}

// world is the cluster. Its objects are found by what the API server serves.
func (c *swept) world(t *testing.T) world {
	t.Helper()
	fields := map[string]*unstructured.Unstructured{}
	raw := func() map[string]wire.Thing {
		out := map[string]wire.Thing{}
		for key, obj := range c.objects(t) {
			if fields[key] == nil { // as the provider made it
				fields[key] = obj.DeepCopy()
			}
			out[key] = wire.Thing{Identity: string(obj.GetUID()), Content: wire.Text(settable(obj))}
		}
		return out
	}
	return world{
		raw: raw, overwrite: c.overwrite, refused: refusedInCluster, remove: func(key string) error { return c.removeWhole(t, key) },
		look: func() map[string]wire.Thing {
			all := raw()
			for key, thing := range all {
				thing.Content = ofAccountAsWell.ReplaceAllString(uids.ReplaceAllString(thing.Content, "UID"), "")
				all[key] = thing
			}
			return all
		},
		texts: func(_, text string) []string {
			if _, err := strconv.Atoi(text); err == nil {
				return nil
			}
			return []string{text + "x", "7Gi", "7m", "7h", "Always", "WhenEmpty", "Ignore", "10.0.0.99", "NoExecute", "Exists"}
		},
		additions: func(path string) []any {
			if path == "metadata labels" || path == "metadata annotations" || strings.HasSuffix(path, " data") {
				return []any{"x"}
			}
			return nil
		},
		most: func(key string) int {
			if strings.Contains(key, "/customresourcedefinitions/") {
				return 40
			}
			return 0
		},
		declared: func(key, path string) bool { return declares(fields[key], strings.Split(path, " ")) },
		along: func(deleted, key string) bool {
			space, isSpace := strings.CutPrefix(deleted, "/v1/namespaces//")
			return isSpace && strings.Contains(key, "/"+space+"/")
		},
	}
}

// ofAccountAsWell is ofAccount without spaces.
var ofAccountAsWell = regexp.MustCompile(`"` + install.ChecksumAnnotation + `":"[0-9a-f]+"`)

// settable is the object without what the API server alone sets.
func settable(obj *unstructured.Unstructured) map[string]any {
	out := map[string]any{}
	for name, value := range obj.Object {
		switch name {
		case "apiVersion", "kind", "status":
		case "metadata":
			labels, annotations := map[string]any{}, map[string]any{}
			for key, text := range obj.GetLabels() {
				if key != "kubernetes.io/metadata.name" {
					labels[key] = text
				}
			}
			for key, text := range obj.GetAnnotations() {
				annotations[key] = text
			}
			out[name] = map[string]any{"labels": labels, "annotations": annotations}
		default:
			out[name] = value
		}
	}
	if spec, ok := out["spec"].(map[string]any); ok && (obj.GetKind() == "Service" || obj.GetKind() == "Namespace") {
		less := map[string]any{}
		for name, value := range spec {
			if name != "clusterIP" && name != "clusterIPs" && name != "finalizers" {
				less[name] = value
			}
		}
		out["spec"] = less
	}
	return out
}

// objects are all objects that somebody can make, by kind and name.
func (c *swept) objects(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(c.AdminConfig)
	must(t, err)
	lists, err := client.ServerPreferredResources()
	must(t, err)
	out := map[string]*unstructured.Unstructured{}
	for _, kinds := range lists {
		version, err := schema.ParseGroupVersion(kinds.GroupVersion)
		must(t, err)
		for _, kind := range kinds.APIResources {
			if !slices.Contains(kind.Verbs, "list") || !slices.Contains(kind.Verbs, "update") || slices.Contains([]string{"events", "leases", "ipaddresses", "endpoints", "apiservices"}, kind.Name) {
				continue
			}
			gvr := version.WithResource(kind.Name)
			found, err := c.client.Resource(gvr).List(context.Background(), metav1.ListOptions{})
			if notFound(err) {
				continue // the definition has just gone
			}
			must(t, err)
			for i := range found.Items {
				obj := &found.Items[i]
				out[strings.Join([]string{gvr.Group, gvr.Version, gvr.Resource, obj.GetNamespace(), obj.GetName()}, "/")] = obj
			}
		}
	}
	return out
}

// wholeHours are hours as the provider writes them and a default of the API server does not.
var wholeHours = regexp.MustCompile(`(\d+h)0m0s`)

func sameTime(content string) string { return wholeHours.ReplaceAllString(content, "$1") }

var errNoChange = errors.New("the API server makes it what it was")

// refusedInCluster tells whether the API server does not accept a content.
func refusedInCluster(err error) bool {
	return errors.Is(err, errNoChange) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}

// overwrite gives an object other content, as somebody with kubectl edit would.
func (c *swept) overwrite(key, content string) error {
	gvr, namespace, name := parsed(key)
	client := c.client.Resource(gvr).Namespace(namespace)
	live, err := client.Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	before := settable(live.DeepCopy())
	var fields map[string]any
	if err := json.Unmarshal([]byte(content), &fields); err != nil {
		return err
	}
	for field, value := range fields {
		if field != "metadata" {
			live.Object[field] = value
		}
	}
	for field := range live.Object {
		if _, has := fields[field]; !has && field != "apiVersion" && field != "kind" && field != "status" {
			delete(live.Object, field)
		}
	}
	if live.GetKind() == "Namespace" {
		unstructured.RemoveNestedField(live.Object, "spec")
	}
	for _, part := range []string{"labels", "annotations"} {
		given, _, _ := unstructured.NestedMap(fields, "metadata", part)
		if err := unstructured.SetNestedMap(live.Object, given, "metadata", part); err != nil {
			return err
		}
	}
	after, err := client.Update(context.Background(), live, metav1.UpdateOptions{FieldManager: "kubectl-edit"})
	if err == nil && sameTime(wire.Text(before)) == sameTime(wire.Text(settable(after))) {
		return errNoChange
	}
	return err
}

// removeWhole removes an object, and of a namespace what is in it, as its controller does.
func (c *swept) removeWhole(t *testing.T, key string) error {
	t.Helper()
	gvr, namespace, name := parsed(key)
	if gvr != namespaces {
		return c.remove(gvr, namespace, name)
	}
	for of := range c.objects(t) {
		if gvr, in, object := parsed(of); in == name {
			if err := c.remove(gvr, in, object); err != nil {
				return err
			}
		}
	}
	c.endNamespace(t, name)
	return nil
}

// declares tells whether the provider has applied the field at the path.
func declares(obj *unstructured.Unstructured, path []string) bool {
	if obj == nil {
		return false
	}
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager != kube.FieldManager || entry.FieldsV1 == nil {
			continue
		}
		var fields map[string]any
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) == nil && owns(fields, obj.Object, path) {
			return true
		}
	}
	return false
}

// owns follows the path through the fields of a manager. A list without keys is one field.
func owns(fields map[string]any, value any, path []string) bool {
	if len(path) == 0 || len(fields) == 0 {
		return true
	}
	switch value := value.(type) {
	case map[string]any:
		inner, there := fields["f:"+path[0]].(map[string]any)
		return there && owns(inner, value[path[0]], path[1:])
	case []any:
		n, err := strconv.Atoi(path[0])
		if err != nil || n >= len(value) {
			return false
		}
		for key, inner := range fields {
			if names, isKey := strings.CutPrefix(key, "k:"); isKey && matches(names, value[n]) {
				in, _ := inner.(map[string]any)
				return owns(in, value[n], path[1:])
			}
			if text, isValue := strings.CutPrefix(key, "v:"); isValue && text == wire.Text(value[n]) {
				return true
			}
		}
	}
	return false
}

// matches tells whether the element of a list has the key.
func matches(key string, element any) bool {
	var names map[string]any
	has, isMap := element.(map[string]any)
	if json.Unmarshal([]byte(key), &names) != nil || !isMap {
		return false
	}
	for name, value := range names {
		if wire.Text(has[name]) != wire.Text(value) {
			return false
		}
	}
	return true
}
