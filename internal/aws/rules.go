package aws

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventstypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
)

// Rule is an EventBridge rule on the default bus, with one target for the events that
// match.
type Rule struct {
	Name, Description string
	Pattern           string // JSON event pattern
	ARN               string // read only
	ID                string // EventBridge gives a rule no id: this is the value of a tag that CreateRule sets, or a digest of a rule without that tag. Used like that of a Role
	Enabled           bool   // read only: CreateRule and UpdateRule enable the rule
	TargetID          string // name of the target within the rule
	TargetARN         string // empty when read if the rule has no target with TargetID
	Tags              map[string]string
}

// ruleIDTag is the key of the tag that holds a rule's ID.
const ruleIDTag = "karpenterd.sh/id"

// CreateRule makes the rule, enabled, with its target. Error: ErrConflict if a rule of
// that name exists. If the rule was made, or may have been made, and a later step failed,
// the error comes with a Rule whose ID is set, and the caller must delete that rule.
func (c *Clients) CreateRule(ctx context.Context, want Rule) (Rule, error) {
	// PutRule would overwrite an existing rule.
	switch _, err := c.GetRule(ctx, want.Name, want.TargetID); {
	case err == nil:
		return Rule{}, fmt.Errorf("event rule %q create: %w", want.Name, ErrConflict)
	case !errors.Is(err, ErrNotFound):
		return Rule{}, err
	}
	tags := maps.Clone(want.Tags)
	if want.ID != "" {
		if tags == nil {
			tags = map[string]string{}
		}
		tags[ruleIDTag] = want.ID
	}
	sent := c.newSendings()
	arn, err := c.putRule(ctx, want, tags, sent.ofEvents)
	if err != nil {
		if sent.mayHaveDone(err) {
			return want, err
		}
		return Rule{}, err
	}
	// PutRule overwrites a rule that somebody made since the check above, but not its tags.
	if have, err := c.GetRule(ctx, want.Name, want.TargetID); err == nil && want.ID != "" && have.ID != want.ID {
		return Rule{}, fmt.Errorf("event rule %q create: %w", want.Name, ErrConflict)
	}
	want.ARN, want.Enabled = arn, true
	if err := c.putTarget(ctx, want); err != nil {
		made := want
		made.TargetARN = ""
		return made, err
	}
	return want, nil
}

// putRule creates or overwrites the rule. EventBridge ignores the tags for an existing
// rule.
func (c *Clients) putRule(ctx context.Context, want Rule, tags map[string]string, options ...func(*eventbridge.Options)) (arn string, err error) {
	out, err := c.events.PutRule(ctx, &eventbridge.PutRuleInput{
		Name: &want.Name, Description: optional(want.Description), EventPattern: &want.Pattern,
		State: eventstypes.RuleStateEnabled, Tags: eventsTags(tags),
	}, options...)
	if err != nil {
		return "", wrap(err, "event rule %q put", want.Name)
	}
	return awssdk.ToString(out.RuleArn), nil
}

func (c *Clients) putTarget(ctx context.Context, want Rule) error {
	out, err := c.events.PutTargets(ctx, &eventbridge.PutTargetsInput{
		Rule: &want.Name, Targets: []eventstypes.Target{{Id: &want.TargetID, Arn: &want.TargetARN}},
	})
	if err != nil {
		return wrap(err, "event rule %q put target", want.Name)
	}
	for _, f := range out.FailedEntries {
		return fmt.Errorf("event rule %q put target %s: %s: %s", want.Name, want.TargetARN, awssdk.ToString(f.ErrorCode), awssdk.ToString(f.ErrorMessage))
	}
	return nil
}

// GetRule reads the rule and its target with the id. Error: ErrNotFound if the rule does
// not exist.
func (c *Clients) GetRule(ctx context.Context, name, targetID string) (Rule, error) {
	out, err := c.events.DescribeRule(ctx, &eventbridge.DescribeRuleInput{Name: &name})
	if err != nil {
		return Rule{}, wrap(err, "event rule %q read", name)
	}
	rule := Rule{
		Name: name, Description: awssdk.ToString(out.Description), Pattern: awssdk.ToString(out.EventPattern),
		ARN: awssdk.ToString(out.Arn), Enabled: out.State != eventstypes.RuleStateDisabled, TargetID: targetID,
	}
	targets, err := c.targets(ctx, name)
	if err != nil {
		return Rule{}, err
	}
	for _, t := range targets {
		if awssdk.ToString(t.Id) == targetID {
			rule.TargetARN = awssdk.ToString(t.Arn)
		}
	}
	tags, err := c.events.ListTagsForResource(ctx, &eventbridge.ListTagsForResourceInput{ResourceARN: &rule.ARN})
	if err != nil {
		return Rule{}, wrap(err, "event rule %q read tags", name)
	}
	rule.Tags = fromEventsTags(tags.Tags)
	if rule.ID = rule.Tags[ruleIDTag]; rule.ID == "" {
		rule.ID = digestOf(rule, targets)
	}
	delete(rule.Tags, ruleIDTag)
	return rule, nil
}

