package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Queue is an SQS standard queue.
type Queue struct {
	Name              string
	URL, ARN          string    // read only
	ID                string    // ARN and second of creation, because SQS gives a queue no id; like that of a Role
	Created           time.Time // read only
	Policy            string    // JSON; empty: none
	MessageRetention  time.Duration
	Unencrypted       bool          // read only: messages are encrypted neither with SQS's own key nor with KMSKeyID
	VisibilityTimeout time.Duration // 0 in a create is SQS's default, 30 s
	KMSKeyID          string        // id, alias or ARN; empty: encrypted with SQS's own keys
	KMSReuse          time.Duration // how long SQS uses one data key of KMSKeyID; 0 in a create or an update is SQS's default, 5 minutes
	Tags              map[string]string
}

// DefaultKMSReuse is SQS's own default of KMSReuse.
const DefaultKMSReuse = 5 * time.Minute

// CreateQueue makes the queue. Error: ErrConflict if a queue of that name exists. If a
// queue of that name was deleted less than a minute ago, it waits, as SQS demands. If the
// queue was made all the same, the error comes with a Queue whose ID is set, and the caller
// must delete that queue.
func (c *Clients) CreateQueue(ctx context.Context, want Queue) (Queue, error) {
	var out *sqs.CreateQueueOutput
	sent, asked := c.newSendings(), false
	deletedRecently := func(err error) bool {
		return hasCode(err, "QueueDeletedRecently", "") || hasCode(err, "AWS.SimpleQueueService.QueueDeletedRecently", "")
	}
	err := c.propagate(ctx, deletedRecently, func() error {
		// CreateQueue of SQS returns an existing queue with the same attributes without an
		// error, so check first.
		switch _, err := c.QueueURL(ctx, want.Name); {
		case err == nil:
			return fmt.Errorf("queue %q create: %w", want.Name, ErrConflict)
		case !errors.Is(err, ErrNotFound):
			return err
		}
		var err error
		asked = true
		out, err = c.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &want.Name, Attributes: queueAttributes(want), Tags: want.Tags}, sent.ofSQS)
		return wrap(err, "queue %q create", want.Name)
	})
	if err != nil && asked {
		read := func(ctx context.Context) (Queue, error) { return c.GetQueue(ctx, want.Name) }
		return afterFailure(ctx, c, sent, err, read, func(have Queue) bool {
			return sent.mayHaveMade(have.Created) && maps.Equal(have.Tags, withoutReserved(want.Tags))
		})
	}
	if err != nil {
		return Queue{}, err
	}
	url := awssdk.ToString(out.QueueUrl)
	// SQS may not find a new queue by its URL or name for some moments.
	have, err := whenKnown(ctx, c, func() (Queue, error) {
		have, err := c.queueAt(ctx, want.Name, url)
		if err == nil {
			_, err = c.QueueURL(ctx, want.Name)
		}
		return have, err
	})
	if err != nil {
		return Queue{}, errors.Join(err, c.takeBackQueue(ctx, url))
	}
	return have, nil
}

// takeBackQueue deletes a new queue whose identity cannot be read. Without an identity
// the queue cannot be distinguished from a later one of the same name.
func (c *Clients) takeBackQueue(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), RequestTimeout)
	defer cancel()
	err := c.propagate(ctx, func(err error) bool { return errors.Is(err, ErrNotFound) }, func() error {
		_, err := c.sqs.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &url})
		return wrap(err, "queue %s delete", url)
	})
	return err
}

func queueAttributes(q Queue) map[string]string {
	seconds := func(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }
	attributes := map[string]string{}
	if q.Policy != "" {
		attributes[string(sqstypes.QueueAttributeNamePolicy)] = q.Policy
	}
	if q.MessageRetention != 0 {
		attributes[string(sqstypes.QueueAttributeNameMessageRetentionPeriod)] = seconds(q.MessageRetention)
	}
	if q.VisibilityTimeout != 0 {
		attributes[string(sqstypes.QueueAttributeNameVisibilityTimeout)] = seconds(q.VisibilityTimeout)
	}
	if q.KMSKeyID != "" {
		attributes[string(sqstypes.QueueAttributeNameKmsMasterKeyId)] = q.KMSKeyID
		attributes[string(sqstypes.QueueAttributeNameKmsDataKeyReusePeriodSeconds)] = seconds(cmp.Or(q.KMSReuse, DefaultKMSReuse))
	} else {
		attributes[string(sqstypes.QueueAttributeNameSqsManagedSseEnabled)] = "true"
	}
	return attributes
}

// GetQueue reads the queue by name. Error: ErrNotFound.
func (c *Clients) GetQueue(ctx context.Context, name string) (Queue, error) {
	url, err := c.QueueURL(ctx, name)
	if err != nil {
		return Queue{}, err
	}
	return c.queueAt(ctx, name, url)
}

