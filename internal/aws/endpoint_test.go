package aws

import (
	"context"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

var update = flag.Bool("update", false, "write testdata/endpoints.txt")

// asked answers no request, and notes where the last one went.
type asked struct {
	url string
	err error
}

func (a *asked) Do(r *http.Request) (*http.Response, error) {
	a.url = r.URL.Scheme + "://" + r.URL.Host
	return nil, a.err
}

// cutOff makes clients whose calls reach nobody.
func cutOff(t *testing.T, a *asked, c Config, options ...func(*config.LoadOptions) error) *Clients {
	t.Helper()
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	t.Setenv("AWS_CA_BUNDLE", "") // it is for the SDK's own HTTP client
	if a.err == nil {
		a.err = errors.New("nobody is asked")
	}
	sdk, err := config.LoadDefaultConfig(t.Context(), append(options, config.WithRegion(c.Region), config.WithHTTPClient(a),
		config.WithRetryer(func() awssdk.Retryer { return awssdk.NopRetryer{} }), config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("id", "secret", "")))...)
	if err != nil {
		t.Fatal(err)
	}
	clients, err := NewFrom(sdk, c)
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

// calls has a call of each service.
func (c *Clients) calls() map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"ec2": func(ctx context.Context) error {
			_, err := c.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{})
			return err
		},
		"eks": func(ctx context.Context) error {
			_, err := c.eks.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: awssdk.String("lab")})
			return err
		},
		"events": func(ctx context.Context) error {
			_, err := c.events.ListRules(ctx, &eventbridge.ListRulesInput{})
			return err
		},
		"iam": func(ctx context.Context) error {
			_, err := c.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: awssdk.String("nodes")})
			return err
		},
		"pricing": func(ctx context.Context) error {
			_, err := c.pricing.GetProducts(ctx, &pricing.GetProductsInput{ServiceCode: awssdk.String("AmazonEC2")})
			return err
		},
		"sqs": func(ctx context.Context) error {
			_, err := c.sqs.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: awssdk.String("lab")})
			return err
		},
		"ssm": func(ctx context.Context) error {
			_, err := c.ssm.GetParameter(ctx, &ssm.GetParameterInput{Name: awssdk.String("x")})
			return err
		},
		"sts": func(ctx context.Context) error {
			_, err := c.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
			return err
		},
	}
}

// inToken is where EKS is to send the request that a token is.
func inToken(t *testing.T, c *Clients) string {
	t.Helper()
	token, _, err := c.EKSTokenSource("lab").Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, tokenPrefix))
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return u.Scheme + "://" + u.Host
}

