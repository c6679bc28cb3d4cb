package interruptionqueue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/policydoc"
)

// The value, in the attribute rules, of a rule that exists but does not work, or is not as declared.
const (
	ruleDisabled = "disabled"
	ruleNoTarget = "does not send to the queue"
	ruleUnmarked = "imported, not marked yet"
	ruleRetold   = "has another description"
)

func (m interruptionQueueModel) queue(policy string) aws.Queue {
	return aws.Queue{
		Name: m.Name.ValueString(), Policy: policy, MessageRetention: awsspec.QueueRetentionSeconds * time.Second, Tags: fwvalue.StringMap(m.TagsAll),
		KMSKeyID: m.KMSKeyID.ValueString(), KMSReuse: time.Duration(m.KMSReuse.ValueInt64()) * time.Second,
	}
}

// The keys of an interruption queue in the record.
const (
	madeQueue = "queue" // its identity: ARN and second of creation
	madeRule  = "rule/" // followed by the rule's name; its identity: the id in its tag
)

// eventRules are the rules that the model asks EventBridge for. Each has the id of
// the rule that was made.
func (m interruptionQueueModel) eventRules(own ownership.Record) []aws.Rule {
	var rules []aws.Rule
	for _, rule := range awsspec.EventRules(m.ClusterName.ValueString()) {
		rules = append(rules, aws.Rule{
			Name: rule.Name, Description: rule.Description, Pattern: rule.Pattern, ID: own[madeRule+rule.Name],
			TargetID: awsspec.QueueTargetID, TargetARN: m.ARN.ValueString(), Tags: fwvalue.StringMap(m.TagsAll),
		})
	}
	return rules
}

func (r *interruptionQueue) Make(ctx context.Context, j managed.Job[*aws.Clients], plan *interruptionQueueModel) error {
	return plan.create(ctx, j.Client, j.Own)
}

func (r *interruptionQueue) Change(ctx context.Context, j managed.Job[*aws.Clients], plan *interruptionQueueModel, prior interruptionQueueModel) error {
	return plan.update(ctx, j.Client, prior, j.Own)
}

// Remove waits until no instance can be interrupted that the daemon should hear of.
func (r *interruptionQueue) Remove(ctx context.Context, j managed.Job[*aws.Clients], state interruptionQueueModel) error {
	err := managed.AwaitUnused(ctx, j, "queue "+state.Name.ValueString(), func(ctx context.Context, client *aws.Clients) (*managed.Need, error) {
		return state.users(ctx, client, j.Own)
	})
	if err != nil {
		return err
	}
	return state.remove(ctx, j.Client, j.Own)
}

// TakeBack removes queue and rules at once.
func (r *interruptionQueue) TakeBack(ctx context.Context, j managed.Job[*aws.Clients], plan interruptionQueueModel) error {
	return plan.remove(ctx, j.Client, j.Own)
}

// Observe refreshes the queue and each rule. The queue may be gone or replaced by somebody
// else, while our rules still exist. It then has no ARN in the state, and the next apply
// makes it again.
func (r *interruptionQueue) Observe(ctx context.Context, j managed.Job[*aws.Clients], state *interruptionQueueModel) (bool, error) {
	found, err := j.Client.GetQueue(ctx, state.Name.ValueString())
	if err == nil && !j.Recorded {
		j.Own[madeQueue] = found.ID
	}
	if errors.Is(err, aws.ErrNotFound) || err == nil && !j.Own.Is(madeQueue, found.ID) {
		found, err = aws.Queue{}, nil
		delete(j.Own, madeQueue)
	}
	if err == nil {
		err = state.refresh(ctx, j.Client, found, j.Own, j.Recorded)
	}
	if found.ARN != "" {
		state.TagsModel = r.ReadTags(state.TagsModel, found.Tags)
	}
	return len(j.Own) > 0, err
}

