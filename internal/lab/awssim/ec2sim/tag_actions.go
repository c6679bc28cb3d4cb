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
		maps.Copy(r.tags, tagMap(tags))
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
		maps.DeleteFunc(r.tags, func(key, have string) bool {
			if strings.HasPrefix(key, "aws:") {
				return false
			}
			return len(in.Tags) == 0 || slices.ContainsFunc(in.Tags, func(t tagRequest) bool {
				return t.Key == key && (t.Value == nil || *t.Value == have)
			})
		})
	}
	return done{true}, nil
}

// tagged finds the resources of the request and asks IAM about each.
func (c *call) tagged(in *tagsRequest) ([]*resource, error) {
	found, err := pick(in.IDs, c.s.resources, unknownResource)
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
	return found, c.permit(in.DryRun, c.accessTo("ec2:"+c.req.Action, requestTags(request), resources...))
}

// unknownResource gives the NotFound error that belongs to the id's prefix.
func unknownResource(id string) error {
	prefix, _, _ := strings.Cut(id, "-")
	switch prefix {
	case "i":
		return noInstance(id)
	case "subnet":
		return noSubnet(id)
	case "sg":
		return noGroup(id)
	case "ami":
		return noImage(id)
	case "lt":
		return noTemplateID(id)
	case "vpc":
		return notFound("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist")(id)
	case "vol":
		return notFound("InvalidVolume.NotFound", "The volume '%s' does not exist.")(id)
	case "eni":
		return notFound("InvalidNetworkInterfaceID.NotFound", "The networkInterface ID '%s' does not exist")(id)
	}
	return notFound("InvalidID", "The ID '%s' is not valid")(id)
}

type tagItem struct {
	Key   string `xml:"key"`
	ID    string `xml:"resourceId"`
	Kind  string `xml:"resourceType"`
	Value string `xml:"value"`
}

type describeTagsRequest struct {
	listing
}

type tagsAnswer struct {
	NextToken string       `xml:"nextToken,omitempty"`
	Tags      set[tagItem] `xml:"tagSet"`
}

func describeTags(c *call, in *describeTagsRequest) (any, error) {
	c.s.forget()
	var items []tagItem
	for _, r := range c.s.resources {
		for key, value := range r.tags {
			items = append(items, tagItem{key, r.id, r.kind, value})
		}
	}
	tags := func(t tagItem) map[string]string { return map[string]string{t.Key: t.Value} }
	page, next, err := view[tagItem]{
		key:  func(t tagItem) string { return t.ID + "/" + t.Key },
		tags: tags,
		fields: map[string]func(tagItem) []string{
			"key":           func(t tagItem) []string { return one(t.Key) },
			"resource-id":   func(t tagItem) []string { return one(t.ID) },
			"resource-type": func(t tagItem) []string { return one(t.Kind) },
			"value":         func(t tagItem) []string { return []string{t.Value} },
		},
		minPage: 5, maxPage: 1000, defaultPage: 1000,
	}.list(c, in.listing, items)
	if err != nil {
		return nil, err
	}
	return tagsAnswer{next, page}, nil
}
