package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

const queueTimeout = 5 * time.Minute

type interruptionQueue struct {
	frame[interruptionQueueModel, *aws.Clients]
}

type interruptionQueueModel struct {
	ClusterName types.String `tfsdk:"cluster_name"`
	Name        types.String `tfsdk:"name"`
	ARN         types.String `tfsdk:"arn"`
	URL         types.String `tfsdk:"url"`
	Retention   types.Int64  `tfsdk:"message_retention_seconds"`
	Encrypted   types.Bool   `tfsdk:"encrypted"`
	KMSKeyID    types.String `tfsdk:"kms_key_id"`
	KMSReuse    types.Int64  `tfsdk:"kms_data_key_reuse_period_seconds"`
	Further     types.List   `tfsdk:"additional_policy_statements"`
	Policy      types.String `tfsdk:"policy"`
	Rules       types.Map    `tfsdk:"rules"`
	tagsModel
	limitsModel
}

func (m interruptionQueueModel) ids() []string {
	return []string{m.ClusterName.ValueString(), m.Name.ValueString()}
}

func newInterruptionQueue() resource.Resource {
	r := &interruptionQueue{}
	r.frame = onAWS(base{kind: "interruption_queue", keys: []string{"cluster_name", "name"}}, times{create: queueTimeout, update: queueTimeout, delete: inUseTimeout}, r)
	return r
}

// Schema describes the queue.
func (r *interruptionQueue) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The SQS queue of interruption events, and the EventBridge rules that fill it: spot interruption " +
			"warnings, rebalance recommendations, instance state changes, scheduled changes and capacity reservation " +
			"interruptions. The queue is encrypted with SQS's own keys, unless `kms_key_id` names one of yours, and accepts TLS only.\n\n" +
			"The queue is destroyed only when the cluster's node pools have no instance: a destroy waits for that. See the guide [Destroy without leftovers](../guides/destroy.md#what-waits-for-instances).",
		Attributes: map[string]schema.Attribute{
			"cluster_name": clusterNameAttribute(),
			"name":         nameAttribute("queue", "`<cluster_name>`", awsspec.QueueName, awsspec.CheckQueueName),
			"arn":          computedString("ARN of the queue."),
			"url":          computedString("URL of the queue."),
			"message_retention_seconds": schema.Int64Attribute{
				Computed: true, MarkdownDescription: "How long the queue keeps an event, in seconds: 300.",
			},
			"encrypted": schema.BoolAttribute{
				Computed: true, MarkdownDescription: "Whether SQS encrypts the messages: always `true`, with `kms_key_id` or else with SQS's own key. If somebody switches the encryption off, the next apply switches it on.",
			},
			"kms_key_id":                        queueKeyAttribute(),
			"kms_data_key_reuse_period_seconds": queueKeyReuseAttribute(),
			"additional_policy_statements":      queueStatementsAttribute(),
			"policy":                            schema.StringAttribute{Computed: true, MarkdownDescription: "Access policy (JSON) of the queue. It allows EventBridge to send messages, and has `additional_policy_statements`."},
			"rules": schema.MapAttribute{
				Computed: true, ElementType: types.StringType,
				MarkdownDescription: "Event patterns (JSON) of the EventBridge rules, by rule name.",
			},
			"tags":     tagsAttribute(),
			"tags_all": tagsAllAttribute(),
			"timeouts": r.timeoutsAttribute(ctx),
		},
	}
}

// ModifyPlan plans the attributes of the queue and the rules, so that the plan shows
// a change by somebody else as a difference.
func (r *interruptionQueue) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if r.session == nil {
		return
	}
	planReplacement(ctx, req, resp)
	r.warnOfChange(ctx, req, resp)
	if req.Plan.Raw.IsNull() {
		return
	}
	r.planTags(ctx, resp)
	plan, ok := get[interruptionQueueModel](ctx, resp.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	set := func(name string, value any) {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(name), value)...)
	}
	region := r.planRegion(ctx, &resp.Diagnostics)
	set("message_retention_seconds", types.Int64Value(awsspec.QueueRetentionSeconds))
	set("encrypted", types.BoolValue(true))
	if !plan.ClusterName.IsUnknown() {
		set("rules", wantedRules(plan.ClusterName.ValueString()))
	}
	if req.State.Raw.IsNull() {
		return
	}
	prior, ok := get[interruptionQueueModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	plan.ARN = keepOrCreate(prior.ARN)
	set("arn", plan.ARN)
	set("url", keepOrCreate(prior.URL))
	switch {
	case plan.ARN.IsUnknown() || !wholeList(plan.Further):
		set("policy", types.StringUnknown())
	case region != "":
		set("policy", planPolicy(prior.Policy, plan.wantedPolicy(plan.ARN.ValueString(), awsspec.Partition(region))))
	case prior.Name.Equal(plan.Name) && prior.Further.Equal(plan.Further):
		set("policy", prior.Policy)
	}
}

// warnOfChange says that the plan takes the queue from a daemon whose nodes run.
func (r *interruptionQueue) warnOfChange(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	prior, ok := priorOf[interruptionQueueModel](ctx, req, &resp.Diagnostics)
	if !ok {
		return
	}
	does, way := planDestroys, destroyWaits+" "+keepQueue
	if !req.Plan.Raw.IsNull() {
		plan, ok := get[interruptionQueueModel](ctx, req.Plan, &resp.Diagnostics)
		if !ok || prior.Name.Equal(plan.Name) && prior.ClusterName.Equal(plan.ClusterName) {
			return
		}
		does, way = planReplaces, "The daemon does not hear of interruptions until the new queue is created and the daemon has its name."
	}
	own, _ := readMade(ctx, req.Private, &resp.Diagnostics)
	r.warnOfUse(ctx, prior, does, way, &resp.Diagnostics, func(ctx context.Context, client *aws.Clients) (*need, error) {
		return prior.users(ctx, client, own)
	})
}

// wantedRules is the attribute rules when every rule is as declared.
func wantedRules(cluster string) types.Map {
	patterns := map[string]string{}
	for _, rule := range awsspec.EventRules(cluster) {
		patterns[rule.Name] = rule.Pattern
	}
	return mapValue(patterns)
}