// create makes the queue and the rules, and notes them in own.
func (m *interruptionQueueModel) create(ctx context.Context, client *aws.Clients, own ownership.Record) error {
	m.Policy, m.Rules = types.StringNull(), fwvalue.MapValue(nil)
	m.Retention, m.Encrypted = types.Int64Value(awsspec.QueueRetentionSeconds), types.BoolValue(true)
	if err := m.createQueue(ctx, client, own); err != nil {
		return err
	}
	return m.mendRules(ctx, client, nil, own)
}

// createQueue makes the queue with its policy. The policy contains the queue's ARN, and so
// the account. If STS does not tell the account, the policy is set afterwards, and SQS may
// take a minute to follow.
func (m *interruptionQueueModel) createQueue(ctx context.Context, client *aws.Clients, own ownership.Record) error {
	atOnce, partition := "", awsspec.Partition(client.Region())
	if who, err := client.Identity(ctx); err == nil {
		atOnce = m.wantedPolicy(awsspec.QueueARN(partition, client.Region(), who.Account, m.Name.ValueString()), partition)
	}
	queue, err := client.CreateQueue(ctx, m.queue(atOnce))
	queue, err = aws.Finish(queue, err, func() (aws.Queue, error) { return client.FinishQueue(ctx, m.queue(atOnce)) },
		func(q aws.Queue) { own.TakeUp(madeQueue, q.ID, fmt.Sprintf("queue %q", q.Name)) })
	m.URL, m.ARN = fwvalue.StringOrNull(queue.URL), fwvalue.StringOrNull(queue.ARN)
	if queue.ID != "" {
		own[madeQueue] = queue.ID
	}
	if err != nil {
		return err
	}
	policy := m.wantedPolicy(m.ARN.ValueString(), partition)
	if !aws.SamePolicy(queue.Policy, policy) {
		want := m.queue(policy)
		want.ID = own[madeQueue]
		if _, err := client.UpdateQueue(ctx, m.queue(""), want); err != nil {
			return err
		}
	}
	m.Policy = policydoc.PlanPolicy(m.Policy, policy)
	return nil
}

// mendRules updates the rules and makes the missing ones. prior has the rules as
// they were before, in the same order; nil if there were none.
func (m *interruptionQueueModel) mendRules(ctx context.Context, client *aws.Clients, prior []aws.Rule, own ownership.Record) error {
	for i, rule := range m.eventRules(own) {
		name, err := madeRule+rule.Name, aws.ErrNotFound
		if own[name] != "" {
			var updated aws.Rule
			if updated, err = client.UpdateRule(ctx, prior[i], rule); updated.ID != "" {
				own[name] = updated.ID
			}
		}
		if errors.Is(err, aws.ErrNotFound) {
			rule.ID = rand.Text()
			var created aws.Rule
			created, err = client.CreateRule(ctx, rule)
			created, err = aws.Finish(created, err, func() (aws.Rule, error) { return client.FinishRule(ctx, rule) },
				func(left aws.Rule) { own.TakeUp(name, left.ID, fmt.Sprintf("event rule %q", left.Name)) })
			if created.ID != "" {
				own[name] = created.ID
			}
		}
		if err != nil {
			return err
		}
		m.noteRule(rule)
	}
	return nil
}

// noteRule records in the model that a rule is as declared.
func (m *interruptionQueueModel) noteRule(rule aws.Rule) {
	rules := fwvalue.StringMap(m.Rules)
	if rules == nil {
		rules = map[string]string{}
	}
	rules[rule.Name] = rule.Pattern
	m.Rules = fwvalue.MapValue(rules)
}

// remove removes the rules, then the queue. It goes on if a rule cannot be removed.
func (m *interruptionQueueModel) remove(ctx context.Context, client *aws.Clients, own ownership.Record) error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(own)) {
		rule, isRule := strings.CutPrefix(name, madeRule)
		if !isRule {
			continue
		}
		if err := client.DeleteRule(ctx, rule, own[name]); err != nil {
			faults = append(faults, err)
			continue
		}
		delete(own, name)
	}
	if id, ours := own[madeQueue]; ours {
		if err := client.DeleteQueue(ctx, m.Name.ValueString(), id); err != nil {
			return errors.Join(append(faults, err)...)
		}
		delete(own, madeQueue)
	}
	return errors.Join(faults...)
}

