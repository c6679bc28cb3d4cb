package iamsim

import (
	"crypto/rand"
	"maps"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/policy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// Credential is an access key that can sign, and whose it is.
type Credential struct {
	AccessKeyID     string
	SecretAccessKey string
	SessionToken    string    // empty for a user's key
	Expiration      time.Time // zero for a user's key
	Identity        wire.Identity
}

type session struct {
	credential Credential
	roleID     string
}

// SeedUser makes an IAM user with an access key and the managed policies named
// by ARN attached; for the laboratory, which has no root account to do it.
func (s *Service) SeedUser(name string, policyARNs ...string) Credential {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := &user{name: name, arn: s.arn("user", "/", name), id: newID("AIDA"), attached: policyARNs}
	s.users[name] = u
	c := Credential{
		AccessKeyID: newID("AKIA"), SecretAccessKey: newSecret(),
		Identity: wire.Identity{ARN: u.arn, Account: s.account, UserID: u.id, Principal: u.arn},
	}
	s.keys[c.AccessKeyID] = c
	return c
}

func newSecret() string { return (rand.Text() + rand.Text())[:40] }

// Credential finds the key that a request is signed with. A session of a role
// that is gone, or was made anew, is not found.
func (s *Service) Credential(accessKeyID string) (Credential, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key, ok := s.keys[accessKeyID]; ok {
		return key, true
	}
	sess, ok := s.sessions[accessKeyID]
	if !ok {
		return Credential{}, false
	}
	r := s.roleByARN(sess.credential.Identity.Principal)
	if r == nil || r.id != sess.roleID {
		return Credential{}, false
	}
	return sess.credential, true
}

// ExpireSessions makes all temporary credentials expire now.
func (s *Service) ExpireSessions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.sessions {
		x.credential.Expiration = s.now().UTC().Truncate(time.Second)
	}
}

// Role is what STS and EKS need to know of a role.
type Role struct {
	Name, ARN, ID string
	Trust         *policy.Document
	MaxSession    time.Duration
	Tags          map[string]string
}

// Role finds a role by ARN.
func (s *Service) Role(arn string) (Role, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.seenRole(arn)
	return r.Role, ok
}

// PrincipalID is the unique id of a user or role of this account, AIDA... or AROA...; "" where
// the ARN names none. One that is deleted and made again has another id.
func (s *Service) PrincipalID(arn string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.seenRole(arn); ok {
		return r.ID
	}
	if u := s.userByARN(arn); u != nil {
		return u.id
	}
	return ""
}

// IssueSession makes temporary credentials of a role; whether the caller may
// have them is the caller's of this method to decide.
func (s *Service) IssueSession(r Role, name string, lifetime time.Duration) Credential {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	maps.DeleteFunc(s.sessions, func(_ string, old *session) bool { return now.After(old.credential.Expiration.Add(time.Hour)) })
	c := Credential{
		AccessKeyID: newID("ASIA"), SecretAccessKey: newSecret(), SessionToken: strings.ToLower(rand.Text()) + rand.Text() + rand.Text() + rand.Text(),
		Expiration: now.UTC().Add(lifetime).Truncate(time.Second),
		Identity: wire.Identity{
			ARN: "arn:aws:sts::" + s.account + ":assumed-role/" + r.Name + "/" + name, Account: s.account, UserID: r.ID + ":" + name, Principal: r.ARN,
		},
	}
	s.sessions[c.AccessKeyID] = &session{c, r.ID}
	return c
}
