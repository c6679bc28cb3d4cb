package nodeclass

import (
	"context"
	"errors"
	"fmt"
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
	r.Now = func() time.Time { return at(10).Add(profileLasts) } // what IAM said before counts no more
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

// A network without a way to one of AWS's services has classes that are not ready, and each says
// which service it is.
func TestUnreached_EachConditionNamesTheServiceAndTheRemedy(t *testing.T) {
	for condition, x := range map[string]struct {
		change func(*awsv1.EC2NodeClass, *observation)
		reason string
		want   []string
	}{
		awsv1.ConditionSubnetsReady: {
			func(_ *awsv1.EC2NodeClass, o *observation) { o.subnetsErr = aws.ErrUnreachable },
			reasonEC2Unreachable,
			[]string{"spec.subnetSelectorTerms: EC2 cannot be reached", "give the daemon a way to EC2"},
		},
		awsv1.ConditionSecurityGroupsReady: {
			func(_ *awsv1.EC2NodeClass, o *observation) { o.groupsErr = context.DeadlineExceeded },
			reasonEC2Unreachable,
			[]string{"spec.securityGroupSelectorTerms: EC2 cannot be reached"},
		},
		awsv1.ConditionCapacityReservationsReady: {
			func(_ *awsv1.EC2NodeClass, o *observation) { o.reservationsErr = aws.ErrUnreachable },
			reasonEC2Unreachable,
			[]string{"spec.capacityReservationSelectorTerms: EC2 cannot be reached"},
		},
		awsv1.ConditionAMIsReady: {
			func(c *awsv1.EC2NodeClass, o *observation) {
				c.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: "bottlerocket@latest"}}
				o.imagesErr = fmt.Errorf("%w: %w", errNoSSM, aws.ErrUnreachable)
			},
			reasonSSMUnreachable,
			[]string{"spec.amiSelectorTerms: SSM cannot be reached", "alias bottlerocket@latest", "select images by id, name or tags: then SSM is not asked"},
		},
		"images by id": {
			func(_ *awsv1.EC2NodeClass, o *observation) { o.imagesErr = aws.ErrUnreachable },
			reasonEC2Unreachable,
			[]string{"spec.amiSelectorTerms: EC2 cannot be reached"},
		},
	} {
		c, o := class(), found()
		x.change(c, &o)
		got := decide(c, o, clusterFacts(), at(10)).Conditions()
		if condition == "images by id" {
			condition = awsv1.ConditionAMIsReady
		}
		for _, want := range x.want {
			if is := got.Get(condition); is.Status != metav1.ConditionUnknown || is.Reason != x.reason || !strings.Contains(is.Message, want) {
				t.Errorf("%s: want %q in %+v", condition, want, is)
			}
		}
		if is := got.Get(awsv1.ConditionValidationSucceeded); is.Message != "condition "+condition+" is Unknown: see its message" {
			t.Errorf("%s: %+v", condition, is)
		}
	}
}

// noSSM is a network without a way to SSM.
type noSSM struct{ Cloud }

func (noSSM) Parameter(context.Context, string) (string, error) {
	return "", aws.ErrUnreachable
}

func TestImages_ThatAreNamedByIDAreFoundWithoutSSM(t *testing.T) {
	w, r := newWorld()
	r.Cloud = noSSM{r.Cloud}
	if _, err := r.Reconcile(t.Context(), "default"); !errors.Is(err, errNoSSM) {
		t.Errorf("error %v", err)
	}
	if c := w.class.Conditions().Get(awsv1.ConditionAMIsReady); c.Reason != reasonSSMUnreachable || !w.class.Conditions().Get(awsv1.ConditionSubnetsReady).IsTrue() {
		t.Errorf("by alias: %+v", w.class.Status.Conditions)
	}
	w.class.Generation++
	w.class.Spec.AMIFamily, w.class.Spec.AMISelectorTerms = "AL2023", []awsv1.AMISelectorTerm{{ID: "ami-1"}}
	if _, err := r.Reconcile(t.Context(), "default"); err != nil {
		t.Errorf("error %v", err)
	}
	if c := w.class.Conditions().Get(awsv1.ConditionAMIsReady); c.Reason == reasonSSMUnreachable {
		t.Errorf("by id: %+v", c)
	}
}

// From a role to a profile and back: IAM is asked for the role alone.
func TestIsolated_AClassThatChangesToAProfileIsReadyWithoutIAM(t *testing.T) {
	w, r := newWorld()
	r.Isolated = true
	w.class.Spec.InstanceProfile, w.class.Spec.Role = "", "nodes"
	w.o.profileErr = aws.ErrUnreachable
	if _, err := r.Reconcile(t.Context(), "default"); err == nil || w.class.Conditions().IsReady() {
		t.Errorf("with a role: %v, %+v", err, w.class.Status.Conditions)
	}
	w.class.Generation++
	w.class.Spec.InstanceProfile, w.class.Spec.Role = "node", ""
	if _, err := r.Reconcile(t.Context(), "default"); err != nil || !w.class.Conditions().IsReady() || w.class.Status.InstanceProfile != "node" {
		t.Errorf("with a profile: %v, %+v", err, w.class.Status)
	}
	w.class.Generation++
	w.class.Spec.InstanceProfile, w.class.Spec.Role = "", "nodes"
	if _, err := r.Reconcile(t.Context(), "default"); err == nil || w.class.Conditions().IsReady() {
		t.Errorf("with the role again: %v, %+v", err, w.class.Status.Conditions)
	}
	if c := w.class.Conditions().Get(awsv1.ConditionInstanceProfileReady); c.Reason != reasonIAMUnreachable {
		t.Errorf("with the role again: %+v", c)
	}
}

func TestIsolated_ADeletedClassWithARoleIsReleasedWithoutIAM(t *testing.T) {
	for _, isolated := range []bool{true, false} {
		w, r := newWorld()
		r.Isolated = isolated
		now := metav1.NewTime(at(0))
		w.class.Spec.InstanceProfile, w.class.Spec.Role = "", "nodes"
		w.class.DeletionTimestamp, w.class.Finalizers = &now, []string{awsv1.FinalizerTermination}
		r.Cloud = &unreachedIAM{r.Cloud}
		_, err := r.Reconcile(t.Context(), "default")
		if held := len(w.class.Finalizers) > 0; held == isolated || (err == nil) != isolated {
			t.Errorf("isolated %t: held %t, %v", isolated, held, err)
		}
	}
}

// unreachedIAM is a Cloud without a way to IAM.
type unreachedIAM struct{ Cloud }

func (unreachedIAM) GetInstanceProfile(context.Context, string) (aws.InstanceProfile, error) {
	return aws.InstanceProfile{}, aws.ErrUnreachable
}

func (unreachedIAM) InstanceProfiles(context.Context, string) ([]aws.InstanceProfile, error) {
	return nil, context.DeadlineExceeded
}
