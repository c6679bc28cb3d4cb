package ekssim

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// Inventory is every access entry, by cluster and principal.
func (s *Service) Inventory() map[string]wire.Thing {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]wire.Thing{}
	for _, c := range s.clusters {
		for principal, e := range c.entries {
			text, err := json.Marshal(map[string]any{
				"type": e.kind, "username": e.username, "groups": e.groups, "tags": e.tags, "policies": slices.Sorted(maps.Keys(e.policies)),
			})
			if err != nil {
				text = []byte(err.Error()) // cannot happen: strings, maps and lists of strings
			}
			all["eks entry/"+c.Name+"/"+principal] = wire.Thing{Identity: e.arn, Content: string(text)}
		}
	}
	return all
}

// Snapshot returns a function that makes the access entries as they are now.
func (s *Service) Snapshot() (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	saved := map[string]map[string]*entry{}
	for name, c := range s.clusters {
		saved[name] = copyOf(c.entries)
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for name, entries := range saved {
			s.clusters[name].entries = copyOf(entries)
		}
	}
}

func copyOf(entries map[string]*entry) map[string]*entry {
	out := make(map[string]*entry, len(entries))
	for principal, e := range entries {
		c := *e
		c.groups, c.tags, c.policies = slices.Clone(e.groups), maps.Clone(e.tags), maps.Clone(e.policies)
		out[principal] = &c
	}
	return out
}
