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

// Rule is an EventBridge rule on the default bus, with the one target that its
// matching events go to.
type Rule struct {
	Name, Description string
	Pattern           string // JSON event pattern
	ARN               string // read only
	ID                string // EventBridge gives rules none: the value of a tag that CreateRule puts on, or a digest of a rule without the tag. As of a Role
	Enabled           bool   // read only: rules are created enabled, and updated to it
	TargetID          string // name of the target within the rule
	TargetARN         string // empty when read: the rule has no target of that id
	Tags              map[string]string
}

// ruleIDTag is the key of the tag that holds a rule's ID.
const ruleIDTag = "karpenterd.sh/id"

// CreateRule makes the rule, enabled, with its target. ErrConflict when a rule
// of that name exists. When the rule was made, or may have been, and a later step
// failed, the error comes with a Rule whose ID is set: that one is the caller's to
// remove.
func (c *Clients) CreateRule(ctx context.Context, want Rule) (Rule, error) {
	// PutRule would overwrite.
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
	sent := newSendings()
	arn, err := c.putRule(ctx, want, tags, sent.ofEvents)
	if err != nil {
		if sent.lost > 0 || !refused(err) {
			return want, err
		}
		return Rule{}, err
	}
	// PutRule changes what somebody made since the look, but not its tags.
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

// putRule sends tags only when it creates: on an existing rule they are ignored.
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

// GetRule reads the rule and its target of that id. ErrNotFound when there is
// no such rule.
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

// untagged begins the ID of a rule that has no tag for it: an imported one. Then
// the rule is known by what it says, until an update puts the tag on.
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

// UpdateRule takes the rule, its target and its tags to want; tags as in
// UpdateRole. A rule without an ID of its own gets one, which comes with an error
// too.
// ErrNotFound, ErrReplaced.
func (c *Clients) UpdateRule(ctx context.Context, prior, want Rule) (Rule, error) {
	have, err := c.GetRule(ctx, want.Name, want.TargetID)
	if err != nil {
		return Rule{}, err
	}
	if err := sameIfKnown(want.ID, have.ID); err != nil {
		return Rule{}, fmt.Errorf("event rule %q update: %w", want.Name, err)
	}
	marked := have
	if have.Unmarked() { // before anything by which it is known changes
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

// updateRule takes the rule from have to want.
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
	set, remove := tagChanges(prior.Tags, want.Tags, have.Tags)
	if len(set) > 0 {
		if _, err := c.events.TagResource(ctx, &eventbridge.TagResourceInput{ResourceARN: &have.ARN, Tags: eventsTags(set)}); err != nil {
			return wrap(err, "event rule %q tag", want.Name)
		}
	}
	if len(remove) > 0 {
		if _, err := c.events.UntagResource(ctx, &eventbridge.UntagResourceInput{ResourceARN: &have.ARN, TagKeys: remove}); err != nil {
			return wrap(err, "event rule %q untag", want.Name)
		}
	}
	return nil
}

// Unmarked tells whether the rule has no ID of its own; see Rule.
func (r Rule) Unmarked() bool { return strings.HasPrefix(r.ID, untagged) }

// DeleteRule removes the rule's targets, all of them, then the rule; what is
// gone is fine, and so is another of that name, which stays.
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
			return fmt.Errorf("event rule %q remove target %s: %s: %s", name, awssdk.ToString(f.TargetId), awssdk.ToString(f.ErrorCode), awssdk.ToString(f.ErrorMessage))
		}
	}
	_, err = c.events.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: &name})
	return unlessGone(wrap(err, "event rule %q delete", name))
}
