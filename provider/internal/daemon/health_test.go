package daemon

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/apiserver/apiservertest"
)

// leaseServer answers with a Lease; an empty renewal is none. status is that of the answer.
func leaseServer(status int32, lease func() (holder, renewed string)) apiservertest.Answers {
	version := metav1.GroupVersionForDiscovery{GroupVersion: "coordination.k8s.io/v1", Version: "v1"}
	return func(r *http.Request) (int, any, error) {
		switch r.URL.Path {
		case "/api":
			return http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}, nil
		case "/apis":
			return http.StatusOK, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{
				{Name: "coordination.k8s.io", Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version},
			}}, nil
		case "/api/v1", "/apis/coordination.k8s.io/v1":
			list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/"), "/api/")}
			if list.GroupVersion != "v1" {
				list.APIResources = []metav1.APIResource{{Name: "leases", Kind: "Lease", Namespaced: true}}
			}
			return http.StatusOK, list, nil
		}
		if status != http.StatusOK {
			return int(status), apiservertest.Failed(status, metav1.StatusReasonForbidden), nil
		}
		holder, renewed := lease()
		if renewed == "" {
			return http.StatusNotFound, apiservertest.Failed(http.StatusNotFound, metav1.StatusReasonNotFound), nil
		}
		return http.StatusOK, map[string]any{"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": map[string]any{"name": "l"}, "spec": map[string]any{"holderIdentity": holder, "renewTime": renewed}}, nil
	}
}

// TestLeaderless_BelievesRenewalsAndNotClocks has Leases whose renewals are old, ahead or
// missing, and clocks of cluster and machine that differ.
func TestLeaderless_BelievesRenewalsAndNotClocks(t *testing.T) {
	const ours = "karpenterd-abc_1"
	at := func(d time.Duration) string { return time.Now().Add(d).Format(time.RFC3339Nano) }
	for name, tt := range map[string]struct {
		status int32
		lease  func(start time.Time) (holder, renewed string)
		want   string // why nobody leads
		within time.Duration
		denied bool
	}{
		"renewed":      {want: "", lease: func(time.Time) (string, string) { return ours, at(-3 * time.Second) }},
		"clock behind": {want: "", within: 3 * time.Second, lease: func(time.Time) (string, string) { return ours, at(time.Hour) }},
		"clock ahead":  {want: "", within: 3 * time.Second, lease: func(time.Time) (string, string) { return ours, at(-time.Hour) }},
		"another replica begins": {want: "", within: 17 * time.Second, lease: func(start time.Time) (string, string) {
			if time.Since(start) < 15*time.Second {
				return ours, start.Add(-time.Minute).Format(time.RFC3339Nano)
			}
			return ours, at(0)
		}},
		"not renewed":     {want: "does not renew it", within: 20 * time.Second, lease: func(start time.Time) (string, string) { return ours, start.Add(-time.Minute).Format(time.RFC3339Nano) }},
		"old, lies ahead": {want: "does not renew it", within: 20 * time.Second, lease: func(start time.Time) (string, string) { return ours, start.Add(time.Hour).Format(time.RFC3339Nano) }},
		"released":        {want: "nobody holds", within: 20 * time.Second, lease: func(time.Time) (string, string) { return "", at(0) }},
		"somebody else's": {want: "karpenter-xyz holds", within: 20 * time.Second, lease: func(time.Time) (string, string) { return "karpenter-xyz", at(0) }},
		"none":            {want: "there is no Lease", within: 20 * time.Second, lease: func(time.Time) (string, string) { return "", "" }},
		"may not be read": {status: http.StatusForbidden, denied: true, within: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				status := tt.status
				if status == 0 {
					status = http.StatusOK
				}
				client := leaseServer(status, func() (string, string) { return tt.lease(start) }).Client(t)
				why, err := NewCluster(client).leaderless(t.Context(), "karpenter")
				if (err != nil) != tt.denied || !strings.Contains(why, tt.want) || tt.want == "" && why != "" {
					t.Errorf("got %q, %v, want %q", why, err, tt.want)
				}
				if took := time.Since(start); took > tt.within {
					t.Errorf("took %v, and may take %v", took, tt.within)
				}
			})
		})
	}
}
