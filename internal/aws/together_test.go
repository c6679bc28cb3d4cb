package aws

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// callee is what a together called.
type callee struct {
	mu    sync.Mutex
	calls [][]string
	err   error
	takes time.Duration
	ended int // calls whose context ended
}

func (a *callee) call(ctx context.Context, keys []string) (map[string]string, error) {
	a.mu.Lock()
	a.calls = append(a.calls, keys)
	a.mu.Unlock()
	select {
	case <-ctx.Done():
		a.ended++
		return nil, ctx.Err()
	case <-time.After(a.takes):
	}
	out := map[string]string{}
	for _, key := range keys {
		if key != "unknown" {
			out[key] = "of " + key
		}
	}
	return out, a.err
}

// EC2 refills some 20 describes a second for the whole account and Region.
func TestTogether_AThousandThatWaitMakeTwoCallsASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &callee{takes: 100 * time.Millisecond}
		all := &together[string]{call: a.call}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var wait sync.WaitGroup
		answers := make([]int, 1000)
		for i := range answers {
			wait.Go(func() {
				for ctx.Err() == nil {
					key := fmt.Sprint(i)
					got, err := all.get(ctx, key)
					if err == nil && got[key] != "of "+key {
						t.Errorf("%s: %q", key, got)
					}
					if err == nil {
						answers[i]++
					}
					time.Sleep(2 * time.Second) // as a NodeClaim in deletion does
				}
			})
		}
		wait.Wait()
		if n := len(a.calls); n > 121 {
			t.Errorf("%d calls in a minute, want two a second", n)
		}
		for i, n := range answers {
			if n < 10 {
				t.Fatalf("%d has %d answers in a minute", i, n)
			}
		}
		for _, keys := range a.calls {
			if len(keys) > togetherMost {
				t.Errorf("a call about %d", len(keys))
			}
		}
	})
}

func TestTogether_OneByItselfDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &callee{}
		all, start := &together[string]{call: a.call}, time.Now()
		got, err := all.get(t.Context(), "a", "unknown")
		if err != nil || len(got) != 1 || got["a"] != "of a" || time.Since(start) != togetherFirst {
			t.Errorf("%q, error %v, after %s", got, err, time.Since(start))
		}
	})
}

func TestTogether_MoreThanACallTakesAreAskedForInSeveral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &callee{}
		keys := make([]string, 2*togetherMost+1)
		for i := range keys {
			keys[i] = fmt.Sprint(i)
		}
		got, err := (&together[string]{call: a.call}).get(t.Context(), keys...)
		if err != nil || len(got) != len(keys) || len(a.calls) != 3 {
			t.Errorf("%d answers by %d calls, error %v", len(got), len(a.calls), err)
		}
	})
}

// While a call waits for its turn, as EC2 throttles, the next one takes all that is asked for.
func TestTogether_ASlowCallGathersTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &callee{takes: 30 * time.Second}
		all := &together[string]{call: a.call}
		var wait sync.WaitGroup
		for i := range 100 {
			wait.Go(func() {
				time.Sleep(time.Duration(i) * 200 * time.Millisecond)
				if _, err := all.get(t.Context(), fmt.Sprint(i)); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if len(a.calls) != 2 {
			t.Errorf("%d calls for what was asked for in 20 s, while one takes 30 s", len(a.calls))
		}
	})
}

func TestTogether_AnErrorIsEverybodys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &callee{err: errors.New("no")}
		all := &together[string]{call: a.call}
		var wait sync.WaitGroup
		for i := range 3 {
			wait.Go(func() {
				if got, err := all.get(t.Context(), fmt.Sprint(i)); !errors.Is(err, a.err) || got != nil {
					t.Errorf("%q, error %v", got, err)
				}
			})
		}
		wait.Wait()
		if len(a.calls) != 1 {
			t.Errorf("%d calls", len(a.calls))
		}
	})
}

// Whoever gives up takes no answer from the others; a call that nobody waits for ends.
func TestTogether_ACallLastsAsLongAsSomebodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &callee{takes: 10 * time.Second}
		all := &together[string]{call: a.call}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var wait sync.WaitGroup
		wait.Go(func() {
			if _, err := all.get(short, "short"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
		})
		wait.Go(func() {
			if got, err := all.get(t.Context(), "long"); err != nil || got["long"] == "" {
				t.Errorf("%q, error %v", got, err)
			}
		})
		wait.Wait()
		if len(a.calls) != 1 || a.ended != 0 {
			t.Errorf("calls %q, %d ended", a.calls, a.ended)
		}
		short, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _ = all.get(short, "alone")
		synctest.Wait()
		if a.ended != 1 {
			t.Errorf("%d calls ended with the only one that waited", a.ended)
		}
	})
}
