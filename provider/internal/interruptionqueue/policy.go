package interruptionqueue

import (
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/policydoc"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/validate"
)

// What users add to an interruption queue: a key of their own, and statements of its policy.

func queueKeyAttribute() schema.Attribute {
	return schema.StringAttribute{
		Optional: true,
		MarkdownDescription: "Id, alias or ARN of the KMS key that the queue is encrypted with. Without it, SQS's own keys are used. The policy of the key must allow `kms:GenerateDataKey` and " +
			"`kms:Decrypt` to the service `events.amazonaws.com`, or no event arrives. The daemon needs `queue_kms_key_arn` of `karpenter_controller_role`.",
		Validators: []validator.String{validate.Is(awsspec.CheckQueueKey)},
	}
}

func queueKeyReuseAttribute() schema.Attribute {
	return schema.Int64Attribute{
		Optional:            true,
		MarkdownDescription: "How long SQS uses one data key of `kms_key_id` before it asks KMS again, in seconds: 60 to 86400. Default 300.",
		Validators:          []validator.Int64{int64validator.Between(60, 86400), int64validator.AlsoRequires(path.MatchRoot("kms_key_id"))},
	}
}

func queueStatementsAttribute() schema.Attribute {
	return schema.ListAttribute{
		Optional: true, ElementType: types.StringType,
		MarkdownDescription: "Further statements of the queue's policy, in JSON: policy documents, such as `data.aws_iam_policy_document.<name>.json`, or single statements, such as `jsonencode({ Effect = \"Deny\", ... })`. " +
			"A statement without `Resource` is about the queue. A statement that others add to the policy is drift: the plan shows it here, and the next apply removes it.",
		Validators: []validator.List{listvalidator.SizeAtLeast(1), listvalidator.ValueStringsAre(validate.Is(awsspec.CheckQueueStatements))},
	}
}

// wantedPolicy is the policy of the queue with the ARN.
func (m interruptionQueueModel) wantedPolicy(arn, partition string) string {
	return awsspec.QueuePolicy(arn, partition, policydoc.StatementsOf(m.Further, true)...)
}

// foundKey sets the key to that of the live queue. SQS's default of the period is not shown
// where it is not set.
func (m *interruptionQueueModel) foundKey(found aws.Queue) {
	m.KMSKeyID = fwvalue.StringOrNull(found.KMSKeyID)
	if found.KMSKeyID == "" {
		m.KMSReuse = types.Int64Null()
	} else if !m.KMSReuse.IsNull() || found.KMSReuse != aws.DefaultKMSReuse {
		m.KMSReuse = types.Int64Value(int64(found.KMSReuse / time.Second))
	}
}

// foundPolicy sets the policy, and the further statements, to those of the live queue. Every
// statement that is not the provider's own is a further one.
func (m *interruptionQueueModel) foundPolicy(policy, partition string) {
	arn := m.ARN.ValueString()
	m.Policy = policydoc.PlanPolicy(m.Policy, policy)
	own := policydoc.LiveStatements(awsspec.QueuePolicy(arn, partition))
	live := slices.DeleteFunc(policydoc.LiveStatements(policy), func(s string) bool { return policydoc.HasStatement(own, s) })
	want := policydoc.LiveStatements(m.wantedPolicy(arn, partition))[len(own):]
	m.Further = keepStatements(m.Further, want, live, arn)
}

// keepStatements is the attribute of the live statements of a queue's policy. If they are the
// wanted ones, the attribute keeps its spelling.
func keepStatements(prior types.List, want, live []string, queueARN string) types.List {
	if len(want) == len(live) && !slices.ContainsFunc(want, func(s string) bool { return !policydoc.HasStatement(live, s) }) && (len(want) > 0 || prior.IsNull()) {
		return prior
	}
	if len(live) == 0 {
		return types.ListNull(types.StringType)
	}
	shown := make([]string, len(live))
	for i, s := range live {
		shown[i] = awsspec.StatementAbout(queueARN, s)
	}
	return fwvalue.ListValue(shown)
}
