package kube

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// badValue is a field with values of wrong JSON types.
type badValue struct {
	path   string // without indices, as "spec.taints[]"
	object map[string]any
}

// badValues makes an object for each field below t, and for each JSON type that the field
// cannot hold, with this value there.
func badValues(t reflect.Type, path string, wrap func(any) map[string]any, yield func(badValue)) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for _, value := range []any{"words", int64(7), 1.5, true, []any{"words"}, []any{int64(7)}, map[string]any{"words": true}} {
		data, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		if !holds(data, t) {
			yield(badValue{path, wrap(value)})
		}
	}
	if isWhole(t) {
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			if options == "inline" || t.Field(i).Anonymous && name == "" {
				badValues(t.Field(i).Type, path, wrap, func(b badValue) {
					if b.path != path {
						yield(b)
					}
				})
			} else if name != "-" {
				badValues(t.Field(i).Type, path+"."+name, func(v any) map[string]any { return wrap(map[string]any{name: v}) }, yield)
			}
		}
	case reflect.Slice:
		badValues(t.Elem(), path+"[0]", func(v any) map[string]any { return wrap([]any{v}) }, yield)
	case reflect.Map:
		badValues(t.Elem(), path+".key", func(v any) map[string]any { return wrap(map[string]any{"key": v}) }, yield)
	default:
	}
}

// ourKinds are the product's own kinds.
func ourKinds() map[string]runtime.Object {
	return map[string]runtime.Object{"nodepools": &v1.NodePool{}, "nodeclaims": &v1.NodeClaim{}, "ec2nodeclasses": &awsv1.EC2NodeClass{}}
}

// typeMeta is the apiVersion and kind of a resource.
func typeMeta(resource, suffix string) (apiVersion, kind string) {
	if resource == "ec2nodeclasses" {
		return awsv1.GroupVersion().String(), "EC2NodeClass" + suffix
	}
	return v1.GroupVersion().String(), map[string]string{"nodepools": "NodePool", "nodeclaims": "NodeClaim"}[resource] + suffix
}

func named(resource, name string, object map[string]any) map[string]any {
	out := maps.Clone(object)
	if out == nil {
		out = map[string]any{}
	}
	out["apiVersion"], out["kind"] = typeMeta(resource, "")
	out["metadata"] = map[string]any{"name": name, "uid": "u-" + name, "resourceVersion": "3"}
	return out
}

// seen is what was read of an object.
type seen struct {
	name, uid string
	unread    v1.Unread
}

func seenOf(o any) seen {
	switch x := o.(type) {
	case *v1.NodePool:
		return seen{x.Name, string(x.UID), x.Unread}
	case *v1.NodeClaim:
		return seen{x.Name, string(x.UID), x.Unread}
	case *awsv1.EC2NodeClass:
		return seen{x.Name, string(x.UID), x.Unread}
	}
	return seen{}
}

func TestLenient_AFieldOfAWrongTypeHoldsUpNoOtherObject(t *testing.T) {
	for resource, example := range ourKinds() {
		t.Run(resource, func(t *testing.T) {
			server, config := newAPIServer(t)
			clients, err := NewClients(config)
			if err != nil {
				t.Fatal(err)
			}
			apiVersion, kind := typeMeta(resource, "List")
			items := []any{named(resource, "first", nil)}
			var paths []string
			for _, part := range []string{"Spec", "Status"} {
				f, _ := reflect.TypeOf(example).Elem().FieldByName(part)
				name := strings.ToLower(part)
				badValues(f.Type, name, func(v any) map[string]any { return map[string]any{name: v} }, func(b badValue) {
					items = append(items, named(resource, fmt.Sprint("bad-", len(paths)), b.object), named(resource, fmt.Sprint("good-", len(paths)), nil))
					paths = append(paths, b.path)
				})
			}
			if len(paths) < 50 {
				t.Fatalf("only %d objects were made", len(paths))
			}
			server.on("GET /apis/"+apiVersion+"/"+resource, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("watch") != "" {
					w.Header().Set("Content-Type", "application/json")
					for _, o := range items {
						_ = json.NewEncoder(w).Encode(map[string]any{"type": "ADDED", "object": o})
					}
					return
				}
				answerJSON(w, http.StatusOK, map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"resourceVersion": "5"}, "items": items})
			})
			check(t, "list", readAll(t, resource, clients), paths)
			check(t, "watch", watchAll(t, resource, clients), paths)
		})
	}
}

func readAll(t *testing.T, resource string, c *Clients) (out []seen) {
	t.Helper()
	list := func(revision string, err error) {
		if err != nil || revision != "5" {
			t.Fatalf("revision %q, error %v", revision, err)
		}
	}
	add := func(o metav1.Object) { out = append(out, seenOf(o)) }
	switch resource {
	case "nodepools":
		list(Read(t.Context(), c.NodePools, add))
	case "nodeclaims":
		list(Read(t.Context(), c.NodeClaims, add))
	default:
		list(Read(t.Context(), c.EC2NodeClasses, add))
	}
	return out
}

