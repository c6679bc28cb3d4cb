package eventsim

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

const maxTargets = 5

type tag struct{ Key, Value string }

type ruleOut struct {
	Name         string
	Arn          string
	EventPattern string
	State        string
	Description  string `json:",omitempty"`
	RoleArn      string `json:",omitempty"`
	EventBusName string
	CreatedBy    string `json:",omitempty"` // DescribeRule only
}

func (r *rule) out() ruleOut {
	state := "DISABLED"
	if r.enabled {
		state = "ENABLED"
	}
	return ruleOut{Name: r.name, Arn: r.arn, EventPattern: r.text, State: state, Description: r.description, RoleArn: r.roleARN, EventBusName: "default"}
}

func notFound(name string) error {
	return wire.Errorf("ResourceNotFoundException", "Rule %s does not exist on EventBus default.", name)
}

func (s *Service) arn(name string) string {
	return "arn:aws:events:" + s.Region + ":" + s.Account + ":rule/" + name
}

// allow asks for permission to do an action on a rule.
func (s *Service) allow(ctx context.Context, req *wire.Request, action, name string, conditions map[string][]string) error {
	s.mu.Lock()
	var tags map[string]string
	if r, ok := s.rules[name]; ok {
		tags = maps.Clone(r.tags)
	}
	s.mu.Unlock()
	return s.Auth.Authorize(ctx, req, wire.Access{
		Action: "events:" + action, Resources: []wire.Resource{{ARN: s.arn(name), Tags: tags}}, Conditions: conditions,
	})
}

// withRule authorizes the request's action on a rule, finds it and does
// something to it, under the lock.
func (s *Service) withRule(ctx context.Context, req *wire.Request, name, bus string, conditions map[string][]string, do func(*rule) (any, error)) (any, error) {
	if err := checkBus(bus); err != nil {
		return nil, err
	}
	if err := s.allow(ctx, req, req.Action, name, conditions); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.rules[name]
	if !ok {
		return nil, notFound(name)
	}
	return do(r)
}

func checkBus(name string) error {
	if name != "" && name != "default" {
		return wire.Errorf("ResourceNotFoundException", "Event bus %s does not exist.", name)
	}
	return nil
}

