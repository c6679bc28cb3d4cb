package aws

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// togetherEvery is how far the starts of two calls of one together are apart: at most two
	// calls a second, however many NodeClaims wait for their instances. EC2 refills some 20
	// describes and 5 terminations a second for the whole account and Region.
	togetherEvery = 500 * time.Millisecond
	// togetherFirst is how long a first question waits for those that come with it.
	togetherFirst = 10 * time.Millisecond
	// togetherMost is how many things one call is about: EC2 takes so many values a filter.
	togetherMost = 200
)

// together asks about many things by few calls: what is asked for while a call is not due yet
// is asked for in that one. It is safe for concurrent use.
type together[V any] struct {
	// call answers for all keys; a key that it leaves out has no answer. Its context ends when
	// nobody waits any more.
	call func(ctx context.Context, keys []string) (map[string]V, error)

	mu   sync.Mutex
	open *round[V] // takes keys until its call begins; nil: the next key begins one
	last *round[V] // the newest; nil: there was none yet
	free time.Time // when the next call may begin
}

// round is one call, before, while and after it is made.
type round[V any] struct {
	keys    map[string]bool
	waiting int
	stop    context.CancelFunc
	done    chan struct{} // closed once answers and err are set
	answers map[string]V
	err     error
}

// get returns the answers for the keys. An error is that of any of the calls.
func (t *together[V]) get(ctx context.Context, keys ...string) (map[string]V, error) {
	rounds := t.join(ctx, keys)
	defer t.leave(rounds)
	answers := make(map[string]V, len(keys))
	for _, r := range rounds {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-r.done:
		}
		if r.err != nil {
			return nil, r.err
		}
		for _, key := range keys {
			if v, known := r.answers[key]; known {
				answers[key] = v
			}
		}
	}
	return answers, nil
}

// join adds the keys to the calls to come.
func (t *together[V]) join(ctx context.Context, keys []string) []*round[V] {
	t.mu.Lock()
	defer t.mu.Unlock()
	var rounds []*round[V]
	for _, key := range keys {
		if t.open == nil || len(t.open.keys) >= togetherMost && !t.open.keys[key] {
			t.begin(ctx)
		}
		t.open.keys[key] = true
		if !slices.Contains(rounds, t.open) {
			t.open.waiting++
			rounds = append(rounds, t.open)
		}
	}
	return rounds
}

// begin opens a round; the caller holds the lock. A round before that is full keeps its turn.
func (t *together[V]) begin(ctx context.Context) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) //nolint:gosec // leave calls it
	r := &round[V]{keys: map[string]bool{}, stop: stop, done: make(chan struct{})}
	before := t.last
	t.last = r
	at := time.Now().Add(togetherFirst)
	if at.Before(t.free) {
		at = t.free
	}
	t.open, t.free = r, at.Add(togetherEvery)
	go t.run(ctx, r, time.Until(at), before)
}

// run makes the call of the round when it is due, and the one before has ended: while EC2
// throttles, one call waits for its turn, and takes more and more keys.
func (t *together[V]) run(ctx context.Context, r *round[V], after time.Duration, before *round[V]) {
	defer close(r.done)
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
		if before != nil {
			select {
			case <-ctx.Done():
			case <-before.done:
			}
		}
	}
	t.mu.Lock()
	if t.open == r {
		t.open = nil
	}
	keys := make([]string, 0, len(r.keys))
	for key := range r.keys {
		keys = append(keys, key)
	}
	t.mu.Unlock()
	if r.err = ctx.Err(); r.err != nil {
		return // nobody waits
	}
	slices.Sort(keys)
	r.answers, r.err = t.call(ctx, keys)
}

// leave ends the calls that nobody waits for any more.
func (t *together[V]) leave(rounds []*round[V]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range rounds {
		if r.waiting--; r.waiting == 0 {
			if t.open == r {
				t.open = nil
			}
			r.stop()
		}
	}
}
