package aws

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const (
	receiveMax     = 10 // the most messages that SQS returns or deletes in one call
	receiveWait    = 20 // seconds; the longest poll of SQS
	receiveVisible = 20 // seconds; after that time a message that was not deleted comes again
)

// Message is one message of a queue.
type Message struct {
	ID      string
	Body    string
	Receipt string // DeleteMessages takes it; every receipt of a message has another one
}

// Receive waits up to 20 seconds for messages, and returns at most ten. It is no error if
// there is none.
func (c *Clients) Receive(ctx context.Context, queueURL string) ([]Message, error) {
	out, err := c.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &queueURL, MaxNumberOfMessages: receiveMax, WaitTimeSeconds: receiveWait, VisibilityTimeout: receiveVisible,
	})
	if err != nil {
		return nil, wrap(err, "queue %s receive", queueURL)
	}
	messages := make([]Message, 0, len(out.Messages))
	for _, m := range out.Messages {
		messages = append(messages, Message{ID: awssdk.ToString(m.MessageId), Body: awssdk.ToString(m.Body), Receipt: awssdk.ToString(m.ReceiptHandle)})
	}
	return messages, nil
}

// DeleteMessages deletes the messages with these receipts, ten per call. The error says
// how many messages could not be deleted: they come again.
func (c *Clients) DeleteMessages(ctx context.Context, queueURL string, receipts ...string) error {
	var problems []error
	for start := 0; start < len(receipts); start += receiveMax {
		var entries []sqstypes.DeleteMessageBatchRequestEntry
		for i, receipt := range receipts[start:min(start+receiveMax, len(receipts))] {
			entries = append(entries, sqstypes.DeleteMessageBatchRequestEntry{Id: awssdk.String(strconv.Itoa(i)), ReceiptHandle: awssdk.String(receipt)})
		}
		out, err := c.sqs.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &queueURL, Entries: entries})
		if err != nil {
			return wrap(err, "queue %s delete messages", queueURL)
		}
		for _, f := range out.Failed {
			problems = append(problems, fmt.Errorf("%s: %s", awssdk.ToString(f.Code), awssdk.ToString(f.Message)))
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("queue %s delete messages: %d messages were not deleted and come again: %w", queueURL, len(problems), errors.Join(problems...))
	}
	return nil
}
