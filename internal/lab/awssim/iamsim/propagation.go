package iamsim

import (
	"maps"
	"math/rand/v2"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/policy"
)

// view is what the rest of the cloud sees of IAM from a moment on. IAM's own
// answers always show the newest state.
type view struct {
	from     time.Time
	roles    map[string]roleView // by ARN
	profiles []InstanceProfile
}

// roleView is a role with the policies in force.
type roleView struct {
	Role
	docs     []*policy.Document
	boundary *policy.Document
}

// SetPropagationDelay makes IAM eventually consistent, as the real one is: the
// other services, and permissions, see a change only after the delay. Zero
// makes changes visible at once.
func (s *Service) SetPropagationDelay(delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay, s.views = func() time.Duration { return delay }, nil
	if delay > 0 {
		s.views = []view{s.viewFrom(s.now())}
	}
}

// SetLag does it with delays that are drawn for each change, up to the most.
func (s *Service) SetLag(most time.Duration) {
	s.SetPropagationDelay(most)
	if most > 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.delay = func() time.Duration { return rand.N(most) } //nolint:gosec // no secret
	}
}

// publish makes the present state visible after the delay, and not before an older one.
func (s *Service) publish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.views) == 0 { // changes are visible at once
		return
	}
	from := s.now().Add(s.delay())
	if last := s.views[len(s.views)-1].from; from.Before(last) {
		from = last
	}
	s.views = append(s.views, s.viewFrom(from))
}

func (s *Service) viewFrom(from time.Time) view {
	v := view{from: from, roles: map[string]roleView{}, profiles: s.liveProfiles()}
	for _, r := range s.roles {
		v.roles[r.arn] = s.liveRole(r)
	}
	return v
}

// seen is the view in force; nil where changes are visible at once. Called
// with the lock held, like all below.
func (s *Service) seen() *view {
	for len(s.views) > 1 && !s.views[1].from.After(s.now()) {
		s.views = s.views[1:]
	}
	if len(s.views) == 0 {
		return nil
	}
	return &s.views[0]
}

func (s *Service) seenRole(arn string) (roleView, bool) {
	if v := s.seen(); v != nil {
		r, ok := v.roles[arn]
		return r, ok
	}
	if r := s.roleByARN(arn); r != nil {
		return s.liveRole(r), true
	}
	return roleView{}, false
}

func (s *Service) seenProfiles() []InstanceProfile {
	if v := s.seen(); v != nil {
		return v.profiles
	}
	return s.liveProfiles()
}

func (s *Service) liveRole(r *role) roleView {
	out := roleView{Role: Role{
		Name: r.name, ARN: r.arn, ID: r.id, Trust: r.trust, MaxSession: time.Duration(r.maxSession) * time.Second, Tags: maps.Clone(r.tags),
	}}
	for _, arn := range r.attached {
		out.docs = append(out.docs, s.policies[arn].document())
	}
	for _, p := range r.inline {
		out.docs = append(out.docs, p.doc)
	}
	if r.boundary != "" {
		out.boundary = s.policies[r.boundary].document()
	}
	return out
}

func (s *Service) liveProfiles() []InstanceProfile {
	out := make([]InstanceProfile, 0, len(s.profiles))
	for _, p := range s.profiles {
		seen := InstanceProfile{Name: p.name, ARN: p.arn, ID: p.id}
		if r, ok := s.roles[p.role]; ok {
			seen.RoleARN = r.arn
		}
		out = append(out, seen)
	}
	return out
}
