package eventsim

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// withARN is withRule for the tag actions, which name the rule by ARN.
func (s *Service) withARN(ctx context.Context, req *wire.Request, arn string, conditions map[string][]string, do func(*rule) (any, error)) (any, error) {
	name, ok := strings.CutPrefix(arn, s.arn(""))
	if !ok {
		return nil, wire.Errorf("ResourceNotFoundException", "The resource %s is not a rule of this account and region.", arn)
	}
	return s.withRule(ctx, req, name, "", conditions, do)
}

func (s *Service) tagResource(ctx context.Context, req *wire.Request, in *struct {
	ResourceARN string
	Tags        []tag
},
) (any, error) {
	tags := map[string]string{}
	for _, t := range in.Tags {
		tags[t.Key] = t.Value
	}
	return s.withARN(ctx, req, in.ResourceARN, wire.TagConditions(tags), func(r *rule) (any, error) {
		maps.Copy(r.tags, tags)
		return nil, nil
	})
}

func (s *Service) untagResource(ctx context.Context, req *wire.Request, in *struct {
	ResourceARN string
	TagKeys     []string
},
) (any, error) {
	return s.withARN(ctx, req, in.ResourceARN, map[string][]string{"aws:TagKeys": in.TagKeys}, func(r *rule) (any, error) {
		maps.DeleteFunc(r.tags, func(k, _ string) bool { return slices.Contains(in.TagKeys, k) })
		return nil, nil
	})
}

func (s *Service) listTags(ctx context.Context, req *wire.Request, in *struct{ ResourceARN string }) (any, error) {
	return s.withARN(ctx, req, in.ResourceARN, nil, func(r *rule) (any, error) {
		tags := []tag{}
		for _, k := range slices.Sorted(maps.Keys(r.tags)) {
			tags = append(tags, tag{k, r.tags[k]})
		}
		return struct{ Tags []tag }{tags}, nil
	})
}
