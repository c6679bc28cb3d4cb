package awssim_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	pricingtypes "github.com/aws/aws-sdk-go-v2/service/pricing/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ekssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/iamsim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

const queueARN = "arn:aws:sqs:us-west-2:123456789012:lab"

// role makes a role with one inline policy and a configuration that acts as it.
func (w *world) role(t *testing.T, name, document string) aws.Config {
	t.Helper()
	ctx := context.Background()
	c := iam.NewFromConfig(w.admin)
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::123456789012:root"},"Action":"sts:AssumeRole"}]}`
	out := must(c.CreateRole(ctx, &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: &trust}))(t)
	must(c.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: &name, PolicyName: aws.String("p"), PolicyDocument: &document}))(t)
	got := must(sts.NewFromConfig(w.admin).AssumeRole(ctx, &sts.AssumeRoleInput{RoleArn: out.Role.Arn, RoleSessionName: aws.String("test")}))(t)
	return w.config(iamsim.Credential{
		AccessKeyID: *got.Credentials.AccessKeyId, SecretAccessKey: *got.Credentials.SecretAccessKey, SessionToken: *got.Credentials.SessionToken,
	})
}

func TestSQS_MessagesAreHiddenThenShownAgainUntilDeleted(t *testing.T) {
	w := start(t)
	ctx := context.Background()
	c := sqs.NewFromConfig(w.admin)
	created := must(c.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("lab"), Attributes: map[string]string{"MessageRetentionPeriod": "300"}, Tags: map[string]string{"a": "1"}}))(t)
	url := created.QueueUrl
	_, err := c.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("lab"), Attributes: map[string]string{"MessageRetentionPeriod": "600"}})
	wantCode(t, err, "QueueAlreadyExists")
	must(c.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("one")}))(t)
	receive := func(wait, hide int32) []sqstypes.Message {
		return must(c.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: url, MaxNumberOfMessages: 10, WaitTimeSeconds: wait, VisibilityTimeout: hide,
			MessageSystemAttributeNames: []sqstypes.MessageSystemAttributeName{"All"},
		}))(t).Messages
	}
	first := receive(0, 1)
	if len(first) != 1 || *first[0].Body != "one" || first[0].Attributes["ApproximateReceiveCount"] != "1" {
		t.Fatalf("received %+v", first)
	}
	if again := receive(0, 1); len(again) != 0 {
		t.Fatalf("a hidden message was received: %+v", again)
	}
	second := receive(5, 20)
	if len(second) != 1 || second[0].Attributes["ApproximateReceiveCount"] != "2" {
		t.Fatalf("received %+v, want the message shown again", second)
	}
	attributes := must(c.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: url, AttributeNames: []sqstypes.QueueAttributeName{"All"}}))(t).Attributes
	if attributes["QueueArn"] != queueARN || attributes["ApproximateNumberOfMessagesNotVisible"] != "1" || attributes["MessageRetentionPeriod"] != "300" {
		t.Errorf("attributes are %v", attributes)
	}
	deleted := must(c.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: url, Entries: []sqstypes.DeleteMessageBatchRequestEntry{
		{Id: aws.String("0"), ReceiptHandle: second[0].ReceiptHandle}, {Id: aws.String("1"), ReceiptHandle: aws.String("nonsense")},
	}}))(t)
	if len(deleted.Successful) != 1 || len(deleted.Failed) != 1 || *deleted.Failed[0].Code != "ReceiptHandleIsInvalid" {
		t.Errorf("batch gave %+v", deleted)
	}
	_, err = c.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("other")})
	wantCode(t, err, "AWS.SimpleQueueService.NonExistentQueue")
	var typed *sqstypes.QueueDoesNotExist
	if !errors.As(err, &typed) {
		t.Errorf("error is %T, want QueueDoesNotExist", err)
	}
	if tags := must(c.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: url}))(t).Tags; tags["a"] != "1" {
		t.Errorf("tags are %v", tags)
	}
	_, err = sqs.NewFromConfig(w.role(t, "Nobody", allowing("sqs:GetQueueUrl"))).DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: url})
	wantCode(t, err, "AccessDenied")
	must(c.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: url}))(t)
}

func allowing(action string) string {
	return `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"` + action + `","Resource":"*"}]}`
}

