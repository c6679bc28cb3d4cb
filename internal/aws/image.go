package aws

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

// Image is an AMI.
type Image struct {
	ID, Name   string
	Arch       string    // Kubernetes' name; empty for one that no node has
	Created    time.Time // zero: EC2 gives no time
	Deprecated time.Time // from when on it is deprecated; zero: never
}

// DeprecatedAt says whether the image is deprecated then.
func (i Image) DeprecatedAt(t time.Time) bool {
	return !i.Deprecated.IsZero() && !i.Deprecated.After(t)
}

// Parameter reads an SSM parameter. Error: ErrNotFound.
func (c *Clients) Parameter(ctx context.Context, name string) (string, error) {
	out, err := c.ssm.GetParameter(ctx, &ssm.GetParameterInput{Name: &name})
	if err != nil {
		return "", wrap(err, "parameter %s read", name)
	}
	return awssdk.ToString(out.Parameter.Value), nil
}

// ImageSelector selects images by id, or by all of name, owner and tags. The name may have
// wildcards; the tag value "*" is any value. A name without an owner is searched among the
// images of the account and of Amazon.
type ImageSelector struct {
	ID, Name, Owner string
	Tags            map[string]string
}

// Images reads the available images that match a selector, each once, including deprecated
// ones. They are sorted from the newest to the oldest, then by id. Images leaves out ids
// that EC2 does not know.
func (c *Clients) Images(ctx context.Context, selectors []ImageSelector) ([]Image, error) {
	found := map[string]Image{}
	for _, q := range imageQueries(selectors) {
		if err := c.describeImages(ctx, q, found); err != nil {
			return nil, wrap(err, "images read")
		}
	}
	all := slices.Collect(maps.Values(found))
	slices.SortFunc(all, func(a, b Image) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(a.ID, b.ID))
	})
	return all, nil
}

func (c *Clients) describeImages(ctx context.Context, in *ec2.DescribeImagesInput, found map[string]Image) error {
	for pages := ec2.NewDescribeImagesPaginator(c.ec2, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, i := range page.Images {
			id := awssdk.ToString(i.ImageId)
			found[id] = Image{
				ID: id, Name: awssdk.ToString(i.Name), Arch: archOf(i.Architecture),
				Created: parseTime(i.CreationDate), Deprecated: parseTime(i.DeprecationTime),
			}
		}
	}
	return nil
}

// imageQueries are one query for all ids, and one for each other selector.
func imageQueries(selectors []ImageSelector) (out []*ec2.DescribeImagesInput) {
	query := func(owners []string, filters ...ec2types.Filter) {
		out = append(out, &ec2.DescribeImagesInput{
			IncludeDeprecated: awssdk.Bool(true), MaxResults: awssdk.Int32(1000), Owners: owners,
			Filters: append(filters, ec2types.Filter{Name: awssdk.String("state"), Values: []string{"available"}}),
		})
	}
	var ids []string
	for _, s := range selectors {
		if s.ID != "" {
			ids = append(ids, s.ID)
			continue
		}
		filters := tagFilters(s.Tags)
		var owners []string
		switch {
		case s.Owner != "":
			owners = []string{s.Owner}
		case s.Name != "":
			owners = []string{"self", "amazon"}
		}
		if s.Name != "" {
			filters = append(filters, ec2types.Filter{Name: awssdk.String("name"), Values: []string{s.Name}})
		}
		query(owners, filters...)
	}
	if len(ids) > 0 {
		query(nil, ec2types.Filter{Name: awssdk.String("image-id"), Values: ids})
	}
	return out
}

// archOf returns Kubernetes' name of the architecture; empty for one that no node has.
func archOf(a ec2types.ArchitectureValues) string {
	return map[ec2types.ArchitectureValues]string{ec2types.ArchitectureValuesX8664: "amd64", ec2types.ArchitectureValuesArm64: "arm64"}[a]
}

func parseTime(text *string) time.Time {
	t, err := time.Parse(time.RFC3339, awssdk.ToString(text))
	if err != nil {
		return time.Time{}
	}
	return t
}
