package kube

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// apiServer answers discovery for the core group, and for karpenter.sh/v1 if served is
// set. It answers every other path from answers.
type apiServer struct {
	mu      sync.Mutex
	served  bool
	answers map[string]func(w http.ResponseWriter, r *http.Request) // by "METHOD path"
	seen    []string                                                // "METHOD path?query"
}

func newAPIServer(t *testing.T) (*apiServer, *rest.Config) {
	t.Helper()
	s := &apiServer{served: true, answers: map[string]func(http.ResponseWriter, *http.Request){}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, &rest.Config{Host: server.URL, QPS: -1}
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	served, answer := s.served, s.answers[r.Method+" "+r.URL.Path]
	if !strings.HasSuffix(r.URL.Path, "/v1") && r.URL.Path != "/api" && r.URL.Path != "/apis" {
		s.seen = append(s.seen, r.Method+" "+r.URL.RequestURI())
	}
	s.mu.Unlock()
	resources := func(gv string, list ...metav1.APIResource) {
		answerJSON(w, http.StatusOK, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv, APIResources: list})
	}
	switch {
	case answer != nil:
		answer(w, r)
	case r.URL.Path == "/api":
		answerJSON(w, http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case r.URL.Path == "/apis":
		list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		if served {
			version := metav1.GroupVersionForDiscovery{GroupVersion: "karpenter.sh/v1", Version: "v1"}
			list.Groups = append(list.Groups, metav1.APIGroup{Name: "karpenter.sh", Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version})
		}
		answerJSON(w, http.StatusOK, list)
	case r.URL.Path == "/api/v1":
		resources("v1", metav1.APIResource{Name: "pods", Kind: "Pod", Namespaced: true}, metav1.APIResource{Name: "events", Kind: "Event", Namespaced: true})
	case r.URL.Path == "/apis/karpenter.sh/v1" && served:
		resources("karpenter.sh/v1", metav1.APIResource{Name: "nodepools", Kind: "NodePool"}, metav1.APIResource{Name: "nodeclaims", Kind: "NodeClaim"})
	case served:
		answerJSON(w, http.StatusNotFound, metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
			Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound, Message: "not found",
		})
	default:
		http.NotFound(w, r)
	}
}

func (s *apiServer) on(request string, answer func(w http.ResponseWriter, r *http.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[request] = answer
}

func (s *apiServer) serve(served bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served = served
}

func (s *apiServer) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.seen...)
}

func answerJSON(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		panic(err) // the test's own value
	}
}

func object(body map[string]any) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, http.StatusOK, body) }
}
