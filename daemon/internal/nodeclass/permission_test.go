package nodeclass

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

func reconcile(t *testing.T, r *Reconciler) time.Duration {
	t.Helper()
	again, err := r.Reconcile(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func TestMayLaunch_ARefusalIsInAConditionOfItsOwnAndTheClassStaysReady(t *testing.T) {
	w, r := newWorld()
	w.o.launchErr = &aws.UnauthorizedError{Action: "ec2:RunInstances", Principal: "arn:aws:sts::123456789012:assumed-role/daemon/s"}
	if again := reconcile(t, r); again != refreshReady {
		t.Errorf("the next look comes after %v", again)
	}
	refused := func() bool {
		c := w.class.Conditions().Get(awsv1.ConditionLaunchPermitted)
		return c.IsFalse() && c.Reason == awsv1.ReasonUnauthorized &&
			strings.Contains(c.Message, "not authorized to perform ec2:RunInstances as arn:aws:sts::123456789012:assumed-role/daemon/s, so launches from this class fail")
	}
	if !refused() || !w.class.Conditions().IsReady() {
		t.Errorf("%+v", w.class.Status.Conditions)
	}
	w.o.launchErr = aws.ErrThrottled
	if reconcile(t, r); !refused() || len(w.trials) != 2 {
		t.Errorf("EC2 was asked %d times, and then did not answer: %+v", len(w.trials), w.class.Status.Conditions)
	}
	w.o.launchErr = nil
	if reconcile(t, r); !w.class.Conditions().Get(awsv1.ConditionLaunchPermitted).IsTrue() || len(w.trials) != 3 {
		t.Errorf("after the policies were mended: %+v", w.class.Status.Conditions)
	}
}

func TestMayLaunch_WaitsUntilEC2KnowsTheProfileThatTheDaemonHasMade(t *testing.T) {
	for _, err := range []error{aws.ErrProfileUnknown, aws.ErrProfileEmpty} {
		w, r := newWorld()
		w.class.Spec.InstanceProfile, w.class.Spec.Role = "", "nodes"
		p := r.facts().profileOf(w.class)
		w.o.profile = aws.InstanceProfile{Name: p.Name(), Path: p.Path(), Role: p.Role, Tags: p.Tags(nil)}
		w.o.launchErr = err
		if reconcile(t, r); w.class.Conditions().IsReady() || w.class.Conditions().Get(awsv1.ConditionLaunchPermitted).Type != "" {
			t.Errorf("%+v", w.class.Status.Conditions)
		}
		if c := w.class.Conditions().Get(awsv1.ConditionValidationSucceeded); c.Status != metav1.ConditionUnknown || !strings.Contains(c.Message, "waiting until EC2 knows the instance profile") {
			t.Errorf("%+v", c)
		}
	}
}

func TestMayLaunch_AProfileThatIsNamedAndMissingIsSaidAndMendedWithoutIAM(t *testing.T) {
	w, r := newWorld()
	w.o.launchErr = aws.ErrProfileUnknown
	for range 2 {
		again := reconcile(t, r)
		if c := w.class.Conditions().Get(awsv1.ConditionInstanceProfileReady); !c.IsFalse() || !strings.Contains(c.Message, `instance profile "node" does not exist: create it, or correct the name`) || again != refreshNotReady || w.class.Status.InstanceProfile != "" {
			t.Errorf("%+v; the next look comes after %s", c, again)
		}
	}
	w.o.launchErr = fmt.Errorf("RequestLimitExceeded: %w", aws.ErrThrottled)
	if reconcile(t, r); !w.class.Conditions().Get(awsv1.ConditionInstanceProfileReady).IsFalse() {
		t.Errorf("while EC2 does not answer: %+v", w.class.Status.Conditions)
	}
	w.o.launchErr = nil
	if reconcile(t, r); !w.class.Conditions().IsReady() || w.class.Status.InstanceProfile != "node" || w.writes != 2 {
		t.Errorf("once the profile is there, after %d writes: %+v", w.writes, w.class.Status)
	}
}

func TestMayLaunch_AnErrorThatIsAboutNoPermissionSaysNothing(t *testing.T) {
	w, r := newWorld()
	w.o.launchErr = errors.New("InvalidInput: no such type here")
	for range 2 {
		if reconcile(t, r); !w.class.Conditions().IsReady() || w.class.Conditions().Get(awsv1.ConditionLaunchPermitted).Type != "" {
			t.Errorf("%+v", w.class.Status.Conditions)
		}
	}
	if len(w.trials) != 1 {
		t.Errorf("EC2 was asked %d times, want once in half an hour", len(w.trials))
	}
}

func TestMayLaunch_LastsHalfAnHourUnlessTheClassChanges(t *testing.T) {
	w, r := newWorld()
	now := at(10)
	r.Now = func() time.Time { return now }
	r.Counted = func(time.Time, map[string]int64) {}
	asked := func() int {
		before := len(w.trials)
		reconcile(t, r)
		return len(w.trials) - before
	}
	first, second := asked(), asked()
	slices.Reverse(w.o.subnets) // they come by free addresses
	swapped := asked()
	w.o.groups[0].ID = "sg-2"
	changed := asked()
	now = now.Add(permissionLasts)
	if late := asked(); first != 1 || second != 0 || swapped != 0 || changed != 1 || late != 1 {
		t.Errorf("asked %d, %d, %d, %d and %d times, want 1, 0, 0, 1 and 1", first, second, swapped, changed, late)
	}
}

func TestMayLaunch_AsksForWhatALaunchFromTheClassHas(t *testing.T) {
	w, r := newWorld()
	w.class.Spec.Tags = map[string]string{"team": "web"}
	reconcile(t, r)
	got := w.trials[0]
	if got.Template.ImageID != "ami-2" || got.InstanceType != "m6g.large" || got.Template.InstanceProfile != "node" || !slices.Equal(got.Subnets, []string{"subnet-b", "subnet-a"}) ||
		!slices.Equal(got.Template.SecurityGroupIDs, []string{"sg-1"}) || got.Existing != "karpenter.k8s.aws/1" ||
		len(got.Template.BlockDevices) != 1 || !*got.Template.BlockDevices[0].Encrypted {
		t.Errorf("%+v", got)
	}
	for key, want := range map[string]string{"team": "web", "kubernetes.io/cluster/lab": "owned", "karpenter.sh/nodepool": "any", "karpenter.k8s.aws/ec2nodeclass": "default"} {
		if got.Tags[key] != want || got.Template.Tags[key] != want {
			t.Errorf("tag %s: %q and %q", key, got.Tags[key], got.Template.Tags[key])
		}
	}
}
