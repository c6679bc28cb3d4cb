package eventsim

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// Inventory is every rule by name, with its targets.
func (s *Service) Inventory() map[string]wire.Thing {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]wire.Thing{}
	for name, r := range s.rules {
		all[ruleKey+name] = wire.Thing{Content: wire.Text(content{r.description, r.enabled, r.text, r.roleARN, wire.Given(r.tags), wire.Given(r.targets)})}
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

// ruleKey is what the keys of the inventory begin with.
const ruleKey = "events rule/"

type content struct {
	Description string            `json:"description"`
	Enabled     bool              `json:"enabled"`
	Pattern     string            `json:"pattern"`
	Role        string            `json:"role"`
	Tags        map[string]string `json:"tags"`
	Targets     map[string]string `json:"targets"`
}

// Overwrite gives a rule of the inventory other content, whoever may do that. Content that is not as
// the service would have it is an error.
func (s *Service) Overwrite(key, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rules[strings.TrimPrefix(key, ruleKey)]
	if r == nil {
		return fmt.Errorf("%s: not found", key)
	}
	var in content
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return err
	}
	parsed, err := parsePattern(in.Pattern)
	if err != nil {
		return err
	}
	r.description, r.enabled, r.text, r.pattern, r.roleARN, r.tags, r.targets = in.Description, in.Enabled, in.Pattern, parsed, in.Role, in.Tags, in.Targets
	return nil
}

// Remove removes a rule of the inventory with its targets.
func (s *Service) Remove(key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strings.TrimPrefix(key, ruleKey)
	if s.rules[name] == nil {
		return fmt.Errorf("%s: not found", key)
	}
	delete(s.rules, name)
	return nil
}
