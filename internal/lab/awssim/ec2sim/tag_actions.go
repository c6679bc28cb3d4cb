package ec2sim

import (
	"maps"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

type tagsRequest struct {
	dryRun
	IDs  []string     `q:"ResourceId,required"`
	Tags []tagRequest `q:"Tag"`
}

// tagRequest: DeleteTags tells an absent value from an empty one.
type tagRequest struct {
	Key   string  `q:"Key"`
	Value *string `q:"Value"`
}

func createTags(c *call, in *tagsRequest) (any, error) {
	if len(in.Tags) == 0 {
		return nil, missingParameter("Tag")
	}
	tags := make([]tag, 0, len(in.Tags))
	for _, t := range in.Tags {
		tags = append(tags, tag{t.Key, value(t.Value)})
	}
	if err := checkTags(tags); err != nil {
		return nil, err
	}
	found, err := c.tagged(in)
	if err != nil {
		return nil, err
	}
	for _, r := range found {
		after := maps.Clone(r.tags)
		maps.Copy(after, tagMap(tags))
		if err := checkTagCount(after); err != nil {
			return nil, err
		}
	}
	for _, r := range found {
		c.s.retag(r, func() { maps.Copy(r.tags, tagMap(tags)) })
	}
	return done{true}, nil
}

// checkTagCount holds a resource to its 50 tags; AWS's own do not count.
func checkTagCount(tags map[string]string) error {
	own := 0
	for key := range tags {
		if !strings.HasPrefix(key, "aws:") {
			own++
		}
	}
	if own > 50 {
		return wire.Errorf("TagLimitExceeded", "The maximum number of Tags for this resource has been reached.")
	}
	return nil
}

// deleteTags removes the named tags; one with a value only where the tag has
// that value, and all of them where none is named.
func deleteTags(c *call, in *tagsRequest) (any, error) {
	found, err := c.tagged(in)
	if err != nil {
		return nil, err
	}
	for _, r := range found {
		c.s.retag(r, func() {
			maps.DeleteFunc(r.tags, func(key, have string) bool {
				if strings.HasPrefix(key, "aws:") {
					return false
				}
				return len(in.Tags) == 0 || slices.ContainsFunc(in.Tags, func(t tagRequest) bool {
					return t.Key == key && (t.Value == nil || *t.Value == have)
				})
			})
		})
	}
	return done{true}, nil
}

// tagged finds the resources of the request and asks IAM about each.
func (c *call) tagged(in *tagsRequest) ([]*resource, error) {
	found, err := pick(in.IDs, c.s.resources, notFound)
	if err != nil {
		return nil, err
	}
	request := map[string]string{}
	for _, t := range in.Tags {
		request[t.Key] = value(t.Value)
	}
	var resources []wire.Resource
	for _, r := range found {
		resources = append(resources, c.s.existing(r))
	}
	return found, c.permit(in.DryRun, c.accessTo("ec2:"+c.req.Action, wire.TagConditions(request), resources...))
}

type tagItem struct {
	Key   string `xml:"key" filter:"key"`
	ID    string `xml:"resourceId" filter:"resource-id"`
	Kind  string `xml:"resourceType" filter:"resource-type"`
	Value string `xml:"value" filter:"value"`
}

func (t tagItem) key() string { return t.ID + "/" + t.Key }

func describeTags(c *call, in *listing) (any, error) {
	c.s.forget()
	var items []tagItem
	for _, r := range c.s.resources {
		for key, value := range r.tags {
			items = append(items, tagItem{key, r.id, r.kind, value})
		}
	}
	return list[tagItem, tagItem]{set: "tagSet", item: itself[tagItem], minPage: 5, maxPage: 1000, defaultPage: 1000}.page(c, *in, items)
}
