package iamsim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/policy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

const (
	maxPolicySize     = 6144
	maxPolicyVersions = 5
)

type policyXML struct {
	PolicyName                    string
	PolicyID                      string `xml:"PolicyId"`
	Arn                           string
	Path                          string
	DefaultVersionID              string `xml:"DefaultVersionId"`
	AttachmentCount               int
	PermissionsBoundaryUsageCount int
	IsAttachable                  bool
	Description                   string `xml:",omitempty"`
	CreateDate                    time.Time
	UpdateDate                    time.Time
	Tags                          *list[tag] `xml:",omitempty"`
}

type versionXML struct {
	Document         string `xml:",omitempty"`
	VersionID        string `xml:"VersionId"`
	IsDefaultVersion bool
	CreateDate       time.Time
}

func (s *Service) policyActions() wire.Handlers {
	return wire.Handlers{
		"CreatePolicy":        s.createPolicy,
		"GetPolicy":           s.getPolicy,
		"DeletePolicy":        s.deletePolicy,
		"ListPolicies":        s.listPolicies,
		"CreatePolicyVersion": s.createPolicyVersion,
		"GetPolicyVersion":    s.getPolicyVersion,
		"DeletePolicyVersion": s.deletePolicyVersion,
		"ListPolicyVersions":  s.listPolicyVersions,
		"TagPolicy":           s.tagPolicy,
		"UntagPolicy":         s.untagPolicy,
	}
}

// xml is the policy as answers show it. Called with the lock held.
func (s *Service) policyXML(m *managed, detailed bool) policyXML {
	out := policyXML{
		PolicyName: m.name, PolicyID: m.id, Arn: m.arn, Path: m.path, DefaultVersionID: m.defaultVersion,
		IsAttachable: true, CreateDate: m.created, UpdateDate: m.updated,
	}
	for _, r := range s.roles {
		if slices.Contains(r.attached, m.arn) {
			out.AttachmentCount++
		}
		if r.boundary == m.arn {
			out.PermissionsBoundaryUsageCount++
		}
	}
	for _, u := range s.users {
		if slices.Contains(u.attached, m.arn) {
			out.AttachmentCount++
		}
	}
	if detailed {
		out.Description = m.description
		if len(m.tags) > 0 {
			out.Tags = tagList(m.tags)
		}
	}
	return out
}

func (m *managed) version(id string) (policyVersion, bool) {
	for _, v := range m.versions {
		if v.id == id {
			return v, true
		}
	}
	return policyVersion{}, false
}

// document is the version in force.
func (m *managed) document() *policy.Document {
	v, _ := m.version(m.defaultVersion)
	return v.doc
}

// withPolicy authorizes the action on the policy named in the form, finds it
// and does something to it, under the lock.
func (s *Service) withPolicy(ctx context.Context, req *wire.Request, write bool, conditions map[string][]string, do func(*managed) (any, error)) (any, error) {
	arn, err := required(req.Form, "PolicyArn")
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	var tags map[string]string
	if m, ok := s.policies[arn]; ok {
		tags = maps.Clone(m.tags)
	}
	s.mu.Unlock()
	if err := s.allow(ctx, req, arn, tags, conditions); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.policies[arn]
	if !ok {
		return nil, noSuchEntity("Policy %s was not found.", arn)
	}
	if write && m.aws {
		return nil, iamError(403, "AccessDenied", "Policy %s is owned by AWS and cannot be changed.", arn)
	}
	return do(m)
}

func parseManaged(text string) (*policy.Document, error) {
	if policySize(text) > maxPolicySize {
		return nil, limitExceeded("Cannot exceed quota for PolicySize: %d", maxPolicySize)
	}
	return parsePolicy(text, policy.Identity)
}

func (s *Service) createPolicy(ctx context.Context, req *wire.Request) (any, error) {
	name, err := entityName(req.Form, "PolicyName", maxName)
	if err != nil {
		return nil, err
	}
	path, err := entityPath(req.Form)
	if err != nil {
		return nil, err
	}
	text, err := required(req.Form, "PolicyDocument")
	if err != nil {
		return nil, err
	}
	tags, err := formTags(req.Form)
	if err != nil {
		return nil, err
	}
	arn := s.arn("policy", path, name)
	if err := s.allow(ctx, req, arn, nil, wire.TagConditions(tags)); err != nil {
		return nil, err
	}
	if err := s.allowTagging(ctx, req, "iam:TagPolicy", arn, tags); err != nil {
		return nil, err
	}
	doc, err := parseManaged(text)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.policies {
		if !m.aws && strings.EqualFold(m.name, name) {
			return nil, alreadyExists("A policy called %s already exists. Duplicate names are not allowed.", name)
		}
	}
	now := req.Now.UTC().Truncate(time.Second)
	m := &managed{
		name: name, path: path, arn: arn, id: newID("ANPA"), description: req.Form.Get("Description"), created: now, updated: now, tags: tags,
		versions: []policyVersion{{"v1", text, doc, now}}, defaultVersion: "v1", nextVersion: 2,
	}
	s.policies[arn] = m
	return struct{ Policy policyXML }{s.policyXML(m, true)}, nil
}

func (s *Service) getPolicy(ctx context.Context, req *wire.Request) (any, error) {
	return s.withPolicy(ctx, req, false, nil, func(m *managed) (any, error) {
		return struct{ Policy policyXML }{s.policyXML(m, true)}, nil
	})
}