// TestEndpoints_OfEachPartitionAreAsRecorded compares where each service is called, in each
// partition and for each kind of endpoints, with what was read and found right. -update
// records that anew.
func TestEndpoints_OfEachPartitionAreAsRecorded(t *testing.T) {
	const file = "testdata/endpoints.txt"
	var out strings.Builder
	for _, region := range []string{"us-east-1", "eu-west-1", "us-gov-west-1", "cn-north-1", "eusc-de-east-1", "us-iso-east-1", "us-isob-east-1", "eu-isoe-west-1", "us-isof-south-1"} {
		for _, kind := range []struct {
			name       string
			fips, dual bool
		}{{"usual", false, false}, {"FIPS", true, false}, {"dual-stack", false, true}, {"FIPS and dual-stack", true, true}} {
			fmt.Fprintf(&out, "# %s, %s\n", region, kind.name)
			var a asked
			clients := cutOff(t, &a, Config{Region: region}, EndpointOptions(&kind.fips, &kind.dual)...)
			if clients.UsesFIPS() != kind.fips || clients.UsesDualStack() != kind.dual {
				t.Errorf("%s, %s: FIPS %v, dual-stack %v", region, kind.name, clients.UsesFIPS(), clients.UsesDualStack())
			}
			for _, service := range Services() {
				if _, there := priceListOf(region); service == "pricing" && !there {
					fmt.Fprintf(&out, "%s\tnot called\n", service)
					continue
				}
				a.url = ""
				if err := clients.calls()[service](t.Context()); a.url == "" {
					t.Errorf("%s, %s: %s: %v", region, kind.name, service, err)
				}
				fmt.Fprintf(&out, "%s\t%s\n", service, a.url)
			}
			fmt.Fprintf(&out, "token\t%s\n\n", inToken(t, clients))
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("the endpoints have changed; -update records them:\n%s", out.String())
	}
}

func TestEndpoints_EnvironmentAndConfigurationAskForTheSame(t *testing.T) {
	yes, no := true, false
	for name, c := range map[string]struct {
		env        map[string]string
		config     Config
		fips, dual bool
	}{
		"neither":                  {nil, Config{}, false, false},
		"environment":              {map[string]string{"AWS_USE_FIPS_ENDPOINT": "true", "AWS_USE_DUALSTACK_ENDPOINT": "true"}, Config{}, true, true},
		"configuration":            {nil, Config{FIPS: &yes, DualStack: &yes}, true, true},
		"FIPS alone":               {map[string]string{"AWS_USE_DUALSTACK_ENDPOINT": "false"}, Config{FIPS: &yes}, true, false},
		"the configuration counts": {map[string]string{"AWS_USE_FIPS_ENDPOINT": "true"}, Config{FIPS: &no}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AWS_CONFIG_FILE", "/dev/null")
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
			for _, variable := range []string{"AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT"} {
				t.Setenv(variable, c.env[variable])
			}
			c.config.Region = "us-east-1"
			clients, err := New(t.Context(), c.config)
			if err != nil || clients.UsesFIPS() != c.fips || clients.UsesDualStack() != c.dual {
				t.Errorf("FIPS %v, dual-stack %v, %v", clients.UsesFIPS(), clients.UsesDualStack(), err)
			}
		})
	}
}

// The SDK refuses the two together. A VPC endpoint is called as it is.
func TestEndpoints_OneOfTheUsersIsCalledAsItIs(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL_SQS", "https://vpce-2.example.com")
	var a asked
	yes := true
	clients := cutOff(t, &a, Config{Region: "us-east-1", Endpoints: map[string]string{"ec2": "https://vpce-1.example.com"}}, EndpointOptions(&yes, &yes)...)
	for service, want := range map[string]string{"ec2": "https://vpce-1.example.com", "sqs": "https://vpce-2.example.com", "ssm": "https://ssm-fips.us-east-1.api.aws"} {
		if err := clients.calls()[service](t.Context()); a.url != want {
			t.Errorf("%s is called at %q, want %q: %v", service, a.url, want, err)
		}
	}
}

func TestClassify_AnEndpointThatAWSDoesNotHaveIsNamedWithItsRemedy(t *testing.T) {
	for name, c := range map[string]struct {
		region     string
		fips, dual bool
		host, want string
	}{
		"FIPS":       {"eu-west-1", true, false, "ec2-fips.eu-west-1.amazonaws.com", "use_fips_endpoint, $AWS_USE_FIPS_ENDPOINT"},
		"dual-stack": {"eusc-de-east-1", false, true, "ec2.eusc-de-east-1.api.amazonwebservices.eu", "use_dualstack_endpoint, $AWS_USE_DUALSTACK_ENDPOINT"},
	} {
		t.Run(name, func(t *testing.T) {
			a := asked{err: &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: c.host, IsNotFound: true}}}
			_, err := cutOff(t, &a, Config{Region: c.region}, EndpointOptions(&c.fips, &c.dual)...).InstanceTypes(t.Context())
			if !errors.Is(err, ErrNoEndpoint) || !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), name+" endpoint "+c.host) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: want %s and %q to be named", err, c.host, c.want)
			}
		})
	}
	a := asked{err: &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "ec2.eu-west-1.amazonaws.com", IsNotFound: true}}}
	if _, err := cutOff(t, &a, Config{Region: "eu-west-1"}).InstanceTypes(t.Context()); errors.Is(err, ErrNoEndpoint) || !errors.Is(err, ErrUnreachable) {
		t.Errorf("an endpoint of neither kind: %v", err)
	}
}
