package iamsim

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

type profileXML struct {
	Path                string
	InstanceProfileName string
	InstanceProfileID   string `xml:"InstanceProfileId"`
	Arn                 string
	CreateDate          time.Time
	Roles               list[roleXML]
	Tags                *list[tag] `xml:",omitempty"`
}

func (s *Service) profileActions() wire.Handlers {
	return wire.Handlers{
		"CreateInstanceProfile":         s.createProfile,
		"GetInstanceProfile":            s.getProfile,
		"DeleteInstanceProfile":         s.deleteProfile,
		"ListInstanceProfiles":          s.listProfiles,
		"ListInstanceProfilesForRole":   s.listProfilesForRole,
		"AddRoleToInstanceProfile":      s.addRoleToProfile,
		"RemoveRoleFromInstanceProfile": s.removeRoleFromProfile,
		"TagInstanceProfile":            s.tagProfile,
		"UntagInstanceProfile":          s.untagProfile,
		"ListInstanceProfileTags":       s.listProfileTags,
	}
}

// profileXML is the profile as answers show it. Called with the lock held.
func (s *Service) profileXML(p *profile, detailed bool) profileXML {
	out := profileXML{Path: p.path, InstanceProfileName: p.name, InstanceProfileID: p.id, Arn: p.arn, CreateDate: p.created}
	if r, ok := s.roles[p.role]; ok {
		out.Roles.Member = []roleXML{r.xml(false)}
	}
	if detailed && len(p.tags) > 0 {
		out.Tags = tagList(p.tags)
	}
	return out
}

// withProfile authorizes the action on the profile named in the form, finds it
// and does something to it, under the lock.
func (s *Service) withProfile(ctx context.Context, req *wire.Request, conditions map[string][]string, do func(*profile) (any, error)) (any, error) {
	name, err := entityName(req.Form, "InstanceProfileName", maxName)
	if err != nil {
		return nil, err
	}
	arn, tags := s.arn("instance-profile", "/", name), map[string]string(nil)
	s.mu.Lock()
	if p, ok := s.profiles[name]; ok {
		arn, tags = p.arn, maps.Clone(p.tags)
	}
	s.mu.Unlock()
	if err := s.allow(ctx, req, arn, tags, conditions); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.profiles[name]
	if !ok {
		return nil, noSuchEntity("Instance Profile %s cannot be found.", name)
	}
	return do(p)
}

func (s *Service) createProfile(ctx context.Context, req *wire.Request) (any, error) {
	name, err := entityName(req.Form, "InstanceProfileName", maxName)
	if err != nil {
		return nil, err
	}
	path, err := entityPath(req.Form)
	if err != nil {
		return nil, err
	}
	tags, err := formTags(req.Form)
	if err != nil {
		return nil, err
	}
	arn := s.arn("instance-profile", path, name)
	if err := s.allow(ctx, req, arn, nil, wire.TagConditions(tags)); err != nil {
		return nil, err
	}
	if err := s.allowTagging(ctx, req, "iam:TagInstanceProfile", arn, tags); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for other := range s.profiles {
		if strings.EqualFold(other, name) {
			return nil, alreadyExists("Instance Profile %s already exists.", name)
		}
	}
	p := &profile{name: name, path: path, arn: arn, id: newID("AIPA"), created: req.Now.UTC().Truncate(time.Second), tags: tags}
	s.profiles[name] = p
	return struct{ InstanceProfile profileXML }{s.profileXML(p, true)}, nil
}

func (s *Service) getProfile(ctx context.Context, req *wire.Request) (any, error) {
	return s.withProfile(ctx, req, nil, func(p *profile) (any, error) {
		return struct{ InstanceProfile profileXML }{s.profileXML(p, true)}, nil
	})
}

func (s *Service) deleteProfile(ctx context.Context, req *wire.Request) (any, error) {
	return s.withProfile(ctx, req, nil, func(p *profile) (any, error) {
		if p.role != "" {
			return nil, deleteConflict("Cannot delete entity, must remove roles from instance profile first.")
		}
		delete(s.profiles, p.name)
		return nil, nil
	})
}

