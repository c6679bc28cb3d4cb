package iamsim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/policy"
)

// Overwrite gives a thing of the inventory other content, whoever may do that. Content that is not
// as the service would have it is an error.
func (s *Service) Overwrite(key, content string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind, name, _ := strings.Cut(key, "/")
	switch {
	case kind+"/" == roleKey && s.roles[name] != nil:
		return s.roles[name].overwrite(content)
	case kind+"/" == policyKey && s.policies[name] != nil:
		return s.policies[name].overwrite(content)
	case kind+"/" == profileKey && s.profiles[name] != nil:
		p, in := s.profiles[name], profileContent{}
		if err := json.Unmarshal([]byte(content), &in); err != nil {
			return err
		}
		p.path, p.role, p.tags = in.Path, in.Role, in.Tags
		return nil
	}
	return fmt.Errorf("%s: not found", key)
}

func (r *role) overwrite(content string) error {
	var in roleContent
	if err := json.Unmarshal([]byte(content), &in); err != nil {
		return err
	}
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

func (m *managed) overwrite(content string) error {
	var in policyContent
	if err := json.Unmarshal([]byte(content), &in); err != nil {
		return err
	}
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

// Remove removes a thing of the inventory with what holds it: attachments, and the place of a
// role in instance profiles.
func (s *Service) Remove(key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind, name, _ := strings.Cut(key, "/")
	switch {
	case kind+"/" == roleKey && s.roles[name] != nil:
		delete(s.roles, name)
		for _, p := range s.profiles {
			if p.role == name {
				p.role = ""
			}
		}
	case kind+"/" == policyKey && s.policies[name] != nil:
		delete(s.policies, name)
		for _, r := range s.roles {
			r.attached = slices.DeleteFunc(r.attached, func(arn string) bool { return arn == name })
		}
	case kind+"/" == profileKey && s.profiles[name] != nil:
		delete(s.profiles, name)
	default:
		return fmt.Errorf("%s: not found", key)
	}
	return nil
}
