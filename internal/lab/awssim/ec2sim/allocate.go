package ec2sim

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// fleetPool is one place that a fleet can launch from.
type fleetPool struct {
	template *template
	override fleetOverride
}

// fleet is an instant fleet while it is filled.
type fleet struct {
	*call
	id          string
	clientToken string
	tagSpecs    []tagSpec
	answer      fleetAnswer
}

// candidate is a pool as one capacity type sees it.
type candidate struct {
	fleetPool
	plan     *launchPlan
	err      error          // why nothing can be launched from it
	price    quantity.Money // math.MaxInt64 where unknown
	priority float64
	enough   bool // the whole target fits
}

// fill launches up to target instances of the capacity type, from the best
// pool first; a pool that fails or runs out is reported, and the next is tried.
func (f *fleet) fill(capacityType, strategy string, target int, pools []fleetPool) {
	for _, candidate := range f.rank(capacityType, strategy, target, pools) {
		if target == 0 {
			return
		}
		target -= f.launchFrom(candidate, capacityType, target)
	}
}

func (f *fleet) rank(capacityType, strategy string, target int, pools []fleetPool) []candidate {
	candidates := make([]candidate, 0, len(pools))
	for _, pool := range pools {
		candidates = append(candidates, f.judge(pool, capacityType, target))
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return compare(strategy, a, b) })
	return candidates
}

// compare orders pools as the allocation strategy does. EC2 does not publish
// how it weighs spot capacity; here a pool that cannot hold the target comes
// after those that can. Equal pools go by type and zone, so that a run can be repeated.
func compare(strategy string, a, b candidate) int {
	enough := boolean(b.enough) - boolean(a.enough)
	price := cmp.Compare(a.price, b.price)
	name := cmp.Or(cmp.Compare(a.override.InstanceType, b.override.InstanceType), cmp.Compare(a.override.Zone, b.override.Zone))
	switch strategy {
	case "prioritized":
		return cmp.Or(cmp.Compare(a.priority, b.priority), price, name)
	case "price-capacity-optimized":
		return cmp.Or(enough, price, name)
	case "capacity-optimized-prioritized":
		return cmp.Or(enough, cmp.Compare(a.priority, b.priority), price, name)
	default: // lowest-price
		return cmp.Or(price, name)
	}
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// judge resolves what the pool would launch, its price and its capacity.
func (f *fleet) judge(pool fleetPool, capacityType string, target int) candidate {
	out := candidate{fleetPool: pool, price: math.MaxInt64, priority: math.MaxFloat64}
	if pool.override.Priority != nil {
		out.priority = *pool.override.Priority
	}
	spec := launchSpec{
		data: pool.template.data, template: pool.template, capacityType: capacityType,
		subnetID: pool.override.SubnetID, zone: pool.override.Zone, tagSpecs: f.tagSpecs, fleetID: f.id, clientToken: f.clientToken,
	}
	spec.data.InstanceType = cmp.Or(pool.override.InstanceType, spec.data.InstanceType)
	spec.data.ImageID = cmp.Or(pool.override.ImageID, spec.data.ImageID)
	if out.plan, out.err = f.s.resolve(spec); out.err != nil {
		return out
	}
	zone := out.plan.subnet.zone.Name
	out.override.Zone, out.override.SubnetID = zone, out.plan.subnet.id
	out.override.InstanceType, out.override.ImageID = out.plan.instanceType.Name, out.plan.image.ID
	price := out.plan.instanceType.OnDemand
	if capacityType == spot {
		price = out.plan.instanceType.Spot[zone]
	}
	if price > 0 {
		out.price = price
	}
	left, limited := f.s.room(offering{capacityType, out.plan.instanceType.Name, zone})
	out.enough = !limited || left >= target
	if out.plan.targeted {
		out.enough = f.s.left(out.plan.reservation) >= target
	}
	return out
}

// launchFrom launches up to n instances of the pool, and returns how many.
func (f *fleet) launchFrom(from candidate, capacityType string, n int) int {
	choice := fleetChoice{fleetTemplate{ID: from.template.id, Version: templateVersion}, from.override}
	err := from.err
	if err == nil {
		err = f.permit(false, append(f.fleetQuestions(from.plan), f.runQuestions(from.plan)...)...)
	}
	if err == nil {
		err = f.spotRole(capacityType)
	}
	var ids set[string]
	reservationID := f.s.newID("r")
	for err == nil && len(ids) < n {
		var i *instance
		if i, err = f.s.launch(from.plan, reservationID, len(ids)); err == nil {
			ids = append(ids, i.id)
		}
	}
	if len(ids) > 0 {
		f.answer.Instances = append(f.answer.Instances, fleetInstances{
			Zone: from.override.Zone, IDs: ids, InstanceType: from.override.InstanceType, Choice: choice,
			Lifecycle: capacityType, Platform: from.plan.image.Platform, SubnetID: from.override.SubnetID,
		})
	}
	if err != nil {
		code, message := fleetErrorOf(err)
		f.answer.Errors = append(f.answer.Errors, fleetError{code, message, choice, capacityType})
	}
	return len(ids)
}

// fleetErrorOf renders the error of a launch as a fleet does; a type that the
// zone does not have is a fault of the fleet's configuration there.
func fleetErrorOf(err error) (code, message string) {
	var known *wire.Error
	if !errors.As(err, &known) {
		return "InternalError", err.Error()
	}
	if known.Code == "Unsupported" {
		return "InvalidFleetConfiguration", known.Message
	}
	return known.Code, known.Message
}
