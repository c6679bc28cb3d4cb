package aws

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// ReservationSelector selects capacity reservations: by id, or else by all other members
// that are set. The tag value "*" is any value.
type ReservationSelector struct {
	ID             string
	OwnerID, Match string // Match is open or targeted
	Tags           map[string]string
}

// CapacityReservation is an active capacity reservation.
type CapacityReservation struct {
	ID, InstanceType, Zone, OwnerID string
	Match                           string    // open or targeted
	Type                            string    // default or capacity-block
	Interruptible                   bool      // EC2 may interrupt its instances
	End                             time.Time // zero: no end
	Available                       int       // how many more instances fit into it
}

// CapacityReservations returns the active reservations that match a selector, sorted by
// id. It leaves out reservations that a node cannot use (dedicated tenancy, or another
// platform than Linux), and ids that do not exist.
func (c *Clients) CapacityReservations(ctx context.Context, selectors []ReservationSelector) ([]CapacityReservation, error) {
	found := map[string]CapacityReservation{}
	for _, s := range selectors {
		out, err := c.describeReservations(ctx, s)
		if err = wrap(err, "capacity reservations list"); err != nil && (s.ID == "" || !errors.Is(err, ErrNotFound)) {
			return nil, err
		}
		for _, r := range out {
			if r.Tenancy == ec2types.CapacityReservationTenancyDedicated || !runsLinux(r.InstancePlatform) {
				continue
			}
			found[awssdk.ToString(r.CapacityReservationId)] = reservation(r)
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b CapacityReservation) int { return strings.Compare(a.ID, b.ID) }), nil
}

func runsLinux(p ec2types.CapacityReservationInstancePlatform) bool {
	return p == "" || p == ec2types.CapacityReservationInstancePlatformLinuxUnix
}

func reservation(r ec2types.CapacityReservation) CapacityReservation {
	out := CapacityReservation{
		ID: awssdk.ToString(r.CapacityReservationId), InstanceType: awssdk.ToString(r.InstanceType), Zone: awssdk.ToString(r.AvailabilityZone),
		OwnerID: awssdk.ToString(r.OwnerId), Match: string(r.InstanceMatchCriteria), Type: string(r.ReservationType),
		Interruptible: awssdk.ToBool(r.Interruptible), End: awssdk.ToTime(r.EndDate), Available: int(awssdk.ToInt32(r.AvailableInstanceCount)),
	}
	if out.Type == "" {
		out.Type = string(ec2types.CapacityReservationTypeDefault)
	}
	return out
}

func (c *Clients) describeReservations(ctx context.Context, s ReservationSelector) ([]ec2types.CapacityReservation, error) {
	filter := func(name, value string) ec2types.Filter {
		return ec2types.Filter{Name: &name, Values: []string{value}}
	}
	in := &ec2.DescribeCapacityReservationsInput{Filters: []ec2types.Filter{filter("state", string(ec2types.CapacityReservationStateActive))}}
	if s.ID != "" {
		in.CapacityReservationIds = []string{s.ID} // EC2 refuses a page size together with ids
	} else {
		in.MaxResults = awssdk.Int32(1000)
		in.Filters = append(in.Filters, tagFilters(s.Tags)...)
		if s.OwnerID != "" {
			in.Filters = append(in.Filters, filter("owner-id", s.OwnerID))
		}
		if s.Match != "" {
			in.Filters = append(in.Filters, filter("instance-match-criteria", s.Match))
		}
	}
	var all []ec2types.CapacityReservation
	pages := ec2.NewDescribeCapacityReservationsPaginator(c.ec2, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, page.CapacityReservations...)
	}
	return all, nil
}
