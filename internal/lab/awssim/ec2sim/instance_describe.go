package ec2sim

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

var instanceID = regexp.MustCompile(`^i-([0-9a-f]{8}|[0-9a-f]{17})$`)

type describeInstancesRequest struct {
	listing
	IDs []string `q:"InstanceId"`
}

type instancesAnswer struct {
	NextToken    string               `xml:"nextToken,omitempty"`
	Reservations set[reservationItem] `xml:"reservationSet"`
}

func describeInstances(c *call, in *describeInstancesRequest) (any, error) {
	if len(in.IDs) > 0 && in.MaxResults != nil {
		return nil, wire.Errorf("InvalidParameterCombination", "The parameter instancesSet cannot be used with the parameter maxResults")
	}
	found, err := c.s.findInstances(in.IDs)
	if err != nil {
		return nil, err
	}
	page, next, err := c.s.instanceView().list(c, in.listing, found)
	if err != nil {
		return nil, err
	}
	out := instancesAnswer{NextToken: next}
	for _, i := range page {
		last := len(out.Reservations) - 1
		if last < 0 || out.Reservations[last].ReservationID != i.reservationID {
			out.Reservations = append(out.Reservations, reservationItem{OwnerID: c.s.cfg.Account, ReservationID: i.reservationID})
			last++
		}
		out.Reservations[last].Instances = append(out.Reservations[last].Instances, c.s.instanceItem(i))
	}
	return out, nil
}

// findInstances returns the instances with the ids, or all, that EC2 shows by now.
func (s *Service) findInstances(ids []string) ([]*instance, error) {
	if err := checkInstanceIDs(ids); err != nil {
		return nil, err
	}
	s.forget()
	visible := map[string]*instance{}
	for id, i := range s.instances {
		if !i.visible.After(s.cfg.Now()) {
			visible[id] = i
		}
	}
	return pick(ids, visible, noInstance)
}

func checkInstanceIDs(ids []string) error {
	for _, id := range ids {
		if !instanceID.MatchString(id) {
			return wire.Errorf("InvalidInstanceID.Malformed", "Invalid id: \"%s\"", id)
		}
	}
	return nil
}

func (s *Service) instanceView() view[*instance] {
	text := func(get func(*instance) string) func(*instance) []string {
		return func(i *instance) []string { return one(get(i)) }
	}
	connected := func(get func(*instance) string) func(*instance) []string {
		return func(i *instance) []string {
			if i.State == StateTerminated {
				return nil
			}
			return one(get(i))
		}
	}
	groups := func(i *instance) []string { return i.SecurityGroupIDs }
	return view[*instance]{
		key:  func(i *instance) string { return fmt.Sprintf("%012d", i.seq) },
		tags: func(i *instance) map[string]string { return i.tags },
		fields: map[string]func(*instance) []string{
			"architecture":             text(func(i *instance) string { return i.Arch }),
			"availability-zone":        text(func(i *instance) string { return i.Zone }),
			"availability-zone-id":     text(func(i *instance) string { return i.ZoneID }),
			"client-token":             text(func(i *instance) string { return i.clientToken }),
			"iam-instance-profile.arn": text(func(i *instance) string { return i.ProfileARN }),
			"iam-instance-profile.id":  text(func(i *instance) string { return i.ProfileID }),
			"image-id":                 text(func(i *instance) string { return i.ImageID }),
			"instance-id":              text(func(i *instance) string { return i.ID }),
			"instance-lifecycle":       text(func(i *instance) string { return lifecycle(i.Spot) }),
			"instance-state-code":      func(i *instance) []string { return oneInt(int64(i.State.code())) },
			"instance-state-name":      text(func(i *instance) string { return string(i.State) }),
			"instance-type":            text(func(i *instance) string { return i.Type }),
			"instance.group-id":        groups,
			"launch-time":              text(func(i *instance) string { return stamp(i.LaunchTime) }),
			"owner-id":                 func(*instance) []string { return one(s.cfg.Account) },
			"private-dns-name":         connected(func(i *instance) string { return i.PrivateDNSName }),
			"private-ip-address":       connected(func(i *instance) string { return i.PrivateIP }),
			"network-interface.addresses.private-ip-address": connected(func(i *instance) string { return i.PrivateIP }),
			"reservation-id":           text(func(i *instance) string { return i.reservationID }),
			"spot-instance-request-id": text(func(i *instance) string { return i.SpotRequestID }),
			"state-reason-code":        text(func(i *instance) string { return i.reason.Code }),
			"subnet-id":                connected(func(i *instance) string { return i.SubnetID }),
			"tenancy":                  text(func(i *instance) string { return i.plan.tenancy() }),
			"vpc-id":                   connected(func(i *instance) string { return i.VPCID }),
		},
		minPage: 5, maxPage: 1000,
	}
}

func lifecycle(isSpot bool) string {
	if isSpot {
		return spot
	}
	return ""
}

type terminateInstancesRequest struct {
	dryRun
	IDs  []string `q:"InstanceId,required"`
	Skip bool     `q:"SkipOsShutdown"` // nothing in the simulated machine outlives its stop either way
}

type terminateAnswer struct {
	Changes set[stateChangeItem] `xml:"instancesSet"`
}

type stateChangeItem struct {
	Current  stateItem `xml:"currentState"`
	ID       string    `xml:"instanceId"`
	Previous stateItem `xml:"previousState"`
}

// terminateInstances ends all of the instances, or none where one is unknown
// or forbidden; to end an instance again changes nothing.
func terminateInstances(c *call, in *terminateInstancesRequest) (any, error) {
	if err := checkInstanceIDs(in.IDs); err != nil {
		return nil, err
	}
	c.s.forget()
	found, err := pick(in.IDs, c.s.instances, noInstance)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b *instance) int { return int(a.seq - b.seq) })
	resources := make([]wire.Resource, 0, len(found))
	for _, i := range found {
		resources = append(resources, c.s.existing(i.resource))
	}
	if err := c.permit(in.DryRun, c.access(resources...)); err != nil {
		return nil, err
	}
	var out terminateAnswer
	for _, i := range found {
		before := stateItem{i.State.code(), i.State}
		now := before
		if i.State.alive() {
			now = stateItem{StateShuttingDown.code(), StateShuttingDown}
		}
		c.s.stop(i, stateReason{"Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown"})
		out.Changes = append(out.Changes, stateChangeItem{now, i.ID, before})
	}
	return out, nil
}
