package iamsim

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/policy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

const (
	maxTrustSize      = 2048
	defaultMaxSession = 3600
)

type roleXML struct {
	Path                     string
	RoleName                 string
	RoleID                   string `xml:"RoleId"`
	Arn                      string
	CreateDate               time.Time
	AssumeRolePolicyDocument string
	Description              string       `xml:",omitempty"`
	MaxSessionDuration       int          `xml:",omitempty"`
	PermissionsBoundary      *boundaryXML `xml:",omitempty"`
	Tags                     *list[tag]   `xml:",omitempty"`
	RoleLastUsed             *struct{}    `xml:",omitempty"`
}

type boundaryXML struct {
	PermissionsBoundaryType string
	PermissionsBoundaryArn  string
}

type roleResult struct{ Role roleXML }

func (s *Service) roleActions() wire.Handlers {
	return wire.Handlers{
		"CreateRole":                         s.createRole,
		"GetRole":                            s.getRole,
		"DeleteRole":                         s.deleteRole,
		"UpdateRole":                         s.updateRole,
		"UpdateAssumeRolePolicy":             s.updateAssumeRolePolicy,
		"ListRoles":                          s.listRoles,
		"TagRole":                            s.tagRole,
		"UntagRole":                          s.untagRole,
		"PutRolePermissionsBoundary":         s.putBoundary,
		"DeleteRolePermissionsBoundary":      s.deleteBoundary,
		"CreateServiceLinkedRole":            s.createServiceLinkedRole,
		"DeleteServiceLinkedRole":            s.deleteServiceLinkedRole,
		"GetServiceLinkedRoleDeletionStatus": s.serviceLinkedRoleDeletion,
	}
}

// xml is the role as GetRole shows it; lists leave the details out.
func (r *role) xml(detailed bool) roleXML {
	out := roleXML{
		Path: r.path, RoleName: r.name, RoleID: r.id, Arn: r.arn, CreateDate: r.created,
		AssumeRolePolicyDocument: encodeDocument(r.trustText), Description: r.description, MaxSessionDuration: r.maxSession,
	}
	if !detailed {
		return out
	}
	out.RoleLastUsed = &struct{}{}
	if len(r.tags) > 0 {
		out.Tags = tagList(r.tags)
	}
	if r.boundary != "" {
		out.PermissionsBoundary = &boundaryXML{"PermissionsBoundaryPolicy", r.boundary}
	}
	return out
}

// needRole authorizes the action on the role named in the form and finds it.
// A caller who may not see the role learns nothing of its existence.
func (s *Service) needRole(ctx context.Context, req *wire.Request, conditions map[string][]string) (string, error) {
	name, err := entityName(req.Form, "RoleName", maxRoleName)
	if err != nil {
		return "", err
	}
	arn, tags := s.arn("role", "/", name), map[string]string(nil)
	s.mu.Lock()
	r, ok := s.roles[name]
	if ok {
		arn, tags = r.arn, maps.Clone(r.tags)
	}
	s.mu.Unlock()
	if err := s.allow(ctx, req, arn, tags, conditions); err != nil {
		return "", err
	}
	if !ok {
		return "", noSuchEntity("The role with name %s cannot be found.", name)
	}
	return name, nil
}

// withRole does something to the role of the form, under the lock.
func (s *Service) withRole(ctx context.Context, req *wire.Request, conditions map[string][]string, do func(*role) (any, error)) (any, error) {
	name, err := s.needRole(ctx, req, conditions)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.roles[name]
	if !ok {
		return nil, noSuchEntity("The role with name %s cannot be found.", name)
	}
	return do(r)
}

func parseTrust(text string) (*policy.Document, error) {
	if policySize(text) > maxTrustSize {
		return nil, limitExceeded("Cannot exceed quota for ACLSizePerRole: %d", maxTrustSize)
	}
	return parsePolicy(text, policy.Trust)
}

// newRole reads the parameters of CreateRole.
func (s *Service) newRole(req *wire.Request) (*role, error) {
	name, err := entityName(req.Form, "RoleName", maxRoleName)
	if err != nil {
		return nil, err
	}
	path, err := entityPath(req.Form)
	if err != nil {
		return nil, err
	}
	text, err := required(req.Form, "AssumeRolePolicyDocument")
	if err != nil {
		return nil, err
	}
	tags, err := formTags(req.Form)
	if err != nil {
		return nil, err
	}
	maxSession, err := sessionDuration(req, defaultMaxSession)
	if err != nil {
		return nil, err
	}
	return &role{
		name: name, path: path, arn: s.arn("role", path, name), id: newID("AROA"),
		description: req.Form.Get("Description"), trustText: text, maxSession: maxSession,
		created: req.Now.UTC().Truncate(time.Second), tags: tags, inline: map[string]inlinePolicy{}, boundary: req.Form.Get("PermissionsBoundary"),
	}, nil
}

func sessionDuration(req *wire.Request, otherwise int) (int, error) {
	text := req.Form.Get("MaxSessionDuration")
	if text == "" {
		return otherwise, nil
	}
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds < 3600 || seconds > 43200 {
		return 0, wire.Errorf("ValidationError", "1 validation error detected: Value '%s' at 'maxSessionDuration' failed to satisfy constraint: Member must have value between 3600 and 43200", text)
	}
	return seconds, nil
}

