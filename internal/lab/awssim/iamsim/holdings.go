package iamsim

import (
	"maps"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/policy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
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

type policyContent struct {
	Description string            `json:"description"`
	Document    string            `json:"document"`
	Tags        map[string]string `json:"tags"`
}

type profileContent struct {
	Path string            `json:"path"`
	Role string            `json:"role"`
	Tags map[string]string `json:"tags"`
}

// Holdings are the roles, policies of the account and instance profiles by kind and name. Of a
// policy only the default version counts. What is removed leaves no attachment behind, and no
// place in an instance profile.
func (s *Service) Holdings() wire.Holdings {
	return wire.Holdings{Lock: &s.mu, Kinds: []wire.Kind{
		wire.Map[role, roleContent]{
			Prefix: "iam role/", Of: &s.roles, Identity: func(r *role) string { return r.id }, Content: (*role).content, Set: (*role).set, Copy: (*role).copy,
			Removed: func(name string, _ *role) {
				for _, p := range s.profiles {
					if p.role == name {
						p.role = ""
					}
				}
			},
		},
		wire.Map[managed, policyContent]{
			Prefix: "iam policy/", Of: &s.policies, Identity: func(m *managed) string { return m.id }, Content: (*managed).content, Set: (*managed).set, Copy: (*managed).copy,
			Foreign: func(m *managed) bool { return m.aws },
			Removed: func(arn string, _ *managed) {
				for _, r := range s.roles {
					r.attached = slices.DeleteFunc(r.attached, func(other string) bool { return other == arn })
				}
			},
		},
		wire.Map[profile, profileContent]{
			Prefix: "iam profile/", Of: &s.profiles, Identity: func(p *profile) string { return p.id }, Content: (*profile).content, Set: (*profile).set, Copy: (*profile).copy,
		},
	}}
}

func (r *role) content() roleContent {
	inline := map[string]string{}
	for name, document := range r.inline {
		inline[name] = document.text
	}
	return roleContent{append([]string{}, r.attached...), r.boundary, r.description, inline, r.path, r.maxSession, wire.Given(r.tags), r.trustText}
}

func (r *role) set(in roleContent) error {
	trust, err := parsePolicy(in.Trust, policy.Trust)
	if err != nil {
		return err
	}
	inline := map[string]inlinePolicy{}
	for name, text := range in.Inline {
		doc, err := parsePolicy(text, policy.Identity)
		if err != nil {
			return err
		}
		inline[name] = inlinePolicy{text, doc}
	}
	slices.Sort(in.Attached)
	r.attached, r.boundary, r.description, r.inline, r.path, r.maxSession, r.tags = in.Attached, in.Boundary, in.Description, inline, in.Path, in.Session, in.Tags
	r.trust, r.trustText = trust, in.Trust
	return nil
}

func (r *role) copy() *role {
	c := *r
	c.tags, c.inline, c.attached = maps.Clone(r.tags), maps.Clone(r.inline), slices.Clone(r.attached)
	return &c
}

func (m *managed) content() policyContent {
	v, _ := m.version(m.defaultVersion)
	return policyContent{m.description, v.text, wire.Given(m.tags)}
}

func (m *managed) set(in policyContent) error {
	doc, err := parsePolicy(in.Document, policy.Identity)
	if err != nil {
		return err
	}
	m.description, m.tags = in.Description, in.Tags
	for i := range m.versions {
		if v := &m.versions[i]; v.id == m.defaultVersion {
			v.text, v.doc = in.Document, doc
		}
	}
	return nil
}

func (m *managed) copy() *managed {
	c := *m
	c.tags, c.versions = maps.Clone(m.tags), slices.Clone(m.versions)
	return &c
}

func (p *profile) content() profileContent { return profileContent{p.path, p.role, wire.Given(p.tags)} }

func (p *profile) set(in profileContent) error {
	p.path, p.role, p.tags = in.Path, in.Role, in.Tags
	return nil
}

func (p *profile) copy() *profile {
	c := *p
	c.tags = maps.Clone(p.tags)
	return &c
}
