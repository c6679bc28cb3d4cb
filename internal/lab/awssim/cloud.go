package awssim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ekssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/eventsim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/iamsim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/pricingsim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/sqssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ssmsim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/stssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// Options are what a cloud is made of.
type Options struct {
	Region  string // required
	Account string // twelve digits; required
	Logger  hclog.Logger
	Now     func() time.Time // nil: time.Now
	// JWKS fetches the published keys of the clusters' OIDC issuer, that is the
	// API server's, for AssumeRoleWithWebIdentity; nil: no token is accepted.
	JWKS func(context.Context) ([]byte, error)

	SpotNotice time.Duration // from a spot warning to the interruption; 0: two minutes
	StartTime  time.Duration // of instances from pending to running; 0: at once
	StopTime   time.Duration // of instances from shutting-down to terminated; 0: at once

	// CallTime is how long a call takes, drawn between the two; the queue's long polls wait
	// beyond it. Zero: no longer than it must.
	CallTime [2]time.Duration
	// Lag is the longest time until a change is seen by other calls; see ec2sim.Config.Lag and
	// iamsim.Service.SetLag. Zero: changes are seen at once.
	Lag time.Duration
}

// Cloud is one simulated AWS account in one region. Safe for concurrent use.
type Cloud struct {
	IAM     *iamsim.Service
	STS     *stssim.Service
	EC2     *ec2sim.Service
	SQS     *sqssim.Service
	Events  *eventsim.Service
	EKS     *ekssim.Service
	SSM     *ssmsim.Service
	Pricing *pricingsim.Service
	Offered ec2sim.Offered // by EC2: the product's embedded catalogue of the region

	options  Options
	services map[string]wire.Service // by the name that signatures carry
	calls    callLog
	faults   Faults
	throttle throttle
	listener net.Listener
	server   *http.Server
}

// New makes a cloud that holds nothing yet; Start makes it reachable.
func New(o Options) (*Cloud, error) {
	if o.Region == "" || len(o.Account) != 12 {
		return nil, fmt.Errorf("make cloud: %w: Region %q and Account %q (twelve digits) are both needed", ErrOptions, o.Region, o.Account)
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	offered, err := ec2sim.EmbeddedTypes(o.Region)
	if err != nil {
		return nil, fmt.Errorf("make cloud: %w", err)
	}
	c := &Cloud{Offered: offered, options: o}
	c.IAM = iamsim.New(iamsim.Config{Account: o.Account, Now: o.Now, Needed: c.needsServiceRole})
	c.STS = stssim.New(stssim.Config{IAM: c.IAM, JWKS: o.JWKS, Now: o.Now})
	c.SQS = sqssim.New(sqssim.Config{Region: o.Region, Account: o.Account, Now: o.Now, Auth: c.IAM, URL: c.URL})
	c.Events = eventsim.New(eventsim.Config{Region: o.Region, Account: o.Account, Now: o.Now, Auth: c.IAM, Queues: c.SQS, Logger: o.Logger})
	c.EKS = ekssim.New(ekssim.Config{Region: o.Region, Account: o.Account, Now: o.Now, Auth: c.IAM, PrincipalID: c.IAM.PrincipalID, TrustsPods: c.STS.TrustsPods})
	c.SSM = ssmsim.New(ssmsim.Config{Region: o.Region, Account: o.Account, Now: o.Now, Auth: c.IAM})
	c.Pricing = pricingsim.New(pricingsim.Config{Now: o.Now, Auth: c.IAM, Products: products(o.Region, offered.Types)})
	c.EC2 = ec2sim.New(ec2sim.Config{
		Region: o.Region, Account: o.Account, Now: o.Now, Auth: c.IAM, Emit: c.Events.Put, ResolveProfile: c.resolveProfile, Offered: offered,
		SpotRole: func(ctx context.Context, req *wire.Request) bool {
			return c.IAM.EnsureServiceRole(ctx, req, "spot.amazonaws.com") == nil
		},
		SpotNotice: o.SpotNotice, StartTime: o.StartTime, StopTime: o.StopTime, Lag: o.Lag,
	})
	c.IAM.SetLag(o.Lag)
	c.services = map[string]wire.Service{
		"ec2": c.EC2, "iam": c.IAM, "sts": c.STS, "sqs": c.SQS, "events": c.Events, "eks": c.EKS, "ssm": c.SSM, "pricing": c.Pricing,
	}
	return c, nil
}

// products makes the price list of the types that EC2 offers.
func products(region string, types []ec2sim.Type) func(string) ([]pricingsim.Product, error) {
	return func(asked string) ([]pricingsim.Product, error) {
		if asked != region {
			return nil, nil
		}
		var out []pricingsim.Product
		for _, t := range types {
			if t.OnDemand > 0 {
				out = append(out, pricingsim.Product{
					InstanceType: t.Name, RegionCode: region, PerHour: t.OnDemand, BareMetal: t.BareMetal, VCPU: t.VCPU, MemoryMiB: t.MemoryMiB,
				})
			}
		}
		slices.SortFunc(out, func(a, b pricingsim.Product) int { return strings.Compare(a.InstanceType, b.InstanceType) })
		return out, nil
	}
}

// needsServiceRole says why a service still needs its service-linked role.
func (c *Cloud) needsServiceRole(service string) string {
	if service != "spot.amazonaws.com" {
		return ""
	}
	for _, i := range c.EC2.Instances() {
		if i.Spot && i.State != ec2sim.StateTerminated {
			return "A service-linked role that is in use by spot instance " + i.ID + " cannot be deleted."
		}
	}
	return ""
}

func (c *Cloud) resolveProfile(nameOrARN string) (ec2sim.Profile, error) {
	p, err := c.IAM.Profile(nameOrARN)
	if err != nil {
		return ec2sim.Profile{}, err
	}
	return ec2sim.Profile{Name: p.Name, ARN: p.ARN, ID: p.ID, RoleARN: p.RoleARN}, nil
}

// Actions lists what is simulated, by service as signatures name it.
func (c *Cloud) Actions() map[string][]string {
	out := map[string][]string{}
	for name, service := range c.services {
		out[name] = service.Actions()
	}
	return out
}

// Start listens on a free port of 127.0.0.1 and serves until Close.
func (c *Cloud) Start() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for simulated aws: %w", err)
	}
	c.listener = listener
	c.server = &http.Server{Handler: c, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := c.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			c.options.Logger.Error("simulated AWS stopped", "error", err)
		}
	}()
	return nil
}

// URL is the endpoint for AWS_ENDPOINT_URL, once the cloud is started.
func (c *Cloud) URL() string { return "http://" + c.listener.Addr().String() }

// Close stops EC2's timers, the listener and every connection.
func (c *Cloud) Close() error {
	c.EC2.Close()
	if c.server == nil {
		return nil
	}
	return c.server.Close()
}

// Faults are the faults in force; inject and clear them there.
func (c *Cloud) Faults() *Faults { return &c.faults }
