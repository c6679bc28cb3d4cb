package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/hashicorp/go-hclog"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

type fakeVerifier struct{}

func (fakeVerifier) VerifyClusterToken(_ context.Context, cluster, token string) (string, []string, string, error) {
	if cluster != "lab" || token != "good" {
		return "", nil, "", errors.New("no access entry")
	}
	return "system:node:ip-10-0-1-7", []string{"system:nodes"}, "uid", nil
}

type fakeRoles map[string]string

func (f fakeRoles) RoleARN(_ context.Context, namespace, account string) (string, error) {
	return f[namespace+"/"+account], nil
}

func post[T any](t *testing.T, handler http.HandlerFunc, in any) T {
	t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	handler(w, httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(raw)))
	var out T
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatalf("answer %q: %v", w.Body.String(), err)
	}
	return out
}

func server(roles fakeRoles) *Server {
	s := &Server{options: Options{Cluster: "lab", Region: "us-west-2", Verifier: fakeVerifier{}, Logger: hclog.NewNullLogger()}}
	s.roles.Store(roleHolder{roles})
	return s
}

func TestReviewToken_OnlyWhomTheCloudKnowsIsAuthenticated(t *testing.T) {
	for token, want := range map[string]bool{"good": true, "bad": false, "": false} {
		got := post[authenticationv1.TokenReview](t, server(nil).reviewToken,
			authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}})
		if got.Status.Authenticated != want {
			t.Errorf("token %q authenticated = %v, want %v", token, got.Status.Authenticated, want)
		}
		if !want && got.Status.Error == "" {
			t.Errorf("token %q refused without a reason", token)
		}
		if got.Spec.Token != "" {
			t.Errorf("token %q is repeated in the answer", token)
		}
	}
}

func TestMutatePod_AnnotatedAccountGetsRoleAndTokenOthersNothing(t *testing.T) {
	roles := fakeRoles{"karpenter/karpenter": "arn:aws:iam::123456789012:role/Controller"}
	pod := func(account string) admissionv1.AdmissionReview {
		raw, err := json.Marshal(corev1.Pod{Spec: corev1.PodSpec{
			ServiceAccountName: account,
			Containers:         []corev1.Container{{Name: "c", Env: []corev1.EnvVar{{Name: "AWS_REGION", Value: "eu-west-1"}}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{UID: "u", Namespace: "karpenter", Object: runtime.RawExtension{Raw: raw}}}
	}
	plain := post[admissionv1.AdmissionReview](t, server(roles).mutatePod, pod("default"))
	if !plain.Response.Allowed || plain.Response.Patch != nil {
		t.Errorf("plain account: %+v, want allowed and unchanged", plain.Response)
	}
	annotated := post[admissionv1.AdmissionReview](t, server(roles).mutatePod, pod("karpenter"))
	var ops []struct {
		Path  string
		Value json.RawMessage
	}
	if err := json.Unmarshal(annotated.Response.Patch, &ops); err != nil {
		t.Fatal(err)
	}
	values := map[string]json.RawMessage{}
	for _, op := range ops {
		values[op.Path] = op.Value
	}
	var containers []corev1.Container
	var volumes []corev1.Volume
	if err := errors.Join(json.Unmarshal(values["/spec/containers"], &containers), json.Unmarshal(values["/spec/volumes"], &volumes)); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for _, e := range containers[0].Env {
		env[e.Name] = e.Value
	}
	if env["AWS_ROLE_ARN"] != "arn:aws:iam::123456789012:role/Controller" || env["AWS_WEB_IDENTITY_TOKEN_FILE"] != tokenDir+"/token" {
		t.Errorf("env = %v, want role and token file", env)
	}
	if env["AWS_REGION"] != "eu-west-1" {
		t.Errorf("AWS_REGION = %q, the pod's own value must stay", env["AWS_REGION"])
	}
	if got := volumes[0].Projected.Sources[0].ServiceAccountToken.Audience; got != "sts.amazonaws.com" {
		t.Errorf("audience = %q, want sts.amazonaws.com", got)
	}
}
