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

func TestReconcile_AClassThatCannotBeReadIsNotReadyAndServedOnceItCan(t *testing.T) {
	w, r := newWorld()
	if _, err := r.Reconcile(t.Context(), "default"); err != nil || !w.class.Conditions().IsReady() {
		t.Fatalf("%v, %+v", err, w.class.Status.Conditions)
	}
	before := w.writes
	w.class.Unread = "spec.kubelet.maxPods must be a whole number of 32 bits, and is a string\n"
	for range 3 {
		if again, err := r.Reconcile(t.Context(), "default"); err != nil || again != refreshNotReady {
			t.Fatalf("again after %v, %v", again, err)
		}
	}
	c := w.class.Conditions().Get(awsv1.ConditionValidationSucceeded)
	want := "EC2NodeClass default cannot be read: spec.kubelet.maxPods must be a whole number of 32 bits, and is a string: correct what is named, or remove it. Until then nothing is launched for it, and what runs for it stays."
	if c.Status != metav1.ConditionFalse || c.Message != want || w.class.Conditions().IsReady() || w.writes != before+1 {
		t.Errorf("%+v, %d writes", c, w.writes-before)
	}
	w.class.Unread = ""
	if _, err := r.Reconcile(t.Context(), "default"); err != nil || !w.class.Conditions().IsReady() {
		t.Errorf("once it can be read: %v, %+v", err, w.class.Status.Conditions)
	}
}

func TestReconcile_HoldsADeletedClassWhileANodeClaimMayReferToIt(t *testing.T) {
	w, r := newWorld()
	now := metav1.Now()
	w.class.DeletionTimestamp, w.class.Finalizers = &now, []string{awsv1.FinalizerTermination}
	claim := claimOf("")
	claim.Unread = "spec.nodeClassRef must be an object, and is a string\n"
	w.claims = []*v1.NodeClaim{claim}
	if again, err := r.Reconcile(t.Context(), "default"); err != nil || again != refreshNotReady || len(w.class.Finalizers) != 1 {
		t.Errorf("again after %v, %v, finalizers %v", again, err, w.class.Finalizers)
	}
}
