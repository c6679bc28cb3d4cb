package iamsim

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// provider is an OIDC identity provider.
type provider struct {
	arn         string
	url         string // without the scheme, as IAM keeps it
	clientIDs   []string
	thumbprints []string
	created     time.Time
	tags        map[string]string
}

func (s *Service) providerActions() map[string]handler {
	return map[string]handler{
		"CreateOpenIDConnectProvider":   s.createProvider,
		"GetOpenIDConnectProvider":      s.getProvider,
		"ListOpenIDConnectProviders":    s.listProviders,
		"DeleteOpenIDConnectProvider":   s.deleteProvider,
		"TagOpenIDConnectProvider":      s.tagProvider,
		"UntagOpenIDConnectProvider":    s.untagProvider,
		"ListOpenIDConnectProviderTags": s.listProviderTags,
	}
}

func (s *Service) withProvider(ctx context.Context, req *wire.Request, conditions map[string][]string, do func(*provider) (any, error)) (any, error) {
	arn, err := required(req.Form, "OpenIDConnectProviderArn")
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	var tags map[string]string
	if p, ok := s.providers[arn]; ok {
		tags = maps.Clone(p.tags)
	}
	s.mu.Unlock()
	if err := s.allow(ctx, req, arn, tags, conditions); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.providers[arn]
	if !ok {
		return nil, noSuchEntity("OpenIDConnect Provider not found for arn %s", arn)
	}
	return do(p)
}

func (s *Service) createProvider(ctx context.Context, req *wire.Request) (any, error) {
	address, err := required(req.Form, "Url")
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.RawQuery != "" {
		return nil, wire.Errorf("ValidationError", "Invalid Open ID Connect Provider URL")
	}
	tags, err := formTags(req.Form)
	if err != nil {
		return nil, err
	}
	p := &provider{
		url: u.Host + strings.TrimSuffix(u.Path, "/"), clientIDs: members(req.Form, "ClientIDList"), thumbprints: members(req.Form, "ThumbprintList"),
		created: req.Now.UTC().Truncate(time.Second), tags: tags,
	}
	p.arn = s.arn("oidc-provider", "/", p.url)
	if err := s.allow(ctx, req, p.arn, nil, wire.TagConditions(tags)); err != nil {
		return nil, err
	}
	if err := s.allowTagging(ctx, req, "iam:TagOpenIDConnectProvider", p.arn, tags); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.providers[p.arn]; ok {
		return nil, alreadyExists("Provider with url %s already exists.", address)
	}
	s.providers[p.arn] = p
	return struct {
		OpenIDConnectProviderArn string
		Tags                     *list[tag]
	}{p.arn, tagList(tags)}, nil
}

func (s *Service) getProvider(ctx context.Context, req *wire.Request) (any, error) {
	return s.withProvider(ctx, req, nil, func(p *provider) (any, error) {
		return struct {
			URL            string `xml:"Url"`
			ClientIDList   list[string]
			ThumbprintList list[string]
			CreateDate     time.Time
			Tags           *list[tag]
		}{p.url, list[string]{p.clientIDs}, list[string]{p.thumbprints}, p.created, tagList(p.tags)}, nil
	})
}

func (s *Service) listProviders(ctx context.Context, req *wire.Request) (any, error) {
	if err := s.allow(ctx, req, s.arn("oidc-provider", "/", "*"), nil, nil); err != nil {
		return nil, err
	}
	type entry struct{ Arn string }
	out := struct{ OpenIDConnectProviderList list[entry] }{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, arn := range slices.Sorted(maps.Keys(s.providers)) {
		out.OpenIDConnectProviderList.Member = append(out.OpenIDConnectProviderList.Member, entry{arn})
	}
	return out, nil
}

func (s *Service) deleteProvider(ctx context.Context, req *wire.Request) (any, error) {
	return s.withProvider(ctx, req, nil, func(p *provider) (any, error) {
		delete(s.providers, p.arn)
		return nil, nil
	})
}

func (s *Service) tagProvider(ctx context.Context, req *wire.Request) (any, error) {
	tags, err := formTags(req.Form)
	if err != nil {
		return nil, err
	}
	return s.withProvider(ctx, req, wire.TagConditions(tags), func(p *provider) (any, error) {
		merged, err := mergeTags(p.tags, tags)
		if err == nil {
			p.tags = merged
		}
		return nil, err
	})
}

func (s *Service) untagProvider(ctx context.Context, req *wire.Request) (any, error) {
	keys := members(req.Form, "TagKeys")
	return s.withProvider(ctx, req, map[string][]string{"aws:TagKeys": keys}, func(p *provider) (any, error) {
		maps.DeleteFunc(p.tags, func(k, _ string) bool { return slices.Contains(keys, k) })
		return nil, nil
	})
}

func (s *Service) listProviderTags(ctx context.Context, req *wire.Request) (any, error) {
	return s.withProvider(ctx, req, nil, func(p *provider) (any, error) { return pageTags(req, p.tags) })
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
	p := &provider{
		url: strings.TrimPrefix(issuer, "https://"), clientIDs: audiences,
		thumbprints: []string{strings.Repeat("0", 40)}, created: s.now().UTC().Truncate(time.Second), tags: map[string]string{},
	}
	p.arn = s.arn("oidc-provider", "/", p.url)
	s.providers[p.arn] = p
	return p.arn
}
