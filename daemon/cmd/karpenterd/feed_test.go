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

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

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
	c := clients(t, "http://127.0.0.1:1")
	for _, scheduler := range []string{"", `{"podTopologySpread":{"defaultConstraints":[{"maxSkew":1,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"ScheduleAnyway"}]}}`} {
		spread, err := translate.DefaultSpread(scheduler)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := install.Objects(install.Options{
			Image: install.ReleaseImage("v0.1.0").String(), RoleARN: "arn:aws:iam::123456789012:role/r", ClusterName: "c", Region: "us-west-2", SchedulerConfig: scheduler,
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
		for _, x := range append(watches(c, config{Spread: spread}.needsSelectors()), legacyWatches(c)...) {
			resource, group, _ := strings.Cut(x.what, ".")
			if !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
				return slices.Contains(r.APIGroups, group) && slices.Contains(r.Resources, resource) && slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch")
			}) {
				t.Errorf("with the scheduler's configuration %q the daemon watches %s, which its role does not allow", scheduler, x.what)
			}
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