func TestSQS_LongPollEndsWhenAMessageComes(t *testing.T) {
	w := start(t)
	ctx := context.Background()
	c := sqs.NewFromConfig(w.admin)
	url := must(c.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("lab")}))(t).QueueUrl
	got := make(chan int)
	go func() {
		out, err := c.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: 20})
		if err != nil {
			got <- -1
			return
		}
		got <- len(out.Messages)
	}()
	must(c.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("x")}))(t)
	select {
	case n := <-got:
		if n != 1 {
			t.Errorf("received %d messages", n)
		}
	case <-time.After(time.Minute):
		t.Error("the poll went on after a message had come")
	}
}

func TestEvents_NoRuleOrNoPermissionMeansNoMessage(t *testing.T) {
	w := start(t)
	ctx := context.Background()
	queues, events := sqs.NewFromConfig(w.admin), eventbridge.NewFromConfig(w.admin)
	url := must(queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("lab")}))(t).QueueUrl
	rule := aws.String("Spot")
	warn := func() []sqstypes.Message {
		w.Events.Put(ctx, wire.Event{
			Source: "aws.ec2", DetailType: "EC2 Spot Instance Interruption Warning", Time: time.Now(),
			Resources: []string{"arn:aws:ec2:us-west-2:123456789012:instance/i-1"}, Detail: map[string]string{"instance-id": "i-1", "instance-action": "terminate"},
		})
		return must(queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url}))(t).Messages
	}
	setPolicy := func(policy string) {
		must(queues.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: url, Attributes: map[string]string{"Policy": policy}}))(t)
	}
	allow := `{"Effect":"Allow","Principal":{"Service":["events.amazonaws.com","sqs.amazonaws.com"]},"Action":"sqs:SendMessage","Resource":"` + queueARN + `"}`
	tls := `{"Sid":"DenyHTTP","Effect":"Deny","Principal":"*","Action":"sqs:*","Resource":"` + queueARN + `","Condition":{"Bool":{"aws:SecureTransport":"false"}}}`
	queuePolicy := `{"Version":"2008-10-17","Id":"EC2InterruptionPolicy","Statement":[` + allow + `,` + tls + `]}`

	setPolicy(queuePolicy)
	if got := warn(); len(got) != 0 {
		t.Fatalf("without a rule: %+v", got)
	}
	must(events.PutRule(ctx, &eventbridge.PutRuleInput{Name: rule, EventPattern: aws.String(`{"source":["aws.ec2"],"detail-type":["EC2 Spot Instance Interruption Warning"]}`)}))(t)
	if got := warn(); len(got) != 0 {
		t.Fatalf("without a target: %+v", got)
	}
	must(events.PutTargets(ctx, &eventbridge.PutTargetsInput{Rule: rule, Targets: []eventtypes.Target{{Id: aws.String("q"), Arn: aws.String(queueARN)}}}))(t)
	setPolicy("")
	if got := warn(); len(got) != 0 {
		t.Fatalf("without permission: %+v", got)
	}
	setPolicy(queuePolicy)
	got := warn()
	if len(got) != 1 {
		t.Fatalf("received %d messages, want 1", len(got))
	}
	var event struct {
		Version, ID, Source, Account, Region string
		DetailType                           string `json:"detail-type"`
		Detail                               map[string]string
	}
	if err := json.Unmarshal([]byte(*got[0].Body), &event); err != nil {
		t.Fatal(err)
	}
	if event.Version != "0" || event.Source != "aws.ec2" || event.Detail["instance-id"] != "i-1" || event.ID == "" {
		t.Errorf("event is %+v", event)
	}
	must(events.PutRule(ctx, &eventbridge.PutRuleInput{Name: rule, EventPattern: aws.String(`{"source":["aws.ec2"]}`), State: eventtypes.RuleStateDisabled}))(t)
	if got := warn(); len(got) != 0 {
		t.Fatalf("with the rule disabled: %+v", got)
	}

	_, err := events.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: rule})
	wantCode(t, err, "ValidationException")
	must(events.RemoveTargets(ctx, &eventbridge.RemoveTargetsInput{Rule: rule, Ids: []string{"q"}}))(t)
	must(events.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: rule}))(t)
	_, err = events.DescribeRule(ctx, &eventbridge.DescribeRuleInput{Name: rule})
	wantCode(t, err, "ResourceNotFoundException")
	_, err = events.PutRule(ctx, &eventbridge.PutRuleInput{Name: rule, EventPattern: aws.String(`{"source":"aws.ec2"}`)})
	wantCode(t, err, "InvalidEventPatternException")
}

