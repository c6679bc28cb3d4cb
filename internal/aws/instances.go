package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

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

// Down reports whether nothing runs on the instance, and nothing will unless somebody starts it:
// it is gone, or somebody has stopped it.
func (i Instance) Down() bool { return i.Gone() || i.State == "stopping" || i.State == "stopped" }

// Instance reads an instance by id. Error: ErrNotFound. EC2 shows a terminated instance
// for about an hour, so check its state too. Instances that are read at the same time are
// read by one call.
func (c *Clients) Instance(ctx context.Context, id string) (Instance, error) {
	found, err := c.byID.get(ctx, id)
	if err != nil {
		return Instance{}, wrap(err, "instance %s read", id)
	}
	i, there := found[id]
	if !there {
		return Instance{}, fmt.Errorf("instance %s read: %w", id, ErrNotFound)
	}
	return i, nil
}

// InstancesByID reads the instances by few calls. Those that EC2 does not know are left out;
// it shows a terminated instance for about an hour.
func (c *Clients) InstancesByID(ctx context.Context, ids ...string) (map[string]Instance, error) {
	found, err := c.byID.get(ctx, ids...)
	return found, wrap(err, "instances read")
}

func (c *Clients) readInstances(ctx context.Context, ids []string) (map[string]Instance, error) {
	// By a filter, as EC2 refuses a call for ids of which it does not know one.
	found, err := c.describeInstances(ctx, listed(ec2types.Filter{Name: awssdk.String("instance-id"), Values: ids}))
	if err != nil {
		return nil, err
	}
	out := make(map[string]Instance, len(found))
	for _, i := range found {
		out[i.ID] = i
	}
	return out, nil
}

// InstancesOf returns the instances that were launched for the NodeClaim with the uid, and
// are not terminated. NodeClaims that are asked about at the same time are asked about by one
// call.
func (c *Clients) InstancesOf(ctx context.Context, uid string) ([]Instance, error) {
	found, err := c.byClaim.get(ctx, uid)
	return found[uid], wrap(err, "instances list")
}

func (c *Clients) instancesOf(ctx context.Context, uids []string) (map[string][]Instance, error) {
	found, err := c.describeInstances(ctx, listed(ec2types.Filter{Name: awssdk.String("tag:" + awsspec.TagNodeClaimUID), Values: uids}, notTerminated()))
	if err != nil {
		return nil, err
	}
	out := map[string][]Instance{}
	for _, i := range found {
		uid := i.Tags[awsspec.TagNodeClaimUID]
		out[uid] = append(out[uid], i)
	}
	return out, nil
}

// Instances returns the instances that have all of the tags ("*": any value) and are not
// terminated, sorted by id.
func (c *Clients) Instances(ctx context.Context, tags map[string]string) ([]Instance, error) {
	found, err := c.describeInstances(ctx, listed(append(tagFilters(tags), notTerminated())...))
	return found, wrap(err, "instances list")
}

func listed(filters ...ec2types.Filter) *ec2.DescribeInstancesInput {
	return &ec2.DescribeInstancesInput{Filters: filters, MaxResults: awssdk.Int32(1000)}
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

// Terminate terminates the instances. It is no error if an instance is gone. Instances that
// are terminated at the same time are terminated by one call.
func (c *Clients) Terminate(ctx context.Context, ids ...string) error {
	refused, err := c.ends.get(ctx, ids...)
	if err != nil {
		return wrap(err, "instances %s terminate", strings.Join(ids, ", "))
	}
	var problems []error
	for _, id := range ids {
		problems = append(problems, wrap(refused[id], "instance %s terminate", id))
	}
	return errors.Join(problems...)
}

// terminate returns what EC2 says of those that it did not take. EC2 refuses a call for many
// because of one that it does not know, that is protected, or that the caller may not terminate:
// each half is tried by itself then.
func (c *Clients) terminate(ctx context.Context, ids []string) (map[string]error, error) {
	err := c.terminateAll(ctx, ids)
	switch {
	case err == nil:
		return nil, nil
	case !ofOneInstance(err):
		return nil, err
	}
	return c.split(ctx, ids, err)
}

func (c *Clients) terminateAll(ctx context.Context, ids []string) error {
	_, err := c.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: ids})
	return err
}

// split tries halves of what EC2 has refused as a whole. Where the caller may terminate neither
// half, it most likely may terminate none.
func (c *Clients) split(ctx context.Context, ids []string, why error) (map[string]error, error) {
	if len(ids) == 1 {
		if errors.Is(classify(why), ErrNotFound) {
			return nil, nil
		}
		return map[string]error{ids[0]: why}, nil
	}
	halves, refused := [2][]string{ids[:len(ids)/2], ids[len(ids)/2:]}, map[string]error{}
	var faults [2]error
	for i, half := range halves {
		if faults[i] = c.terminateAll(ctx, half); faults[i] != nil && !ofOneInstance(faults[i]) {
			return nil, faults[i]
		}
	}
	denied := func(err error) bool { return err != nil && errors.Is(classify(err), ErrUnauthorized) }
	if denied(faults[0]) && denied(faults[1]) {
		return nil, why
	}
	for i, half := range halves {
		if faults[i] == nil {
			continue
		}
		some, err := c.split(ctx, half, faults[i])
		if err != nil {
			return nil, err
		}
		maps.Copy(refused, some)
	}
	return refused, nil
}

// ofOneInstance says whether EC2 may have refused a call for many because of one of them. Source:
// the errors of TerminateInstances in the EC2 API reference.
func ofOneInstance(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch code := api.ErrorCode(); code {
	case "OperationNotPermitted", "UnauthorizedOperation", "UnsupportedOperation", "IncorrectInstanceState", "InvalidInstanceID.Malformed":
		return true
	default:
		return isNotFound(code)
	}
}
