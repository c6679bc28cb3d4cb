package sqssim

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

type receiveIn struct {
	queueRef
	AttributeNames              []string
	MessageSystemAttributeNames []string
	MessageAttributeNames       []string // messages here have none
	MaxNumberOfMessages         *int
	VisibilityTimeout           *int
	WaitTimeSeconds             *int
}

type received struct {
	MessageID     string `json:"MessageId"`
	ReceiptHandle string
	MD5OfBody     string
	Body          string
	Attributes    map[string]string `json:",omitempty"`
}

// inRange reads an optional number and checks it.
func inRange(name string, value *int, otherwise, low, high int) (int, error) {
	if value == nil {
		return otherwise, nil
	}
	if *value < low || *value > high {
		return 0, wire.Errorf("InvalidParameterValue", "Value %d for parameter %s is invalid. Reason: Must be between %d and %d, if provided.", *value, name, low, high)
	}
	return *value, nil
}

// receiveMessage hands out messages; with a wait time it waits for the first one.
func (s *Service) receiveMessage(ctx context.Context, req *wire.Request, in *receiveIn) (any, error) {
	limit, err := inRange("MaxNumberOfMessages", in.MaxNumberOfMessages, 1, 1, 10)
	if err != nil {
		return nil, err
	}
	hidden, err := inRange("VisibilityTimeout", in.VisibilityTimeout, -1, 0, 43200)
	if err != nil {
		return nil, err
	}
	wait, err := inRange("WaitTimeSeconds", in.WaitTimeSeconds, -1, 0, 20)
	if err != nil {
		return nil, err
	}
	var q *queue
	if _, err := s.withQueue(ctx, req, in.QueueURL, nil, func(found *queue) (any, error) {
		q = found
		if hidden < 0 {
			hidden = int(q.seconds("VisibilityTimeout") / time.Second)
		}
		if wait < 0 {
			wait = int(q.seconds("ReceiveMessageWaitTimeSeconds") / time.Second)
		}
		return nil, nil
	}); err != nil {
		return nil, err
	}
	deadline := time.NewTimer(time.Duration(wait) * time.Second)
	defer deadline.Stop()
	names := append(slices.Clone(in.AttributeNames), in.MessageSystemAttributeNames...)
	for {
		messages, changed, next, err := s.take(q, limit, time.Duration(hidden)*time.Second, names)
		if err != nil {
			return nil, err
		}
		if len(messages) > 0 || wait == 0 || !s.sleep(ctx, changed, deadline.C, next) {
			return struct {
				Messages []received `json:",omitempty"`
			}{messages}, nil
		}
	}
}

// take hands out what is visible now. Where that is nothing, changed is closed
// when something changes, and next is how long until a hidden message shows
// (zero: none is hidden).
func (s *Service) take(q *queue, limit int, hidden time.Duration, names []string) (out []received, changed <-chan struct{}, next time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.deleted {
		return nil, nil, 0, noQueue()
	}
	now := s.Now()
	q.expire(now)
	for _, m := range q.messages {
		if until := m.visibleAt.Sub(now); until > 0 {
			if next == 0 || until < next {
				next = until
			}
			continue
		}
		if len(out) == limit {
			break
		}
		m.receives++
		if m.receives == 1 {
			m.firstReceived = now
		}
		m.visibleAt = now.Add(hidden)
		out = append(out, received{m.id, handle(m), checksum(m.body), m.body, m.attributes(names)})
	}
	return out, q.changed, next, nil
}

// sleep waits for a change; false means that the wait is over.
func (s *Service) sleep(ctx context.Context, changed <-chan struct{}, deadline <-chan time.Time, next time.Duration) bool {
	var shows <-chan time.Time
	if next > 0 {
		timer := time.NewTimer(next)
		defer timer.Stop()
		shows = timer.C
	}
	select {
	case <-changed:
	case <-shows:
	case <-deadline:
		return false
	case <-ctx.Done():
		return false
	}
	return true
}

// attributes are the system attributes that the receiver asked for.
func (m *message) attributes(names []string) map[string]string {
	all := map[string]string{
		"SenderId":                         m.sender,
		"SentTimestamp":                    strconv.FormatInt(m.sent.UnixMilli(), 10),
		"ApproximateReceiveCount":          strconv.Itoa(m.receives),
		"ApproximateFirstReceiveTimestamp": strconv.FormatInt(m.firstReceived.UnixMilli(), 10),
	}
	if slices.Contains(names, "All") {
		return all
	}
	out := map[string]string{}
	for _, name := range names {
		if value, ok := all[name]; ok {
			out[name] = value
		}
	}
	return out
}

// Deliver puts a message from an AWS service into a queue, if the queue's
// policy lets that service send; conditions are those of the sending, such as
// aws:SourceArn.
func (s *Service) Deliver(ctx context.Context, service, queueARN, body string, conditions map[string][]string) error {
	s.mu.Lock()
	var found *queue
	for _, q := range s.queues {
		if s.ARN(q.name) == queueARN {
			found = q
		}
	}
	s.mu.Unlock()
	if found == nil {
		return noQueue()
	}
	req := &wire.Request{Service: "sqs", Action: "SendMessage", Region: s.Region, Now: s.Now(), Identity: wire.Identity{Service: service}}
	if err := s.allow(ctx, req, "SendMessage", found.name, conditions); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.delivery.send(found, body, service, req.Now)
}