func seedCluster(w *world) {
	w.CreateCluster(ekssim.Cluster{Name: "lab", Version: "1.36", Endpoint: "https://127.0.0.1:6443", CA: []byte("PEM"), Issuer: issuer, ServiceCIDR: "10.96.0.0/16"})
}

func TestEKS_AccessEntries(t *testing.T) {
	w := start(t)
	ctx := context.Background()
	seedCluster(w)
	c := eks.NewFromConfig(w.admin)
	cluster := must(c.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String("lab")}))(t).Cluster
	ca, _ := base64.StdEncoding.DecodeString(*cluster.CertificateAuthority.Data)
	if *cluster.Identity.Oidc.Issuer != issuer || string(ca) != "PEM" || *cluster.KubernetesNetworkConfig.ServiceIpv4Cidr != "10.96.0.0/16" {
		t.Errorf("cluster is %+v", cluster)
	}
	_, err := c.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String("none")})
	var missing *ekstypes.ResourceNotFoundException
	if !errors.As(err, &missing) || !strings.Contains(missing.ErrorMessage(), "none") {
		t.Errorf("error is %v", err)
	}
	role := must(iam.NewFromConfig(w.admin).CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("Node"), Path: aws.String("/team/"), AssumeRolePolicyDocument: aws.String(ec2Trust)}))(t).Role
	in := &eks.CreateAccessEntryInput{ClusterName: aws.String("lab"), PrincipalArn: role.Arn, Type: aws.String("EC2_LINUX"), Tags: map[string]string{"a": "1"}}
	entry := must(c.CreateAccessEntry(ctx, in))(t).AccessEntry
	if *entry.Username != "system:node:{{EC2PrivateDNSName}}" || len(entry.KubernetesGroups) != 1 || *entry.Type != "EC2_LINUX" || entry.Tags["a"] != "1" {
		t.Errorf("entry is %+v", entry)
	}
	_, err = c.CreateAccessEntry(ctx, &eks.CreateAccessEntryInput{ClusterName: in.ClusterName, PrincipalArn: in.PrincipalArn})
	wantCode(t, err, "ResourceInUseException")
	_, err = c.CreateAccessEntry(ctx, &eks.CreateAccessEntryInput{ClusterName: in.ClusterName, PrincipalArn: aws.String("arn:aws:iam::123456789012:role/None")})
	wantCode(t, err, "InvalidParameterException")

	admin := aws.String("arn:aws:iam::123456789012:user/deployer")
	must(c.CreateAccessEntry(ctx, &eks.CreateAccessEntryInput{ClusterName: in.ClusterName, PrincipalArn: admin, KubernetesGroups: []string{"viewers"}}))(t)
	must(c.TagResource(ctx, &eks.TagResourceInput{ResourceArn: entry.AccessEntryArn, Tags: map[string]string{"b": "2"}}))(t)
	must(c.UntagResource(ctx, &eks.UntagResourceInput{ResourceArn: entry.AccessEntryArn, TagKeys: []string{"a"}}))(t)
	if tags := must(c.ListTagsForResource(ctx, &eks.ListTagsForResourceInput{ResourceArn: entry.AccessEntryArn}))(t).Tags; len(tags) != 1 || tags["b"] != "2" {
		t.Errorf("tags are %v", tags)
	}
	first := must(c.ListAccessEntries(ctx, &eks.ListAccessEntriesInput{ClusterName: in.ClusterName, MaxResults: aws.Int32(1)}))(t)
	second := must(c.ListAccessEntries(ctx, &eks.ListAccessEntriesInput{ClusterName: in.ClusterName, NextToken: first.NextToken}))(t)
	if len(first.AccessEntries) != 1 || len(second.AccessEntries) != 1 || second.NextToken != nil {
		t.Errorf("pages are %v and %v", first.AccessEntries, second.AccessEntries)
	}
	must(c.DeleteAccessEntry(ctx, &eks.DeleteAccessEntryInput{ClusterName: in.ClusterName, PrincipalArn: role.Arn}))(t)
	_, err = c.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{ClusterName: in.ClusterName, PrincipalArn: role.Arn})
	wantCode(t, err, "ResourceNotFoundException")
	_, err = eks.NewFromConfig(w.role(t, "Nobody", allowing("eks:ListAddons"))).DescribeCluster(ctx, &eks.DescribeClusterInput{Name: in.ClusterName})
	wantCode(t, err, "AccessDeniedException")
}

