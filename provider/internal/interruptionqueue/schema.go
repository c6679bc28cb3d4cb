package interruptionqueue

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/policydoc"
)

const queueTimeout = 5 * time.Minute

type interruptionQueue struct {
	managed.Frame[interruptionQueueModel, *aws.Clients]
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
	managed.TagsModel
	managed.LimitsModel
}

func (m interruptionQueueModel) IDs() []string {
	return []string{m.ClusterName.ValueString(), m.Name.ValueString()}
}

// New is the resource, before its session is known.
func New() resource.Resource {
	r := &interruptionQueue{}
	r.Frame = managed.OnAWS(managed.Base{Kind: "interruption_queue", Keys: []string{"cluster_name", "name"}}, managed.Times{Create: queueTimeout, Update: queueTimeout, Delete: managed.InUseTimeout}, r)
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
			"cluster_name": managed.ClusterNameAttribute(),
			"name":         managed.NameAttribute("queue", "`<cluster_name>`", awsspec.QueueName, awsspec.CheckQueueName),
			"arn":          managed.ComputedString("ARN of the queue."),
			"url":          managed.ComputedString("URL of the queue."),
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
			"tags":     managed.TagsAttribute(),
			"tags_all": managed.TagsAllAttribute(),
			"timeouts": r.TimeoutsAttribute(ctx),
		},
	}
}

// ModifyPlan plans the attributes of the queue and the rules, so that the plan shows
// a change by somebody else as a difference.
func (r *interruptionQueue) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if r.Session == nil {
		return
	}
	ownership.PlanReplacement(ctx, req, resp)
	r.warnOfChange(ctx, req, resp)
	if req.Plan.Raw.IsNull() {
		return
	}
	r.PlanTags(ctx, resp)
	plan, ok := managed.Get[interruptionQueueModel](ctx, resp.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	set := func(name string, value any) {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(name), value)...)
	}
	region := r.PlanRegion(ctx, &resp.Diagnostics)
	set("message_retention_seconds", types.Int64Value(awsspec.QueueRetentionSeconds))
	set("encrypted", types.BoolValue(true))
	if !plan.ClusterName.IsUnknown() {
		set("rules", wantedRules(plan.ClusterName.ValueString()))
	}
	if req.State.Raw.IsNull() {
		return
	}
	prior, ok := managed.Get[interruptionQueueModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	plan.ARN = managed.KeepOrCreate(prior.ARN)
	set("arn", plan.ARN)
	set("url", managed.KeepOrCreate(prior.URL))
	switch {
	case plan.ARN.IsUnknown() || !fwvalue.WholeList(plan.Further):
		set("policy", types.StringUnknown())
	case region != "":
		set("policy", policydoc.PlanPolicy(prior.Policy, plan.wantedPolicy(plan.ARN.ValueString(), awsspec.Partition(region))))
	case prior.Name.Equal(plan.Name) && prior.Further.Equal(plan.Further):
		set("policy", prior.Policy)
	}
}

// warnOfChange says that the plan takes the queue from a daemon whose nodes run.
func (r *interruptionQueue) warnOfChange(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	prior, ok := managed.PriorOf[interruptionQueueModel](ctx, req, &resp.Diagnostics)
	if !ok {
		return
	}
	does, way := managed.PlanDestroys, managed.DestroyWaits+" "+failure.KeepQueue
	if !req.Plan.Raw.IsNull() {
		plan, ok := managed.Get[interruptionQueueModel](ctx, req.Plan, &resp.Diagnostics)
		if !ok || prior.Name.Equal(plan.Name) && prior.ClusterName.Equal(plan.ClusterName) {
			return
		}
		does, way = managed.PlanReplaces, "The daemon does not hear of interruptions until the new queue is created and the daemon has its name."
	}
	own, _ := ownership.Read(ctx, req.Private, &resp.Diagnostics)
	r.WarnOfUse(ctx, prior, does, way, &resp.Diagnostics, func(ctx context.Context, client *aws.Clients) (*managed.Need, error) {
		return prior.users(ctx, client, own)
	})
}

// wantedRules is the attribute rules when every rule is as declared.
func wantedRules(cluster string) types.Map {
	patterns := map[string]string{}
	for _, rule := range awsspec.EventRules(cluster) {
		patterns[rule.Name] = rule.Pattern
	}
	return fwvalue.MapValue(patterns)
}
