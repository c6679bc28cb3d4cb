package awssim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/iamsim"
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
}

// Cloud is one simulated AWS account in one region. Safe for concurrent use.
type Cloud struct {
	IAM *iamsim.Service
	STS *stssim.Service

	options  Options
	services map[string]wire.Service // by the name that signatures carry
	calls    callLog
	faults   Faults
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
	c := &Cloud{options: o}
	c.IAM = iamsim.New(iamsim.Config{Account: o.Account, Now: o.Now})
	c.STS = stssim.New(stssim.Config{IAM: c.IAM, JWKS: o.JWKS, Now: o.Now})
	c.services = map[string]wire.Service{"iam": c.IAM, "sts": c.STS}
	return c, nil
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

// URL is the endpoint for AWS_ENDPOINT_URL.
func (c *Cloud) URL() string { return "http://" + c.listener.Addr().String() }

// Close ends the listener and every connection.
func (c *Cloud) Close() error {
	if c.server == nil {
		return nil
	}
	return c.server.Close()
}

// Faults are the faults in force; inject and clear them there.
func (c *Cloud) Faults() *Faults { return &c.faults }