// clusterToken makes a token as aws eks get-token does.
func clusterToken(t *testing.T, cfg aws.Config, cluster string) string {
	t.Helper()
	presigner := sts.NewPresignClient(sts.NewFromConfig(cfg))
	out := must(presigner.PresignGetCallerIdentity(context.Background(), nil, func(o *sts.PresignOptions) {
		o.ClientOptions = append(o.ClientOptions, func(o *sts.Options) {
			o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue("x-k8s-aws-id", cluster), smithyhttp.SetHeaderValue("X-Amz-Expires", "60"))
		})
	}))(t)
	return "k8s-aws-v1." + base64.RawURLEncoding.EncodeToString([]byte(out.URL))
}

func TestClusterToken_IdentityComesFromTheAccessEntry(t *testing.T) {
	w := start(t)
	ctx := context.Background()
	seedCluster(w)
	token := clusterToken(t, w.admin, "lab")
	if _, _, _, err := w.VerifyClusterToken(ctx, "lab", token); !errors.Is(err, awssim.ErrNoAccess) {
		t.Errorf("without an access entry: %v", err)
	}
	arn := "arn:aws:iam::123456789012:user/deployer"
	if err := w.EKS.CreateAccessEntry("lab", arn, []string{"team"}, ekssim.ClusterAdminPolicy); err != nil {
		t.Fatal(err)
	}
	username, groups, uid, err := w.VerifyClusterToken(ctx, "lab", token)
	if err != nil || username != arn || len(groups) != 2 || groups[1] != awssim.PolicyGroup("AmazonEKSClusterAdminPolicy") || uid == "" {
		t.Errorf("token gives %q %q %q, %v", username, groups, uid, err)
	}
	wrong := w.config(iamsim.Credential{AccessKeyID: must(w.admin.Credentials.Retrieve(ctx))(t).AccessKeyID, SecretAccessKey: "wrong"})
	for name, bad := range map[string]string{
		"for another cluster": clusterToken(t, w.admin, "other"),
		"wrong secret":        clusterToken(t, wrong, "lab"),
		"no token":            "abc",
		"another address":     "k8s-aws-v1." + base64.RawURLEncoding.EncodeToString([]byte("http://evil.example/?Action=GetCallerIdentity")),
	} {
		if _, _, _, err := w.VerifyClusterToken(ctx, "lab", bad); !errors.Is(err, awssim.ErrToken) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	resp, err := http.Get(presignedURL(t, token)) // the cluster header is signed but not sent
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("presigned request without its signed header: status %d", resp.StatusCode)
	}
}

// Whoever makes a role again under the name of another one must not inherit its access.
func TestClusterToken_AnEntryIsForThePrincipalOfWhichItWasMade(t *testing.T) {
	w, ctx := start(t), t.Context()
	seedCluster(w)
	admin, name, arn := iam.NewFromConfig(w.admin), aws.String("Node"), "arn:aws:iam::123456789012:role/Node"
	before := w.role(t, *name, allowing("eks:ListAddons"))
	enter := func() {
		if err := w.EKS.CreateAccessEntry("lab", arn, []string{"team"}); err != nil {
			t.Fatal(err)
		}
	}
	enter()
	if _, _, _, err := w.VerifyClusterToken(ctx, "lab", clusterToken(t, before, "lab")); err != nil {
		t.Fatal(err)
	}
	must(admin.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: name, PolicyName: aws.String("p")}))(t)
	must(admin.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: name}))(t)
	token := clusterToken(t, w.role(t, *name, allowing("eks:ListAddons")), "lab")
	if _, _, _, err := w.VerifyClusterToken(ctx, "lab", token); !errors.Is(err, awssim.ErrNoAccess) {
		t.Errorf("the role was made again, and has the access of the one before: %v", err)
	}
	if shown := must(eks.NewFromConfig(w.admin).DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{ClusterName: aws.String("lab"), PrincipalArn: &arn}))(t); *shown.AccessEntry.PrincipalArn != arn {
		t.Errorf("entry %+v", shown.AccessEntry)
	}
	must(eks.NewFromConfig(w.admin).DeleteAccessEntry(ctx, &eks.DeleteAccessEntryInput{ClusterName: aws.String("lab"), PrincipalArn: &arn}))(t)
	enter()
	if _, groups, _, err := w.VerifyClusterToken(ctx, "lab", token); err != nil || len(groups) != 1 {
		t.Errorf("with an entry of its own: %v, %v", groups, err)
	}
}

