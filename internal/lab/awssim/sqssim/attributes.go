package sqssim

import (
	"context"
	"maps"
	"strconv"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/policy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// defaultAttributes are those of a queue that is made without any.
func defaultAttributes() map[string]string {
	return map[string]string{
		"DelaySeconds": "0", "MaximumMessageSize": "1048576", "MessageRetentionPeriod": "345600",
		"ReceiveMessageWaitTimeSeconds": "0", "VisibilityTimeout": "30", "SqsManagedSseEnabled": "true",
	}
}

// checkAttributes refuses attributes that SQS does not have, that are not
// simulated, or whose value is out of range.
func checkAttributes(attributes map[string]string) error {
	ranges := map[string][2]int{
		"DelaySeconds": {0, 900}, "MaximumMessageSize": {1024, 1048576}, "MessageRetentionPeriod": {60, 1209600},
		"ReceiveMessageWaitTimeSeconds": {0, 20}, "VisibilityTimeout": {0, 43200}, "KmsDataKeyReusePeriodSeconds": {60, 86400},
	}
	for name, value := range attributes {
		bad := wire.Errorf("InvalidAttributeValue", "Invalid value for the parameter %s.", name)
		limits, numeric := ranges[name]
		switch {
		case numeric:
			n, err := strconv.Atoi(value)
			if err != nil || n < limits[0] || n > limits[1] {
				return bad
			}
		case name == "Policy":
			if value == "" {
				continue
			}
			if _, err := policy.Parse(value, policy.Resource); err != nil {
				return wire.Errorf("InvalidAttributeValue", "Invalid value for the parameter Policy. %v", err)
			}
		case name == "SqsManagedSseEnabled":
			if value != "true" && value != "false" {
				return bad
			}
		case name == "KmsMasterKeyId": // SQS looks for the key when a message comes, not before
		case name == "FifoQueue" || name == "RedrivePolicy" || name == "RedriveAllowPolicy":
			return wire.Errorf("InvalidAttributeValue", "The attribute %s is not simulated.", name)
		default:
			return wire.Errorf("InvalidAttributeName", "Unknown Attribute %s.", name)
		}
	}
	return nil
}

// checkEncryption: a queue is encrypted in one way at a time, with a key of KMS or with keys of
// SQS's own. Source: SetQueueAttributes page of the SQS API reference.
func checkEncryption(attributes map[string]string) error {
	if attributes["KmsMasterKeyId"] != "" && attributes["SqsManagedSseEnabled"] == "true" {
		return wire.Errorf("InvalidAttributeValue", "You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.")
	}
	return nil
}

// set sets attributes, which were checked.
func (q *queue) set(given map[string]string) error {
	if err := checkEncryption(given); err != nil {
		return err
	}
	maps.Copy(q.attributes, given)
	if given["KmsMasterKeyId"] != "" {
		q.attributes["SqsManagedSseEnabled"] = "false"
	}
	if given["SqsManagedSseEnabled"] == "true" {
		q.attributes["KmsMasterKeyId"] = ""
	}
	if q.attributes["KmsMasterKeyId"] == "" {
		delete(q.attributes, "KmsMasterKeyId")
		delete(q.attributes, "KmsDataKeyReusePeriodSeconds")
	} else if q.attributes["KmsDataKeyReusePeriodSeconds"] == "" {
		q.attributes["KmsDataKeyReusePeriodSeconds"] = "300"
	}
	return nil
}

// seconds reads a numeric attribute, which was checked when it was set.
func (q *queue) seconds(name string) time.Duration {
	n, _ := strconv.Atoi(q.attributes[name])
	return time.Duration(n) * time.Second
}

// all are the attributes that are set and those that SQS computes.
func (s *Service) all(q *queue, now time.Time) map[string]string {
	out := map[string]string{
		"QueueArn": s.ARN(q.name), "CreatedTimestamp": epoch(q.created), "LastModifiedTimestamp": epoch(q.modified),
	}
	for name, value := range q.attributes {
		if value != "" {
			out[name] = value
		}
	}
	var visible, hidden, delayed int
	for _, m := range q.messages {
		switch {
		case !m.visibleAt.After(now):
			visible++
		case m.receives == 0:
			delayed++
		default:
			hidden++
		}
	}
	out["ApproximateNumberOfMessages"] = strconv.Itoa(visible)
	out["ApproximateNumberOfMessagesNotVisible"] = strconv.Itoa(hidden)
	out["ApproximateNumberOfMessagesDelayed"] = strconv.Itoa(delayed)
	return out
}

func epoch(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

func (s *Service) getQueueAttributes(ctx context.Context, req *wire.Request, in *struct {
	queueRef
	AttributeNames []string
},
) (any, error) {
	return s.withQueue(ctx, req, in.QueueURL, nil, func(q *queue) (any, error) {
		q.expire(req.Now)
		all := s.all(q, req.Now)
		chosen := map[string]string{}
		for _, name := range in.AttributeNames {
			if name == "All" {
				chosen = all
				break
			}
			value, ok := all[name]
			if ok {
				chosen[name] = value
			} else if name != "Policy" && checkAttributes(map[string]string{name: "0"}) != nil {
				return nil, wire.Errorf("InvalidAttributeName", "Unknown Attribute %s.", name)
			}
		}
		return struct {
			Attributes map[string]string `json:",omitempty"`
		}{chosen}, nil
	})
}

func (s *Service) setQueueAttributes(ctx context.Context, req *wire.Request, in *struct {
	queueRef
	Attributes map[string]string
},
) (any, error) {
	if err := checkAttributes(in.Attributes); err != nil {
		return nil, err
	}
	return s.withQueue(ctx, req, in.QueueURL, nil, func(q *queue) (any, error) {
		if err := q.set(in.Attributes); err != nil {
			return nil, err
		}
		q.modified = req.Now.UTC()
		return nil, nil
	})
}
