package eventsim

import (
	"maps"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

type content struct {
	Description string            `json:"description"`
	Enabled     bool              `json:"enabled"`
	Pattern     string            `json:"pattern"`
	Role        string            `json:"role"`
	Tags        map[string]string `json:"tags"`
	Targets     map[string]string `json:"targets"`
}

// Holdings are the rules by name, with their targets.
func (s *Service) Holdings() wire.Holdings {
	return wire.Holdings{Lock: &s.mu, Kinds: []wire.Kind{wire.Map[rule, content]{
		Prefix: "events rule/", Of: &s.rules, Identity: func(*rule) string { return "" },
		Content: func(r *rule) content {
			return content{r.description, r.enabled, r.text, r.roleARN, wire.Given(r.tags), wire.Given(r.targets)}
		},
		Set: (*rule).set, Copy: (*rule).copy,
	}}}
}

func (r *rule) set(in content) error {
	parsed, err := parsePattern(in.Pattern)
	if err != nil {
		return err
	}
	r.description, r.enabled, r.text, r.pattern, r.roleARN, r.tags, r.targets = in.Description, in.Enabled, in.Pattern, parsed, in.Role, in.Tags, in.Targets
	return nil
}

func (r *rule) copy() *rule {
	c := *r
	c.tags, c.targets = maps.Clone(r.tags), maps.Clone(r.targets)
	return &c
}