// refresh sets the model to the live queue and rules. A queue that is gone has no
// ARN.
func (m *interruptionQueueModel) refresh(ctx context.Context, client *aws.Clients, found aws.Queue, own ownership.Record, recorded bool) error {
	m.ARN, m.URL = fwvalue.StringOrNull(found.ARN), fwvalue.StringOrNull(found.URL)
	if found.ARN != "" {
		m.Retention, m.Encrypted = types.Int64Value(int64(found.MessageRetention/time.Second)), types.BoolValue(!found.Unencrypted)
		m.foundKey(found)
		m.foundPolicy(found.Policy, awsspec.Partition(client.Region()))
	}
	rules := map[string]string{}
	for _, want := range m.eventRules(own) {
		rule, err := client.GetRule(ctx, want.Name, want.TargetID)
		sends := rule.TargetARN == want.TargetARN && want.TargetARN != ""
		// If nothing is recorded yet, a rule that sends to our queue is ours.
		if err == nil && !recorded && sends {
			own[madeRule+want.Name] = rule.ID
		}
		switch {
		case errors.Is(err, aws.ErrNotFound), err == nil && !own.Is(madeRule+want.Name, rule.ID):
			delete(own, madeRule+want.Name)
			continue
		case err != nil:
			return err
		}
		m.TellApart(found.Tags, rule.Tags)
		switch {
		case rule.Unmarked():
			rules[want.Name] = ruleUnmarked
		case !rule.Enabled:
			rules[want.Name] = ruleDisabled
		case !sends:
			rules[want.Name] = ruleNoTarget
		case rule.Description != want.Description:
			rules[want.Name] = ruleRetold
		case aws.SameJSON(rule.Pattern, want.Pattern):
			rules[want.Name] = want.Pattern
		default:
			rules[want.Name] = rule.Pattern
		}
	}
	m.Rules = fwvalue.MapValue(rules)
	return nil
}

func (m *interruptionQueueModel) update(ctx context.Context, client *aws.Clients, prior interruptionQueueModel, own ownership.Record) error {
	if own[madeQueue] == "" {
		if err := m.createQueue(ctx, client, own); err != nil {
			return err
		}
	} else {
		arn, _, _ := strings.Cut(own[madeQueue], "@")
		want := m.queue(m.wantedPolicy(arn, awsspec.Partition(client.Region())))
		want.ID = own[madeQueue]
		queue, err := client.UpdateQueue(ctx, prior.queue(""), want)
		if err != nil {
			return err
		}
		m.ARN, m.URL = types.StringValue(queue.ARN), types.StringValue(queue.URL)
		m.Policy = policydoc.PlanPolicy(m.Policy, want.Policy)
	}
	return m.mendRules(ctx, client, prior.eventRules(own), own)
}

// users finds the instances whose interruptions the daemon hears of by the queue. A queue
// that is replaced loses the events between the two, and the rules have to change over: the
// old queue goes first, whatever runs.
func (m interruptionQueueModel) users(ctx context.Context, client *aws.Clients, own ownership.Record) (*managed.Need, error) {
	if own[madeQueue] == "" || own[ownership.KeyReplaced] != "" {
		return nil, nil
	}
	cluster := m.ClusterName.ValueString()
	instances, err := client.PoolInstances(ctx, cluster)
	if err != nil || len(instances) == 0 {
		return nil, err
	}
	why := fmt.Sprintf("the node pools of cluster %q have %s", cluster, aws.InstancesText(instances))
	return &managed.Need{Why: why, Refuse: fmt.Errorf("%w (nothing was changed): %s", failure.ErrQueueInUse, why)}, nil
}
