package kube

import (
	"io"
	"net/http"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

func TestMayNominate_IsTheRightToPatchPodsStatus(t *testing.T) {
	server, config := newAPIServer(t)
	clients, err := NewClients(config)
	if err != nil {
		t.Fatal(err)
	}
	const path = "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	for _, allowed := range []bool{true, false} {
		server.on(path, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			var review authorizationv1.SelfSubjectAccessReview
			if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, &review); err != nil {
				t.Error(err)
			}
			want := authorizationv1.ResourceAttributes{Verb: "patch", Resource: "pods", Subresource: "status"}
			if got := review.Spec.ResourceAttributes; got == nil || *got != want {
				t.Errorf("asked for %+v, want %+v", got, want)
			}
			review.Status.Allowed = allowed
			review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SelfSubjectAccessReview"
			answerJSON(w, http.StatusCreated, review)
		})
		if got, err := MayNominate(t.Context(), clients.Core); err != nil || got != allowed {
			t.Errorf("may nominate: %v, %v; want %v", got, err, allowed)
		}
	}
	server.on(path, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	if _, err := MayNominate(t.Context(), clients.Core); err == nil {
		t.Error("a failed review is taken for an answer")
	}
}
