// Package awstest starts a simulated AWS for tests, with the product's own clients.
//
// Invariant: only tests import it.
package awstest

import (
	"context"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/iamsim"
)

// Where the simulated AWS is, and whose it is.
const (
	Region  = "us-west-2"
	Account = "123456789012"
)

// Start starts a simulated AWS, which ends with the test, and returns clients of its
// administrator, the user deployer. The region and the account are those above.
func Start(t *testing.T, o awssim.Options) (*awssim.Cloud, *aws.Clients) {
	t.Helper()
	o.Region, o.Account = Region, Account
	cloud, err := awssim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := cloud.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	return cloud, Clients(t, cloud, cloud.IAM.SeedUser("deployer", iamsim.AdministratorAccess))
}

// Clients makes clients of the key's user, through the SDK's default chain. They wait
// only a moment for IAM to show what is new.
func Clients(t *testing.T, cloud *awssim.Cloud, key iamsim.Credential) *aws.Clients {
	t.Helper()
	t.Setenv("AWS_ENDPOINT_URL", cloud.URL())
	t.Setenv("AWS_ACCESS_KEY_ID", key.AccessKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", key.SecretAccessKey)
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	c, err := aws.New(context.Background(), aws.Config{Region: Region, UserAgent: "karpenterd/test", Propagation: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
