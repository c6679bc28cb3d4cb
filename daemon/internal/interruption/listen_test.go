package interruption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// queue returns one batch or error after the other, and then no message.
type queue struct {
	batches []any // []aws.Message or error
	lookups int
	polled  []time.Time
	deleted []string
}

func (q *queue) QueueURL(context.Context, string) (string, error) {
	q.lookups++
	return "http://queue", nil
}

func (q *queue) Receive(ctx context.Context, _ string) ([]aws.Message, error) {
	q.polled = append(q.polled, time.Now())
	if len(q.batches) == 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	next := q.batches[0]
	q.batches = q.batches[1:]
	if err, failed := next.(error); failed {
		return nil, err
	}
	return next.([]aws.Message), nil
}

func (q *queue) DeleteMessages(_ context.Context, _ string, receipts ...string) error {
	q.deleted = append(q.deleted, receipts...)
	return nil
}

// run lets the listener receive everything in the queue.
func run(t *testing.T, q *queue, handle func([]Event) error) (counted []string) {
	t.Helper()
	l := &Listener{
		Queue: q, Name: "lab", Logger: hclog.NewNullLogger(),
		Handle: func(_ context.Context, events []Event) error { return handle(events) },
		Count:  func(kind string) { counted = append(counted, kind) },
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Run(ctx)
	}()
	time.Sleep(time.Hour) // of the synctest bubble
	cancel()
	<-done
	return counted
}

func spot(id string) aws.Message {
	return aws.Message{ID: id, Receipt: "r-" + id, Body: message("aws.ec2", "EC2 Spot Instance Interruption Warning", `{"instance-id":"`+id+`"}`)}
}

func TestListener_DeletesOnlyWhatWasHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{batches: []any{[]aws.Message{
			spot("i-1"), spot("i-2"),
			{ID: "u", Receipt: "r-u", Body: message("aws.s3", "Object Created", `{}`)},
			{ID: "m", Receipt: "r-m", Body: "hello"},
			{ID: "s", Receipt: "r-s", Body: message("aws.ec2", "EC2 Instance State-change Notification", `{"instance-id":"i-3","state":"running"}`)},
		}}}
		var taken []string
		counted := run(t, q, func(events []Event) error {
			if events[0].InstanceID == "i-2" {
				return errors.New("the API server does not answer")
			}
			taken = append(taken, events[0].InstanceID)
			return nil
		})
		if !slices.Equal(taken, []string{"i-1"}) {
			t.Errorf("taken %v", taken)
		}
		if !slices.Equal(q.deleted, []string{"r-i-1", "r-u", "r-m", "r-s"}) {
			t.Errorf("deleted %v", q.deleted)
		}
		if !slices.Equal(counted, []string{"spot_interrupted", "spot_interrupted", "unknown", "malformed", "ignored"}) {
			t.Errorf("counted %v", counted)
		}
	})
}

func TestListener_TriesAgainLaterEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		q := &queue{batches: []any{broken, broken, broken, []aws.Message{}, broken}}
		run(t, q, func([]Event) error { return nil })
		var pauses []time.Duration
		for i := 1; i < len(q.polled); i++ {
			pauses = append(pauses, q.polled[i].Sub(q.polled[i-1]))
		}
		if want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 0, time.Second}; !slices.Equal(pauses, want) {
			t.Errorf("pauses %v, want %v", pauses, want)
		}
	})
}

func TestListener_LooksTheQueueUpAgainWhenItIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{batches: []any{errors.New("broken"), aws.ErrNotFound}}
		run(t, q, func([]Event) error { return nil })
		if q.lookups != 2 {
			t.Errorf("%d lookups, want 2", q.lookups)
		}
	})
}

// slow is a queue with many messages, whose calls take as long as they do on AWS.
type slow struct {
	mu      sync.Mutex
	left    []aws.Message
	deleted int
}

func (q *slow) QueueURL(context.Context, string) (string, error) { return "http://queue", nil }

func (q *slow) Receive(ctx context.Context, _ string) ([]aws.Message, error) {
	time.Sleep(10 * time.Millisecond)
	q.mu.Lock()
	batch := q.left[:min(10, len(q.left))]
	q.left = q.left[len(batch):]
	q.mu.Unlock()
	if len(batch) == 0 {
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Second):
		}
	}
	return batch, ctx.Err()
}

func (q *slow) DeleteMessages(_ context.Context, _ string, receipts ...string) error {
	time.Sleep(10 * time.Millisecond)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.deleted += len(receipts)
	return nil
}

// A storm of warnings leaves two minutes for each of them.
func TestListener_FiveThousandMessagesTakeLessThanTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &slow{}
		for i := range 5000 {
			q.left = append(q.left, spot(fmt.Sprint("i-", i)))
		}
		var handled atomic.Int64
		last, start := time.Time{}, time.Now()
		l := &Listener{Queue: q, Name: "lab", Logger: hclog.NewNullLogger(), Handle: func(context.Context, []Event) error {
			time.Sleep(20 * time.Millisecond) // a write to the API server
			if handled.Add(1) == 5000 {
				last = time.Now()
			}
			return nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		l.Run(ctx)
		if took := last.Sub(start); handled.Load() != 5000 || q.deleted != 5000 || took > 10*time.Second {
			t.Errorf("%d handled, %d deleted, the last after %s", handled.Load(), q.deleted, took)
		}
	})
}

// A spot instance ends two minutes after its event: how old events are when they come says
// whether the daemon is in time.
func TestListener_TellsHowOldEventsAreAndWhatIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := time.Now().UTC().Format(time.RFC3339)
		q := &queue{batches: []any{[]aws.Message{
			{ID: "1", Receipt: "r-1", Body: `{"source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning","time":"` + at + `","detail":{"instance-id":"i-1"}}`},
			{ID: "m", Receipt: "r-m", Body: "hello"},
		}}}
		var ages []time.Duration
		deleted := 0
		ctx, cancel := context.WithCancel(t.Context())
		l := &Listener{
			Queue: q, Logger: hclog.NewNullLogger(), Handle: func(context.Context, []Event) error { return nil },
			Age: func(d time.Duration) { ages = append(ages, d) }, Deleted: func(n int) { deleted += n },
		}
		time.Sleep(3 * time.Second)
		go l.Run(ctx)
		time.Sleep(time.Minute)
		cancel()
		synctest.Wait()
		if len(ages) != 1 || ages[0] != 3*time.Second || deleted != 2 {
			t.Errorf("ages %v, %d deleted", ages, deleted)
		}
	})
}
