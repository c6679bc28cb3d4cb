package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Election is one Lease that the replicas compete for.
type Election struct {
	Client          kubernetes.Interface
	Namespace, Name string            // of the Lease
	Identity        string            // of this replica; unique
	Labels          map[string]string // of the Lease
	// LeaseDuration is how long the other replicas wait after the last renewal (0: 15 s).
	// RenewDeadline is how long the leader tries to renew (0: two thirds of
	// LeaseDuration).
	LeaseDuration, RenewDeadline time.Duration
}

// Lead waits until this replica is elected, and then runs work. The context of work ends
// with ctx, or when the Lease is lost. Lead releases the Lease only after work has
// returned, so that two leaders never overlap. It returns the error of work, joined with
// ErrLeadershipLost if the Lease was lost. If ctx ends before the election, it returns
// nil.
func Lead(ctx context.Context, e Election, work func(context.Context) error) error {
	if e.LeaseDuration == 0 {
		e.LeaseDuration = 15 * time.Second
	}
	if e.RenewDeadline == 0 {
		e.RenewDeadline = e.LeaseDuration * 2 / 3
	}
	// The election goes on after ctx has ended, until work has returned.
	election, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	t := &term{done: make(chan struct{})}
	forget := context.AfterFunc(ctx, func() {
		if t.waiting() {
			stop()
		}
	})
	defer forget()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name},
			Client:     e.Client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: e.Identity},
			Labels:     e.Labels,
		},
		LeaseDuration: e.LeaseDuration, RenewDeadline: e.RenewDeadline, RetryPeriod: e.RenewDeadline / 5,
		ReleaseOnCancel: true,
		Name:            e.Name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(elected context.Context) {
				if !t.begin() {
					return
				}
				defer close(t.done)
				defer stop()
				t.err = during(ctx, elected, work)
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("leader election %s/%s start: %w", e.Namespace, e.Name, err)
	}
	elector.Run(election)
	if t.end() {
		<-t.done
	}
	return t.err
}

// during runs work until one of the contexts ends.
func during(ctx, elected context.Context, work func(context.Context) error) error {
	if ctx.Err() != nil {
		return nil
	}
	both, cancel := context.WithCancel(ctx)
	defer cancel()
	forget := context.AfterFunc(elected, cancel)
	defer forget()
	err := work(both)
	if elected.Err() != nil && ctx.Err() == nil {
		return errors.Join(ErrLeadershipLost, err)
	}
	return err
}

// term is the state of one Lead: waiting, then working (begun), then over.
type term struct {
	mu          sync.Mutex
	begun, over bool
	done        chan struct{}
	err         error
}

func (t *term) waiting() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.begun
}

// begin reports whether work may start. It may not if the election is over: the elector
// calls back in a goroutine, which may run too late.
func (t *term) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begun = !t.over
	return t.begun
}

// end ends the term, and reports whether work was started.
func (t *term) end() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	return t.begun
}
