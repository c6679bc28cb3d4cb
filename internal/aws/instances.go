package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// Instance is an EC2 instance.
type Instance struct {
	ID, Type, Zone, SubnetID, ImageID string
	SecurityGroupIDs                  []string // of its primary network interface
	CapacityType, Reservation         string
	State                             string // pending, running, stopping, stopped, shutting-down or terminated
	ProfileARN, ProfileID             string // of its instance profile; empty: it has none
	LaunchTime                        time.Time
	Tags                              map[string]string
}

// Gone reports whether the instance is terminated or shutting down.
func (i Instance) Gone() bool { return i.State == "shutting-down" || i.State == "terminated" }

// Instance reads an instance by id. Error: ErrNotFound. EC2 shows a terminated instance
// for about an hour, so check its state too.
func (c *Clients) Instance(ctx context.Context, id string) (Instance, error) {
	found, err := c.describeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		return Instance{}, wrap(err, "instance %s read", id)
	}
	if len(found) == 0 {
		return Instance{}, fmt.Errorf("instance %s read: %w", id, ErrNotFound)
	}
	return found[0], nil
}

// Instances returns the instances that have all of the tags ("*": any value) and are not
// terminated, sorted by id.
func (c *Clients) Instances(ctx context.Context, tags map[string]string) ([]Instance, error) {
	filters := append(tagFilters(tags), notTerminated())
	found, err := c.describeInstances(ctx, &ec2.DescribeInstancesInput{Filters: filters, MaxResults: awssdk.Int32(1000)})
	return found, wrap(err, "instances list")
}

func notTerminated() ec2types.Filter {
	return ec2types.Filter{Name: awssdk.String("instance-state-name"), Values: []string{"pending", "running", "stopping", "stopped", "shutting-down"}}
}

func (c *Clients) describeInstances(ctx context.Context, in *ec2.DescribeInstancesInput) ([]Instance, error) {
	var all []Instance
	pages := ec2.NewDescribeInstancesPaginator(c.ec2, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, reservation := range page.Reservations {
			for _, i := range reservation.Instances {
				all = append(all, instance(i))
			}
		}
	}
	slices.SortFunc(all, func(a, b Instance) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

func instance(i ec2types.Instance) Instance {
	out := Instance{
		ID: awssdk.ToString(i.InstanceId), Type: string(i.InstanceType), SubnetID: awssdk.ToString(i.SubnetId), ImageID: awssdk.ToString(i.ImageId),
		CapacityType: CapacityTypeOnDemand, LaunchTime: awssdk.ToTime(i.LaunchTime), Tags: fromEC2Tags(i.Tags),
	}
	if awssdk.ToString(i.SpotInstanceRequestId) != "" || i.InstanceLifecycle == ec2types.InstanceLifecycleTypeSpot {
		out.CapacityType = CapacityTypeSpot
	}
	// An open reservation takes in on-demand instances by itself, and may release them at
	// any time. Such an instance counts as on-demand.
	if s := i.CapacityReservationSpecification; i.CapacityReservationId != nil && s != nil &&
		s.CapacityReservationPreference == ec2types.CapacityReservationPreferenceCapacityReservationsOnly {
		out.CapacityType, out.Reservation = CapacityTypeReserved, *i.CapacityReservationId
	}
	for _, g := range i.SecurityGroups {
		out.SecurityGroupIDs = append(out.SecurityGroupIDs, awssdk.ToString(g.GroupId))
	}
	if p := i.IamInstanceProfile; p != nil {
		out.ProfileARN, out.ProfileID = awssdk.ToString(p.Arn), awssdk.ToString(p.Id)
	}
	if i.Placement != nil {
		out.Zone = awssdk.ToString(i.Placement.AvailabilityZone)
	}
	if i.State != nil {
		out.State = string(i.State.Name)
	}
	return out
}

// NameInstance sets the tag Name of an instance.
func (c *Clients) NameInstance(ctx context.Context, id, name string) error {
	_, err := c.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: ec2Tags(map[string]string{awsspec.TagName: name})})
	return wrap(err, "instance %s name", id)
}

// OwnInstance sets the tags by which the instance of a NodeClaim is found, on an instance
// that was launched without them.
func (c *Clients) OwnInstance(ctx context.Context, id, nodeClaim, uid string) error {
	tags := map[string]string{awsspec.TagNodeClaim: nodeClaim, awsspec.TagNodeClaimUID: uid}
	_, err := c.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: ec2Tags(tags)})
	return wrap(err, "instance %s tag", id)
}

// Terminate terminates the instances. It is no error if an instance is gone. It makes one
// call for all. If EC2 refuses that call because it does not know one of the instances,
// it makes one call for each.
func (c *Clients) Terminate(ctx context.Context, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := c.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: ids})
	err = wrap(err, "instances %s terminate", strings.Join(ids, ", "))
	if !errors.Is(err, ErrNotFound) || len(ids) == 1 {
		return unlessGone(err)
	}
	var problems []error
	for _, id := range ids {
		problems = append(problems, c.Terminate(ctx, id))
	}
	return errors.Join(problems...)
}