func TestClusterToken_ADelayedAccessEntryIsFoundAfterSoManyRefusals(t *testing.T) {
	w := start(t)
	seedCluster(w)
	token, arn := clusterToken(t, w.admin, "lab"), "arn:aws:iam::123456789012:user/deployer"
	if _, err := w.EKS.DelayAccessEntry("lab", arn, 1); err == nil {
		t.Error("an entry that does not exist is delayed")
	}
	if err := w.EKS.CreateAccessEntry("lab", arn, nil, ekssim.ClusterAdminPolicy); err != nil {
		t.Fatal(err)
	}
	left := must(w.EKS.DelayAccessEntry("lab", arn, 2))(t)
	for want := 1; want >= 0; want-- {
		if _, _, _, err := w.VerifyClusterToken(t.Context(), "lab", token); !errors.Is(err, awssim.ErrNoAccess) || left() != want {
			t.Errorf("error %v, and %d lookups are left, want %d", err, left(), want)
		}
	}
	if username, _, _, err := w.VerifyClusterToken(t.Context(), "lab", token); err != nil || username != arn {
		t.Errorf("token gives %q, %v", username, err)
	}
}

func presignedURL(t *testing.T, token string) string {
	t.Helper()
	return string(must(base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, "k8s-aws-v1.")))(t))
}

func TestSSM_Parameters(t *testing.T) {
	w := start(t)
	ctx := context.Background()
	const base = "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard"
	w.SSM.Seed(base+"/recommended/image_id", "ami-1")
	c := ssm.NewFromConfig(w.admin)
	got := must(c.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String(base + "/recommended/image_id")}))(t).Parameter
	if *got.Value != "ami-1" || *got.ARN != "arn:aws:ssm:us-west-2::parameter"+base+"/recommended/image_id" {
		t.Errorf("parameter is %+v", got)
	}
	_, err := c.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("/aws/none")})
	var missing *ssmtypes.ParameterNotFound
	if !errors.As(err, &missing) {
		t.Errorf("error is %v", err)
	}
	limited := ssm.NewFromConfig(w.role(t, "Reader", `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"ssm:GetParameter","Resource":"arn:aws:ssm:us-west-2::parameter/aws/service/*"}]}`))
	must(limited.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String(base + "/recommended/image_id")}))(t)
	_, err = limited.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("/mine")})
	wantCode(t, err, "AccessDeniedException")
}

func TestPricing_HasThePriceOfEveryTypeByPages(t *testing.T) {
	w := start(t)
	ctx := context.Background()
	c := pricing.NewFromConfig(w.admin, func(o *pricing.Options) { o.Region = "us-east-1" })
	filters := []pricingtypes.Filter{}
	for field, value := range map[string]string{
		"regionCode": region, "serviceCode": "AmazonEC2", "preInstalledSw": "NA", "operatingSystem": "Linux", "capacitystatus": "Used", "marketoption": "OnDemand",
		"tenancy": "Shared", "productFamily": "Compute Instance",
	} {
		filters = append(filters, pricingtypes.Filter{Type: pricingtypes.FilterTypeTermMatch, Field: aws.String(field), Value: aws.String(value)})
	}
	prices := map[string]string{}
	pages := pricing.NewGetProductsPaginator(c, &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), Filters: filters})
	for pages.HasMorePages() {
		page := must(pages.NextPage(ctx))(t)
		for _, text := range page.PriceList {
			var p struct {
				Product struct{ Attributes struct{ InstanceType string } }
				Terms   struct {
					OnDemand map[string]struct {
						PriceDimensions map[string]struct{ PricePerUnit map[string]string }
					}
				}
			}
			if err := json.Unmarshal([]byte(text), &p); err != nil {
				t.Fatal(err)
			}
			for _, term := range p.Terms.OnDemand {
				for _, dimension := range term.PriceDimensions {
					prices[p.Product.Attributes.InstanceType] = dimension.PricePerUnit["USD"]
				}
			}
		}
	}
	if len(prices) < 300 || prices["m5.large"] != "0.096000000" {
		t.Errorf("%d prices, m5.large is %q", len(prices), prices["m5.large"])
	}
}
