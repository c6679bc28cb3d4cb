package sqssim

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// Config is what SQS needs of its surroundings.
type Config struct {
	Region, Account string
	Now             func() time.Time
	Auth            wire.Authorizer
	URL             func() string // the endpoint, which queue URLs begin with
}

// Service is the simulated SQS. Safe for concurrent use.
type Service struct {
	Config
	wire.Handlers

	mu       sync.Mutex
	queues   map[string]*queue // by name
	delivery Delivery
}

// queue is one standard queue; the service's mutex guards it.
type queue struct {
	name       string
	attributes map[string]string // those that can be set
	tags       map[string]string
	created    time.Time
	modified   time.Time
	messages   []*message // in the order of arrival
	changed    chan struct{}
	deleted    bool
}

// New makes an SQS without queues.
func New(c Config) *Service {
	s := &Service{Config: c, queues: map[string]*queue{}}
	s.Handlers = wire.Handlers{
		"CreateQueue":        wire.JSON(s.createQueue),
		"DeleteQueue":        wire.JSON(s.deleteQueue),
		"GetQueueUrl":        wire.JSON(s.getQueueURL),
		"ListQueues":         wire.JSON(s.listQueues),
		"GetQueueAttributes": wire.JSON(s.getQueueAttributes),
		"SetQueueAttributes": wire.JSON(s.setQueueAttributes),
		"TagQueue":           wire.JSON(s.tagQueue),
		"UntagQueue":         wire.JSON(s.untagQueue),
		"ListQueueTags":      wire.JSON(s.listQueueTags),
		"SendMessage":        wire.JSON(s.sendMessage),
		"ReceiveMessage":     wire.JSON(s.receiveMessage),
		"DeleteMessage":      wire.JSON(s.deleteMessage),
		"DeleteMessageBatch": wire.JSON(s.deleteMessageBatch),
	}
	return s
}

// ARN is the name of a queue for policies and targets.
func (s *Service) ARN(name string) string {
	return "arn:aws:sqs:" + s.Region + ":" + s.Account + ":" + name
}

func (s *Service) url(name string) string { return s.URL() + "/" + s.Account + "/" + name }

func noQueue() error {
	return wire.Errorf("AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.")
}

// allow asks for permission to do the action on a queue; its own policy counts too.
func (s *Service) allow(ctx context.Context, req *wire.Request, action, name string, conditions map[string][]string) error {
	access := wire.Access{Action: "sqs:" + action, Resources: []wire.Resource{{ARN: s.ARN(name)}}, Conditions: conditions}
	if name == "" { // an action on no queue in particular
		access.Resources[0].ARN = "*"
	}
	s.mu.Lock()
	if q, ok := s.queues[name]; ok {
		access.Policy = q.attributes["Policy"]
		access.Resources[0].Tags = maps.Clone(q.tags)
	}
	s.mu.Unlock()
	return s.Auth.Authorize(ctx, req, access)
}

// withQueue authorizes the request's action on the queue of a URL, finds the
// queue and does something to it, under the lock.
func (s *Service) withQueue(ctx context.Context, req *wire.Request, queueURL string, conditions map[string][]string, do func(*queue) (any, error)) (any, error) {
	if queueURL == "" {
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter QueueUrl.")
	}
	parts := strings.Split(strings.TrimSuffix(queueURL, "/"), "/")
	if len(parts) < 2 || parts[len(parts)-2] != s.Account {
		return nil, wire.Errorf("InvalidAddress", "The address %s is not valid for this endpoint.", queueURL)
	}
	name := parts[len(parts)-1]
	// Permission of a batch is that of the single action.
	if err := s.allow(ctx, req, strings.TrimSuffix(req.Action, "Batch"), name, conditions); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, ok := s.queues[name]
	if !ok {
		return nil, noQueue()
	}
	return do(q)
}