func (s *Service) deletePolicy(ctx context.Context, req *wire.Request) (any, error) {
	return s.withPolicy(ctx, req, true, nil, func(m *managed) (any, error) {
		x := s.policyXML(m, false)
		if x.AttachmentCount+x.PermissionsBoundaryUsageCount > 0 {
			return nil, deleteConflict("Cannot delete a policy attached to entities.")
		}
		if len(m.versions) > 1 {
			return nil, deleteConflict("This policy has more than one version. Before you delete a policy, you must delete the policy's versions. The default version is deleted with the policy.")
		}
		delete(s.policies, m.arn)
		return nil, nil
	})
}

func (s *Service) listPolicies(ctx context.Context, req *wire.Request) (any, error) {
	if err := s.allow(ctx, req, s.arn("policy", "/", strings.TrimPrefix(req.Form.Get("PathPrefix"), "/")), nil, nil); err != nil {
		return nil, err
	}
	scope, prefix := req.Form.Get("Scope"), req.Form.Get("PathPrefix")
	onlyAttached := req.Form.Get("OnlyAttached") == "true"
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*managed
	for _, arn := range slices.Sorted(maps.Keys(s.policies)) {
		m := s.policies[arn]
		if scope == "AWS" && !m.aws || scope == "Local" && m.aws || !strings.HasPrefix(m.path, prefix) ||
			onlyAttached && s.policyXML(m, false).AttachmentCount == 0 {
			continue
		}
		found = append(found, m)
	}
	found, next, err := page(req.Form, found, func(m *managed) string { return m.arn })
	if err != nil {
		return nil, err
	}
	out := struct {
		Policies list[policyXML]
		paging
	}{paging: paging{next != "", next}}
	for _, m := range found {
		out.Policies.Member = append(out.Policies.Member, s.policyXML(m, false))
	}
	return out, nil
}

func (s *Service) tagPolicy(ctx context.Context, req *wire.Request) (any, error) {
	tags, err := formTags(req.Form)
	if err != nil {
		return nil, err
	}
	return s.withPolicy(ctx, req, true, wire.TagConditions(tags), func(m *managed) (any, error) {
		merged, err := mergeTags(m.tags, tags)
		if err == nil {
			m.tags = merged
		}
		return nil, err
	})
}

func (s *Service) untagPolicy(ctx context.Context, req *wire.Request) (any, error) {
	keys := members(req.Form, "TagKeys")
	return s.withPolicy(ctx, req, true, map[string][]string{"aws:TagKeys": keys}, func(m *managed) (any, error) {
		maps.DeleteFunc(m.tags, func(k, _ string) bool { return slices.Contains(keys, k) })
		return nil, nil
	})
}

func (s *Service) createPolicyVersion(ctx context.Context, req *wire.Request) (any, error) {
	text, err := required(req.Form, "PolicyDocument")
	if err != nil {
		return nil, err
	}
	return s.withPolicy(ctx, req, true, nil, func(m *managed) (any, error) {
		doc, err := parseManaged(text)
		if err != nil {
			return nil, err
		}
		if len(m.versions) >= maxPolicyVersions {
			return nil, limitExceeded("A managed policy can have up to %d versions. Before you create a new version, you must delete an existing version.", maxPolicyVersions)
		}
		v := policyVersion{"v" + strconv.Itoa(m.nextVersion), text, doc, req.Now.UTC().Truncate(time.Second)}
		m.nextVersion++
		m.versions = append(m.versions, v)
		m.updated = v.created
		if req.Form.Get("SetAsDefault") == "true" {
			m.defaultVersion = v.id
		}
		return struct{ PolicyVersion versionXML }{versionXML{"", v.id, v.id == m.defaultVersion, v.created}}, nil
	})
}

// withVersion is withPolicy for the actions that name a version.
func (s *Service) withVersion(ctx context.Context, req *wire.Request, write bool, do func(*managed, policyVersion) (any, error)) (any, error) {
	id, err := required(req.Form, "VersionId")
	if err != nil {
		return nil, err
	}
	return s.withPolicy(ctx, req, write, nil, func(m *managed) (any, error) {
		v, ok := m.version(id)
		if !ok {
			return nil, noSuchEntity("Policy %s version %s does not exist or is not attachable.", m.arn, id)
		}
		return do(m, v)
	})
}

func (s *Service) getPolicyVersion(ctx context.Context, req *wire.Request) (any, error) {
	return s.withVersion(ctx, req, false, func(m *managed, v policyVersion) (any, error) {
		return struct{ PolicyVersion versionXML }{versionXML{encodeDocument(v.text), v.id, v.id == m.defaultVersion, v.created}}, nil
	})
}

func (s *Service) deletePolicyVersion(ctx context.Context, req *wire.Request) (any, error) {
	return s.withVersion(ctx, req, true, func(m *managed, v policyVersion) (any, error) {
		if v.id == m.defaultVersion {
			return nil, deleteConflict("Cannot delete the default version of a policy.")
		}
		m.versions = slices.DeleteFunc(m.versions, func(o policyVersion) bool { return o.id == v.id })
		return nil, nil
	})
}

func (s *Service) listPolicyVersions(ctx context.Context, req *wire.Request) (any, error) {
	return s.withPolicy(ctx, req, false, nil, func(m *managed) (any, error) {
		some, next, err := page(req.Form, m.versions, func(v policyVersion) string { return fmt.Sprintf("%12s", v.id) }) // so that v9 sorts before v10
		if err != nil {
			return nil, err
		}
		out := struct {
			Versions list[versionXML]
			paging
		}{paging: paging{next != "", next}}
		for _, v := range some {
			out.Versions.Member = append(out.Versions.Member, versionXML{"", v.id, v.id == m.defaultVersion, v.created})
		}
		return out, nil
	})
}
