package ec2sim

import (
	"regexp"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

var instanceID = regexp.MustCompile(`^i-([0-9a-f]{8}|[0-9a-f]{17})$`)

type describeInstancesRequest struct {
	listing
	IDs []string `q:"InstanceId"`
}

func describeInstances(c *call, in *describeInstancesRequest) (any, error) {
	if len(in.IDs) > 0 && in.MaxResults != nil {
		return nil, wire.Errorf("InvalidParameterCombination", "The parameter instancesSet cannot be used with the parameter maxResults")
	}
	found, err := c.s.findInstances(in.IDs)
	if err != nil {
		return nil, err
	}
	instances := list[*instance, instanceItem]{item: (*Service).instanceItem, minPage: 5, maxPage: 1000}
	shown, err := instances.page(c, in.listing, found)
	if err != nil {
		return nil, err
	}
	out := page[reservationItem]{set: "reservationSet", NextToken: shown.NextToken}
	for _, i := range shown.Items {
		last := len(out.Items) - 1
		id := c.s.instances[i.ID].reservationID
		if last < 0 || out.Items[last].ReservationID != id {
			out.Items = append(out.Items, reservationItem{OwnerID: c.s.cfg.Account, ReservationID: id})
			last++
		}
		out.Items[last].Instances = append(out.Items[last].Instances, i)
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
	return pick(ids, visible, notFound)
}

func checkInstanceIDs(ids []string) error {
	for _, id := range ids {
		if !instanceID.MatchString(id) {
			return wire.Errorf("InvalidInstanceID.Malformed", "Invalid id: \"%s\"", id)
		}
	}
	return nil
}

type terminateInstancesRequest struct {
	dryRun
	IDs []string `q:"InstanceId,required"`
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
	found, err := pick(in.IDs, c.s.instances, notFound)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b *instance) int { return int(a.seq - b.seq) })
	questions := make([]wire.Access, 0, len(found))
	for _, i := range found {
		questions = append(questions, c.accessTo("ec2:"+c.req.Action, c.s.instanceKeys(i), c.s.existing(i.resource)))
	}
	if err := c.permit(in.DryRun, questions...); err != nil {
		return nil, err
	}
	var out terminateAnswer
	for _, i := range found {
		before := stateItem{i.State.code(), i.State}
		now := before
		if !i.State.ended() {
			now = stateItem{StateShuttingDown.code(), StateShuttingDown}
		}
		c.s.stop(i, stateReason{"Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown"})
		out.Changes = append(out.Changes, stateChangeItem{now, i.ID, before})
	}
	return out, nil
}
