package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/credentials"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/region"
)

// session is what Configure hands to every resource: the settings, and the
// clients made from them on first use.
type session struct {
	version string
	pace    pace
	image   install.Image // of the daemon, without a digest in a build that belongs to no release
	settings
	aws     memo[*aws.Clients]
	caller  memo[aws.Identity]
	cluster memo[*cluster]
	claims  claims
	reads   refreshed
	trusts  plannedTrusts
}

func newSession(version string, image install.Image, pace pace, s settings) *session {
	return &session{version: version, image: image, pace: pace, settings: s}
}

// pace says how long the provider waits for others. What is 0 is as in a release; tests
// wait less.
type pace struct {
	backoff     time.Duration // longest pause between two tries of an AWS call
	propagation time.Duration // see aws.Config
	qps         float32       // requests a second to the API server
	patience    time.Duration // how long the first contact with a cluster may be refused
	stuck       time.Duration // see stuckAfter
	forced      time.Duration // see forcedWithin
	lease       time.Duration // how long a Lease is watched that nobody seems to renew; see leaseExpires
}

// AWS gives the AWS clients for calls. ErrConfigUnknown while the configuration has
// unknown values; ErrAccount if the configuration does not allow the account of the
// credentials. It dials only to learn the account, if the configuration restricts it.
func (s *session) AWS(ctx context.Context) (*aws.Clients, error) {
	clients, err := s.clients(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.checkAccount(ctx, clients); err != nil {
		return nil, err
	}
	return clients, nil
}

// clients are the AWS clients for what takes no call. It reads files and the environment
// but never dials. ErrConfigUnknown.
func (s *session) clients(ctx context.Context) (*aws.Clients, error) {
	if s.unknownAWS != "" {
		return nil, fmt.Errorf("%w: %s", ErrConfigUnknown, s.unknownAWS)
	}
	return s.aws.get(func() (*aws.Clients, error) {
		login := s.login
		login.MaxBackoff = s.pace.backoff
		sdk, err := credentials.Load(ctx, login)
		if err != nil {
			return nil, err
		}
		if !s.skipRegion {
			if err := region.Check(sdk.Region); err != nil {
				return nil, err
			}
		}
		return aws.NewFrom(sdk, aws.Config{
			Endpoints: s.endpoints, UserAgent: "terraform-provider-karpenter/" + s.version, KeepTag: s.ignoreTags.has, Propagation: s.pace.propagation,
			Observe: logCall,
		})
	})
}

// endpointKinds says whether the provider calls FIPS and dual-stack endpoints; unknown while
// its configuration is. A provider that calls no AWS calls neither.
func (s *session) endpointKinds(ctx context.Context) (fips, dualStack types.Bool) {
	clients, err := s.clients(ctx)
	switch {
	case errors.Is(err, ErrConfigUnknown):
		return types.BoolUnknown(), types.BoolUnknown()
	case err != nil:
		return types.BoolValue(false), types.BoolValue(false)
	}
	return types.BoolValue(clients.UsesFIPS()), types.BoolValue(clients.UsesDualStack())
}

// planRegion is the region of the plan; "" while the region is unknown. A configuration
// with which AWS cannot be called is an error of the plan: the apply would fail.
func (b *base) planRegion(ctx context.Context, diags *diag.Diagnostics) string {
	clients, err := b.session.clients(ctx)
	if err == nil {
		return clients.Region()
	}
	if !errors.Is(err, ErrConfigUnknown) {
		diags.AddError("Cannot plan karpenter_"+b.kind, strings.TrimSpace(fmt.Sprintf(
			"karpenter_%s needs AWS, and the provider is not configured for it: %v.\n\n%s", b.kind, err, b.remedy("", err))))
	}
	return ""
}

// planCluster checks the same for a resource in a cluster that is reached through AWS, as
// far as the configuration is known.
func (b *base) planCluster(ctx context.Context, diags *diag.Diagnostics) {
	if b.session != nil && b.session.eks != nil && b.session.unknownCluster == "" {
		b.planRegion(ctx, diags)
	}
}

// memo makes a value on first use and keeps it. A failure is not kept.
type memo[T any] struct {
	mu    sync.Mutex
	made  bool
	value T
}

func (m *memo[T]) get(build func() (T, error)) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.made {
		return m.value, nil
	}
	value, err := build()
	if err != nil {
		return value, err
	}
	m.value, m.made = value, true
	return m.value, nil
}
