package eventsim

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// Queues takes the messages for SQS targets; package sqssim has it.
type Queues interface {
	Deliver(ctx context.Context, service, queueARN, body string, conditions map[string][]string) error
}

// Config is what EventBridge needs of its surroundings.
type Config struct {
	Region, Account string
	Now             func() time.Time
	Auth            wire.Authorizer
	Queues          Queues
	Logger          hclog.Logger
}

// Service is the simulated EventBridge. Safe for concurrent use.
type Service struct {
	Config
	wire.Handlers

	mu    sync.Mutex
	rules map[string]*rule // by name
}

type rule struct {
	name, arn   string
	description string
	pattern     *pattern
	text        string // of the pattern
	enabled     bool
	roleARN     string
	tags        map[string]string
	targets     map[string]string // id -> ARN of a queue
}

// New makes an EventBridge whose default bus has no rules.
func New(c Config) *Service {
	s := &Service{Config: c, rules: map[string]*rule{}}
	s.Handlers = wire.Handlers{
		"PutRule":             wire.JSON(s.putRule),
		"DescribeRule":        wire.JSON(s.describeRule),
		"DeleteRule":          wire.JSON(s.deleteRule),
		"ListRules":           wire.JSON(s.listRules),
		"PutTargets":          wire.JSON(s.putTargets),
		"RemoveTargets":       wire.JSON(s.removeTargets),
		"ListTargetsByRule":   wire.JSON(s.listTargets),
		"TagResource":         wire.JSON(s.tagResource),
		"UntagResource":       wire.JSON(s.untagResource),
		"ListTagsForResource": wire.JSON(s.listTags),
		"PutEvents":           wire.JSON(s.putEvents),
	}
	return s
}

// envelope is an event as targets receive it.
type envelope struct {
	Version    string   `json:"version"`
	ID         string   `json:"id"`
	DetailType string   `json:"detail-type"`
	Source     string   `json:"source"`
	Account    string   `json:"account"`
	Time       string   `json:"time"`
	Region     string   `json:"region"`
	Resources  []string `json:"resources"`
	Detail     any      `json:"detail"`
}

// Put puts an event on the default bus: every enabled rule that matches sends
// it to its targets, before Put returns. A target that cannot take it misses
// it, as on the real bus once its retries are over.
func (s *Service) Put(ctx context.Context, e wire.Event) {
	s.put(ctx, uuid.NewString(), e)
}

func (s *Service) put(ctx context.Context, id string, e wire.Event) {
	body, err := json.Marshal(envelope{
		Version: "0", ID: id, DetailType: e.DetailType, Source: e.Source, Account: s.Account,
		Time: e.Time.UTC().Format(time.RFC3339), Region: s.Region, Resources: append([]string{}, e.Resources...), Detail: e.Detail,
	})
	if err != nil {
		s.Logger.Error("event cannot be written", "source", e.Source, "detail-type", e.DetailType, "error", err)
		return
	}
	var decoded any
	// It was just marshalled.
	_ = json.Unmarshal(body, &decoded)
	type delivery struct{ rule, target string }
	var deliveries []delivery
	s.mu.Lock()
	for _, name := range slices.Sorted(maps.Keys(s.rules)) {
		r := s.rules[name]
		if !r.enabled || !r.pattern.matches(decoded, true) {
			continue
		}
		for _, target := range slices.Sorted(maps.Keys(r.targets)) {
			deliveries = append(deliveries, delivery{r.arn, r.targets[target]})
		}
	}
	s.mu.Unlock()
	for _, d := range deliveries {
		err := s.Queues.Deliver(ctx, "events.amazonaws.com", d.target, string(body), map[string][]string{
			"aws:SourceArn": {d.rule}, "aws:SourceAccount": {s.Account},
		})
		if err != nil {
			s.Logger.Warn("event was not delivered", "rule", d.rule, "target", d.target, "error", err)
		}
	}
}

func (s *Service) putEvents(ctx context.Context, req *wire.Request, in *struct {
	Entries []struct {
		Time         wire.Epoch
		Source       string
		Resources    []string
		DetailType   string
		Detail       string
		EventBusName string
	}
},
) (any, error) {
	bus := "arn:aws:events:" + s.Region + ":" + s.Account + ":event-bus/default"
	if err := s.Auth.Authorize(ctx, req, wire.Access{Action: "events:PutEvents", Resources: []wire.Resource{{ARN: bus}}}); err != nil {
		return nil, err
	}
	if len(in.Entries) == 0 || len(in.Entries) > 10 {
		return nil, wire.Errorf("ValidationException", "1 validation error detected: Value at 'entries' failed to satisfy constraint: Member must have length from 1 to 10")
	}
	type result struct {
		EventID      string `json:"EventId,omitempty"`
		ErrorCode    string `json:",omitempty"`
		ErrorMessage string `json:",omitempty"`
	}
	out := struct {
		FailedEntryCount int
		Entries          []result
	}{}
	for _, e := range in.Entries {
		var detail any
		r := result{}
		switch {
		case e.Source == "" || e.DetailType == "" || e.Detail == "":
			r = result{"", "InvalidArgument", "Source, DetailType and Detail are required."}
		case strings.HasPrefix(e.Source, "aws."):
			r = result{"", "NotAuthorizedForSource", "Not authorized for the source."}
		case json.Unmarshal([]byte(e.Detail), &detail) != nil:
			r = result{"", "MalformedDetail", "Detail is malformed."}
		default:
			r.EventID = uuid.NewString()
			at := time.Time(e.Time)
			if at.IsZero() {
				at = req.Now
			}
			s.put(ctx, r.EventID, wire.Event{Source: e.Source, DetailType: e.DetailType, Resources: e.Resources, Detail: detail, Time: at})
		}
		if r.ErrorCode != "" {
			out.FailedEntryCount++
		}
		out.Entries = append(out.Entries, r)
	}
	return out, nil
}
