package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws/awstest"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/iamsim"
)

// pricedReport is the part of a report that these tests read.
type pricedReport struct {
	Prices string
	Now    struct {
		Pools []struct{ CostPerHour float64 }
	}
}

// simulated runs the command on the dump of the guide, whose nodes are m5.2xlarge in us-east-1.
func simulated(t *testing.T, args ...string) pricedReport {
	t.Helper()
	code, out, said := start(t, append([]string{"karpenterd", "simulate", "-f", dumpOfTheGuide, "-o", "json"}, args...)...)
	var r pricedReport
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitDone {
		t.Fatalf("%v: code %d, %v: %s", args, code, err, said)
	}
	return r
}

// everywhere is an AWS in us-east-1 in which m5.2xlarge costs twice as much as in the embedded list.
func everywhere(t *testing.T) *awssim.Cloud {
	t.Helper()
	cloud, err := awssim.New(awssim.Options{Region: "us-east-1", Account: awstest.Account})
	if err != nil {
		t.Fatal(err)
	}
	for i := range cloud.Offered.Types {
		if x := &cloud.Offered.Types[i]; x.Name == "m5.2xlarge" {
			x.OnDemand *= 2
		}
	}
	if err := cloud.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	return cloud
}

// clientsOf are those of the key's user, which is that of the environment from then on.
func clientsOf(t *testing.T, cloud *awssim.Cloud, key iamsim.Credential) *aws.Clients {
	t.Helper()
	awstest.Clients(t, cloud, key)
	c, err := aws.New(t.Context(), aws.Config{Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSimulate_LivePricesAreThoseOfAWS(t *testing.T) {
	before := simulated(t)
	cloud := everywhere(t)
	admin := clientsOf(t, cloud, cloud.IAM.SeedUser("admin", iamsim.AdministratorAccess))
	// The user may do what the guide says, and nothing else.
	var rights askingPolicy
	text := simulateGuide(t, "json")[0]
	if err := json.Unmarshal([]byte(text), &rights); err != nil || len(rights.Statement) != 1 {
		t.Fatal(err, rights)
	}
	policy, err := admin.CreatePolicy(t.Context(), aws.Policy{Name: "prices", Document: text})
	if err != nil {
		t.Fatal(err)
	}
	clientsOf(t, cloud, cloud.IAM.SeedUser("reader", policy.ARN)) // sets the environment
	from := len(cloud.Calls())
	r := simulated(t, "--prices", "live")
	if got, want := r.Now.Pools[0].CostPerHour, 2*before.Now.Pools[0].CostPerHour; got != want || !strings.HasPrefix(r.Prices, "those of AWS in us-east-1 at 20") {
		t.Errorf("%v an hour, want %v; prices: %s", got, want, r.Prices)
	}
	var called []string
	for _, c := range cloud.Calls()[from:] {
		if action := c.Service + ":" + c.Action; !slices.Contains(called, action) {
			called = append(called, action)
		}
	}
	same(t, "the policy of the guide", rights.Statement[0].Action, called)
}

type askingPolicy struct {
	Statement []struct{ Action []string }
}

func TestSimulate_LivePricesNeedCredentialsAndRights(t *testing.T) {
	cloud := everywhere(t)
	admin := clientsOf(t, cloud, cloud.IAM.SeedUser("admin", iamsim.AdministratorAccess))
	half := strings.ReplaceAll(simulateGuide(t, "json")[0], "pricing:GetProducts", "ec2:DescribeVpcs")
	policy, err := admin.CreatePolicy(t.Context(), aws.Policy{Name: "half", Document: half})
	if err != nil {
		t.Fatal(err)
	}
	clientsOf(t, cloud, cloud.IAM.SeedUser("reader", policy.ARN))
	refused := func(want string) {
		t.Helper()
		code, out, said := start(t, "karpenterd", "simulate", "-f", dumpOfTheGuide, "--prices", "live")
		if code != exitFailed || out != "" || !strings.Contains(said, want) || strings.Count(said, "\n") != 1 {
			t.Errorf("code %d, out %q, said %q, want %q", code, out, said, want)
		}
	}
	refused("--prices live: not authorized to perform pricing:GetProducts: allow your AWS user ec2:DescribeInstanceTypes, ")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	refused("give AWS credentials, such as by $AWS_PROFILE, or leave out --prices")
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIAUNKNOWN")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "unknown")
	refused("give AWS credentials, such as by $AWS_PROFILE, or leave out --prices")
}

func TestSimulate_PricesOfAFileReplaceEmbeddedOnes(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(file, []byte(simulateGuide(t, "yaml")[2]), 0o600); err != nil {
		t.Fatal(err)
	}
	before, r := simulated(t, "--prices", "embedded"), simulated(t, "--prices", file)
	if got := r.Now.Pools[0].CostPerHour; got != 12*0.25 || got == before.Now.Pools[0].CostPerHour || r.Prices != before.Prices+", with 2 prices of "+file+" in place of its own" {
		t.Errorf("%v an hour, before %v; prices: %s", got, before.Now.Pools[0].CostPerHour, r.Prices)
	}
	for name, want := range map[string]string{"lives": "give embedded, live or the name of a file", dumpOfTheGuide: "it is neither YAML nor JSON"} {
		if code, out, said := start(t, "karpenterd", "simulate", "-f", dumpOfTheGuide, "--prices", name); code != exitFailed || out != "" || !strings.Contains(said, want) || strings.Count(said, "\n") != 1 {
			t.Errorf("--prices %s: code %d, out %q, said %q", name, code, out, said)
		}
	}
}
