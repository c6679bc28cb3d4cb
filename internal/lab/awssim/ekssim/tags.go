package ekssim

import (
	"context"
	"maps"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// tagged finds the tags of the cluster, access entry or association that has the ARN.
// Called with the lock held.
func (s *Service) tagged(arn string) (map[string]string, bool) {
	for _, c := range s.clusters {
		if s.arn("cluster", c.Name) == arn {
			return c.Tags, true
		}
	}
	for _, e := range s.entries {
		if e.arn == arn {
			return e.tags, true
		}
	}
	for _, a := range s.pods {
		if a.ARN == arn {
			return a.tags, true
		}
	}
	return nil, false
}

// withTags authorizes the action on the resource of the path and does
// something to its tags, under the lock.
func (s *Service) withTags(ctx context.Context, req *wire.Request, conditions map[string][]string, do func(map[string]string) any) (any, error) {
	arn := pathPart(req, 1)
	s.mu.Lock()
	have, _ := s.tagged(arn)
	have = maps.Clone(have)
	s.mu.Unlock()
	if err := s.allow(ctx, req, arn, have, conditions); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	tags, ok := s.tagged(arn)
	if !ok {
		return nil, &wire.Error{Code: "NotFoundException", Status: 404, Message: "Resource was not found: " + arn}
	}
	return do(tags), nil
}

func (s *Service) tagResource(ctx context.Context, req *wire.Request, in *struct {
	Tags map[string]string `json:"tags"`
},
) (any, error) {
	return s.withTags(ctx, req, wire.TagConditions(in.Tags), func(tags map[string]string) any {
		maps.Copy(tags, in.Tags)
		return nil
	})
}

func (s *Service) untagResource(ctx context.Context, req *wire.Request) (any, error) {
	keys := req.Query["tagKeys"]
	return s.withTags(ctx, req, map[string][]string{"aws:TagKeys": keys}, func(tags map[string]string) any {
		maps.DeleteFunc(tags, func(k, _ string) bool { return slices.Contains(keys, k) })
		return nil
	})
}

func (s *Service) listTags(ctx context.Context, req *wire.Request) (any, error) {
	return s.withTags(ctx, req, nil, func(tags map[string]string) any {
		return struct {
			Tags map[string]string `json:"tags"`
		}{maps.Clone(tags)}
	})
}
