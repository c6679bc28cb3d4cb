package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/apiserver"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/credentials"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/memo"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/pace"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/region"
)

// Session is what Configure hands to every resource: the settings, and the
// clients made from them on first use.
type Session struct {
	Version string
	pace    pace.Pace
	Image   install.Image // of the daemon, without a digest in a build that belongs to no release
	Settings
	aws     memo.Value[*aws.Clients]
	Caller  memo.Value[aws.Identity]
	cluster memo.Value[*apiserver.Client]
	Claims  ownership.Claims
	Reads   ownership.Refreshed
	Roles   plannedRoles
}

// New makes the session of a configuration. It dials nowhere.
func New(version string, image install.Image, p pace.Pace, s Settings) *Session {
	return &Session{Version: version, Image: image, pace: p, Settings: s}
}

// AWS gives the AWS clients for calls. ErrConfigUnknown while the configuration has
// unknown values; ErrAccount if the configuration does not allow the account of the
// credentials. It dials only to learn the account, if the configuration restricts it.
func (s *Session) AWS(ctx context.Context) (*aws.Clients, error) {
	clients, err := s.Clients(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.checkAccount(ctx, clients); err != nil {
		return nil, err
	}
	return clients, nil
}

// Clients are the AWS clients for what takes no call. It reads files and the environment
// but never dials. ErrConfigUnknown.
func (s *Session) Clients(ctx context.Context) (*aws.Clients, error) {
	if s.UnknownAWS != "" {
		return nil, fmt.Errorf("%w: %s", failure.ErrConfigUnknown, s.UnknownAWS)
	}
	return s.aws.Get(func() (*aws.Clients, error) {
		login := s.Login
		login.MaxBackoff = s.pace.Backoff
		sdk, err := credentials.Load(ctx, login)
		if err != nil {
			return nil, err
		}
		if !s.SkipRegion {
			if err := region.Check(sdk.Region); err != nil {
				return nil, err
			}
		}
		return aws.NewFrom(sdk, aws.Config{
			Endpoints: s.Endpoints, UserAgent: "terraform-provider-karpenter/" + s.Version, KeepTag: s.IgnoreTags.Has, Propagation: s.pace.Propagation,
			Observe: logCall,
		})
	})
}

// EndpointKinds says whether the provider calls FIPS and dual-stack endpoints; unknown while
// its configuration is. A provider that calls no AWS calls neither.
func (s *Session) EndpointKinds(ctx context.Context) (fips, dualStack types.Bool) {
	clients, err := s.Clients(ctx)
	switch {
	case errors.Is(err, failure.ErrConfigUnknown):
		return types.BoolUnknown(), types.BoolUnknown()
	case err != nil:
		return types.BoolValue(false), types.BoolValue(false)
	}
	return types.BoolValue(clients.UsesFIPS()), types.BoolValue(clients.UsesDualStack())
}
