package webhook

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Install registers the pod webhook with the API server, under EKS's name.
// roles is asked about every pod from now on.
func (s *Server) Install(ctx context.Context, clients kubernetes.Interface, roles RoleSource, ca []byte) error {
	s.roles.Store(roleHolder{roles})
	url := s.URL + PodPath
	ignore, none := admissionregistrationv1.Ignore, admissionregistrationv1.SideEffectClassNone
	hook := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "pod-identity-webhook"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:          "iam-for-pods.amazonaws.com",
			ClientConfig:  admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: ca},
			FailurePolicy: &ignore, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	}
	_, err := clients.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(ctx, hook, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("pod identity webhook install: %w", err)
	}
	return nil
}

// Accounts reads role annotations from the API server.
type Accounts struct{ Clients kubernetes.Interface }

// RoleARN is the role that a service account is annotated with.
func (a Accounts) RoleARN(ctx context.Context, namespace, serviceAccount string) (string, error) {
	account, err := a.Clients.CoreV1().ServiceAccounts(namespace).Get(ctx, serviceAccount, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil // the API server itself refuses such a pod
	}
	if err != nil {
		return "", err
	}
	return account.Annotations[RoleAnnotation], nil
}
