package ec2sim

import (
	"maps"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// Inventory is every tag, by the id of its resource and its key.
func (s *Service) Inventory() map[string]wire.Thing {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]wire.Thing{}
	for id, r := range s.resources {
		for key, value := range r.tags {
			all["ec2 "+id+"/"+key] = wire.Thing{Content: value}
		}
	}
	return all
}

// Snapshot returns a function that makes the tags as they are now.
func (s *Service) Snapshot() (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	saved := map[string]map[string]string{}
	for id, r := range s.resources {
		saved[id] = maps.Clone(r.tags)
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for id, tags := range saved {
			if r, there := s.resources[id]; there {
				r.tags = maps.Clone(tags)
			}
		}
	}
}
