package nodeclass

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// countingCloud is a Cloud that counts what it is asked for subnets. It waits for the gate.
type countingCloud struct {
	Cloud
	mu     sync.Mutex
	calls  int
	answer []aws.Subnet
	err    error
	gate   chan struct{}
}

func (c *countingCloud) Subnets(context.Context, []aws.Selector) ([]aws.Subnet, error) {
	c.mu.Lock()
	c.calls++
	c.mu.Unlock()
	if c.gate != nil {
		<-c.gate
	}
	return c.answer, c.err
}

func TestShare_ClassesThatSelectTheSameAreAnsweredByOneCall(t *testing.T) {
	now := at(0)
	c := &countingCloud{answer: []aws.Subnet{{ID: "subnet-1"}}}
	s := Share(c, func() time.Time { return now })
	ask := func(tag string, want int) {
		t.Helper()
		got, err := s.Subnets(t.Context(), []aws.Selector{{Tags: map[string]string{"a": tag, "b": "c"}}})
		if err != nil || len(got) != len(c.answer) {
			t.Errorf("got %v, %v", got, err)
		}
		for i := range got {
			got[i].ID = "" // the answer is the caller's own
		}
		if c.calls != want {
			t.Errorf("%d calls, want %d", c.calls, want)
		}
	}
	ask("x", 1)
	ask("x", 1)
	ask("y", 2)
	now = now.Add(sharedFor)
	ask("x", 3)
	if c.answer[0].ID != "subnet-1" {
		t.Error("a caller changed the answer of another")
	}
	if kept := len(s.(*shared).kept); kept != 1 { //nolint:forcetypeassert // Share returns it
		t.Errorf("%d answers are kept: old ones stay for ever", kept)
	}
	c.answer = nil
	ask("z", 4)
	ask("z", 5) // what found nothing is asked again: somebody may be about to tag it
}

// A space and a colon are allowed in a tag.
func TestShare_SelectionsThatPrintAlikeAreNotTakenForEachOther(t *testing.T) {
	c := &countingCloud{answer: []aws.Subnet{{ID: "subnet-1"}}}
	s := Share(c, func() time.Time { return at(0) })
	for _, tags := range []map[string]string{{"a": "b c:d"}, {"a": "b", "c": "d"}} {
		if _, err := s.Subnets(t.Context(), []aws.Selector{{Tags: tags}}); err != nil {
			t.Error(err)
		}
	}
	if c.calls != 2 {
		t.Errorf("%d calls for two selections", c.calls)
	}
}

func TestShare_AFailureIsNotKept(t *testing.T) {
	c := &countingCloud{err: errors.New("throttled")}
	s := Share(c, func() time.Time { return at(0) })
	for range 2 {
		if _, err := s.Subnets(t.Context(), nil); !errors.Is(err, c.err) {
			t.Errorf("error %v", err)
		}
	}
	if c.calls != 2 {
		t.Errorf("%d calls, want 2", c.calls)
	}
}

func TestShare_ClassesThatAskAtTheSameTimeWaitForOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &countingCloud{answer: []aws.Subnet{{ID: "subnet-1"}}, gate: make(chan struct{})}
		s := Share(c, func() time.Time { return at(0) })
		var asking sync.WaitGroup
		for range 10 {
			asking.Go(func() {
				if got, err := s.Subnets(t.Context(), nil); err != nil || len(got) != 1 {
					t.Errorf("got %v, %v", got, err)
				}
			})
		}
		synctest.Wait() // all of them wait
		close(c.gate)
		asking.Wait()
		if c.calls != 1 {
			t.Errorf("%d calls for 10 classes", c.calls)
		}
	})
}
