package ekssim

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// What the keys of the inventory begin with.
const (
	entryKey = "eks entry/"
	podsKey  = "eks pods/"
)

// entryContent is what a user can set of an access entry; of the access policies it has the ARNs.
type entryContent struct {
	Groups   []string          `json:"groups"`
	Policies []string          `json:"policies"`
	Tags     map[string]string `json:"tags"`
	Type     string            `json:"type"`
	Username string            `json:"username"`
}

// podsContent is what a user can set of a Pod Identity association.
type podsContent struct {
	Role     string            `json:"role"`
	Tags     map[string]string `json:"tags"`
	Target   string            `json:"target"`
	Untagged bool              `json:"untagged"`
}

// Inventory is every access entry, by cluster and principal, and every Pod Identity
// association, by cluster, namespace and service account.
func (s *Service) Inventory() map[string]wire.Thing {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]wire.Thing{}
	for _, c := range s.clusters {
		for principal, e := range c.entries {
			content := entryContent{append([]string{}, e.groups...), append([]string{}, e.policies...), wire.Given(e.tags), e.kind, e.username}
			all[entryKey+c.Name+"/"+principal] = wire.Thing{Identity: e.arn, Content: wire.Text(content)}
		}
		for _, a := range c.pods {
			all[a.key()] = wire.Thing{Identity: a.ID, Content: wire.Text(podsContent{a.RoleARN, wire.Given(a.tags), a.target, a.Untagged})}
		}
	}
	return all
}

func (a *podAssociation) key() string {
	return podsKey + a.Cluster + "/" + a.Namespace + "/" + a.ServiceAccount
}

// Overwrite gives a thing of the inventory other content, whoever may do that.
func (s *Service) Overwrite(key, content string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, e, pods := s.held(key)
	switch {
	case e != nil:
		return e.overwrite(content)
	case pods >= 0:
		a, in := c.pods[pods], podsContent{}
		if err := json.Unmarshal([]byte(content), &in); err != nil {
			return err
		}
		a.RoleARN, a.tags, a.target, a.Untagged = in.Role, in.Tags, in.Target, in.Untagged
		return nil
	}
	return fmt.Errorf("%s: not found", key)
}

func (e *entry) overwrite(content string) error {
	var in entryContent
	if err := json.Unmarshal([]byte(content), &in); err != nil {
		return err
	}
	for _, arn := range in.Policies {
		if !slices.Contains(policyNames(), strings.TrimPrefix(arn, policyPrefix)) {
			return fmt.Errorf("%s: no such access policy", arn)
		}
	}
	slices.Sort(in.Policies)
	e.groups, e.policies, e.tags, e.kind, e.username = in.Groups, in.Policies, in.Tags, in.Type, in.Username
	return nil
}

// Remove removes a thing of the inventory.
func (s *Service) Remove(key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, e, pods := s.held(key)
	switch {
	case e != nil:
		delete(c.entries, e.principal)
	case pods >= 0:
		c.pods = slices.Delete(c.pods, pods, pods+1)
	default:
		return fmt.Errorf("%s: not found", key)
	}
	return nil
}

// held finds what the inventory has by the key: an entry, or an association by its place. The
// place is -1 if there is none.
func (s *Service) held(key string) (*cluster, *entry, int) {
	for _, c := range s.clusters {
		if e := c.entries[strings.TrimPrefix(key, entryKey+c.Name+"/")]; e != nil {
			return c, e, -1
		}
		if at := slices.IndexFunc(c.pods, func(a *podAssociation) bool { return a.key() == key }); at >= 0 {
			return c, nil, at
		}
	}
	return nil, nil, -1
}

// Snapshot returns a function that makes the access entries and associations as they are now.
func (s *Service) Snapshot() (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, pods := map[string]map[string]*entry{}, map[string][]*podAssociation{}
	for name, c := range s.clusters {
		entries[name], pods[name] = copyOf(c.entries), copyOfPods(c.pods)
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for name := range entries {
			s.clusters[name].entries, s.clusters[name].pods = copyOf(entries[name]), copyOfPods(pods[name])
		}
	}
}

func copyOf(entries map[string]*entry) map[string]*entry {
	out := make(map[string]*entry, len(entries))
	for principal, e := range entries {
		c := *e
		c.groups, c.tags, c.policies = slices.Clone(e.groups), maps.Clone(e.tags), slices.Clone(e.policies)
		out[principal] = &c
	}
	return out
}

func copyOfPods(pods []*podAssociation) []*podAssociation {
	out := make([]*podAssociation, len(pods))
	for i, a := range pods {
		c := *a
		c.tags = maps.Clone(a.tags)
		out[i] = &c
	}
	return out
}
