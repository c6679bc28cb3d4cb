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

func (q *queue) send(body, sender string, now time.Time) (*message, error) {
	limit, _ := strconv.Atoi(q.attributes["MaximumMessageSize"])
	if body == "" {
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter MessageBody.")
	}
	if len(body) > limit {
		return nil, wire.Errorf("InvalidParameterValue", "One or more parameters are invalid. Reason: Message must be shorter than %d bytes.", limit)
	}
	m := &message{id: uuid.NewString(), body: body, sender: sender, sent: now, visibleAt: now.Add(q.seconds("DelaySeconds"))}
	q.messages = append(q.messages, m)
	q.wake()
	return m, nil
}

func (s *Service) sendMessage(ctx context.Context, req *wire.Request, in *struct {
	queueRef
	MessageBody string
},
) (any, error) {
	return s.withQueue(ctx, req, in.QueueURL, nil, func(q *queue) (any, error) {
		m, err := q.send(in.MessageBody, req.Identity.UserID, req.Now)
		if err != nil {
			return nil, err
		}
		return struct {
			MessageID        string `json:"MessageId"`
			MD5OfMessageBody string
		}{m.id, checksum(m.body)}, nil
	})
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

// remove deletes the message of a handle; one that is gone is no error.
func (q *queue) remove(receipt string) *wire.Error {
	text, err := base64.StdEncoding.DecodeString(receipt)
	parts := strings.Split(string(text), "/")
	if err != nil || len(parts) != 3 || parts[0] != "sqs" {
		return wire.Errorf("ReceiptHandleIsInvalid", "The input receipt handle is invalid.")
	}
	q.messages = slices.DeleteFunc(q.messages, func(m *message) bool { return m.id == parts[1] })
	return nil
}

func (s *Service) deleteMessage(ctx context.Context, req *wire.Request, in *struct {
	queueRef
	ReceiptHandle string
},
) (any, error) {
	return s.withQueue(ctx, req, in.QueueURL, nil, func(q *queue) (any, error) {
		if err := q.remove(in.ReceiptHandle); err != nil {
			return nil, err
		}
		return nil, nil
	})
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
	type failed struct {
		ID          string `json:"Id"`
		SenderFault bool
		Code        string
		Message     string
	}
	return s.withQueue(ctx, req, in.QueueURL, nil, func(q *queue) (any, error) {
		out := struct {
			Successful []done
			Failed     []failed
		}{[]done{}, []failed{}}
		for _, e := range in.Entries {
			if err := q.remove(e.ReceiptHandle); err != nil {
				out.Failed = append(out.Failed, failed{e.ID, true, err.Code, err.Message})
				continue
			}
			out.Successful = append(out.Successful, done{e.ID})
		}
		return out, nil
	})
}
