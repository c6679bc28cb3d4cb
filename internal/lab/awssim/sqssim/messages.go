package sqssim

import (
	"context"
	"crypto/md5" //nolint:gosec // the protocol's checksum, not a secret
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

type message struct {
	id            string
	body          string
	sender        string
	sent          time.Time
	visibleAt     time.Time
	firstReceived time.Time
	receives      int
}

// wake tells those who wait for messages that something changed.
func (q *queue) wake() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// expire drops messages that are older than the retention period.
func (q *queue) expire(now time.Time) {
	oldest := now.Add(-q.seconds("MessageRetentionPeriod"))
	q.messages = slices.DeleteFunc(q.messages, func(m *message) bool { return m.sent.Before(oldest) })
}

func (q *queue) send(body, sender string, delay time.Duration, now time.Time) (*message, error) {
	limit, _ := strconv.Atoi(q.attributes["MaximumMessageSize"])
	if body == "" {
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter MessageBody.")
	}
	if len(body) > limit {
		return nil, wire.Errorf("InvalidParameterValue", "One or more parameters are invalid. Reason: Message must be shorter than %d bytes.", limit)
	}
	m := &message{id: uuid.NewString(), body: body, sender: sender, sent: now, visibleAt: now.Add(delay)}
	q.messages = append(q.messages, m)
	q.wake()
	return m, nil
}

type sendIn struct {
	MessageBody  string
	DelaySeconds *int
}

type sent struct {
	MessageID        string `json:"MessageId"`
	MD5OfMessageBody string
}

// post sends one message of a request.
func (q *queue) post(in sendIn, req *wire.Request) (sent, error) {
	delay := q.seconds("DelaySeconds")
	if in.DelaySeconds != nil {
		if *in.DelaySeconds < 0 || *in.DelaySeconds > 900 {
			return sent{}, wire.Errorf("InvalidParameterValue", "Value %d for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.", *in.DelaySeconds)
		}
		delay = time.Duration(*in.DelaySeconds) * time.Second
	}
	m, err := q.send(in.MessageBody, req.Identity.UserID, delay, req.Now)
	if err != nil {
		return sent{}, err
	}
	return sent{m.id, checksum(m.body)}, nil
}

func (s *Service) sendMessage(ctx context.Context, req *wire.Request, in *struct {
	queueRef
	sendIn
},
) (any, error) {
	return s.withQueue(ctx, req, in.QueueURL, nil, func(q *queue) (any, error) { return q.post(in.sendIn, req) })
}

type failed struct {
	ID          string `json:"Id"`
	SenderFault bool
	Code        string
	Message     string
}

func failedEntry(id string, err error) failed {
	code, text, _ := strings.Cut(err.Error(), ": ")
	return failed{id, true, code, text}
}

func checkBatch(ids []string) error {
	switch {
	case len(ids) == 0:
		return wire.Errorf("AWS.SimpleQueueService.EmptyBatchRequest", "There should be at least one entry in the request.")
	case len(ids) > 10:
		return wire.Errorf("AWS.SimpleQueueService.TooManyEntriesInBatchRequest", "Maximum number of entries per request are 10. You have sent %d.", len(ids))
	}
	seen := map[string]bool{}
	for _, id := range ids {
		if id == "" {
			return wire.Errorf("AWS.SimpleQueueService.InvalidBatchEntryId", "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.")
		}
		if seen[id] {
			return wire.Errorf("AWS.SimpleQueueService.BatchEntryIdsNotDistinct", "Id %s repeated.", id)
		}
		seen[id] = true
	}
	return nil
}

func checksum(text string) string {
	sum := md5.Sum([]byte(text)) //nolint:gosec // the protocol's checksum, not a secret
	return hex.EncodeToString(sum[:])
}

// A receipt handle names the message; like a real one it says nothing to the reader.
func handle(m *message) string {
	return base64.StdEncoding.EncodeToString([]byte("sqs/" + m.id + "/" + strconv.Itoa(m.receives)))
}

// find gives the index of the message of a handle, -1 where it was deleted.
func (q *queue) find(receipt string) (int, error) {
	text, err := base64.StdEncoding.DecodeString(receipt)
	parts := strings.Split(string(text), "/")
	if err != nil || len(parts) != 3 || parts[0] != "sqs" {
		return -1, wire.Errorf("ReceiptHandleIsInvalid", "The input receipt handle is invalid.")
	}
	return slices.IndexFunc(q.messages, func(m *message) bool { return m.id == parts[1] }), nil
}

// remove deletes the message of a handle; one that is gone is no error.
func (q *queue) remove(receipt string) error {
	at, err := q.find(receipt)
	if err == nil && at >= 0 {
		q.messages = slices.Delete(q.messages, at, at+1)
	}
	return err
}

func (s *Service) deleteMessage(ctx context.Context, req *wire.Request, in *struct {
	queueRef
	ReceiptHandle string
},
) (any, error) {
	return s.withQueue(ctx, req, in.QueueURL, nil, func(q *queue) (any, error) { return nil, q.remove(in.ReceiptHandle) })
}

func (s *Service) deleteMessageBatch(ctx context.Context, req *wire.Request, in *struct {
	queueRef
	Entries []struct {
		ID            string `json:"Id"`
		ReceiptHandle string
	}
},
) (any, error) {
	ids := make([]string, len(in.Entries))
	for i, e := range in.Entries {
		ids[i] = e.ID
	}
	if err := checkBatch(ids); err != nil {
		return nil, err
	}
	type done struct {
		ID string `json:"Id"`
	}
	return s.withQueue(ctx, req, in.QueueURL, nil, func(q *queue) (any, error) {
		out := struct {
			Successful []done
			Failed     []failed
		}{[]done{}, []failed{}}
		for _, e := range in.Entries {
			if err := q.remove(e.ReceiptHandle); err != nil {
				out.Failed = append(out.Failed, failedEntry(e.ID, err))
				continue
			}
			out.Successful = append(out.Successful, done{e.ID})
		}
		return out, nil
	})
}
