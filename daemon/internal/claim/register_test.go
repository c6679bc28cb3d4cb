package claim

import (
	"testing"
	"time"
)

func TestReconcile_ANodeThatOnlyTheWatchLacksIsKept(t *testing.T) {
	s := newServer(t)
	c, n := registered()
	s.put(t, c)
	s.put(t, n)
	s.Observe(c)
	for range 2 {
		if _, err := s.controller.Reconcile(t.Context(), "c"); err != nil || len(s.writes) > 0 {
			t.Errorf("error %v, writes %v", err, s.writes)
		}
		s.now = s.now.Add(time.Hour)
	}
	if _, up := s.NodeOf(c.Status.ProviderID); !up {
		t.Error("the world was not told of the node")
	}
}

func TestReconcile_ANodeClaimWhoseNodeIsGoneGoesAfterAGrace(t *testing.T) {
	s := newServer(t)
	c, other := registered()
	other.Spec.ProviderID = "aws:///a/i-2" // another machine has the name now
	s.put(t, c)
	s.put(t, other)
	s.Observe(c)
	if again, err := s.controller.Reconcile(t.Context(), "c"); again != nodeGrace || err != nil || len(s.writes) > 0 {
		t.Fatalf("again after %s, error %v, writes %v; want a grace first", again, err, s.writes)
	}
	s.now = s.now.Add(nodeGrace)
	if _, err := s.controller.Reconcile(t.Context(), "c"); err != nil || !s.wrote("DELETE "+claimsPath+"c") {
		t.Errorf("error %v, writes %v", err, s.writes)
	}
}

func TestReconcile_TheGraceOfAMissingNodeBeginsAnewWhenTheNodeComesBack(t *testing.T) {
	s := newServer(t)
	c, n := registered()
	s.put(t, c)
	s.Observe(c)
	for _, present := range []bool{false, true, false} {
		s.Forget(n)
		if present {
			s.Observe(n)
		}
		if _, err := s.controller.Reconcile(t.Context(), "c"); err != nil || len(s.writes) > 0 {
			t.Fatalf("error %v, writes %v", err, s.writes)
		}
		s.now = s.now.Add(nodeGrace)
	}
}
