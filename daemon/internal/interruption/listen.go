package interruption

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/errgroup"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

const (
	backoffFirst = time.Second
	backoffMost  = time.Minute
	// fullBatch is how many messages the queue hands out at most at a time. While it hands out
	// so many, receivers read it side by side: a storm of warnings leaves little time for each.
	fullBatch = 10
	receivers = 16
)

// Queue is where the messages come from.
type Queue interface {
	QueueURL(ctx context.Context, name string) (string, error)
	// Receive waits for messages for some seconds; none is not an error.
	Receive(ctx context.Context, url string) ([]aws.Message, error)
	DeleteMessages(ctx context.Context, url string, receipts ...string) error
}

// Listener hands over the events of a queue.
type Listener struct {
	Queue Queue
	Name  string // of the queue
	// Notice is how long before the interruption EC2 warns; zero is the constant.
	Notice time.Duration
	// Handle is called with the events of one message, from several goroutines at a time. If it
	// fails, the message comes again.
	Handle func(ctx context.Context, events []Event) error
	// Count is called for every message: with its Kind, "ignored" (no instance is
	// interrupted), "unknown" or "malformed". It may be nil.
	Count func(kind string)
	// Age is told how old the event of each message is that interrupts an instance, and Deleted
	// how many messages were deleted. Both may be nil.
	Age     func(time.Duration)
	Deleted func(int)
	Logger  hclog.Logger
}

// Run receives until ctx ends. After an error of the queue it logs the error and
// tries again, after a pause that doubles up to a minute.
func (l *Listener) Run(ctx context.Context) {
	pause := backoffFirst
	for url := ""; ctx.Err() == nil; {
		err := l.once(ctx, &url)
		if err == nil {
			pause = backoffFirst
			continue
		}
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, aws.ErrNotFound) {
			url = "" // the queue was deleted, or recreated with another URL
		}
		l.Logger.Warn("interruption queue could not be read; retrying", "queue", l.Name, "error", err, "again_in", pause)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, backoffMost)
	}
}

// once receives, hands over and deletes one batch, and where that was full, all that follows it.
func (l *Listener) once(ctx context.Context, url *string) (err error) {
	if *url == "" {
		if *url, err = l.Queue.QueueURL(ctx, l.Name); err != nil {
			return err
		}
	}
	full, err := l.batch(ctx, *url)
	if err != nil || !full {
		return err
	}
	var group errgroup.Group
	for range receivers {
		group.Go(func() error {
			for {
				if full, err := l.batch(ctx, *url); err != nil || !full {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// batch receives, hands over and deletes one batch, and says whether it was full.
func (l *Listener) batch(ctx context.Context, url string) (full bool, err error) {
	messages, err := l.Queue.Receive(ctx, url)
	if err != nil {
		return false, err
	}
	var done []string
	for _, m := range messages {
		if l.take(ctx, m) {
			done = append(done, m.Receipt)
		}
	}
	if len(done) > 0 {
		if err = l.Queue.DeleteMessages(ctx, url, done...); err == nil && l.Deleted != nil {
			l.Deleted(len(done))
		}
	}
	return len(messages) >= fullBatch, err
}

// take handles a message, and reports whether it may be deleted.
func (l *Listener) take(ctx context.Context, m aws.Message) bool {
	events, err := Parse(m.Body, cmp.Or(l.Notice, Notice))
	switch {
	case errors.Is(err, ErrUnknown):
		l.count("unknown")
	case err != nil:
		l.count("malformed")
	case len(events) == 0:
		l.count("ignored")
	default:
		l.count(string(events[0].Kind))
		if l.Age != nil {
			l.Age(time.Since(events[0].Time))
		}
		err := l.Handle(ctx, events)
		if errors.Is(err, ErrMayBeOurs) {
			l.Logger.Debug("interruption message comes again", "message_id", m.ID, "kind", events[0].Kind, "error", err)
			return false
		}
		if err != nil {
			l.Logger.Warn("interruption could not be handled; its message comes again", "message_id", m.ID, "kind", events[0].Kind, "error", err)
			return false
		}
		return true
	}
	if err != nil {
		l.Logger.Warn("interruption message ignored and deleted", "message_id", m.ID, "error", err)
	}
	return true
}

func (l *Listener) count(kind string) {
	if l.Count != nil {
		l.Count(kind)
	}
}