func (s *Service) createRole(ctx context.Context, req *wire.Request) (any, error) {
	r, err := s.newRole(req)
	if err != nil {
		return nil, err
	}
	conditions := wire.TagConditions(r.tags)
	if r.boundary != "" {
		conditions["iam:PermissionsBoundary"] = []string{r.boundary}
	}
	if err := s.allow(ctx, req, r.arn, nil, conditions); err != nil {
		return nil, err
	}
	if err := s.allowTagging(ctx, req, "iam:TagRole", r.arn, r.tags); err != nil {
		return nil, err
	}
	if r.trust, err = parseTrust(r.trustText); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkBoundary(r.boundary); err != nil {
		return nil, err
	}
	for name := range s.roles {
		if strings.EqualFold(name, r.name) {
			return nil, alreadyExists("Role with name %s already exists.", r.name)
		}
	}
	s.roles[r.name] = r
	return roleResult{r.xml(true)}, nil
}

// allowTagging asks for the tagging permission that a creation with tags
// needs as well; the new thing counts as having the tags that it is given.
func (s *Service) allowTagging(ctx context.Context, req *wire.Request, action, arn string, tags map[string]string) error {
	if len(tags) == 0 {
		return nil
	}
	return s.Authorize(ctx, req, wire.Access{
		Action: action, Resources: []wire.Resource{{ARN: arn, Tags: tags}}, Conditions: wire.TagConditions(tags),
	})
}

func (s *Service) getRole(ctx context.Context, req *wire.Request) (any, error) {
	return s.withRole(ctx, req, nil, func(r *role) (any, error) { return roleResult{r.xml(true)}, nil })
}

func (s *Service) deleteRole(ctx context.Context, req *wire.Request) (any, error) {
	return s.withRole(ctx, req, nil, func(r *role) (any, error) {
		for _, p := range s.profiles {
			if p.role == r.name {
				return nil, deleteConflict("Cannot delete entity, must remove roles from instance profile first.")
			}
		}
		if len(r.attached) > 0 {
			return nil, deleteConflict("Cannot delete entity, must detach all policies first.")
		}
		if len(r.inline) > 0 {
			return nil, deleteConflict("Cannot delete entity, must delete policies first.")
		}
		if strings.HasPrefix(r.path, serviceRolePath) {
			return nil, wire.Errorf("UnmodifiableEntity", "Cannot perform the operation on the protected role '%s' - this role is only modifiable by AWS", r.name)
		}
		delete(s.roles, r.name)
		return nil, nil
	})
}

func (s *Service) updateRole(ctx context.Context, req *wire.Request) (any, error) {
	return s.withRole(ctx, req, nil, func(r *role) (any, error) {
		seconds, err := sessionDuration(req, r.maxSession)
		if err != nil {
			return nil, err
		}
		r.maxSession = seconds
		if text, given := req.Form["Description"]; given {
			r.description = text[0]
		}
		return struct{}{}, nil
	})
}

func (s *Service) updateAssumeRolePolicy(ctx context.Context, req *wire.Request) (any, error) {
	text, err := required(req.Form, "PolicyDocument")
	if err != nil {
		return nil, err
	}
	return s.withRole(ctx, req, nil, func(r *role) (any, error) {
		doc, err := parseTrust(text)
		if err != nil {
			return nil, err
		}
		r.trust, r.trustText = doc, text
		return nil, nil
	})
}

func (s *Service) listRoles(ctx context.Context, req *wire.Request) (any, error) {
	prefix := req.Form.Get("PathPrefix")
	if err := s.allow(ctx, req, s.arn("role", "/", strings.TrimPrefix(prefix, "/")), nil, nil); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*role
	for _, name := range slices.Sorted(maps.Keys(s.roles)) {
		if strings.HasPrefix(s.roles[name].path, prefix) {
			found = append(found, s.roles[name])
		}
	}
	found, next, err := page(req.Form, found, func(r *role) string { return r.name })
	if err != nil {
		return nil, err
	}
	out := struct {
		Roles list[roleXML]
		paging
	}{paging: paging{next != "", next}}
	for _, r := range found {
		out.Roles.Member = append(out.Roles.Member, r.xml(false))
	}
	return out, nil
}

func (s *Service) tagRole(ctx context.Context, req *wire.Request) (any, error) {
	tags, err := formTags(req.Form)
	if err != nil {
		return nil, err
	}
	return s.withRole(ctx, req, wire.TagConditions(tags), func(r *role) (any, error) {
		merged, err := mergeTags(r.tags, tags)
		if err == nil {
			r.tags = merged
		}
		return nil, err
	})
}

func (s *Service) untagRole(ctx context.Context, req *wire.Request) (any, error) {
	keys := members(req.Form, "TagKeys")
	return s.withRole(ctx, req, map[string][]string{"aws:TagKeys": keys}, func(r *role) (any, error) {
		maps.DeleteFunc(r.tags, func(k, _ string) bool { return slices.Contains(keys, k) })
		return nil, nil
	})
}

type tagsResult struct {
	Tags *list[tag]
	paging
}

// pageTags answers the tags of a thing by pages.
func pageTags(req *wire.Request, tags map[string]string) (any, error) {
	all := tagList(tags).Member
	some, next, err := page(req.Form, all, func(t tag) string { return t.Key })
	if err != nil {
		return nil, err
	}
	return tagsResult{&list[tag]{some}, paging{next != "", next}}, nil
}
