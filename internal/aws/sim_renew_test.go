package aws_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
)

// asRole makes a simulated AWS, and clients with sessions of a role, which count how often
// credentials are fetched.
func asRole(t *testing.T) (cloud *awssim.Cloud, c *aws.Clients, fetched *atomic.Int32) {
	t.Helper()
	cloud, admin := start(t)
	made := try[aws.Role](t)(admin.CreateRole(t.Context(), aws.Role{
		Name: "reader", TrustPolicy: awsspec.NodeTrust("aws"), InlinePolicies: map[string]string{"read": document("ec2:Describe*")},
	}))
	role, _ := cloud.IAM.Role(made.ARN)
	fetched = &atomic.Int32{}
	provider := awssdk.CredentialsProviderFunc(func(context.Context) (awssdk.Credentials, error) {
		fetched.Add(1)
		c := cloud.IAM.IssueSession(role, "test", time.Hour)
		return awssdk.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey, SessionToken: c.SessionToken, CanExpire: true, Expires: c.Expiration}, nil
	})
	url := cloud.URL()
	c = try[*aws.Clients](t)(aws.NewFrom(awssdk.Config{
		Region: region, BaseEndpoint: &url, Credentials: awssdk.NewCredentialsCache(provider), HTTPClient: awshttp.NewBuildableClient(),
		Retryer: func() awssdk.Retryer { return retry.NewStandard() },
	}, aws.Config{}))
	return cloud, c, fetched
}

func TestSim_CredentialsThatAreRefusedBeforeTheirTimeAreFetchedAnew(t *testing.T) {
	cloud, c, fetched := asRole(t)
	ctx := context.Background()
	for n := range 3 {
		if _, err := c.Instances(ctx, map[string]string{"a": "b"}); err != nil {
			t.Errorf("call %d: %v", n, err)
		}
		if n == 0 {
			cloud.IAM.ExpireSessions()
		}
	}
	if n := fetched.Load(); n != 2 {
		t.Errorf("credentials were fetched %d times, want 2", n)
	}
	cloud.IAM.ExpireSessions() // again, within the minute
	if _, err := c.Instances(ctx, map[string]string{"a": "b"}); !errors.Is(err, aws.ErrCredentials) {
		t.Errorf("%v; want credentials that are not accepted", err)
	}
	if n := fetched.Load(); n != 2 {
		t.Errorf("credentials were fetched %d times within a minute", n)
	}
}

// Sessions are revoked by a policy of the role that denies all to those from before.
func TestSim_RevokedSessionsAreFetchedAnew(t *testing.T) {
	cloud, c, fetched := asRole(t)
	ctx := context.Background()
	cloud.Faults().Inject(awssim.Fault{
		Service: "ec2", Code: "UnauthorizedOperation", Status: 403, Times: 1,
		Message: "You are not authorized to perform this operation. User: x is not authorized to perform: ec2:DescribeInstances with an explicit deny in an identity-based policy.",
	})
	if _, err := c.Instances(ctx, map[string]string{"a": "b"}); err != nil || fetched.Load() != 2 {
		t.Errorf("%v; credentials were fetched %d times, want 2", err, fetched.Load())
	}
	cloud.Faults().Inject(awssim.Fault{Service: "ec2", Code: "UnauthorizedOperation", Status: 403, Message: "no policy allows it"})
	if _, err := c.Instances(ctx, map[string]string{"a": "b"}); !errors.Is(err, aws.ErrUnauthorized) || fetched.Load() != 2 {
		t.Errorf("%v; credentials were fetched %d times for a permission that is missing", err, fetched.Load())
	}
}
