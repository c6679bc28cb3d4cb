package nodeclass

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// What selects nothing could select everything, if AWS were asked.
func TestReconcile_RefusedClassInMemoryIsNotReadyAndSelectsNothing(t *testing.T) {
	w, r := newWorld()
	w.class.Annotations = map[string]string{v1.AnnotationRefused: "it is broken"}
	w.class.Kind = legacy.KindAWSNodeTemplate
	for range 2 {
		if again, err := r.Reconcile(t.Context(), "default"); err != nil || again != refreshNotReady {
			t.Fatalf("again after %v, %v", again, err)
		}
	}
	c := w.class.Conditions().Get(awsv1.ConditionValidationSucceeded)
	if c.Status != metav1.ConditionFalse || c.Message != "it is broken" || w.class.Conditions().IsReady() || len(w.class.Status.Subnets) > 0 || w.writes != 1 {
		t.Errorf("%+v, %d writes", w.class.Status, w.writes)
	}
	w.class.Kind = awsv1.EC2NodeClassKind
	if _, err := r.Reconcile(t.Context(), "default"); err != nil || !w.class.Conditions().IsReady() {
		t.Errorf("a class of the cluster is refused: %v, %+v", err, w.class.Status.Conditions)
	}
}
