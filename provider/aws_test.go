package provider_test

import (
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ekssim"
	"github.com/karpenterd/terraform-provider-karpenter/provider"
)

const (
	testRegion  = "us-west-2"
	testAccount = "123456789012"
	testCluster = "lab"
	testIssuer  = "oidc.eks.us-west-2.amazonaws.com/id/LAB"
)

// cloud is a simulated AWS, with clients for the tests to read and change it.
type cloud struct {
	*awssim.Cloud
	clients *aws.Clients
	vpc     ec2sim.VPC
}

// startCloud starts a simulated AWS and points the process's environment at it.
func startCloud(t *testing.T) *cloud {
	t.Helper()
	c, err := awssim.New(awssim.Options{Region: testRegion, Account: testAccount})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	vpc := c.EC2.SeedVPC("10.0.0.0/16", []string{"us-west-2a", "us-west-2b"})
	c.CreateCluster(ekssim.Cluster{
		Name: testCluster, Version: "1.36", Endpoint: "https://127.0.0.1:1", Issuer: "https://" + testIssuer, ServiceCIDR: "172.20.0.0/16",
		VPCID: vpc.ID, SubnetIDs: vpc.SubnetIDs, ClusterSecurityGroupID: vpc.ClusterSecurityGroupID,
	})
	_, key := c.CreateUser("deployer")
	withoutAWS(t)
	t.Setenv("AWS_ACCESS_KEY_ID", key.AccessKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", key.SecretAccessKey)
	t.Setenv("AWS_CA_BUNDLE", "")
	clients, err := aws.New(t.Context(), aws.Config{Region: testRegion, Endpoints: endpoints(c.URL())})
	if err != nil {
		t.Fatal(err)
	}
	return &cloud{Cloud: c, clients: clients, vpc: vpc}
}

// withoutAWS keeps the machine's own AWS configuration, and a metadata service, out of the
// test.
func withoutAWS(t *testing.T) {
	t.Helper()
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for _, name := range []string{"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
		t.Setenv(name, "/dev/null")
	}
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv(name, "")
	}
}

// endpoints has the URL for each service that the provider calls.
func endpoints(url string) map[string]string {
	out := map[string]string{}
	for _, service := range provider.Services() {
		out[service] = url
	}
	return out
}

// config is the provider's configuration for the cloud.
func (c *cloud) config() object {
	urls := object{}
	for service, url := range endpoints(c.URL()) {
		urls[service] = url
	}
	return object{
		"region": testRegion, "endpoints": urls,
		"default_tags": object{"tags": object{"team": "platform"}},
	}
}
