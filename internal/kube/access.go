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
	review, err := core.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "patch", Resource: "pods", Subresource: "status"},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("right to patch pods/status review: %w", err)
	}
	return review.Status.Allowed, nil
}
