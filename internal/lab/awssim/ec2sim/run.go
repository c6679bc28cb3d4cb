package ec2sim

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

type runInstancesRequest struct {
	dryRun
	launchData
	ClientToken string         `q:"ClientToken"`
	Template    *fleetTemplate `q:"LaunchTemplate"`
	Min         int            `q:"MinCount,required"`
	Max         int            `q:"MaxCount,required"`
	SubnetID    string         `q:"SubnetId"`
}

type reservationItem struct {
	Groups        set[groupRef]     `xml:"groupSet"`
	Instances     set[instanceItem] `xml:"instancesSet"`
	OwnerID       string            `xml:"ownerId"`
	ReservationID string            `xml:"reservationId"`
}

// runInstances launches instances of one kind: all of MaxCount, or as many as
// there is room for when that is at least MinCount.
func runInstances(c *call, in *runInstancesRequest) (any, error) {
	if in.Min < 1 || in.Max < in.Min {
		return nil, wire.Errorf("InvalidParameterValue", "Value (%d, %d) for parameters MinCount, MaxCount is invalid. Both must be positive, and MaxCount at least MinCount.", in.Min, in.Max)
	}
	return c.once(in.ClientToken, in.DryRun, func() (any, error) {
		plan, err := c.runPlan(in)
		if err != nil {
			return nil, err
		}
		if err := c.permit(in.DryRun, c.runQuestions(plan)...); err != nil {
			return nil, err
		}
		return c.run(plan, in.Min, in.Max)
	})
}

func (c *call) run(plan *launchPlan, least, most int) (any, error) {
	off := offering{plan.capacityType, plan.instanceType.Name, plan.subnet.zone.Name}
	room := plan.subnet.free() / len(plan.interfaces)
	left, limited := c.s.capacity[off]
	lacks := noCapacity(off)
	if plan.targeted {
		left, limited, lacks = c.s.left(plan.reservation), true, reservationFull(plan.reservation.id)
	}
	if limited {
		room = min(room, left)
	}
	if room < least { // one by one would launch a part and then fail
		if limited && left < least {
			return nil, lacks
		}
		return nil, noAddress(plan.subnet.id)
	}
	answer := reservationItem{OwnerID: c.s.cfg.Account, ReservationID: c.s.newID("r")}
	for index := range min(most, room) {
		i, err := c.s.launch(plan, answer.ReservationID, index)
		if err != nil {
			return nil, err
		}
		item := c.s.instanceItem(i)
		item.State = stateItem{StatePending.code(), StatePending}
		answer.Instances = append(answer.Instances, item)
	}
	return answer, nil
}

// runPlan lays the inline parameters over those of the launch template.
func (c *call) runPlan(in *runInstancesRequest) (*launchPlan, error) {
	if err := in.launchData.check(); err != nil {
		return nil, err
	}
	spec := launchSpec{data: in.launchData, capacityType: onDemand, subnetID: in.SubnetID, clientToken: in.ClientToken}
	if in.Template != nil {
		t, err := c.s.launchable(*in.Template)
		if err != nil {
			return nil, err
		}
		spec.template, spec.data = t, overlay(t.data, in.launchData)
		spec.data.TagSpecs, spec.tagSpecs = t.data.TagSpecs, in.TagSpecs // laid over each other by kind
	}
	if market := spec.data.Market; market != nil {
		if err := oneOf("InstanceMarketOptions.MarketType", market.Type, spot); err != nil {
			return nil, err
		}
		spec.capacityType = spot
	}
	return c.s.resolve(spec)
}
