package nodeclass

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// noIAM is a network without a way to IAM.
type noIAM struct {
	profiles

	asked int
}

func (n *noIAM) GetInstanceProfile(context.Context, string) (aws.InstanceProfile, error) {
	n.asked++
	return aws.InstanceProfile{}, aws.ErrUnreachable
}

func (n *noIAM) InstanceProfiles(context.Context, string) ([]aws.InstanceProfile, error) {
	n.asked++
	return nil, aws.ErrUnreachable
}

// A VPC without a way to IAM has nodes nevertheless, if their profile is named.
func TestInstanceProfile_OfTheClassIsTakenWithoutIAM(t *testing.T) {
	w, _ := newWorld()
	iam := &noIAM{}
	r := w.reconciler(iam)
	if again, err := r.Reconcile(t.Context(), "default"); err != nil || again != refreshReady {
		t.Errorf("the next look comes after %s: %v", again, err)
	}
	if !w.class.Conditions().IsReady() || w.class.Status.InstanceProfile != "node" || iam.asked > 0 {
		t.Errorf("IAM was asked %d times, profile %q: %+v", iam.asked, w.class.Status.InstanceProfile, w.class.Status.Conditions)
	}
}

func TestRole_WithoutAWayToIAMTheConditionSaysSoAndTheRemedy(t *testing.T) {
	for _, cause := range []error{aws.ErrUnreachable, context.DeadlineExceeded} {
		w, r := newWorld()
		w.class.Spec.InstanceProfile, w.class.Spec.Role = "", "nodes"
		w.o.profileErr = cause
		for range 2 {
			if _, err := r.Reconcile(t.Context(), "default"); !errors.Is(err, cause) {
				t.Errorf("error %v", err)
			}
		}
		c := w.class.Conditions().Get(awsv1.ConditionInstanceProfileReady)
		for _, want := range []string{"IAM cannot be reached", `role "nodes"`, "name a profile with the role in spec.instanceProfile instead of spec.role"} {
			if c.Status != metav1.ConditionUnknown || c.Reason != reasonIAMUnreachable || !strings.Contains(c.Message, want) {
				t.Errorf("%v: want %q in %+v", cause, want, c)
			}
		}
		if c := w.class.Conditions().Get(awsv1.ConditionValidationSucceeded); c.Message != "condition InstanceProfileReady is Unknown: see its message" || w.writes != 1 {
			t.Errorf("%v, after %d writes: %+v", cause, w.writes, c)
		}
	}
}

// An IAM that does not answer for a while does not stop the launches of a class that is ready.
func TestRole_AClassThatIsReadyStaysSoWhileIAMCannotBeReached(t *testing.T) {
	w, r := newWorld()
	w.class.Spec.InstanceProfile, w.class.Spec.Role = "", "nodes"
	p := r.facts().profileOf(w.class)
	w.o.profile = aws.InstanceProfile{Name: p.Name(), Path: p.Path(), Role: p.Role, Tags: p.Tags(nil)}
	reconcile(t, r)
	w.o.profileErr = aws.ErrUnreachable
	if _, err := r.Reconcile(t.Context(), "default"); err == nil || !w.class.Conditions().IsReady() || w.class.Status.InstanceProfile != p.Name() {
		t.Errorf("error %v: %+v", err, w.class.Status)
	}
}

func TestIsolated_AsksIAMForNothingButClassesWithARole(t *testing.T) {
	w, _ := newWorld()
	iam := &noIAM{}
	r := w.reconciler(iam)
	r.Isolated = true
	if err := r.Collect(t.Context(), time.Now()); err != nil {
		t.Error(err)
	}
	now := metav1.NewTime(at(0))
	w.class.DeletionTimestamp, w.class.Finalizers = &now, []string{awsv1.FinalizerTermination}
	if _, err := r.Reconcile(t.Context(), "default"); err != nil || len(w.class.Finalizers) > 0 || iam.asked > 0 {
		t.Errorf("held by %q after %d calls: %v", w.class.Finalizers, iam.asked, err)
	}
}
