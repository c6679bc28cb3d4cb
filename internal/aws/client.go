package aws

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"
)

const (
	// MaxAttempts bounds the tries of a call, MaxBackoff the pause between two of them.
	MaxAttempts = 5
	MaxBackoff  = 10 * time.Second
	// RequestTimeout bounds each try. It is longer than the longest call: the 20 s long poll of SQS.
	RequestTimeout = 35 * time.Second
	// defaultPropagation is how long IAM may take to show a new role to the other
	// services. Terraform's AWS provider waits as long.
	defaultPropagation = 2 * time.Minute
)

// Call is one SDK operation that has ended, retries included.
type Call struct {
	Service, Operation string // as the SDK names them, e.g. EC2, CreateFleet
	Duration           time.Duration
	Err                error
}

// Config says where and as whom to call AWS. Credentials come from the SDK's
// default chain (environment, shared files, web identity, container, instance).
type Config struct {
	Region      string                      // empty: AWS_REGION, then the profile's
	FIPS        *bool                       // whether to call FIPS endpoints; nil: AWS_USE_FIPS_ENDPOINT, then the profile
	DualStack   *bool                       // whether to call endpoints that answer by IPv6, too; nil: AWS_USE_DUALSTACK_ENDPOINT, then the profile
	Endpoints   map[string]string           // base URL by service name, see Services; AWS_ENDPOINT_URL works too
	UserAgent   string                      // product/version, e.g. karpenterd/1.2.3
	Observe     func(context.Context, Call) // called after every operation, with the operation's context; may be nil
	Propagation time.Duration               // how long to wait for IAM's eventual consistency; 0: two minutes
	KeepTag     func(string) bool           // keys of tags that somebody else keeps: updates neither set nor remove them; nil: none
}

// Services lists the services that Config.Endpoints may have.
func Services() []string {
	return []string{"ec2", "eks", "events", "iam", "pricing", "sqs", "ssm", "sts"}
}

// Clients calls AWS in one region. It is safe for concurrent use.
type Clients struct {
	region      string
	propagation time.Duration
	justMade    bool // see JustMade
	clock       *clock
	keepTag     func(string) bool
	kinds       sts.EndpointResolverOptions // which endpoints are called, of services without one of their own

	byID    *together[Instance]
	byClaim *together[[]Instance]
	ends    *together[error] // terminations: what EC2 says of those that it did not take

	ec2 *ec2.Client
	// launches has retries of its own: those of other calls use up none of them.
	launches *ec2.Client
	eks      *eks.Client
	events   *eventbridge.Client
	iam      *iam.Client
	pricing  *pricing.Client // calls the region of the Price List
	sqs      *sqs.Client
	ssm      *ssm.Client
	sts      *sts.Client
}

// Regions are spelled like us-west-2, us-gov-east-1 or eusc-de-east-1.
var regionForm = regexp.MustCompile(`^[a-z]{2,6}(-[a-z]+)+-[0-9]+$`)

// New makes the clients, and never connects. It fails if the region is missing or
// malformed, if an endpoint is for an unknown service, or if the shared configuration
// cannot be read.
func New(ctx context.Context, c Config) (*Clients, error) {
	opts := []func(*config.LoadOptions) error{
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(RequestTimeout)),
		config.WithRetryer(func() awssdk.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) {
				o.MaxAttempts = MaxAttempts
				o.MaxBackoff = MaxBackoff
			})
		}),
	}
	if c.Region != "" {
		opts = append(opts, config.WithRegion(c.Region))
	}
	opts = append(opts, EndpointOptions(c.FIPS, c.DualStack)...)
	sdk, err := config.LoadDefaultConfig(ctx, opts...)
	if err != nil {
		return nil, fmt.Errorf("configure aws: %w", err)
	}
	return NewFrom(sdk, c)
}

// NewFrom makes the clients from a configuration of the SDK, which has the region, the kind
// of endpoints, the credentials, the HTTP client and the retries; c.Region, c.FIPS and
// c.DualStack do not count. It never connects, and fails as New does.
func NewFrom(sdk awssdk.Config, c Config) (*Clients, error) {
	for name := range c.Endpoints {
		if !slices.Contains(Services(), name) {
			return nil, fmt.Errorf("configure aws: endpoints[%q]: unknown service; use one of %s", name, strings.Join(Services(), ", "))
		}
	}
	if sdk.Region == "" {
		return nil, fmt.Errorf("configure aws: region is not set; set region or AWS_REGION")
	}
	if !regionForm.MatchString(sdk.Region) {
		return nil, fmt.Errorf("configure aws: region %q is not an AWS region; write it like us-west-2", sdk.Region)
	}
	sdk.HTTPClient = buffered{sdk.HTTPClient}
	if retryer := sdk.Retryer; retryer != nil {
		sdk.Retryer = func() awssdk.Retryer {
			return retry.AddWithErrorCodes(retryer(), concurrentIAM, concurrentEvents, concurrentEC2)
		}
	}
	follows := &clock{}
	sdk.APIOptions = append(slices.Clone(sdk.APIOptions), append(apiOptions(c), follows.follow)...)
	if cache, ok := sdk.Credentials.(*awssdk.CredentialsCache); ok {
		sdk.APIOptions = append(sdk.APIOptions, (&renewal{cache: cache}).follow)
	}
	clients := newClients(sdk, c)
	clients.clock = follows
	return clients, nil
}

