package claim

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// namer is a cloud that is told the names of instances.
type namer struct {
	Cloud

	names []string
	err   error
}

func (n *namer) NameInstance(_ context.Context, id, name string) error {
	n.names = append(n.names, id+" "+name)
	return n.err
}

func TestInitialize_TheInstanceHasTheNameOfItsNodeUnlessTheClassNamesIt(t *testing.T) {
	for _, c := range []struct {
		tags map[string]string
		err  error
		want []string
	}{
		{nil, nil, []string{"i-1 n"}},
		{nil, errors.New("not authorized"), []string{"i-1 n"}},
		{map[string]string{"team": "web"}, nil, []string{"i-1 n"}},
		{map[string]string{"Name": "mine"}, nil, nil},
	} {
		s, cloud := newServer(t), &namer{err: c.err}
		s.controller.Cloud = cloud
		claim, node := registered()
		claim.Spec.NodeClassRef.Name = "default"
		claim.Status.Conditions = nil
		claim.Conditions().SetTrue(v1.ConditionLaunched, s.now)
		claim.Conditions().SetTrue(v1.ConditionRegistered, s.now)
		class := &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{Tags: c.tags}}
		class.Name = "default"
		s.put(t, claim)
		s.put(t, node)
		s.Observe(claim)
		s.Observe(node)
		s.class = class
		if _, err := s.controller.Reconcile(t.Context(), "c"); err != nil || !slices.Equal(cloud.names, c.want) {
			t.Errorf("tags %v: named %q, %v, want %q", c.tags, cloud.names, err, c.want)
		}
		now, _ := s.NodeClaim("c")
		if !now.DeepCopy().Conditions().Get(v1.ConditionInitialized).IsTrue() {
			t.Errorf("tags %v: the node is not initialized", c.tags)
		}
	}
}

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
