package provider

import (
	"context"
	"errors"
	"fmt"

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
	cluster memo[*clusterClient]
	claims  claims
	reads   refreshed
	roles   plannedRoles
}

func newSession(version string, image install.Image, pace pace, s settings) *session {
	return &session{version: version, image: image, pace: pace, settings: s}
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
