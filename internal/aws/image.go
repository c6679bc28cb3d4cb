package aws

import (
	"context"
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
	Created    time.Time // zero: EC2 gives no time
	Deprecated time.Time // from when on it is deprecated; zero: never
}

// Parameter reads an SSM parameter. Error: ErrNotFound.
func (c *Clients) Parameter(ctx context.Context, name string) (string, error) {
	out, err := c.ssm.GetParameter(ctx, &ssm.GetParameterInput{Name: &name})
	if err != nil {
		return "", wrap(err, "parameter %s read", name)
	}
	return awssdk.ToString(out.Parameter.Value), nil
}

// Images reads the available images with these ids, including deprecated ones. They are
// sorted from the newest to the oldest, then by id. Images leaves out ids that EC2 does
// not know.
func (c *Clients) Images(ctx context.Context, ids []string) ([]Image, error) {
	var all []Image
	pages := ec2.NewDescribeImagesPaginator(c.ec2, &ec2.DescribeImagesInput{
		IncludeDeprecated: awssdk.Bool(true), MaxResults: awssdk.Int32(1000),
		Filters: []ec2types.Filter{
			{Name: awssdk.String("image-id"), Values: ids},
			{Name: awssdk.String("state"), Values: []string{"available"}},
		},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, wrap(err, "images read")
		}
		for _, i := range page.Images {
			all = append(all, Image{
				ID: awssdk.ToString(i.ImageId), Name: awssdk.ToString(i.Name),
				Created: parseTime(i.CreationDate), Deprecated: parseTime(i.DeprecationTime),
			})
		}
	}
	slices.SortFunc(all, func(a, b Image) int {
		if order := b.Created.Compare(a.Created); order != 0 {
			return order
		}
		return strings.Compare(a.ID, b.ID)
	})
	return all, nil
}

func parseTime(text *string) time.Time {
	t, err := time.Parse(time.RFC3339, awssdk.ToString(text))
	if err != nil {
		return time.Time{}
	}
	return t
}
