package iamsim

import (
	"maps"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// Inventory is every role, policy of the account and instance profile, by kind and name.
// Of a policy only the default version counts.
func (s *Service) Inventory() map[string]wire.Thing {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]wire.Thing{}
	add := func(key, id string, content any) { all[key] = wire.Thing{Identity: id, Content: wire.Text(content)} }
	for name, r := range s.roles {
		add(roleKey+name, r.id, r.content())
	}
	for arn, p := range s.policies {
		if !p.aws {
			add(policyKey+arn, p.id, p.content())
		}
	}
	for name, p := range s.profiles {
		add(profileKey+name, p.id, profileContent{p.path, p.role, wire.Given(p.tags)})
	}
	return all
}

// What the keys of the inventory begin with.
const (
	roleKey    = "iam role/"
	policyKey  = "iam policy/"
	profileKey = "iam profile/"
)

type roleContent struct {
	Attached    []string          `json:"attached"`
	Boundary    string            `json:"boundary"`
	Description string            `json:"description"`
	Inline      map[string]string `json:"inline"`
	Path        string            `json:"path"`
	Session     int               `json:"session"`
	Tags        map[string]string `json:"tags"`
	Trust       string            `json:"trust"`
}

func (r *role) content() roleContent {
	inline := map[string]string{}
	for policy, document := range r.inline {
		inline[policy] = document.text
	}
	return roleContent{append([]string{}, r.attached...), r.boundary, r.description, inline, r.path, r.maxSession, wire.Given(r.tags), r.trustText}
}

type policyContent struct {
	Description string            `json:"description"`
	Document    string            `json:"document"`
	Tags        map[string]string `json:"tags"`
}

// content is that of the default version.
func (m *managed) content() policyContent {
	out := policyContent{Description: m.description, Tags: wire.Given(m.tags)}
	for _, v := range m.versions {
		if v.id == m.defaultVersion {
			out.Document = v.text
		}
	}
	return out
}

type profileContent struct {
	Path string            `json:"path"`
	Role string            `json:"role"`
	Tags map[string]string `json:"tags"`
}

// Snapshot returns a function that makes roles, policies and instance profiles as they
// are now.
func (s *Service) Snapshot() (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	roles, policies, profiles := copyOf(s.roles, (*role).copy), copyOf(s.policies, (*managed).copy), copyOf(s.profiles, (*profile).copy)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.roles, s.policies, s.profiles = copyOf(roles, (*role).copy), copyOf(policies, (*managed).copy), copyOf(profiles, (*profile).copy)
	}
}

func copyOf[T any](all map[string]*T, one func(*T) *T) map[string]*T {
	out := make(map[string]*T, len(all))
	for name, t := range all {
		out[name] = one(t)
	}
	return out
}

func (r *role) copy() *role {
	c := *r
	c.tags, c.inline, c.attached = maps.Clone(r.tags), maps.Clone(r.inline), slices.Clone(r.attached)
	return &c
}

func (m *managed) copy() *managed {
	if m.aws {
		return m
	}
	c := *m
	c.tags, c.versions = maps.Clone(m.tags), slices.Clone(m.versions)
	return &c
}

func (p *profile) copy() *profile {
	c := *p
	c.tags = maps.Clone(p.tags)
	return &c
}
