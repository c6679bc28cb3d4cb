package topology

import (
	"iter"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// Possible is a place to come that may still become one of several nodes. For
// spreads and affinity it has only the topology keys on which all these nodes
// agree. Anti-affinity counts it in every domain that it may come to be in.
type Possible struct {
	labels iter.Seq[label.Lookup]
	values map[string]choice
}

// choice is the different values of a key; always says that every node has the key.
type choice struct {
	values []string
	always bool
}

// NewPossible returns the place that may get any of the labels.
func NewPossible(labels iter.Seq[label.Lookup]) *Possible {
	return &Possible{labels: labels, values: map[string]choice{}}
}

// Agree sets the value of a key on which all nodes are known to agree.
func (e *Possible) Agree(key, value string) {
	e.values[key] = choice{[]string{value}, true}
}

// choice returns the choice for the key. It is worked out once for each key.
func (e *Possible) choice(key string) choice {
	c, known := e.values[key]
	if known {
		return c
	}
	c.always = true
	for l := range e.labels {
		v, there := l.Get(key)
		c.always = c.always && there
		if there && !slices.Contains(c.values, v) {
			c.values = append(c.values, v)
		}
	}
	e.values[key] = c
	return c
}

// agreed returns the value on which all nodes agree.
func (e *Possible) agreed(key string) (string, bool) {
	if c := e.choice(key); c.always && len(c.values) == 1 {
		return c.values[0], true
	}
	return "", false
}

// domainsOf returns the domains that the place may come to be in; nil if the domain
// is known.
func (y *topology) domainsOf(s *spot) []string {
	if s.node >= 0 || s.Possible == nil || y.hosts() {
		return nil
	}
	if c := s.Possible.choice(y.key); !c.always || len(c.values) > 1 {
		return c.values
	}
	return nil
}
