package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/world"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

func clients(t *testing.T, host string) *kube.Clients {
	t.Helper()
	c, err := kube.NewClients(&rest.Config{Host: host})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWatches_AreAllAllowedByTheManifests(t *testing.T) {
	objects, err := install.Objects(install.Options{
		Image: install.ReleaseImage("v0.1.0").String(), RoleARN: "arn:aws:iam::123456789012:role/r", ClusterName: "c", Region: "us-west-2",
	})
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	for _, o := range objects {
		if o.GetKind() == "ClusterRole" {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := clients(t, "http://127.0.0.1:1")
	for _, x := range append(watches(c, true), legacyWatches(c)...) {
		resource, group, _ := strings.Cut(x.what, ".")
		if !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
			return slices.Contains(r.APIGroups, group) && slices.Contains(r.Resources, resource) && slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch")
		}) {
			t.Errorf("the daemon watches %s, which its role does not allow", x.what)
		}
	}
}

func TestWatches_SelectorsOnlyWherePodsAreSpreadByDefault(t *testing.T) {
	c := clients(t, "http://127.0.0.1:1")
	for _, spread := range [][]cluster.Spread{nil, {{Key: label.Zone, MaxSkew: 1}}} {
		for _, what := range []string{"services", "replicationcontrollers"} {
			watched := slices.ContainsFunc(watches(c, config{Spread: spread}.needsSelectors()), func(x watched) bool { return x.what == what })
			if watched != (len(spread) > 0) {
				t.Errorf("with %d constraints %s are watched: %v", len(spread), what, watched)
			}
		}
	}
}

// A server answers 404 for a kind that it does not know, and 403 for one that the client may not list.
func TestReadable_NamesEveryKindThatIsMissingOrForbidden(t *testing.T) {
	for status, want := range map[int]string{
		http.StatusForbidden: "not allowed to list persistentvolumes, csinodes.storage.k8s.io: give the daemon's service account its ClusterRole",
		http.StatusNotFound:  "the cluster has no persistentvolumes, csinodes.storage.k8s.io: install their CustomResourceDefinitions",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			resource := path.Base(r.URL.Path)
			if resource == "persistentvolumes" || resource == "csinodes" {
				w.WriteHeader(status)
				reason := map[int]metav1.StatusReason{http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusNotFound: metav1.StatusReasonNotFound}[status]
				_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: reason, Code: int32(status)})
				return
			}
			group := strings.TrimPrefix(strings.TrimPrefix(path.Dir(r.URL.Path), "/apis/"), "/api/")
			_, _ = fmt.Fprintf(w, `{"kind":%q,"apiVersion":%q,"items":[]}`, listKind[resource], group)
		}))
		err := readable(t.Context(), clients(t, server.URL), false)
		server.Close()
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%d: error %v, want %s", status, err, want)
		}
	}
}

var listKind = map[string]string{
	"nodepools": "NodePoolList", "nodeclaims": "NodeClaimList", "ec2nodeclasses": "EC2NodeClassList", "pods": "PodList", "nodes": "NodeList",
	"namespaces": "NamespaceList", "limitranges": "LimitRangeList", "persistentvolumeclaims": "PersistentVolumeClaimList",
	"storageclasses": "StorageClassList", "daemonsets": "DaemonSetList", "replicasets": "ReplicaSetList", "statefulsets": "StatefulSetList", "jobs": "JobList",
	"priorityclasses": "PriorityClassList", "runtimeclasses": "RuntimeClassList",
}

// A replica that is elected may have a watch that is behind: what the last leader wrote
// is read before the first decision.
func TestCatchUp_TheWorldHasWhatTheWatchesDidNotBringYet(t *testing.T) {
	reads := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		resource := path.Base(r.URL.Path)
		reads[resource]++
		if resource == "nodes" && reads[resource] == 1 || r.URL.Query().Get("resourceVersion") != "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(map[string]string{
			"nodeclaims": `{"kind":"NodeClaimList","apiVersion":"karpenter.sh/v1","metadata":{"resourceVersion":"10"},"items":[{"metadata":{"name":"c","uid":"c","resourceVersion":"7"},
				"spec":{"nodeClassRef":{"group":"karpenter.k8s.aws","kind":"EC2NodeClass","name":"k"}},"status":{"providerID":"aws:///a/i-1"}}]}`,
			"nodes": `{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[{"metadata":{"name":"n","uid":"n","resourceVersion":"8"},"spec":{"providerID":"aws:///a/i-1"}}]}`,
			"pods":  `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[{"metadata":{"namespace":"a","name":"p","uid":"p","resourceVersion":"9"},"spec":{"nodeName":"n"}}]}`,
		}[resource]))
	}))
	defer server.Close()
	w := world.New(nil, catalog.Market{}, time.Now)
	behind := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "c", ResourceVersion: "5"}}
	behind.Spec.NodeClassRef = v1.NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "k"}
	w.Observe(behind)
	for name, version := range map[string]string{"gone": "6", "new": "11"} {
		w.Observe(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: version}})
		w.Observe(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID("pod-" + name), ResourceVersion: version}, Spec: corev1.PodSpec{NodeName: name}})
	}
	if err := catchUp(t.Context(), clients(t, server.URL), w, translate.NewKeeper(), hclog.NewNullLogger()); err != nil {
		t.Fatal(err)
	}
	c, _ := w.NodeClaim("c")
	if n, up := w.NodeOf(c.Status.ProviderID); c.ResourceVersion != "7" || !up || len(w.PodsOn(n.Name)) != 1 {
		t.Errorf("nodeclaim of version %s, node known: %v; want 7, and its node with a pod", c.ResourceVersion, up)
	}
	for name, want := range map[string]bool{"gone": false, "new": true} {
		if _, node := w.Node(name); node != want || len(w.PodsOn(name)) > 0 != want {
			t.Errorf("%s: node known %v, pods %d; want both: %v", name, node, len(w.PodsOn(name)), want)
		}
	}
}
