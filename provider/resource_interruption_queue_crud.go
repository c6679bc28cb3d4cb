package provider

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// What the rules attribute says of a rule that is there but does not work.
const (
	ruleDisabled = "disabled"
	ruleNoTarget = "does not send to the queue"
)

func (m interruptionQueueModel) queue(policy string) aws.Queue {
	return aws.Queue{Name: m.Name.ValueString(), Policy: policy, MessageRetention: awsspec.QueueRetentionSeconds * time.Second, Tags: stringMap(m.TagsAll)}
}

// eventRules are the rules that the model asks of EventBridge.
func (m interruptionQueueModel) eventRules() []aws.Rule {
	var rules []aws.Rule
	for _, rule := range awsspec.EventRules(m.ClusterName.ValueString()) {
		rules = append(rules, aws.Rule{
			Name: rule.Name, Description: rule.Description, Pattern: rule.Pattern,
			TargetID: awsspec.QueueTargetID, TargetARN: m.ARN.ValueString(), Tags: stringMap(m.TagsAll),
		})
	}
	return rules
}

// Create makes the queue, lets EventBridge send to it, then makes the rules. It
// saves after the queue and after each rule.
func (r *interruptionQueue) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	plan, ok := get[interruptionQueueModel](ctx, req.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Create, queueTimeout)
	defer cancel()
	client, err := r.session.AWS(ctx)
	if err != nil {
		r.fail(&resp.Diagnostics, "create", plan, err)
		return
	}
	save := func() { r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, plan) }
	made, err := client.CreateQueue(ctx, plan.queue(""))
	if made.URL != "" {
		plan.URL, plan.ARN, plan.Policy = types.StringValue(made.URL), stringOrNull(made.ARN), types.StringNull()
		plan.Retention = types.Int64Value(awsspec.QueueRetentionSeconds)
		plan.Rules = mapValue(nil)
		save()
	}
	if err == nil {
		err = plan.openQueue(ctx, client, awsspec.Partition(client.Region()))
	}
	for _, rule := range plan.eventRules() {
		if err == nil {
			if _, err = client.CreateRule(ctx, rule); err == nil {
				plan.noteRule(rule)
			}
		}
	}
	if made.URL != "" {
		save()
	}
	if err != nil {
		r.fail(&resp.Diagnostics, "create", plan, err)
	}
}

// openQueue sets the policy, which names the queue's ARN and so comes second.
func (m *interruptionQueueModel) openQueue(ctx context.Context, client *aws.Clients, partition string) error {
	policy := awsspec.QueuePolicy(m.ARN.ValueString(), partition)
	if _, err := client.UpdateQueue(ctx, m.queue(""), m.queue(policy)); err != nil {
		return err
	}
	m.Policy = planJSON(m.Policy, policy)
	return nil
}

// noteRule records that a rule is as it is to be.
func (m *interruptionQueueModel) noteRule(rule aws.Rule) {
	rules := stringMap(m.Rules)
	if rules == nil {
		rules = map[string]string{}
	}
	rules[rule.Name] = rule.Pattern
	m.Rules = mapValue(rules)
}

// Read refreshes the queue and each rule.
func (r *interruptionQueue) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	state, ok := get[interruptionQueueModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	client, err := r.session.AWS(ctx)
	if err != nil {
		if !r.keepState(&resp.Diagnostics, err) {
			r.fail(&resp.Diagnostics, "read", state, err)
		}
		return
	}
	found, err := client.GetQueue(ctx, state.Name.ValueString())
	if errors.Is(err, aws.ErrNotFound) {
		resp.State.RemoveResource(ctx)
		return
	}
	if err == nil {
		state.ARN, state.URL = types.StringValue(found.ARN), types.StringValue(found.URL)
		state.Retention = types.Int64Value(int64(found.MessageRetention / time.Second))
		state.Policy = planJSON(state.Policy, found.Policy)
		state.Rules, err = state.readRules(ctx, client)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, "read", state, err)
		return
	}
	state.tagsModel = r.readTags(state.tagsModel, found.Tags)
	r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, state)
}

func (m interruptionQueueModel) readRules(ctx context.Context, client *aws.Clients) (types.Map, error) {
	found := map[string]string{}
	for _, want := range m.eventRules() {
		rule, err := client.GetRule(ctx, want.Name, want.TargetID)
		switch {
		case errors.Is(err, aws.ErrNotFound):
			continue
		case err != nil:
			return types.MapNull(types.StringType), err
		case !rule.Enabled:
			found[want.Name] = ruleDisabled
		case rule.TargetARN != want.TargetARN:
			found[want.Name] = ruleNoTarget
		case aws.SameJSON(rule.Pattern, want.Pattern):
			found[want.Name] = want.Pattern
		default:
			found[want.Name] = rule.Pattern
		}
	}
	return mapValue(found), nil
}

// Update takes queue and rules to the plan.
func (r *interruptionQueue) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	plan, prior, ok := planAndState[interruptionQueueModel](ctx, req, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Update, queueTimeout)
	defer cancel()
	client, err := r.session.AWS(ctx)
	if err != nil {
		r.fail(&resp.Diagnostics, "update", plan, err)
		return
	}
	policy := awsspec.QueuePolicy(prior.ARN.ValueString(), awsspec.Partition(client.Region()))
	if _, err = client.UpdateQueue(ctx, prior.queue(""), plan.queue(policy)); err == nil {
		plan.Policy = planJSON(plan.Policy, policy)
		err = mendRules(ctx, client, prior.eventRules(), plan.eventRules())
	}
	if err != nil {
		r.fail(&resp.Diagnostics, "update", plan, err)
		return
	}
	r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, plan)
}

// mendRules takes the rules to want and makes those that are gone. Both lists
// are of the same rules, in the same order.
func mendRules(ctx context.Context, client *aws.Clients, prior, want []aws.Rule) error {
	for i, rule := range want {
		_, err := client.UpdateRule(ctx, prior[i], rule)
		if errors.Is(err, aws.ErrNotFound) {
			_, err = client.CreateRule(ctx, rule)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Delete removes the rules, then the queue. A rule of that name that sends to
// something else is somebody else's.
func (r *interruptionQueue) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	state, ok := get[interruptionQueueModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, state.Timeouts.Delete, queueTimeout)
	defer cancel()
	client, err := r.session.AWS(ctx)
	if err != nil {
		r.fail(&resp.Diagnostics, "delete", state, err)
		return
	}
	for _, rule := range state.eventRules() {
		found, err := client.GetRule(ctx, rule.Name, rule.TargetID)
		// Without a target it is ours by its description: the target could not be
		// put, or was taken away.
		ours := found.TargetARN == rule.TargetARN && rule.TargetARN != "" || found.TargetARN == "" && found.Description == rule.Description
		if errors.Is(err, aws.ErrNotFound) || err == nil && !ours {
			continue
		}
		if err == nil {
			err = client.DeleteRule(ctx, rule.Name)
		}
		if err != nil {
			r.fail(&resp.Diagnostics, "delete", state, err)
			return
		}
	}
	if err := client.DeleteQueue(ctx, state.Name.ValueString()); err != nil {
		r.fail(&resp.Diagnostics, "delete", state, err)
	}
}
