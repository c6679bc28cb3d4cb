package aws_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws/awstest"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/iamsim"
)

const (
	region  = awstest.Region
	account = awstest.Account
)

// start makes a simulated AWS, and clients of an administrator.
func start(t *testing.T) (*awssim.Cloud, *aws.Clients) {
	t.Helper()
	return awstest.Start(t, awssim.Options{})
}

// try returns the value of a call that must not fail.
func try[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestSim_IdentityAndClusterToken(t *testing.T) {
	_, c := start(t)
	id := try[aws.Identity](t)(c.Identity(context.Background()))
	if id.Account != account || id.Partition != "aws" || !strings.HasSuffix(id.ARN, ":user/deployer") {
		t.Errorf("got %+v", id)
	}
	source := c.EKSTokenSource("lab")
	token, expiry, err := source.Token(context.Background())
	if err != nil || !strings.HasPrefix(token, "k8s-aws-v1.") {
		t.Fatalf("got %q, %v", token, err)
	}
	if left := time.Until(expiry); left < 13*time.Minute || left > 14*time.Minute {
		t.Errorf("the token lasts %v", left)
	}
	if again, _, err := source.Token(context.Background()); err != nil || again != token {
		t.Errorf("a token that lasts is not used again (%v)", err)
	}
}

func TestSim_RoleLife(t *testing.T) {
	cloud, c := start(t)
	ctx := context.Background()
	want := aws.Role{
		Name: "node", Description: "nodes", TrustPolicy: awsspec.NodeTrust("aws"), Tags: map[string]string{"a": "1", "b": "2"},
		ManagedPolicies: awsspec.NodeManagedPolicyARNs("aws"), InlinePolicies: map[string]string{"extra": document("s3:GetObject")},
	}
	made := try[aws.Role](t)(c.CreateRole(ctx, want))
	if made.ARN != "arn:aws:iam::123456789012:role/node" {
		t.Errorf("got %+v", made)
	}
	if _, err := c.CreateRole(ctx, want); !errors.Is(err, aws.ErrConflict) {
		t.Errorf("a second role of the name: %v", err)
	}
	have := try[aws.Role](t)(c.GetRole(ctx, "node"))
	if !aws.SameJSON(have.TrustPolicy, want.TrustPolicy) || !slices.Equal(have.ManagedPolicies, slices.Sorted(slices.Values(want.ManagedPolicies))) ||
		!aws.SameJSON(have.InlinePolicies["extra"], want.InlinePolicies["extra"]) || have.Tags["a"] != "1" {
		t.Errorf("got %+v", have)
	}

	changed := want
	changed.Tags = map[string]string{"a": "changed"}
	changed.InlinePolicies = map[string]string{"extra": document("s3:PutObject"), "more": document("s3:ListBucket")}
	changed.ManagedPolicies = want.ManagedPolicies[:1]
	have = try[aws.Role](t)(c.UpdateRole(ctx, want, changed))
	if _, kept := have.Tags["b"]; kept || have.Tags["a"] != "changed" || len(have.ManagedPolicies) != 1 || len(have.InlinePolicies) != 2 {
		t.Errorf("after the update: %+v", have)
	}
	before := len(cloud.Calls())
	try[aws.Role](t)(c.UpdateRole(ctx, changed, changed))
	for _, call := range cloud.Calls()[before:] {
		if !strings.HasPrefix(call.Action, "Get") && !strings.HasPrefix(call.Action, "List") {
			t.Errorf("an update that changes nothing called %s", call.Action)
		}
	}

	for range 2 {
		if err := c.DeleteRole(ctx, "node", aws.AnyID); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	if _, err := c.GetRole(ctx, "node"); !errors.Is(err, aws.ErrNotFound) {
		t.Errorf("after the delete: %v", err)
	}
}

func document(action string) string {
	return `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"` + action + `","Resource":"*"}]}`
}

func TestSim_PolicyLife(t *testing.T) {
	_, c := start(t)
	ctx := context.Background()
	policy := try[aws.Policy](t)(c.CreatePolicy(ctx, aws.Policy{Name: "p", Document: document("ec2:DescribeSubnets"), Tags: map[string]string{"a": "1"}}))
	if _, err := c.CreatePolicy(ctx, aws.Policy{Name: "p", Document: document("ec2:DescribeSubnets")}); !errors.Is(err, aws.ErrConflict) {
		t.Errorf("a second policy of the name: %v", err)
	}
	for _, action := range []string{"a:A", "a:B", "a:C", "a:D", "a:E", "a:F"} { // more than the five versions that IAM keeps
		changed := policy
		changed.Document = document(action)
		have := try[aws.Policy](t)(c.UpdatePolicy(ctx, policy, changed))
		if !aws.SameJSON(have.Document, changed.Document) {
			t.Fatalf("after %s: %s", action, have.Document)
		}
	}
	role := aws.Role{Name: "r", TrustPolicy: awsspec.NodeTrust("aws"), ManagedPolicies: []string{policy.ARN}}
	try[aws.Role](t)(c.CreateRole(ctx, role))
	if err := c.DeletePolicy(ctx, policy.ARN, aws.AnyID); !errors.Is(err, aws.ErrInUse) {
		t.Errorf("delete of an attached policy: %v", err)
	}
	if err := c.DeleteRole(ctx, "r", aws.AnyID); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.DeletePolicy(ctx, policy.ARN, aws.AnyID); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
}

func TestSim_InstanceProfileLife(t *testing.T) {
	_, c := start(t)
	ctx := context.Background()
	want := aws.InstanceProfile{Name: "profile", Role: "node", Tags: map[string]string{"a": "1"}}
	made, err := c.CreateInstanceProfile(ctx, want)
	if !errors.Is(err, aws.ErrNotFound) || made.ARN == "" || made.Role != "" {
		t.Fatalf("without its role: %+v, %v; want the profile and ErrNotFound", made, err)
	}
	try[aws.Role](t)(c.CreateRole(ctx, aws.Role{Name: "node", TrustPolicy: awsspec.NodeTrust("aws")}))
	have := try[aws.InstanceProfile](t)(c.UpdateInstanceProfile(ctx, made, want))
	if have.Role != "node" || have.RoleARN != "arn:aws:iam::123456789012:role/node" {
		t.Errorf("after the repair: %+v", have)
	}
	if err := c.DeleteRole(ctx, "node", aws.AnyID); !errors.Is(err, aws.ErrInUse) {
		t.Errorf("delete of a role in a profile: %v", err)
	}
	for range 2 {
		if err := c.DeleteInstanceProfile(ctx, "profile", aws.AnyID); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
}

func TestSim_RefusalsNameActionAndResource(t *testing.T) {
	cloud, _ := start(t)
	nobody := awstest.Clients(t, cloud, cloud.IAM.SeedUser("nobody"))
	_, err := nobody.GetRole(context.Background(), "node")
	var refused *aws.UnauthorizedError
	if !errors.As(err, &refused) || !errors.Is(err, aws.ErrUnauthorized) {
		t.Fatalf("got %v", err)
	}
	if refused.Action != "iam:GetRole" || !strings.HasSuffix(refused.Resource, ":role/node") || !strings.HasSuffix(refused.Principal, ":user/nobody") {
		t.Errorf("got %+v", refused)
	}
	wrong := awstest.Clients(t, cloud, iamsim.Credential{AccessKeyID: "AKIAIOSFODNN7EXAMPLE", SecretAccessKey: "x"})
	if _, err := wrong.Identity(context.Background()); !errors.Is(err, aws.ErrCredentials) {
		t.Errorf("unknown key: %v", err)
	}
}

func TestSim_EndpointsByServiceWin(t *testing.T) {
	cloud, _ := start(t)
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	c := try[*aws.Clients](t)(aws.New(context.Background(), aws.Config{Region: region, Endpoints: map[string]string{"sts": cloud.URL()}}))
	try[aws.Identity](t)(c.Identity(context.Background()))
}