// untagged is the prefix of the ID of a rule without the tag: an imported rule. Its ID is
// a digest of its content until an update sets the tag.
const untagged = "untagged/"

func digestOf(rule Rule, targets []eventstypes.Target) string {
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%q %q", rule.ARN, rule.Pattern)
	var all []string
	for _, t := range targets {
		all = append(all, fmt.Sprintf(" %q %q", awssdk.ToString(t.Id), awssdk.ToString(t.Arn)))
	}
	slices.Sort(all)
	_, _ = fmt.Fprint(sum, all)
	return untagged + hex.EncodeToString(sum.Sum(nil)[:12])
}

func (c *Clients) targets(ctx context.Context, rule string) ([]eventstypes.Target, error) {
	var all []eventstypes.Target
	in := &eventbridge.ListTargetsByRuleInput{Rule: &rule}
	for {
		out, err := c.events.ListTargetsByRule(ctx, in)
		if err != nil {
			return nil, wrap(err, "event rule %q list targets", rule)
		}
		all = append(all, out.Targets...)
		if in.NextToken = out.NextToken; in.NextToken == nil {
			return all, nil
		}
	}
}

// UpdateRule changes the rule, its target and its tags to want; tags as in UpdateRole. A
// rule without an ID of its own gets one; the result has that ID even with an error.
// Errors: ErrNotFound, ErrReplaced.
func (c *Clients) UpdateRule(ctx context.Context, prior, want Rule) (Rule, error) {
	have, err := c.GetRule(ctx, want.Name, want.TargetID)
	if err != nil {
		return Rule{}, err
	}
	if err := sameIfKnown(want.ID, have.ID); err != nil {
		return Rule{}, fmt.Errorf("event rule %q update: %w", want.Name, err)
	}
	marked := have
	if have.Unmarked() { // first, because the digest changes with the content
		marked.ID = rand.Text()
		mark := eventsTags(map[string]string{ruleIDTag: marked.ID})
		if _, err := c.events.TagResource(ctx, &eventbridge.TagResourceInput{ResourceARN: &have.ARN, Tags: mark}); err != nil {
			return Rule{}, wrap(err, "event rule %q tag", want.Name)
		}
	}
	if err := c.updateRule(ctx, prior, want, have); err != nil {
		return marked, err
	}
	if have, err = c.GetRule(ctx, want.Name, want.TargetID); err != nil {
		return marked, err
	}
	return have, nil
}

// updateRule changes the rule from have to want.
func (c *Clients) updateRule(ctx context.Context, prior, want, have Rule) error {
	if !have.Enabled || have.Description != want.Description || !SameJSON(have.Pattern, want.Pattern) {
		if _, err := c.putRule(ctx, want, nil); err != nil {
			return err
		}
	}
	if have.TargetARN != want.TargetARN {
		if err := c.putTarget(ctx, want); err != nil {
			return err
		}
	}
	return c.syncTags(prior.Tags, want.Tags, have.Tags, func(set map[string]string) error {
		_, err := c.events.TagResource(ctx, &eventbridge.TagResourceInput{ResourceARN: &have.ARN, Tags: eventsTags(set)})
		return wrap(err, "event rule %q tag", want.Name)
	}, func(keys []string) error {
		_, err := c.events.UntagResource(ctx, &eventbridge.UntagResourceInput{ResourceARN: &have.ARN, TagKeys: keys})
		return wrap(err, "event rule %q untag", want.Name)
	})
}

// Unmarked reports whether the rule has no ID of its own; see Rule.
func (r Rule) Unmarked() bool { return strings.HasPrefix(r.ID, untagged) }

// DeleteRule removes all targets of the rule, and then deletes the rule. It is no error if
// the rule is gone, or if another rule has its name: that rule stays.
func (c *Clients) DeleteRule(ctx context.Context, name, id string) error {
	have, err := beforeDelete(ctx, c, func() (Rule, error) { return c.GetRule(ctx, name, "") })
	if err != nil {
		return unlessGone(err)
	}
	if !known(id, have.ID) {
		return nil
	}
	targets, err := c.targets(ctx, name)
	if err != nil {
		return unlessGone(err)
	}
	if len(targets) > 0 {
		var ids []string
		for _, t := range targets {
			ids = append(ids, awssdk.ToString(t.Id))
		}
		out, err := c.events.RemoveTargets(ctx, &eventbridge.RemoveTargetsInput{Rule: &name, Ids: ids})
		if err != nil {
			return unlessGone(wrap(err, "event rule %q remove targets", name))
		}
		for _, f := range out.FailedEntries {
			if isNotFound(awssdk.ToString(f.ErrorCode)) {
				continue // an earlier try has removed it
			}
			return fmt.Errorf("event rule %q remove target %s: %s: %s", name, awssdk.ToString(f.TargetId), awssdk.ToString(f.ErrorCode), awssdk.ToString(f.ErrorMessage))
		}
	}
	_, err = c.events.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: &name})
	return unlessGone(wrap(err, "event rule %q delete", name))
}