func (s *Service) putRule(ctx context.Context, req *wire.Request, in *struct {
	Name, EventPattern, State, Description, RoleArn, EventBusName string
	Tags                                                          []tag
},
) (any, error) {
	if !regexp.MustCompile(`^[.\-_A-Za-z0-9]{1,64}$`).MatchString(in.Name) {
		return nil, wire.Errorf("ValidationException", "1 validation error detected: Value '%s' at 'name' failed to satisfy constraint: Member must satisfy regular expression pattern: [\\.\\-_A-Za-z0-9]+ and have length less than or equal to 64", in.Name)
	}
	if err := checkBus(in.EventBusName); err != nil {
		return nil, err
	}
	if in.State != "" && in.State != "ENABLED" && in.State != "DISABLED" {
		return nil, wire.Errorf("ValidationException", "State %q is neither ENABLED nor DISABLED", in.State)
	}
	tags := map[string]string{}
	for _, t := range in.Tags {
		tags[t.Key] = t.Value
	}
	if err := s.allow(ctx, req, "PutRule", in.Name, wire.TagConditions(tags)); err != nil {
		return nil, err
	}
	if len(tags) > 0 {
		if err := s.allow(ctx, req, "TagResource", in.Name, wire.TagConditions(tags)); err != nil {
			return nil, err
		}
	}
	if in.EventPattern == "" {
		return nil, wire.Errorf("ValidationException", "Parameter(s) EventPattern must be specified (schedules are not simulated).")
	}
	p, err := parsePattern(in.EventPattern)
	if errors.Is(err, errPattern) {
		return nil, wire.Errorf("InvalidEventPatternException", "Event pattern is not valid. Reason: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.rules[in.Name]
	if !ok {
		// Tags of a rule that exists are not changed by PutRule.
		r = &rule{name: in.Name, arn: s.arn(in.Name), tags: tags, targets: map[string]string{}}
		s.rules[in.Name] = r
	}
	r.description, r.pattern, r.text, r.roleARN, r.enabled = in.Description, p, in.EventPattern, in.RoleArn, in.State != "DISABLED"
	return struct{ RuleArn string }{r.arn}, nil
}

type ruleRef struct {
	Name         string
	EventBusName string
}

func (s *Service) describeRule(ctx context.Context, req *wire.Request, in *ruleRef) (any, error) {
	return s.withRule(ctx, req, in.Name, in.EventBusName, nil, func(r *rule) (any, error) {
		out := r.out()
		out.CreatedBy = s.Account
		return out, nil
	})
}

func (s *Service) deleteRule(ctx context.Context, req *wire.Request, in *struct {
	ruleRef
	Force bool
},
) (any, error) {
	out, err := s.withRule(ctx, req, in.Name, in.EventBusName, nil, func(r *rule) (any, error) {
		if len(r.targets) > 0 {
			return nil, wire.Errorf("ValidationException", "Rule can't be deleted since it has targets.")
		}
		delete(s.rules, r.name)
		return nil, nil
	})
	var e *wire.Error
	if errors.As(err, &e) && e.Code == "ResourceNotFoundException" && checkBus(in.EventBusName) == nil {
		return nil, nil // deleting what is not there succeeds
	}
	return out, err
}

func (s *Service) listRules(ctx context.Context, req *wire.Request, in *struct {
	NamePrefix, EventBusName, NextToken string
	Limit                               int
},
) (any, error) {
	if err := checkBus(in.EventBusName); err != nil {
		return nil, err
	}
	if err := s.allow(ctx, req, "ListRules", "*", nil); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rules := []ruleOut{}
	for _, name := range slices.Sorted(maps.Keys(s.rules)) {
		if strings.HasPrefix(name, in.NamePrefix) {
			rules = append(rules, s.rules[name].out())
		}
	}
	rules, next := wire.Page(rules, func(r ruleOut) string { return r.Name }, in.NextToken, limit(in.Limit))
	return struct {
		Rules     []ruleOut
		NextToken string `json:",omitempty"`
	}{rules, next}, nil
}

func limit(asked int) int {
	if asked <= 0 || asked > 100 {
		return 100
	}
	return asked
}

type failedTarget struct {
	TargetID                string `json:"TargetId"`
	ErrorCode, ErrorMessage string
}

type targetsOut struct {
	FailedEntryCount int
	FailedEntries    []failedTarget
}

func (s *Service) putTargets(ctx context.Context, req *wire.Request, in *struct {
	Rule, EventBusName string
	Targets            []target
},
) (any, error) {
	arns := make([]string, len(in.Targets))
	for i, t := range in.Targets {
		arns[i] = t.Arn
		if !strings.HasPrefix(t.Arn, "arn:aws:sqs:") {
			return nil, wire.Errorf("ValidationException", "Parameter %s is not valid. Reason: only SQS queues are simulated as targets.", t.Arn)
		}
		if !regexp.MustCompile(`^[.\-_A-Za-z0-9]{1,64}$`).MatchString(t.ID) {
			return nil, wire.Errorf("ValidationException", "1 validation error detected: Value '%s' at 'targets.member.id' failed to satisfy constraint: Member must satisfy regular expression pattern: [\\.\\-_A-Za-z0-9]+", t.ID)
		}
	}
	return s.withRule(ctx, req, in.Rule, in.EventBusName, map[string][]string{"events:TargetArn": arns}, func(r *rule) (any, error) {
		merged := maps.Clone(r.targets)
		for _, t := range in.Targets {
			merged[t.ID] = t.Arn
		}
		if len(merged) > maxTargets {
			return nil, wire.Errorf("LimitExceededException", "The requested resource exceeds the maximum number allowed.")
		}
		r.targets = merged
		return targetsOut{0, []failedTarget{}}, nil
	})
}

func (s *Service) removeTargets(ctx context.Context, req *wire.Request, in *struct {
	Rule, EventBusName string
	IDs                []string `json:"Ids"`
	Force              bool
},
) (any, error) {
	return s.withRule(ctx, req, in.Rule, in.EventBusName, nil, func(r *rule) (any, error) {
		out := targetsOut{0, []failedTarget{}}
		for _, id := range in.IDs {
			if _, ok := r.targets[id]; !ok {
				out.FailedEntries = append(out.FailedEntries, failedTarget{id, "ResourceNotFoundException", "Target " + id + " does not exist."})
			}
			delete(r.targets, id)
		}
		out.FailedEntryCount = len(out.FailedEntries)
		return out, nil
	})
}

type target struct {
	ID  string `json:"Id"`
	Arn string
}

func (s *Service) listTargets(ctx context.Context, req *wire.Request, in *struct {
	Rule, EventBusName, NextToken string
	Limit                         int
},
) (any, error) {
	return s.withRule(ctx, req, in.Rule, in.EventBusName, nil, func(r *rule) (any, error) {
		targets := []target{}
		for _, id := range slices.Sorted(maps.Keys(r.targets)) {
			targets = append(targets, target{id, r.targets[id]})
		}
		targets, next := wire.Page(targets, func(t target) string { return t.ID }, in.NextToken, limit(in.Limit))
		return struct {
			Targets   []target
			NextToken string `json:",omitempty"`
		}{targets, next}, nil
	})
}
