package eventsim

import (
	"encoding/json"
	"maps"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// Inventory is every rule by name, with its targets.
func (s *Service) Inventory() map[string]wire.Thing {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]wire.Thing{}
	for name, r := range s.rules {
		text, err := json.Marshal(map[string]any{
			"description": r.description, "pattern": r.text, "enabled": r.enabled, "role": r.roleARN, "tags": r.tags, "targets": r.targets,
		})
		if err != nil {
			text = []byte(err.Error()) // cannot happen: strings and maps of strings
		}
		all["events rule/"+name] = wire.Thing{Content: string(text)}
	}
	return all
}

// Snapshot returns a function that makes the rules as they are now.
func (s *Service) Snapshot() (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	saved := copyOf(s.rules)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.rules = copyOf(saved)
	}
}

func copyOf(rules map[string]*rule) map[string]*rule {
	out := make(map[string]*rule, len(rules))
	for name, r := range rules {
		c := *r
		c.tags, c.targets = maps.Clone(r.tags), maps.Clone(r.targets)
		out[name] = &c
	}
	return out
}
