package claim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

const badTaints = "spec.taints must be a list, and is a string\n"

// spoil gives the live NodeClaim a field of a wrong type, and has the world see it.
func (s *server) spoil(t *testing.T, part, field string, value any) *v1.NodeClaim {
	t.Helper()
	of, _ := s.live[claimsPath+"c"][part].(map[string]any)
	if of == nil {
		of = map[string]any{}
		s.live[claimsPath+"c"][part] = of
	}
	if value == nil {
		delete(of, field)
	} else {
		of[field] = value
	}
	got, err := s.controller.Claims.Get(t.Context(), "c", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.Observe(got)
	return got
}

func TestReconcile_ANodeClaimThatCannotBeReadSaysSoInReadyUntilItCan(t *testing.T) {
	s, _, _ := collected(t)
	c := s.spoil(t, "spec", "taints", "a=b:NoSchedule")
	if c.Unread != badTaints {
		t.Fatalf("left out: %q", c.Unread)
	}
	for range 3 {
		if _, err := s.controller.Reconcile(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := s.NodeClaim("c")
	ready := got.Conditions().Get(v1.ConditionReady)
	if !ready.IsFalse() || ready.Reason != v1.ReasonUnreadable || !strings.HasPrefix(ready.Message, "NodeClaim c cannot be read: spec.taints must be a list, and is a string: correct") {
		t.Errorf("Ready is %+v", ready)
	}
	if want := "PATCH " + claimsPath + "c/status"; len(s.writes) != 1 || s.writes[0] != want {
		t.Errorf("wrote %v, want once %s", s.writes, want)
	}
	if taints := s.live[claimsPath+"c"]["spec"].(map[string]any)["taints"]; taints != "a=b:NoSchedule" || got.Status.ProviderID != "aws:///a/i-1" {
		t.Errorf("other fields were changed: %v, %+v", taints, got.Status)
	}
	s.spoil(t, "spec", "taints", nil)
	for range 3 {
		if _, err := s.controller.Reconcile(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
	}
	got, _ = s.NodeClaim("c")
	if ready := got.Conditions().Get(v1.ConditionReady); !ready.IsTrue() || len(s.writes) != 2 {
		t.Errorf("once it can be read, Ready is %+v after %v", ready, s.writes)
	}
}

func TestReconcile_ANodeClaimWhoseStatusCannotBeReadIsNotWritten(t *testing.T) {
	s, _, _ := collected(t)
	s.spoil(t, "status", "providerID", 7)
	for range 3 {
		if _, err := s.controller.Reconcile(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.writes) > 0 {
		t.Errorf("wrote %v", s.writes)
	}
}

func TestSweep_ANodeClaimThatCannotBeReadOwnsItsInstanceAndStays(t *testing.T) {
	for _, field := range []string{"providerID", "conditions", "capacity"} {
		s, collector, n := collected(t)
		s.put(t, notReady(n))
		s.controller.Cloud.(*cloud).instances = []aws.Instance{{
			ID: "i-1", Zone: "a", State: "running", LaunchTime: s.now.Add(-time.Hour), Tags: map[string]string{"karpenterd.sh/nodeclaim-uid": "c"},
		}}
		s.spoil(t, "status", field, true)
		for range 4 {
			if err := collector.Sweep(t.Context(), time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		if ended := s.controller.Cloud.(*cloud).ended; len(ended) > 0 {
			t.Errorf("%s: terminated %v", field, ended)
		}
		s.controller.Cloud.(*cloud).instances = nil // nor is the NodeClaim deleted: what it records is left out
		for range 4 {
			if err := collector.Sweep(t.Context(), time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		if len(s.writes) > 0 {
			t.Errorf("%s: wrote %v", field, s.writes)
		}
	}
}

// Nobody knows which instance is that of a NodeClaim that was launched by Karpenter, or
// restored from a backup, if its status cannot be read: its tags do not tell.
func TestSweep_NoInstanceIsEndedWhileTheStatusOfANodeClaimDoesNotSayWhichIsIts(t *testing.T) {
	for _, field := range []string{"providerID", "conditions"} {
		s, collector, ec2 := swept(t, map[string]string{"karpenterd.sh/nodeclaim-uid": "before"})
		var log strings.Builder
		collector.Logger = hclog.New(&hclog.LoggerOptions{Output: &log})
		s.spoil(t, "status", field, map[string]any{"a": "b"})
		ec2.instances = append(ec2.instances, karpenters("i-2", s, map[string]string{"karpenterd.sh/nodeclaim-uid": "gone"}))
		sweep(t, collector, 4)
		if field == "conditions" { // it says which instance it has
			if !slices.Equal(ec2.ended, []string{"i-2", "i-2", "i-2"}) {
				t.Errorf("%s: ended %v", field, ec2.ended)
			}
			continue
		}
		if len(ec2.ended) > 0 || strings.Count(log.String(), "nodeclaim=c") != 1 || !strings.Contains(log.String(), "delete the NodeClaim") {
			t.Errorf("%s: ended %v, log\n%s", field, ec2.ended, log.String())
		}
		if s.spoil(t, "status", field, "aws:///a/i-1"); len(s.writes) > 0 {
			t.Errorf("%s: wrote %v", field, s.writes)
		}
		if sweep(t, collector, 1); !slices.Equal(ec2.ended, []string{"i-2"}) {
			t.Errorf("%s: once it can be read, ended %v", field, ec2.ended)
		}
	}
}
