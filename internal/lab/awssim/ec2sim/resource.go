package ec2sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// Kinds of resources, as ARNs and tag specifications spell them.
const (
	kindVPC         = "vpc"
	kindSubnet      = "subnet"
	kindGroup       = "security-group"
	kindImage       = "image"
	kindTemplate    = "launch-template"
	kindFleet       = "fleet"
	kindInstance    = "instance"
	kindVolume      = "volume"
	kindInterface   = "network-interface"
	kindSpotRequest = "spot-instances-request"
	kindReservation = "capacity-reservation"
	kindSnapshot    = "snapshot"
)

// resource is what every taggable thing has. Tags live here alone.
type resource struct {
	id, kind string
	tags     map[string]string
	settled  time.Time // when the last change of the tags is seen
}

func (r *resource) key() string { return r.id }

func (r *resource) tagSet() set[tag] { return tagSet(r.tags) }

func tagSet(tags map[string]string) set[tag] {
	out := make(set[tag], 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, tag{key, tags[key]})
	}
	return out
}

func tagMap(tags []tag) map[string]string {
	out := make(map[string]string, len(tags))
	for _, t := range tags {
		out[t.Key] = t.Value
	}
	return out
}

// tagsFor returns the tags that the specifications give to one kind.
func tagsFor(kind string, specs []tagSpec) map[string]string {
	out := map[string]string{}
	for _, spec := range specs {
		if spec.ResourceType == kind {
			maps.Copy(out, tagMap(spec.Tags))
		}
	}
	return out
}

// checkTagSpecs refuses tags for kinds that the call does not make, and tags
// that EC2 would refuse.
func checkTagSpecs(specs []tagSpec, kinds ...string) error {
	for _, spec := range specs {
		if !slices.Contains(kinds, spec.ResourceType) {
			return wire.Errorf("InvalidParameterValue", "'%s' is not a valid taggable resource type for this operation.", spec.ResourceType)
		}
		if err := checkTags(spec.Tags); err != nil {
			return err
		}
	}
	return nil
}

// checkTags holds tags to EC2's limits: 50 tags, keys of 1 to 127 characters
// not starting with aws:, values of at most 255.
func checkTags(tags []tag) error {
	seen := map[string]bool{}
	for _, t := range tags {
		switch {
		case t.Key == "":
			return wire.Errorf("InvalidParameterValue", "Tag keys cannot be empty.")
		case strings.HasPrefix(strings.ToLower(t.Key), "aws:"):
			return wire.Errorf("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
		case len(t.Key) > 127:
			return wire.Errorf("InvalidParameterValue", "Tag key exceeds the maximum length of 127 characters")
		case len(t.Value) > 255:
			return wire.Errorf("InvalidParameterValue", "Tag value exceeds the maximum length of 255 characters")
		case seen[t.Key]:
			return wire.Errorf("InvalidParameterValue", "Duplicate tag key '%s' specified.", t.Key)
		}
		seen[t.Key] = true
	}
	if len(seen) > 50 {
		return wire.Errorf("TagLimitExceeded", "The maximum number of Tags for this resource has been reached.")
	}
	return nil
}

// newResource registers a resource under a fresh id of the kind's prefix.
func (s *Service) newResource(kind, prefix string, tags map[string]string) *resource {
	r := &resource{id: s.newID(prefix), kind: kind, tags: maps.Clone(tags)}
	if r.tags == nil {
		r.tags = map[string]string{}
	}
	s.resources[r.id] = r
	return r
}

// newID makes an id of the prefix and 17 hex digits.
func (s *Service) newID(prefix string) string {
	return fmt.Sprintf("%s-0%016x", prefix, s.random.Uint64())
}

// arn names a resource of the account; images and snapshots belong to no account.
func (s *Service) arn(kind, id string) string {
	if kind == kindImage || kind == kindSnapshot {
		return s.arnOf("", kind, id)
	}
	return s.arnOf(s.cfg.Account, kind, id)
}

// arnOf names a resource of any account.
func (s *Service) arnOf(account, kind, id string) string {
	return fmt.Sprintf("arn:%s:ec2:%s:%s:%s/%s", partition(s.cfg.Region), s.cfg.Region, account, kind, id)
}

func partition(region string) string {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(region, "us-gov-"):
		return "aws-us-gov"
	}
	return "aws"
}