func newClients(sdk awssdk.Config, c Config) *Clients {
	propagation := c.Propagation
	if propagation == 0 {
		propagation = defaultPropagation
	}
	var kinds sts.EndpointResolverOptions
	sts.NewFromConfig(sdk, func(o *sts.Options) { kinds = o.EndpointOptions })
	// The SDK refuses an endpoint of one's own together with a kind of endpoints. An endpoint
	// of one's own is called as it is.
	set := func(service string, base **string, fips *awssdk.FIPSEndpointState, dual *awssdk.DualStackEndpointState) {
		if url := c.Endpoints[service]; url != "" {
			*base = &url
		}
		if *base != nil {
			*fips, *dual = awssdk.FIPSEndpointStateDisabled, awssdk.DualStackEndpointStateDisabled
		}
	}
	brake := &brake{}
	newEC2 := func() *ec2.Client {
		return ec2.NewFromConfig(sdk, func(o *ec2.Options) {
			set("ec2", &o.BaseEndpoint, &o.EndpointOptions.UseFIPSEndpoint, &o.EndpointOptions.UseDualStackEndpoint)
			o.APIOptions = append(slices.Clone(o.APIOptions), brake.hold)
		})
	}
	out := &Clients{
		region:      sdk.Region,
		propagation: propagation,
		keepTag:     c.KeepTag,
		kinds:       kinds,
		ec2:         newEC2(), launches: newEC2(),
		eks: eks.NewFromConfig(sdk, func(o *eks.Options) {
			set("eks", &o.BaseEndpoint, &o.EndpointOptions.UseFIPSEndpoint, &o.EndpointOptions.UseDualStackEndpoint)
		}),
		events: eventbridge.NewFromConfig(sdk, func(o *eventbridge.Options) {
			set("events", &o.BaseEndpoint, &o.EndpointOptions.UseFIPSEndpoint, &o.EndpointOptions.UseDualStackEndpoint)
		}),
		iam: iam.NewFromConfig(sdk, func(o *iam.Options) {
			set("iam", &o.BaseEndpoint, &o.EndpointOptions.UseFIPSEndpoint, &o.EndpointOptions.UseDualStackEndpoint)
		}),
		pricing: pricing.NewFromConfig(sdk, func(o *pricing.Options) {
			set("pricing", &o.BaseEndpoint, &o.EndpointOptions.UseFIPSEndpoint, &o.EndpointOptions.UseDualStackEndpoint)
			if list, ok := priceListOf(sdk.Region); ok {
				o.Region = list.region
			}
		}),
		sqs: sqs.NewFromConfig(sdk, func(o *sqs.Options) {
			set("sqs", &o.BaseEndpoint, &o.EndpointOptions.UseFIPSEndpoint, &o.EndpointOptions.UseDualStackEndpoint)
		}),
		ssm: ssm.NewFromConfig(sdk, func(o *ssm.Options) {
			set("ssm", &o.BaseEndpoint, &o.EndpointOptions.UseFIPSEndpoint, &o.EndpointOptions.UseDualStackEndpoint)
		}),
		sts: sts.NewFromConfig(sdk, func(o *sts.Options) {
			set("sts", &o.BaseEndpoint, &o.EndpointOptions.UseFIPSEndpoint, &o.EndpointOptions.UseDualStackEndpoint)
		}),
	}
	out.byID, out.byClaim = &together[Instance]{call: out.readInstances}, &together[[]Instance]{call: out.instancesOf}
	out.ends = &together[error]{call: out.terminate}
	return out
}

// Region is the region that the clients call.
func (c *Clients) Region() string { return c.region }

func apiOptions(c Config) []func(*middleware.Stack) error {
	var options []func(*middleware.Stack) error
	if product, version, ok := strings.Cut(c.UserAgent, "/"); ok {
		options = append(options, awsmiddleware.AddUserAgentKeyValue(product, version))
	} else if c.UserAgent != "" {
		options = append(options, awsmiddleware.AddUserAgentKey(c.UserAgent))
	}
	if c.Observe != nil {
		options = append(options, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(observer(c.Observe), middleware.Before)
		})
	}
	return options
}

func observer(observe func(context.Context, Call)) middleware.InitializeMiddleware {
	return middleware.InitializeMiddlewareFunc("Observe", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		start := time.Now()
		out, meta, err := next.HandleInitialize(ctx, in)
		observe(ctx, Call{
			Service:   awsmiddleware.GetServiceID(ctx),
			Operation: awsmiddleware.GetOperationName(ctx),
			Duration:  time.Since(start),
			Err:       err,
		})
		return out, meta, err
	})
}
