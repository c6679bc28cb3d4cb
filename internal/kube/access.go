package kube

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// MayNominate asks the API server whether this client may patch pods/status in all
// namespaces, which a nomination takes.
func MayNominate(ctx context.Context, core kubernetes.Interface) (bool, error) {
	return may(ctx, core, "patch", "status")
}

// MayBind asks the API server whether this client may create pods/binding in all namespaces.
func MayBind(ctx context.Context, core kubernetes.Interface) (bool, error) {
	return may(ctx, core, "create", "binding")
}

func may(ctx context.Context, core kubernetes.Interface, verb, subresource string) (bool, error) {
	review, err := core.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Resource: "pods", Subresource: subresource},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("right to %s pods/%s review: %w", verb, subresource, err)
	}
	s := review.Status
	if !s.Allowed && !s.Denied && s.EvaluationError != "" { // that is no answer
		return false, fmt.Errorf("right to %s pods/%s review: the API server could not tell: %s", verb, subresource, s.EvaluationError)
	}
	return s.Allowed, nil
}