func (s *Service) createQueue(ctx context.Context, req *wire.Request, in *struct {
	QueueName  string
	Attributes map[string]string
	Tags       map[string]string
},
) (any, error) {
	if !regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`).MatchString(in.QueueName) {
		return nil, wire.Errorf("InvalidParameterValue", "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
	}
	if err := s.allow(ctx, req, "CreateQueue", in.QueueName, wire.TagConditions(in.Tags)); err != nil {
		return nil, err
	}
	if len(in.Tags) > 0 {
		if err := s.allow(ctx, req, "TagQueue", in.QueueName, wire.TagConditions(in.Tags)); err != nil {
			return nil, err
		}
	}
	if err := checkAttributes(in.Attributes); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := queueRef{s.url(in.QueueName)}
	if q, ok := s.queues[in.QueueName]; ok {
		for name, value := range in.Attributes {
			if q.attributes[name] != value {
				return nil, wire.Errorf("QueueAlreadyExists", "A queue already exists with the same name and a different value for attribute %s", name)
			}
		}
		return out, nil
	}
	now := req.Now.UTC()
	q := &queue{name: in.QueueName, attributes: defaultAttributes(), tags: map[string]string{}, created: now, modified: now, changed: make(chan struct{})}
	if err := q.set(in.Attributes); err != nil {
		return nil, err
	}
	maps.Copy(q.tags, in.Tags)
	s.queues[in.QueueName] = q
	return out, nil
}

type queueRef struct {
	QueueURL string `json:"QueueUrl"`
}

func (s *Service) deleteQueue(ctx context.Context, req *wire.Request, in *queueRef) (any, error) {
	return s.withQueue(ctx, req, in.QueueURL, nil, func(q *queue) (any, error) {
		delete(s.queues, q.name)
		q.end()
		return nil, nil
	})
}

// end tells those who wait for messages that the queue is deleted.
func (q *queue) end() {
	q.deleted = true
	q.wake()
}

func (s *Service) getQueueURL(ctx context.Context, req *wire.Request, in *struct {
	QueueName              string
	QueueOwnerAWSAccountID string `json:"QueueOwnerAWSAccountId"`
},
) (any, error) {
	if in.QueueOwnerAWSAccountID != "" && in.QueueOwnerAWSAccountID != s.Account {
		return nil, noQueue()
	}
	if in.QueueName == "" {
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter QueueName.")
	}
	return s.withQueue(ctx, req, s.url(in.QueueName), nil, func(q *queue) (any, error) {
		return queueRef{s.url(q.name)}, nil
	})
}

func (s *Service) listQueues(ctx context.Context, req *wire.Request, in *struct {
	QueueNamePrefix string
	NextToken       string
	MaxResults      int
},
) (any, error) {
	if err := s.allow(ctx, req, "ListQueues", "", nil); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.queues)) {
		if strings.HasPrefix(name, in.QueueNamePrefix) {
			names = append(names, name)
		}
	}
	limit := 1000
	if in.MaxResults > 0 {
		limit = min(in.MaxResults, limit)
	}
	names, next := wire.Page(names, func(n string) string { return n }, in.NextToken, limit)
	if in.MaxResults == 0 {
		next = "" // without MaxResults there is no token, however many there are
	}
	out := struct {
		QueueURLs []string `json:"QueueUrls,omitempty"`
		NextToken string   `json:",omitempty"`
	}{NextToken: next}
	for _, name := range names {
		out.QueueURLs = append(out.QueueURLs, s.url(name))
	}
	return out, nil
}

func (s *Service) tagQueue(ctx context.Context, req *wire.Request, in *struct {
	queueRef
	Tags map[string]string
},
) (any, error) {
	return s.withQueue(ctx, req, in.QueueURL, wire.TagConditions(in.Tags), func(q *queue) (any, error) {
		maps.Copy(q.tags, in.Tags)
		return nil, nil
	})
}

func (s *Service) untagQueue(ctx context.Context, req *wire.Request, in *struct {
	queueRef
	TagKeys []string
},
) (any, error) {
	return s.withQueue(ctx, req, in.QueueURL, map[string][]string{"aws:TagKeys": in.TagKeys}, func(q *queue) (any, error) {
		maps.DeleteFunc(q.tags, func(k, _ string) bool { return slices.Contains(in.TagKeys, k) })
		return nil, nil
	})
}

func (s *Service) listQueueTags(ctx context.Context, req *wire.Request, in *queueRef) (any, error) {
	return s.withQueue(ctx, req, in.QueueURL, nil, func(q *queue) (any, error) {
		return struct {
			Tags map[string]string `json:",omitempty"`
		}{maps.Clone(q.tags)}, nil
	})
}
