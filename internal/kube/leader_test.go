package kube

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

// A replica that waits looks at the Lease often, and the leader renews it as seldom as ever.
func TestLead_AReleasedLeaseIsTakenWithinASecondAndRenewedEveryTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		lead := func(ctx context.Context, identity string, work func(context.Context)) <-chan error {
			ended := make(chan error, 1)
			go func() {
				ended <- Lead(ctx, Election{Client: client, Namespace: "karpenter", Name: "lease", Identity: identity}, func(ctx context.Context) error {
					work(ctx)
					return nil
				})
			}()
			return ended
		}
		first, stop := context.WithCancel(t.Context())
		a := lead(first, "a", func(ctx context.Context) { <-ctx.Done() })
		time.Sleep(time.Second)
		took := make(chan time.Time, 1)
		second, end := context.WithCancel(t.Context())
		b := lead(second, "b", func(ctx context.Context) { took <- time.Now(); <-ctx.Done() })
		time.Sleep(time.Minute)
		writes := 0
		for _, c := range client.Actions() {
			if c.GetVerb() != "get" {
				writes++
			}
		}
		if writes < 25 || writes > 35 {
			t.Errorf("%d writes in a minute, want one every 2 s", writes)
		}
		ended := time.Now()
		stop()
		if waited := (<-took).Sub(ended); waited > 1100*time.Millisecond {
			t.Errorf("the next one was elected %s after the leader ended", waited)
		}
		end()
		if err := errors.Join(<-a, <-b); err != nil {
			t.Error(err)
		}
	})
}

// The leader stops in time where it cannot renew: before anybody else may take the Lease.
func TestLead_StopsWithinTheDeadlineAfterTheLastRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var away atomic.Bool
		var renewed time.Time
		client.PrependReactor("*", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
			if away.Load() {
				return true, nil, errors.New("the API server does not answer")
			}
			if a.GetVerb() != "get" {
				renewed = time.Now()
			}
			return false, nil, nil
		})
		err := Lead(t.Context(), Election{Client: client, Namespace: "karpenter", Name: "lease", Identity: "a"}, func(ctx context.Context) error {
			time.Sleep(time.Minute + 1900*time.Millisecond)
			away.Store(true)
			<-ctx.Done()
			if late := time.Since(renewed); late > 10*time.Second {
				t.Errorf("it stops %s after the last renewal", late)
			}
			return nil
		})
		if !errors.Is(err, ErrLeadershipLost) {
			t.Errorf("got %v, want ErrLeadershipLost", err)
		}
	})
}
