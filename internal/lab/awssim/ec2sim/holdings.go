package ec2sim

import (
	"maps"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// Holdings are the tags, by the id of their resource and their key.
func (s *Service) Holdings() wire.Holdings {
	return wire.Holdings{Lock: &s.mu, Kinds: []wire.Kind{resourceTags(s.resources)}}
}

// resourceTags are the tags of the resources with these ids.
type resourceTags map[string]*resource

// Inventory has a tag's value as its content.
func (r resourceTags) Inventory() map[string]wire.Thing {
	all := map[string]wire.Thing{}
	for id, of := range r {
		for key, value := range of.tags {
			all["ec2 "+id+"/"+key] = wire.Thing{Content: value}
		}
	}
	return all
}

// Snapshot keeps the tags of the resources that still are there when it restores them.
func (r resourceTags) Snapshot() (restore func()) {
	saved := map[string]map[string]string{}
	for id, of := range r {
		saved[id] = maps.Clone(of.tags)
	}
	return func() {
		for id, tags := range saved {
			if of, there := r[id]; there {
				of.tags = maps.Clone(tags)
			}
		}
	}
}

// Overwrite gives a tag another value.
func (r resourceTags) Overwrite(key, value string) error {
	id, tag, _ := strings.Cut(strings.TrimPrefix(key, "ec2 "), "/")
	r[id].tags[tag] = value
	return nil
}

// Remove removes a tag.
func (r resourceTags) Remove(key string) {
	id, tag, _ := strings.Cut(strings.TrimPrefix(key, "ec2 "), "/")
	delete(r[id].tags, tag)
}
