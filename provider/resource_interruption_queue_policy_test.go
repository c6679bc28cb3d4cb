package provider_test

import (
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

const (
	onlyOurOrg = `{"Sid":"OrgDeny","Effect":"Deny","Principal":"*","Action":"sqs:ReceiveMessage","Condition":{"StringNotEquals":{"aws:PrincipalOrgID":"o-1"}}}`
	auditors   = `{"Sid":"Audit","Effect":"Allow","Principal":{"AWS":"arn:aws:iam::123456789012:root"},"Action":"sqs:GetQueueAttributes"}`
)

// queueNow is the queue as SQS has it.
func (c *cloud) queueNow(t *testing.T) aws.Queue {
	t.Helper()
	found, err := c.clients.GetQueue(t.Context(), testCluster)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestInterruptionQueue_HasTheKeyAndTheStatementsThatAreDeclared(t *testing.T) {
	cloud := startCloud(t)
	queue := configured(t, cloud.config()).resource("karpenter_interruption_queue")
	with := object{
		"cluster_name": testCluster, "kms_key_id": "alias/mine", "kms_data_key_reuse_period_seconds": 600,
		"additional_policy_statements": list{`{"Version":"2012-10-17","Statement":[` + onlyOurOrg + `]}`, auditors},
	}
	without := object{"cluster_name": testCluster}
	wantNoError(t, queue.apply(with))
	queue.settled(with)
	found := cloud.queueNow(t)
	if found.KMSKeyID != "alias/mine" || found.KMSReuse != 10*time.Minute {
		t.Errorf("made %+v", found)
	}
	for _, part := range []string{"OrgDeny", "Audit", "EventRules", "OnlyTLS", `"Resource":"` + found.ARN + `"`} {
		if !strings.Contains(found.Policy, part) {
			t.Errorf("the policy lacks %s: %s", part, found.Policy)
		}
	}
	oneLess := object{"cluster_name": testCluster, "kms_key_id": "alias/mine", "additional_policy_statements": list{auditors}}
	wantNoError(t, queue.apply(oneLess))
	queue.settled(oneLess)
	if found = cloud.queueNow(t); found.KMSReuse != aws.DefaultKMSReuse || strings.Contains(found.Policy, "OrgDeny") {
		t.Errorf("after the removal of two attributes: %+v", found)
	}
	wantNoError(t, queue.apply(without))
	queue.settled(without)
	if found = cloud.queueNow(t); found.KMSKeyID != "" || !aws.SamePolicy(found.Policy, awsspec.QueuePolicy(found.ARN, "aws")) {
		t.Errorf("after the removal of all: %+v", found)
	}
	wantNoError(t, queue.apply(with))
	queue.settled(with)
}

// TestInterruptionQueue_AnImportShowsWhatTheConfigurationLacks imports a queue that somebody
// has given a key, and a policy with a statement and without ours.
func TestInterruptionQueue_AnImportShowsWhatTheConfigurationLacks(t *testing.T) {
	cloud := startCloud(t)
	h := configured(t, cloud.config())
	arn := cloud.SQS.ARN(testCluster)
	theirs := strings.Replace(onlyOurOrg, `"Action"`, `"Resource":"`+arn+`","Action"`, 1)
	if _, err := cloud.clients.CreateQueue(t.Context(), aws.Queue{
		Name: testCluster, KMSKeyID: "alias/mine", MessageRetention: 5 * time.Minute, Policy: awsspec.SingleStatement(theirs),
	}); err != nil {
		t.Fatal(err)
	}
	same := object{"cluster_name": testCluster, "kms_key_id": "alias/mine", "additional_policy_statements": list{onlyOurOrg}}
	copied, diags := h.imported("karpenter_interruption_queue", testCluster+","+testCluster)
	wantNoError(t, diags)
	if got := copied.text("kms_key_id"); got != "alias/mine" {
		t.Errorf("the state has the key %q", got)
	}
	copied.drifted(object{"cluster_name": testCluster, "kms_key_id": "alias/mine"}, "additional_policy_statements")
	copied.drifted(object{"cluster_name": testCluster, "additional_policy_statements": list{onlyOurOrg}}, "kms_key_id")
	wantNoError(t, copied.apply(same))
	copied.settled(same)
	if found := cloud.queueNow(t); found.KMSKeyID != "alias/mine" || !strings.Contains(found.Policy, "OrgDeny") || !strings.Contains(found.Policy, "OnlyTLS") {
		t.Errorf("after the apply: %+v", found)
	}
	// Once more, with what the configuration says already.
	again, diags := h.imported("karpenter_interruption_queue", testCluster+","+testCluster)
	wantNoError(t, diags)
	planned := again.planned(same)
	for _, attribute := range []string{"kms_key_id", "policy", "rules", "tags_all"} {
		if was, is := attributeOf(t, again.state, attribute), attributeOf(t, planned.value, attribute); !was.Equal(is) {
			t.Errorf("the plan changes %s from %s to %s", attribute, was, is)
		}
	}
}

func TestInterruptionQueue_AKeyAndStatementsOfSomebodyElseAreDrift(t *testing.T) {
	cloud := startCloud(t)
	queue := configured(t, cloud.config()).resource("karpenter_interruption_queue")
	config := object{"cluster_name": testCluster, "additional_policy_statements": list{auditors}}
	wantNoError(t, queue.apply(config))
	for name, drift := range map[string]struct {
		attribute string
		meddle    func(q *aws.Queue)
	}{
		"key":         {"kms_key_id", func(q *aws.Queue) { q.KMSKeyID = "alias/mine" }},
		"statement":   {"additional_policy_statements", func(q *aws.Queue) { q.Policy = awsspec.QueuePolicy(q.ARN, "aws", auditors, onlyOurOrg) }},
		"ours":        {"additional_policy_statements", func(q *aws.Queue) { q.Policy = strings.Replace(q.Policy, "sqs:SendMessage", "sqs:*", 1) }},
		"theirs gone": {"additional_policy_statements", func(q *aws.Queue) { q.Policy = awsspec.QueuePolicy(q.ARN, "aws") }},
		"all gone":    {"policy", func(q *aws.Queue) { q.Policy = "" }},
	} {
		t.Run(name, func(t *testing.T) {
			found := cloud.queueNow(t)
			meddled := found
			drift.meddle(&meddled)
			if _, err := cloud.clients.UpdateQueue(t.Context(), found, meddled); err != nil {
				t.Fatal(err)
			}
			queue.drifted(config, drift.attribute)
			wantNoError(t, queue.apply(config))
			queue.settled(config)
			if now := cloud.queueNow(t); now.KMSKeyID != "" || !aws.SamePolicy(now.Policy, found.Policy) {
				t.Errorf("not mended: %+v", now)
			}
		})
	}
}

func TestInterruptionQueue_RefusesAKeyOrAStatementThatCannotWork(t *testing.T) {
	h := newHarness(t)
	for name, bad := range map[string]struct {
		config object
		says   []string
	}{
		"key of AWS":     {object{"kms_key_id": "alias/aws/sqs"}, []string{"kms_key_id", "EventBridge"}},
		"no key":         {object{"kms_key_id": "a key"}, []string{"kms_key_id", "alias/interruptions"}},
		"period alone":   {object{"kms_data_key_reuse_period_seconds": 300}, []string{"kms_key_id"}},
		"period":         {object{"kms_key_id": "alias/mine", "kms_data_key_reuse_period_seconds": 59}, []string{"between 60 and 86400"}},
		"no JSON":        {object{"additional_policy_statements": list{"Deny"}}, []string{"additional_policy_statements", "jsonencode"}},
		"our statement":  {object{"additional_policy_statements": list{`{"Sid":"OnlyTLS","Effect":"Allow","Principal":"*","Action":"sqs:*"}`}}, []string{`"OnlyTLS"`, "another one"}},
		"of an identity": {object{"additional_policy_statements": list{`{"Effect":"Allow","Action":"sqs:*"}`}}, []string{"Principal"}},
	} {
		bad.config["cluster_name"] = testCluster
		t.Run(name, func(t *testing.T) { wantError(t, h.validate("karpenter_interruption_queue", bad.config), bad.says...) })
	}
}