// profilePage answers those profiles that are wanted, sorted by name. Called with the lock held.
func (s *Service) profilePage(req *wire.Request, wanted func(*profile) bool) (any, error) {
	var found []*profile
	for _, name := range slices.Sorted(maps.Keys(s.profiles)) {
		if wanted(s.profiles[name]) {
			found = append(found, s.profiles[name])
		}
	}
	found, next, err := page(req.Form, found, func(p *profile) string { return p.name })
	if err != nil {
		return nil, err
	}
	out := struct {
		InstanceProfiles list[profileXML]
		paging
	}{paging: paging{next != "", next}}
	for _, p := range found {
		out.InstanceProfiles.Member = append(out.InstanceProfiles.Member, s.profileXML(p, false))
	}
	return out, nil
}

func (s *Service) listProfiles(ctx context.Context, req *wire.Request) (any, error) {
	prefix := req.Form.Get("PathPrefix")
	if err := s.allow(ctx, req, s.arn("instance-profile", "/", strings.TrimPrefix(prefix, "/")), nil, nil); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.profilePage(req, func(p *profile) bool { return strings.HasPrefix(p.path, prefix) })
}

func (s *Service) listProfilesForRole(ctx context.Context, req *wire.Request) (any, error) {
	return s.withRole(ctx, req, nil, func(r *role) (any, error) {
		return s.profilePage(req, func(p *profile) bool { return p.role == r.name })
	})
}

func (s *Service) addRoleToProfile(ctx context.Context, req *wire.Request) (any, error) {
	roleName, err := entityName(req.Form, "RoleName", maxRoleName)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	arn := s.arn("role", "/", roleName)
	if r, ok := s.roles[roleName]; ok {
		arn = r.arn
	}
	s.mu.Unlock()
	return s.withProfile(ctx, req, nil, func(p *profile) (any, error) {
		// Putting a role into a profile gives it to EC2 instances, hence PassRole.
		if err := s.authorizeLocked(req, wire.Access{
			Action: "iam:PassRole", Resources: []wire.Resource{{ARN: arn}}, Conditions: map[string][]string{"iam:PassedToService": {"ec2.amazonaws.com"}},
		}); err != nil {
			return nil, err
		}
		if _, ok := s.roles[roleName]; !ok {
			return nil, noSuchEntity("The role with name %s cannot be found.", roleName)
		}
		if p.role != "" {
			return nil, limitExceeded("Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1")
		}
		p.role = roleName
		return nil, nil
	})
}

func (s *Service) removeRoleFromProfile(ctx context.Context, req *wire.Request) (any, error) {
	roleName, err := entityName(req.Form, "RoleName", maxRoleName)
	if err != nil {
		return nil, err
	}
	return s.withProfile(ctx, req, nil, func(p *profile) (any, error) {
		if p.role != roleName {
			return nil, noSuchEntity("The role with name %s cannot be found.", roleName)
		}
		p.role = ""
		return nil, nil
	})
}

func (s *Service) tagProfile(ctx context.Context, req *wire.Request) (any, error) {
	tags, err := formTags(req.Form)
	if err != nil {
		return nil, err
	}
	return s.withProfile(ctx, req, wire.TagConditions(tags), func(p *profile) (any, error) {
		merged, err := mergeTags(p.tags, tags)
		if err == nil {
			p.tags = merged
		}
		return nil, err
	})
}

func (s *Service) untagProfile(ctx context.Context, req *wire.Request) (any, error) {
	keys := members(req.Form, "TagKeys")
	return s.withProfile(ctx, req, map[string][]string{"aws:TagKeys": keys}, func(p *profile) (any, error) {
		maps.DeleteFunc(p.tags, func(k, _ string) bool { return slices.Contains(keys, k) })
		return nil, nil
	})
}

func (s *Service) listProfileTags(ctx context.Context, req *wire.Request) (any, error) {
	return s.withProfile(ctx, req, nil, func(p *profile) (any, error) { return pageTags(req, p.tags) })
}

// InstanceProfile is what EC2 needs to know of a profile.
type InstanceProfile struct {
	Name, ARN, ID string
	RoleARN       string // empty where the profile has no role
}

// Profile finds an instance profile by name or ARN.
func (s *Service) Profile(nameOrARN string) (InstanceProfile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.seenProfiles() {
		if p.Name == nameOrARN || p.ARN == nameOrARN {
			return p, nil
		}
	}
	return InstanceProfile{}, noSuchEntity("Instance Profile %s cannot be found.", nameOrARN)
}
