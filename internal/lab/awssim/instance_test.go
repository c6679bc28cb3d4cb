package awssim_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/iamsim"
)

// node launches a spot instance with an instance profile of the role Node.
func (w *world) node(t *testing.T) string {
	t.Helper()
	ctx := context.Background()
	roles := iam.NewFromConfig(w.admin)
	must(roles.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("Node"), AssumeRolePolicyDocument: aws.String(ec2Trust)}))(t)
	must(roles.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: aws.String("NodeProfile")}))(t)
	must(roles.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String("NodeProfile"), RoleName: aws.String("Node")}))(t)
	vpc := w.EC2.SeedVPC("10.0.0.0/16", []string{"us-west-2a"})
	image := w.EC2.SeedImage(ec2sim.Image{Name: "node", Arch: "amd64"})
	out := must(ec2.NewFromConfig(w.admin).RunInstances(ctx, &ec2.RunInstancesInput{
		ImageId: &image, InstanceType: "m5.large", MinCount: aws.Int32(1), MaxCount: aws.Int32(1), SubnetId: &vpc.SubnetIDs[0],
		IamInstanceProfile:    &ec2types.IamInstanceProfileSpecification{Name: aws.String("NodeProfile")},
		InstanceMarketOptions: &ec2types.InstanceMarketOptionsRequest{MarketType: "spot"},
	}))(t)
	return *out.Instances[0].InstanceId
}

func TestInstance_JoinsByItsRoleAndAccessEntryOnly(t *testing.T) {
	w := start(t)
	ctx := context.Background()
	seedCluster(w)
	id := w.node(t)
	got, err := w.InstanceCredentials(id)
	if err != nil {
		t.Fatal(err)
	}
	asNode := w.config(iamsim.Credential{AccessKeyID: got.AccessKeyID, SecretAccessKey: got.SecretAccessKey, SessionToken: got.SessionToken})
	me := must(sts.NewFromConfig(asNode).GetCallerIdentity(ctx, nil))(t)
	if want := "arn:aws:sts::123456789012:assumed-role/Node/" + id; *me.Arn != want {
		t.Errorf("caller is %s, want %s", *me.Arn, want)
	}
	if _, _, _, err := w.VerifyClusterToken(ctx, "lab", clusterToken(t, asNode, "lab")); !errors.Is(err, awssim.ErrNoAccess) {
		t.Errorf("without an access entry: %v", err)
	}
	must(eks.NewFromConfig(w.admin).CreateAccessEntry(ctx, &eks.CreateAccessEntryInput{
		ClusterName: aws.String("lab"), PrincipalArn: aws.String("arn:aws:iam::123456789012:role/Node"), Type: aws.String("EC2_LINUX"),
	}))(t)
	username, groups, _, err := w.VerifyClusterToken(ctx, "lab", clusterToken(t, asNode, "lab"))
	instance := w.EC2.Instances()[0]
	if err != nil || username != "system:node:"+instance.PrivateDNSName || len(groups) != 1 || groups[0] != "system:nodes" {
		t.Errorf("token gives %q %q, %v", username, groups, err)
	}

	roles := iam.NewFromConfig(w.admin)
	must(roles.UpdateAssumeRolePolicy(ctx, &iam.UpdateAssumeRolePolicyInput{RoleName: aws.String("Node"), PolicyDocument: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"eks.amazonaws.com"},"Action":"sts:AssumeRole"}]}`)}))(t)
	if _, err := w.InstanceCredentials(id); !errors.Is(err, awssim.ErrNoCredentials) {
		t.Errorf("a role that does not trust EC2: %v", err)
	}
	must(roles.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: aws.String("NodeProfile"), RoleName: aws.String("Node")}))(t)
	if _, err := w.InstanceCredentials(id); !errors.Is(err, awssim.ErrNoCredentials) {
		t.Errorf("a profile without role: %v", err)
	}
}

func TestInstance_SpotWarningReachesTheQueueThroughTheRule(t *testing.T) {
	w := start(t)
	ctx := context.Background()
	queues, events := sqs.NewFromConfig(w.admin), eventbridge.NewFromConfig(w.admin)
	url := must(queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("lab"), Attributes: map[string]string{
		"Policy": `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"` + queueARN + `"}]}`,
	}}))(t).QueueUrl
	must(events.PutRule(ctx, &eventbridge.PutRuleInput{Name: aws.String("Spot"), EventPattern: aws.String(`{"source":["aws.ec2"],"detail-type":["EC2 Spot Instance Interruption Warning"]}`)}))(t)
	must(events.PutTargets(ctx, &eventbridge.PutTargetsInput{Rule: aws.String("Spot"), Targets: []eventtypes.Target{{Id: aws.String("q"), Arn: aws.String(queueARN)}}}))(t)
	id := w.node(t)
	if err := w.EC2.WarnSpot(id); err != nil {
		t.Fatal(err)
	}
	messages := must(queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: 10}))(t).Messages
	if len(messages) != 1 {
		t.Fatalf("received %d messages, want 1", len(messages))
	}
	var event struct {
		Detail map[string]string
	}
	if err := json.Unmarshal([]byte(*messages[0].Body), &event); err != nil || event.Detail["instance-id"] != id {
		t.Errorf("event is %s, %v", *messages[0].Body, err)
	}
}

// The controller's policy passes the node's role by tag and service conditions;
// what it does not grant is refused by EC2 in EC2's words.
func TestInstance_LaunchNeedsPassRole(t *testing.T) {
	w := start(t)
	ctx := context.Background()
	w.node(t)
	image, subnet := w.EC2.Instances()[0].ImageID, w.EC2.Instances()[0].SubnetID
	launch := func(cfg aws.Config) error {
		_, err := ec2.NewFromConfig(cfg).RunInstances(ctx, &ec2.RunInstancesInput{
			ImageId: &image, InstanceType: "m5.large", MinCount: aws.Int32(1), MaxCount: aws.Int32(1), SubnetId: &subnet,
			IamInstanceProfile: &ec2types.IamInstanceProfileSpecification{Name: aws.String("NodeProfile")},
		})
		return err
	}
	wantCode(t, launch(w.role(t, "NoPass", allowing("ec2:*"))), "UnauthorizedOperation")
	pass := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"ec2:*","Resource":"*"},
	  {"Effect":"Allow","Action":"iam:PassRole","Resource":"arn:aws:iam::123456789012:role/Node","Condition":{"StringEquals":{"iam:PassedToService":"ec2.amazonaws.com"}}}]}`
	if err := launch(w.role(t, "Pass", pass)); err != nil {
		t.Error(err)
	}
}