// queueAt reads the queue with the URL.
func (c *Clients) queueAt(ctx context.Context, name, url string) (Queue, error) {
	out, err := c.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameAll},
	})
	if err != nil {
		return Queue{}, wrap(err, "queue %q read", name)
	}
	tags, err := c.sqs.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: &url})
	if err != nil {
		return Queue{}, wrap(err, "queue %q read tags", name)
	}
	attribute := func(n sqstypes.QueueAttributeName) string { return out.Attributes[string(n)] }
	seconds := func(n sqstypes.QueueAttributeName) int64 {
		s, err := strconv.ParseInt(attribute(n), 10, 64)
		if err != nil {
			return 0 // the queue does not have the attribute
		}
		return s
	}
	duration := func(n sqstypes.QueueAttributeName) time.Duration { return time.Duration(seconds(n)) * time.Second }
	return Queue{
		Name: name, URL: url,
		ARN:               attribute(sqstypes.QueueAttributeNameQueueArn),
		ID:                attribute(sqstypes.QueueAttributeNameQueueArn) + "@" + attribute(sqstypes.QueueAttributeNameCreatedTimestamp),
		Created:           time.Unix(seconds(sqstypes.QueueAttributeNameCreatedTimestamp), 0),
		Policy:            attribute(sqstypes.QueueAttributeNamePolicy),
		KMSKeyID:          attribute(sqstypes.QueueAttributeNameKmsMasterKeyId),
		KMSReuse:          duration(sqstypes.QueueAttributeNameKmsDataKeyReusePeriodSeconds),
		MessageRetention:  duration(sqstypes.QueueAttributeNameMessageRetentionPeriod),
		Unencrypted:       attribute(sqstypes.QueueAttributeNameKmsMasterKeyId) == "" && attribute(sqstypes.QueueAttributeNameSqsManagedSseEnabled) == "false",
		VisibilityTimeout: duration(sqstypes.QueueAttributeNameVisibilityTimeout),
		Tags:              withoutReserved(tags.Tags),
	}, nil
}

// UpdateQueue changes the queue's attributes and tags to want; tags as in UpdateRole.
// Errors: ErrNotFound, ErrReplaced.
func (c *Clients) UpdateQueue(ctx context.Context, prior, want Queue) (Queue, error) {
	have, err := c.GetQueue(ctx, want.Name)
	if err != nil {
		return Queue{}, err
	}
	if err := sameIfKnown(want.ID, have.ID); err != nil {
		return Queue{}, fmt.Errorf("queue %q update: %w", want.Name, err)
	}
	attributes := queueAttributes(want)
	// An empty value removes an attribute.
	if want.Policy == "" && have.Policy != "" {
		attributes[string(sqstypes.QueueAttributeNamePolicy)] = ""
	}
	if want.KMSKeyID == "" && have.KMSKeyID != "" {
		attributes[string(sqstypes.QueueAttributeNameKmsMasterKeyId)] = ""
	}
	if _, err := c.sqs.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: &have.URL, Attributes: attributes}); err != nil {
		return Queue{}, wrap(err, "queue %q update", want.Name)
	}
	err = c.syncTags(prior.Tags, want.Tags, have.Tags, func(set map[string]string) error {
		_, err := c.sqs.TagQueue(ctx, &sqs.TagQueueInput{QueueUrl: &have.URL, Tags: set})
		return wrap(err, "queue %q tag", want.Name)
	}, func(keys []string) error {
		_, err := c.sqs.UntagQueue(ctx, &sqs.UntagQueueInput{QueueUrl: &have.URL, TagKeys: keys})
		return wrap(err, "queue %q untag", want.Name)
	})
	if err != nil {
		return Queue{}, err
	}
	return c.asWanted(ctx, want)
}

// asWanted reads the queue when SQS shows the new policy, retention and key, for which it may
// take a minute. It does not wait for longer than for IAM: the write itself has succeeded.
func (c *Clients) asWanted(ctx context.Context, want Queue) (Queue, error) {
	var have Queue
	err := c.propagate(ctx, func(err error) bool { return errors.Is(err, errNotShown) }, func() (err error) {
		have, err = c.GetQueue(ctx, want.Name)
		if err == nil && (!SamePolicy(have.Policy, want.Policy) || want.MessageRetention != 0 && have.MessageRetention != want.MessageRetention || !have.sameKey(want)) {
			err = errNotShown
		}
		return err
	})
	if errors.Is(err, errNotShown) && ctx.Err() == nil {
		err = nil
	}
	return have, err
}

// sameKey tells whether two queues are encrypted alike.
func (q Queue) sameKey(other Queue) bool {
	return q.Unencrypted == other.Unencrypted && q.KMSKeyID == other.KMSKeyID && (q.KMSKeyID == "" || cmp.Or(q.KMSReuse, DefaultKMSReuse) == cmp.Or(other.KMSReuse, DefaultKMSReuse))
}

// DeleteQueue deletes the queue. It is no error if the queue is gone, or if another queue
// has its name: that queue stays.
func (c *Clients) DeleteQueue(ctx context.Context, name, id string) error {
	have, err := beforeDelete(ctx, c, func() (Queue, error) { return c.GetQueue(ctx, name) })
	if err != nil {
		return unlessGone(err)
	}
	if !known(id, have.ID) {
		return nil
	}
	_, err = c.sqs.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &have.URL})
	return unlessGone(wrap(err, "queue %q delete", name))
}

// QueueURL returns the URL of the queue. Error: ErrNotFound.
func (c *Clients) QueueURL(ctx context.Context, name string) (string, error) {
	out, err := c.sqs.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		return "", wrap(err, "queue %q find", name)
	}
	return awssdk.ToString(out.QueueUrl), nil
}
