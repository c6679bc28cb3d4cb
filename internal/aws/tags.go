package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// NetworkTags reads the tags of subnets and security groups, by id. The result leaves out
// ids that do not exist.
func (c *Clients) NetworkTags(ctx context.Context, ids ...string) (map[string]map[string]string, error) {
	var subnets, groups []string
	for _, id := range ids {
		switch {
		case strings.HasPrefix(id, "subnet-"):
			subnets = append(subnets, id)
		case strings.HasPrefix(id, "sg-"):
			groups = append(groups, id)
		default:
			return nil, fmt.Errorf("tags read: %q is neither a subnet (subnet-...) nor a security group (sg-...)", id)
		}
	}
	tags := map[string]map[string]string{}
	if len(subnets) > 0 {
		found, err := c.describeSubnets(ctx, ec2types.Filter{Name: awssdk.String("subnet-id"), Values: subnets})
		if err != nil {
			return nil, wrap(err, "subnet tags read")
		}
		for _, s := range found {
			tags[awssdk.ToString(s.SubnetId)] = fromEC2Tags(s.Tags)
		}
	}
	if len(groups) > 0 {
		found, err := c.describeSecurityGroups(ctx, ec2types.Filter{Name: awssdk.String("group-id"), Values: groups})
		if err != nil {
			return nil, wrap(err, "security group tags read")
		}
		for _, g := range found {
			tags[awssdk.ToString(g.GroupId)] = fromEC2Tags(g.Tags)
		}
	}
	return tags, nil
}

// CreateNetworkTag sets key=value on subnets and security groups. It returns the ids that
// it tagged; the others had the tag already. If it fails and may have tagged the ids all the
// same, the error comes with them. It overwrites nothing, and checks all
// resources before it writes. Errors: ErrConflict, with id and value, if a resource has
// the key with another value; ErrNotFound if a resource does not exist.
func (c *Clients) CreateNetworkTag(ctx context.Context, key, value string, ids ...string) (tagged []string, err error) {
	current, err := c.NetworkTags(ctx, ids...)
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, id := range ids {
		tags, exists := current[id]
		have, has := tags[key]
		switch {
		case !exists:
			problems = append(problems, fmt.Errorf("%s: %w", id, ErrNotFound))
		case has && have != value:
			problems = append(problems, fmt.Errorf("%s: tag %s=%q: %w with another value", id, key, have, ErrConflict))
		case !has:
			tagged = append(tagged, id)
		}
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("tag %s=%s create: %w", key, value, errors.Join(problems...))
	}
	if len(tagged) == 0 {
		return nil, nil
	}
	slices.Sort(tagged)
	sent := c.newSendings()
	_, err = c.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: tagged, Tags: ec2Tags(map[string]string{key: value})}, sent.ofEC2)
	if err != nil && !sent.mayHaveDone(err) {
		tagged = nil
	}
	return tagged, wrap(err, "tag %s=%s create", key, value)
}

// DeleteNetworkTag removes the tag from the resources where it still has the value; EC2
// compares the value itself. It is no error if a resource or tag is gone.
func (c *Clients) DeleteNetworkTag(ctx context.Context, key, value string, ids ...string) error {
	current, err := c.NetworkTags(ctx, ids...)
	if err != nil {
		return err
	}
	ours := slices.DeleteFunc(slices.Sorted(slices.Values(ids)), func(id string) bool {
		have, has := current[id][key]
		return !has || have != value
	})
	if len(ours) == 0 {
		return nil
	}
	_, err = c.ec2.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: ours, Tags: ec2Tags(map[string]string{key: value})})
	return unlessGone(wrap(err, "tag %s=%s delete", key, value))
}
