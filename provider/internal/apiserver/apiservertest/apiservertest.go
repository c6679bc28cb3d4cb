// Package apiservertest has an API server in the test's own process, so that its clock can be
// the test's.
//
// Invariant: nothing dials. Only tests import the package.
package apiservertest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/apiserver"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/pace"
)

// Answers is an API server in the test's own process, so that its clock can be the test's.
type Answers func(*http.Request) (status int, body any, err error)

// RoundTrip answers the request.
func (a Answers) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body, err := a(r)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(text))), Request: r}, nil
}

// Client is a client of it.
func (a Answers) Client(t *testing.T) *apiserver.Client {
	t.Helper()
	client, err := apiserver.New(&rest.Config{Host: "http://cluster", Transport: a, QPS: -1}, pace.Pace{})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Failed is the body of an answer that refuses.
func Failed(status int32, reason metav1.StatusReason) metav1.Status {
	return metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: status, Reason: reason, Message: string(reason)}
}

// Discovery answers what clients ask before they list NodeClaims; ok is false for other
// requests.
func Discovery(r *http.Request) (body any, ok bool) {
	version := metav1.GroupVersionForDiscovery{GroupVersion: "karpenter.sh/v1", Version: "v1"}
	switch r.URL.Path {
	case "/api":
		return metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}, true
	case "/apis":
		return metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{
			{Name: "karpenter.sh", Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version},
		}}, true
	case "/api/v1", "/apis/karpenter.sh/v1":
		list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/"), "/api/")}
		if list.GroupVersion != "v1" {
			list.APIResources = []metav1.APIResource{{Name: "nodeclaims", Kind: "NodeClaim"}}
		}
		return list, true
	}
	return nil, false
}
