package provider

import (
	"context"
	"fmt"
	"sync"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/region"
)

// session is what Configure hands to every resource: the settings, and the
// clients made from them on first use.
type session struct {
	version string
	image   install.Image // of the daemon, without a digest in a build that belongs to no release
	settings
	aws     memo[*aws.Clients]
	cluster memo[*cluster]
}

func newSession(version string, image install.Image, config providerModel) *session {
	return &session{version: version, image: image, settings: config.settings()}
}

// AWS gives the AWS clients. ErrConfigUnknown while the configuration has
// unknown values. It reads files and the environment but never dials.
func (s *session) AWS(ctx context.Context) (*aws.Clients, error) {
	if s.unknownAWS != "" {
		return nil, fmt.Errorf("%w: %s", ErrConfigUnknown, s.unknownAWS)
	}
	return s.aws.get(func() (*aws.Clients, error) {
		clients, err := aws.New(ctx, aws.Config{
			Region:    s.region,
			Endpoints: s.endpoints,
			UserAgent: "terraform-provider-karpenter/" + s.version,
		})
		if err != nil {
			return nil, err
		}
		if !s.skipRegion {
			if err := region.Check(clients.Region()); err != nil {
				return nil, err
			}
		}
		return clients, nil
	})
}

// knownRegion is the region of the plan; "" while the region is unknown.
func (s *session) knownRegion(ctx context.Context) string {
	clients, err := s.AWS(ctx)
	if err != nil {
		return ""
	}
	return clients.Region()
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
