package kube

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func election(client *fake.Clientset, identity string) Election {
	return Election{Client: client, Namespace: "karpenter", Name: "lease", Identity: identity, LeaseDuration: 3 * time.Second, RenewDeadline: time.Second}
}

func holder(t *testing.T, client *fake.Clientset) string {
	t.Helper()
	lease, err := client.CoordinationV1().Leases("karpenter").Get(context.Background(), "lease", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

func TestLead_KeepsTheLeaseUntilTheWorkHasReturned(t *testing.T) {
	client := fake.NewClientset()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err := Lead(ctx, election(client, "a"), func(work context.Context) error {
		cancel()
		<-work.Done()
		if got := holder(t, client); got != "a" {
			t.Errorf("while working the lease is held by %q", got)
		}
		return errors.New("done")
	})
	if err == nil || err.Error() != "done" {
		t.Errorf("got %v, want the work's error alone", err)
	}
	if got := holder(t, client); got != "" {
		t.Errorf("after working the lease is held by %q", got)
	}
}

func TestLead_ReportsThatTheLeaseWasLost(t *testing.T) {
	client := fake.NewClientset()
	var away atomic.Bool
	client.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return away.Load(), nil, errors.New("the API server does not answer")
	})
	err := Lead(context.Background(), election(client, "a"), func(work context.Context) error {
		away.Store(true)
		select {
		case <-work.Done():
		case <-time.After(20 * time.Second):
			return errors.New("the work's context did not end")
		}
		return nil
	})
	if !errors.Is(err, ErrLeadershipLost) {
		t.Errorf("got %v, want ErrLeadershipLost", err)
	}
}

func TestLead_ReturnsWithoutAnElection(t *testing.T) {
	client := fake.NewClientset()
	started := make(chan struct{})
	leader, stop := context.WithCancel(context.Background())
	finished := make(chan error, 1)
	go func() {
		finished <- Lead(leader, election(client, "a"), func(ctx context.Context) error {
			close(started)
			<-ctx.Done()
			return nil
		})
	}()
	<-started
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err := Lead(ctx, election(client, "b"), func(context.Context) error { return errors.New("two leaders") })
	if err != nil {
		t.Errorf("got %v", err)
	}
	stop()
	if err := <-finished; err != nil {
		t.Errorf("leader: %v", err)
	}
}
