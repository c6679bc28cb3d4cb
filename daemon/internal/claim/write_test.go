package claim

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// goingAway is a server with a NodeClaim in deletion, whose instance runs and has no node.
func goingAway(t *testing.T) (*server, *cloud) {
	t.Helper()
	s, ec2 := newServer(t), &cloud{instances: []aws.Instance{{ID: "i-1", State: "running"}}}
	s.controller.Cloud = ec2
	c, _ := registered()
	at := metav1.NewTime(s.now.Add(-time.Hour))
	c.DeletionTimestamp = &at
	s.put(t, c)
	s.Observe(c)
	return s, ec2
}

// Each status of the NodeClaim is refused, as in a cluster where others write it all the time.
func TestTerminate_AConflictOfTheStatusRepeatsNoCallToEC2(t *testing.T) {
	s, ec2 := goingAway(t)
	s.conflicts["PUT "+claimsPath+"c/status"] = 1000
	for range 50 {
		if _, err := s.controller.Reconcile(t.Context(), "c"); err == nil {
			t.Fatal("the conflict is not said")
		}
		s.now = s.now.Add(time.Second)
	}
	if len(ec2.ended) != 1 {
		t.Errorf("terminated %d times: %v", len(ec2.ended), ec2.ended)
	}
	ec2.instances = nil
	if _, err := s.controller.Reconcile(t.Context(), "c"); err != nil || len(s.live) > 0 {
		t.Errorf("the instance is gone: error %v, left %v", err, s.live)
	}
}

func TestTerminate_AnInstanceThatRunsOnIsTerminatedAgain(t *testing.T) {
	s, ec2 := goingAway(t)
	for range 60 {
		if _, err := s.controller.Reconcile(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
		s.now = s.now.Add(poll)
	}
	if want := int(60 * poll / askAgain); len(ec2.ended) != want {
		t.Errorf("terminated %d times in two minutes, want %d", len(ec2.ended), want)
	}
}

// A daemon that has just begun knows of no call.
func TestTerminate_ARecordedInstanceThatEC2DoesNotShowIsTerminatedOnce(t *testing.T) {
	s, ec2 := goingAway(t)
	ec2.instances = nil
	for range 3 {
		if _, err := s.controller.Reconcile(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(ec2.ended, []string{"i-1"}) || len(s.live) > 0 {
		t.Errorf("terminated %v, left %v", ec2.ended, s.live)
	}
}

// The newest version has what others wrote; only what the daemon changed is written on it.
func TestWriteStatus_AConflictKeepsWhatOthersWrote(t *testing.T) {
	s, _ := goingAway(t)
	known := s.claims["c"]
	newest := known.DeepCopy()
	newest.ResourceVersion = "2"
	newest.Annotations = map[string]string{"example.com/touched": "yes"}
	newest.Status.LastPodEventTime = &metav1.Time{Time: time.Unix(5000, 0)}
	newest.Conditions().Set(v1.ConditionDrifted, metav1.ConditionTrue, "AMIDrift", "another image", time.Unix(5000, 0))
	s.put(t, newest)
	known.ResourceVersion = "1"
	want := known.DeepCopy()
	want.Status.ImageID = "ami-1"
	want.Conditions().SetTrue(v1.ConditionDrained, s.now)
	if err := s.controller.writeStatus(t.Context(), known, want); err != nil {
		t.Fatal(err)
	}
	got := s.claims["c"]
	if got.Status.ImageID != "ami-1" || got.Status.LastPodEventTime == nil || got.Annotations["example.com/touched"] != "yes" ||
		!got.Conditions().Get(v1.ConditionDrained).IsTrue() || !got.Conditions().Get(v1.ConditionDrifted).IsTrue() {
		t.Errorf("%+v", got)
	}
}

func TestWriteStatus_WritesNothingOnAnotherNodeClaimOfTheName(t *testing.T) {
	s, _ := goingAway(t)
	known := s.claims["c"]
	other := known.DeepCopy()
	other.ResourceVersion, other.UID = "2", "other"
	s.put(t, other)
	known.ResourceVersion = "1"
	want := known.DeepCopy()
	want.Conditions().SetTrue(v1.ConditionDrained, s.now)
	if err := s.controller.writeStatus(t.Context(), known, want); err == nil {
		t.Errorf("wrote %v", s.writes)
	}
}

// What a launch found is written on whatever version the NodeClaim has by then: CreateFleet
// would be called again for it.
func TestLaunch_AConflictRepeatsNoCallThatLaunchedNothing(t *testing.T) {
	l := newLaunching(t)
	l.ec2.answer = fmt.Errorf("no: %w", aws.ErrNothingLaunched)
	path := "PATCH " + claimsPath + "pool-x"
	l.ec2.called = func() { l.conflicts[path] = 2 }
	l.try(t)
	if got := l.claims["pool-x"].Annotations; got[v1.AnnotationLaunchRequest] != "" || got[v1.AnnotationLaunchAttempt] != "1" || l.conflicts[path] != 0 {
		t.Errorf("annotations %v, %d conflicts left", got, l.conflicts[path])
	}
	if len(l.ec2.requests) != 1 {
		t.Errorf("%d calls", len(l.ec2.requests))
	}
}

// Finalizers are removed and added whatever else of the object changes at the same time:
// kubelets write their Nodes every few seconds.
func TestFinalizers_NameNoVersion(t *testing.T) {
	s, ec2 := goingAway(t)
	_, node := registered()
	at := metav1.NewTime(s.now)
	node.ResourceVersion, node.DeletionTimestamp = "3", &at
	s.put(t, node)
	s.Observe(node)
	node.Status.Conditions[0].Status = corev1.ConditionFalse // no pod of it can be drained
	ec2.instances = nil
	c := s.claims["c"]
	c.ResourceVersion = "9" // an older one, by the watch
	for range 3 {
		if _, err := s.controller.Reconcile(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.live) > 0 {
		t.Errorf("left %v", s.live)
	}
	fresh, _ := registered()
	fresh.Finalizers, fresh.ResourceVersion = nil, "1"
	s.put(t, fresh)
	fresh.ResourceVersion = "0"
	s.Observe(fresh)
	if _, err := s.controller.Reconcile(t.Context(), "c"); err != nil || !slices.Contains(s.claims["c"].Finalizers, v1.FinalizerTermination) {
		t.Errorf("error %v, finalizers %v", err, s.claims["c"].Finalizers)
	}
}