func watchAll(t *testing.T, resource string, c *Clients) (out []seen) {
	t.Helper()
	var events watch.Interface
	var err error
	switch resource {
	case "nodepools":
		events, err = c.NodePools.Watch(t.Context(), metav1.ListOptions{})
	case "nodeclaims":
		events, err = c.NodeClaims.Watch(t.Context(), metav1.ListOptions{})
	default:
		events, err = c.EC2NodeClasses.Watch(t.Context(), metav1.ListOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	for e := range events.ResultChan() {
		if e.Type != watch.Added {
			t.Fatalf("event %s: %v", e.Type, e.Object)
		}
		out = append(out, seenOf(e.Object))
	}
	return out
}

// check holds what was read against what was served: the first object, then pairs of a bad
// one and a good one.
func check(t *testing.T, how string, got []seen, paths []string) {
	t.Helper()
	if len(got) != 1+2*len(paths) {
		t.Fatalf("%s: %d objects were read, want %d", how, len(got), 1+2*len(paths))
	}
	for i, o := range got {
		want := seen{"first", "u-first", ""}
		if i > 0 {
			want.name = []string{"bad-", "good-"}[(i-1)%2] + fmt.Sprint((i-1)/2)
			want.uid = "u-" + want.name
		}
		if o.name != want.name || o.uid != want.uid || strings.HasPrefix(o.name, "bad") != (o.unread != "") {
			t.Errorf("%s: object %d is %+v, want %+v", how, i, o, want)
		}
		if path := paths[max(0, (i-1)/2)]; o.unread != "" && !o.unread.In(path) && !slices.ContainsFunc([]string{"[0]", ".words"}, func(below string) bool {
			return o.unread.In(path + below)
		}) {
			t.Errorf("%s: of %s it says %q", how, path, o.unread)
		}
	}
}

func TestLenient_NamesFieldAndWhatIsWrong(t *testing.T) {
	server, config := newAPIServer(t)
	clients, err := NewClients(config)
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]any
	server.on("GET /apis/karpenter.k8s.aws/v1/ec2nodeclasses/a", func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, http.StatusOK, body) })
	for name, c := range map[string]struct {
		spec map[string]any
		want v1.Unread
	}{
		"an expression, and fields without a type": {map[string]any{"role": "r", "kubelet": map[string]any{"maxPods": "vcpus * 10", "podsPerCore": 3, "featureGates": 7}}, ""},
		"a number that is too large":               {map[string]any{"role": "r", "kubelet": map[string]any{"maxPods": int64(1) << 40, "podsPerCore": 3}}, "spec.kubelet.maxPods must be a whole number of 32 bits, or an expression in a string, and is another number\n"},
		"a setting of the kubelet": {
			map[string]any{"role": "r", "kubelet": map[string]any{"cpuCFSQuota": "no", "podsPerCore": 3, "imageMaximumGCAge": "10m"}},
			"spec.kubelet.cpuCFSQuota must be true or false, and is a string\n",
		},
		"in a list": {
			map[string]any{"role": "r", "kubelet": map[string]any{"podsPerCore": 3}, "subnetSelectorTerms": []any{map[string]any{"id": "s"}, map[string]any{"tags": "x"}}},
			"spec.subnetSelectorTerms[1].tags must be an object, and is a string\n",
		},
		"a quantity": {
			map[string]any{"role": "r", "kubelet": map[string]any{"podsPerCore": 3}, "blockDeviceMappings": []any{map[string]any{"ebs": map[string]any{"volumeSize": "large"}}}},
			"spec.blockDeviceMappings[0].ebs.volumeSize must be a quantity such as \"100Mi\", and is another string\n",
		},
		"nothing": {map[string]any{"role": "r", "kubelet": map[string]any{"podsPerCore": 3}}, ""},
	} {
		body = named("ec2nodeclasses", "a", map[string]any{"spec": c.spec})
		got, err := clients.EC2NodeClasses.Get(t.Context(), "a", metav1.GetOptions{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got.Unread != c.want || got.Spec.Role != "r" || got.Spec.Kubelet == nil || got.Spec.Kubelet.PodsPerCore == nil || *got.Spec.Kubelet.PodsPerCore != 3 {
			t.Errorf("%s: left out %q, want %q; the rest is %+v", name, got.Unread, c.want, got.Spec)
		}
	}
}

func TestLenient_AnAnswerThatIsNoObjectIsStillAnError(t *testing.T) {
	server, config := newAPIServer(t)
	clients, err := NewClients(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"no JSON", `["a list"]`, `{"kind":"Secret","apiVersion":"v1","data":7}`} {
		server.on("GET /apis/karpenter.sh/v1/nodepools/a", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(body))
		})
		if got, err := clients.NodePools.Get(t.Context(), "a", metav1.GetOptions{}); err == nil {
			t.Errorf("%s: read as %+v", body, got)
		}
	}
}
