package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// broken is the name of the webhook that does not work as it should.
const broken = "lab-broken-webhook"

// deny refuses whatever is asked about.
func (s *Server) deny(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 8<<20)).Decode(&review)
	if err != nil || review.Request == nil {
		http.Error(w, fmt.Sprintf("admission review decode: %v", err), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Message: "the laboratory refuses this", Code: http.StatusForbidden}}
	review.Request = nil
	answer(w, review)
}

// Break installs a webhook at the path, DenyPath or HangPath, for writes of the resource in all
// API groups, which the API server waits for ten seconds for. What it returns takes it away.
func (s *Server) Break(ctx context.Context, clients kubernetes.Interface, path, resource string, ca []byte) (repair func(context.Context) error, err error) {
	url := s.URL + path
	fail, none, seconds := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone, int32(10)
	hooks := clients.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	made, err := hooks.Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: broken + "-"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: broken + ".lab.karpenterd.sh", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: ca},
			FailurePolicy: &fail, SideEffects: &none, TimeoutSeconds: &seconds, AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{resource}},
			}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("broken webhook install: %w", err)
	}
	return func(ctx context.Context) error { return hooks.Delete(ctx, made.Name, metav1.DeleteOptions{}) }, nil
}
