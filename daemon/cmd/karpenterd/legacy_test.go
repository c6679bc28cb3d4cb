package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/world"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// legacyDaemon talks to an API server that answers with the status, or with one Provisioner
// and its template where that is 200.
func legacyDaemon(t *testing.T, status int, categories ...string) (*daemon, context.Context) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		what := path.Base(r.URL.Path)
		switch {
		case r.URL.Query().Get("watch") != "":
			select {
			case <-r.Context().Done():
			case <-ctx.Done():
			}
		case (what == "v1alpha5" || what == "v1alpha1") && status != http.StatusNotFound:
			_ = json.NewEncoder(w).Encode(metav1.APIResourceList{
				TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: strings.TrimPrefix(r.URL.Path, "/apis/"),
				APIResources: []metav1.APIResource{{Name: "provisioners", Categories: categories}, {Name: "awsnodetemplates", Categories: categories}},
			})
		case status == http.StatusOK && what == "provisioners":
			_, _ = w.Write([]byte(`{"kind":"ProvisionerList","apiVersion":"karpenter.sh/v1alpha5","metadata":{"resourceVersion":"10"},"items":[
				{"kind":"Provisioner","apiVersion":"karpenter.sh/v1alpha5","metadata":{"name":"web","uid":"u","resourceVersion":"7"},"spec":{"providerRef":{"name":"t"}}}]}`))
		case status == http.StatusOK && what == "awsnodetemplates":
			_, _ = w.Write([]byte(`{"kind":"AWSNodeTemplateList","apiVersion":"karpenter.k8s.aws/v1alpha1","metadata":{"resourceVersion":"10"},"items":[
				{"kind":"AWSNodeTemplate","apiVersion":"karpenter.k8s.aws/v1alpha1","metadata":{"name":"t","uid":"v","resourceVersion":"8"},"spec":{"subnetSelector":{"a":"b"},"securityGroupSelector":{"a":"b"}}}]}`))
		case status == http.StatusOK && what == "karpenter-global-settings":
			_, _ = w.Write([]byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"karpenter-global-settings","namespace":"karpenter"},"data":{"aws.defaultInstanceProfile":"node"}}`))
		default:
			w.WriteHeader(status)
			reason := map[int]metav1.StatusReason{http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusNotFound: metav1.StatusReasonNotFound}[status]
			_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: reason, Code: int32(status)})
		}
	}))
	t.Cleanup(func() { cancel(); server.Close() })
	d := &daemon{
		config: config{Namespace: "karpenter"}, logger: hclog.NewNullLogger(), kube: clients(t, server.URL), joined: &joined{latest: family.Cluster{Kubernetes: "1.32"}},
		world: world.New(nil, catalog.Market{}, time.Now), events: record.NewFakeRecorder(10),
	}
	d.legacy = d.newLegacy()
	return d, ctx
}

// The first decision must not be made without the pools of nodes that exist.
func TestServeLegacy_TheWorldHasThePoolsWhenItReturns(t *testing.T) {
	d, ctx := legacyDaemon(t, http.StatusOK, "karpenter", "karpenterd")
	if err := d.serveLegacy(ctx); err != nil {
		t.Fatal(err)
	}
	p, there := d.world.NodePool("web")
	c, class := d.world.EC2NodeClass("web")
	if !there || !class || !translate.Pool(p).Ready || c.Spec.InstanceProfile != "node" {
		t.Errorf("pool %+v, class %+v", p, c)
	}
}

// A cluster without the kinds, or an older ClusterRole, must not keep the daemon from its
// other work.
func TestServeLegacy_MissingKindsOrRightsDoNotStopTheDaemon(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusForbidden} {
		d, ctx := legacyDaemon(t, status, "karpenterd")
		if err := d.serveLegacy(ctx); err != nil {
			t.Errorf("%d: %v", status, err)
		}
		if pools := d.world.NodePools(); len(pools) > 0 {
			t.Errorf("%d: %v", status, pools)
		}
	}
}

// They would drop what the daemon writes, and it would write that again for ever.
func TestServeLegacy_DefinitionsOfKarpenterAreNotServed(t *testing.T) {
	d, ctx := legacyDaemon(t, http.StatusOK, "karpenter")
	if err := d.serveLegacy(ctx); err != nil {
		t.Error(err)
	}
	if pools := d.world.NodePools(); len(pools) > 0 {
		t.Errorf("%v", pools)
	}
}

func TestMinorNumber_IsThatOfTheVersion(t *testing.T) {
	for version, want := range map[string]int{"1.33": 33, "1.9": 9, "": 0, "1.x": 0} {
		if got := minorNumber(version); got != want {
			t.Errorf("%q: %d, want %d", version, got, want)
		}
	}
}
