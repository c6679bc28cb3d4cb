package sqssim

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// Inventory is every queue by name, without its messages.
func (s *Service) Inventory() map[string]wire.Thing {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]wire.Thing{}
	for name, q := range s.queues {
		text, err := json.Marshal(map[string]any{"attributes": q.attributes, "tags": q.tags})
		if err != nil {
			text = []byte(err.Error()) // cannot happen: maps of strings
		}
		all["sqs queue/"+name] = wire.Thing{Identity: q.created.Format(time.RFC3339Nano), Content: string(text)}
	}
	return all
}

// Snapshot returns a function that makes the queues as they are now.
func (s *Service) Snapshot() (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	saved := copyOf(s.queues)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.queues = copyOf(saved)
	}
}

func copyOf(queues map[string]*queue) map[string]*queue {
	out := make(map[string]*queue, len(queues))
	for name, q := range queues {
		c := *q
		c.changed = make(chan struct{}) // the end of one queue closes its channel
		c.attributes, c.tags = maps.Clone(q.attributes), maps.Clone(q.tags)
		out[name] = &c
	}
	return out
}
