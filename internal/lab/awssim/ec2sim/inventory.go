package ec2sim

import (
	"fmt"
	"maps"
	"strings"

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

// Overwrite gives a tag of the inventory another value, whoever may do that.
func (s *Service) Overwrite(key, value string) error {
	return s.withTag(key, func(of *resource, tag string) { of.tags[tag] = value })
}

// Remove removes a tag of the inventory.
func (s *Service) Remove(key string) error {
	return s.withTag(key, func(of *resource, tag string) { delete(of.tags, tag) })
}

func (s *Service) withTag(key string, do func(of *resource, tag string)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, tag, _ := strings.Cut(strings.TrimPrefix(key, "ec2 "), "/")
	of := s.resources[id]
	if of == nil {
		return fmt.Errorf("%s: not found", key)
	}
	if _, there := of.tags[tag]; !there {
		return fmt.Errorf("%s: not found", key)
	}
	do(of, tag)
	return nil
}
