package iamsim

import (
	"encoding/json"
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
	add := func(key, id string, content map[string]any) {
		text, err := json.Marshal(content)
		if err != nil {
			text = []byte(err.Error()) // cannot happen: strings, maps and lists of strings
		}
		all[key] = wire.Thing{Identity: id, Content: string(text)}
	}
	for name, r := range s.roles {
		inline := map[string]string{}
		for policy, document := range r.inline {
			inline[policy] = document.text
		}
		add("iam role/"+name, r.id, map[string]any{
			"path": r.path, "description": r.description, "trust": r.trustText, "session": r.maxSession, "tags": r.tags,
			"inline": inline, "attached": r.attached, "boundary": r.boundary,
		})
	}
	for arn, p := range s.policies {
		if p.aws {
			continue
		}
		document := ""
		for _, v := range p.versions {
			if v.id == p.defaultVersion {
				document = v.text
			}
		}
		add("iam policy/"+arn, p.id, map[string]any{"description": p.description, "document": document, "tags": p.tags})
	}
	for name, p := range s.profiles {
		add("iam profile/"+name, p.id, map[string]any{"path": p.path, "role": p.role, "tags": p.tags})
	}
	return all
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
