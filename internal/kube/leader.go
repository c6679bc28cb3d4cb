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
	// RenewDeadline is how long after it the leader goes on working (0: two thirds of
	// LeaseDuration).
	LeaseDuration, RenewDeadline time.Duration
}

// The leader renews the Lease renewals times in a RenewDeadline, each 2 s by default, as other
// components of Kubernetes do. Whoever waits looks at it looks times in it, each 0.5 s by
// default: so a Lease that is released is taken within about a second, where client-go's
// elector, which has one period for both, would take up to 4.4 s.
const renewals, looks = 5, 20

// seldom is a lock of an elector that tries often: it renews only when the last renewal is so
// old.
type seldom struct {
	resourcelock.Interface
	every   time.Duration
	renewed time.Time // only the elector's goroutine uses it
}

// Update writes the record, unless it would only renew what was renewed a moment ago.
func (l *seldom) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	mine := r.HolderIdentity == l.Identity()
	if mine && time.Since(l.renewed) < l.every {
		return nil
	}
	err := l.Interface.Update(ctx, r)
	l.note(mine && err == nil)
	return err
}

// Create creates the Lease.
func (l *seldom) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	err := l.Interface.Create(ctx, r)
	l.note(err == nil)
	return err
}

func (l *seldom) note(renewed bool) {
	l.renewed = time.Time{}
	if renewed {
		l.renewed = time.Now()
	}
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
	every := e.RenewDeadline / renewals
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
		Lock: &seldom{every: every, Interface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name},
			Client:     e.Client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: e.Identity},
			Labels:     e.Labels,
		}},
		// The elector takes for renewed what was written up to every ago.
		LeaseDuration: e.LeaseDuration, RenewDeadline: e.RenewDeadline - every, RetryPeriod: e.RenewDeadline / looks,
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
