package sqssim

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// Inventory is every queue by name, without its messages.
func (s *Service) Inventory() map[string]wire.Thing {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]wire.Thing{}
	for name, q := range s.queues {
		all[queueKey+name] = wire.Thing{Identity: q.created.Format(time.RFC3339Nano), Content: wire.Text(content{wire.Given(q.attributes), wire.Given(q.tags)})}
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

// queueKey is what the keys of the inventory begin with.
const queueKey = "sqs queue/"

type content struct {
	Attributes map[string]string `json:"attributes"`
	Tags       map[string]string `json:"tags"`
}

// Overwrite gives a queue of the inventory other content, whoever may do that. Content that is not
// as the service would have it is an error.
func (s *Service) Overwrite(key, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[strings.TrimPrefix(key, queueKey)]
	if q == nil {
		return fmt.Errorf("%s: not found", key)
	}
	var in content
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return err
	}
	if err := checkAttributes(in.Attributes); err != nil {
		return err
	}
	for name := range q.attributes {
		_, stays := in.Attributes[name]
		if !stays && name != "Policy" && name != "KmsMasterKeyId" {
			return fmt.Errorf("%s: a queue always has %s", key, name)
		}
	}
	if in.Attributes["KmsMasterKeyId"] != "" && in.Attributes["SqsManagedSseEnabled"] == "true" {
		return fmt.Errorf("%s: a queue has one encryption", key)
	}
	q.attributes, q.tags = in.Attributes, in.Tags
	return nil
}

// Remove removes a queue of the inventory.
func (s *Service) Remove(key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[strings.TrimPrefix(key, queueKey)]
	if q == nil {
		return fmt.Errorf("%s: not found", key)
	}
	delete(s.queues, q.name)
	q.deleted = true
	q.wake()
	return nil
}
