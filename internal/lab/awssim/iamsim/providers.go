package iamsim

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// provider is an OIDC identity provider.
type provider struct {
	arn       string
	url       string // without the scheme, as IAM keeps it
	clientIDs []string
	created   time.Time
}

func (s *Service) getProvider(ctx context.Context, req *wire.Request) (any, error) {
	arn, err := required(req.Form, "OpenIDConnectProviderArn")
	if err != nil {
		return nil, err
	}
	if err := s.allow(ctx, req, arn, nil, nil); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.providers[arn]
	if !ok {
		return nil, noSuchEntity("OpenIDConnect Provider not found for arn %s", arn)
	}
	return struct {
		URL            string `xml:"Url"`
		ClientIDList   list[string]
		ThumbprintList list[string]
		CreateDate     time.Time
		Tags           list[tag]
	}{URL: p.url, ClientIDList: list[string]{p.clientIDs}, ThumbprintList: list[string]{[]string{strings.Repeat("0", 40)}}, CreateDate: p.created}, nil
}

// OIDCProvider is what STS needs to know of a provider.
type OIDCProvider struct {
	ARN       string
	URL       string // host and path, without https://
	ClientIDs []string
}

// OIDCProvider finds the provider of an issuer (https://host/path).
func (s *Service) OIDCProvider(issuer string) (OIDCProvider, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.providers {
		if "https://"+p.url == issuer {
			return OIDCProvider{p.arn, p.url, slices.Clone(p.clientIDs)}, true
		}
	}
	return OIDCProvider{}, false
}

// SeedOIDCProvider registers an issuer with the audience sts.amazonaws.com, as
// is done once for an EKS cluster, or with others, and returns the provider's ARN.
func (s *Service) SeedOIDCProvider(issuer string, audiences ...string) string {
	if len(audiences) == 0 {
		audiences = []string{"sts.amazonaws.com"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &provider{url: strings.TrimPrefix(issuer, "https://"), clientIDs: audiences, created: s.now().UTC().Truncate(time.Second)}
	p.arn = s.arn("oidc-provider", "/", p.url)
	s.providers[p.arn] = p
	return p.arn
}
