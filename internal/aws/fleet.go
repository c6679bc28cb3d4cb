package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
)

// Capacity types.
const (
	CapacityTypeSpot     = "spot"
	CapacityTypeOnDemand = "on-demand"
	CapacityTypeReserved = "reserved" // in the capacity reservation of the launch
)

// Override is one choice of instance type, zone and subnet for a launch.
type Override struct {
	InstanceType, Zone, SubnetID, ImageID string
	Priority                              float64 // lower is better; by convention the price in dollars per hour
	// LaunchTemplate is the name of a template in place of the request's; empty for that.
	LaunchTemplate string `json:",omitempty"`
}

// LaunchRequest asks for one instance.
type LaunchRequest struct {
	LaunchTemplate string // name; its newest version is used. Empty where each override has its own
	CapacityType   string
	Reservation    string // id; only with CapacityTypeReserved, and the same as in the template
	Overrides      []Override
	// ClientToken makes the launch idempotent: EC2 answers the same token and the same
	// request with the same instance, or with the same failure.
	ClientToken string
	Context     string            `json:",omitempty"` // of the account's reservations with EC2; empty for none
	Tags        map[string]string // of the fleet, the instance and its volumes
}

// Templates are the names of the launch templates that the request is made with, in the
// order of its overrides.
func (r LaunchRequest) Templates() []string {
	var names []string
	for _, o := range r.Overrides {
		if name := cmp.Or(o.LaunchTemplate, r.LaunchTemplate); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Launched is the instance of a launch.
type Launched struct {
	InstanceID, InstanceType, Zone, SubnetID, ImageID, CapacityType, Reservation string
	// Failed are the offerings without capacity that EC2 tried before.
	Failed []OfferingFailure
	// SentOnce says of an error that the request was sent only once: no answer to it got lost.
	SentOnce bool
}

// OfferingFailure is an offering without capacity.
type OfferingFailure struct {
	catalog.OfferingKey

	Code, Message string
	Reach         catalog.Reach // what else the code says to be exhausted
	Subnet        string        // that has no free address; empty: the code says something else
}

// InsufficientCapacityError says that no offering of the launch had capacity. EC2 gives
// the same answer to the same client token, so the next attempt needs another token.
type InsufficientCapacityError struct {
	Offerings []OfferingFailure // sorted by type, zone
}

func (e *InsufficientCapacityError) Error() string {
	messages := make([]string, 0, len(e.Offerings))
	for _, o := range e.Offerings {
		messages = append(messages, fmt.Sprintf("%s in %s (%s): %s", o.InstanceType, o.Zone, o.CapacityType, o.Code))
	}
	return "insufficient capacity: " + strings.Join(messages, ", ")
}

// insufficientCapacity reports whether the code says that an offering cannot be launched
// now, whatever the request. Source: EC2 API error codes; Karpenter's list.
func insufficientCapacity(code string) bool {
	switch code {
	case "InsufficientInstanceCapacity", "MaxSpotInstanceCountExceeded", "VcpuLimitExceeded", "UnfulfillableCapacity",
		"Unsupported", codeNoAddresses, "MaxFleetCountExceeded", "ReservationCapacityExceeded", codeNoSpotRole,
		"InvalidCapacityReservationState", "InvalidCapacityReservationId.NotFound": // the reservation has ended since the decision
		return true
	}
	return false
}

// reachOf says how much is exhausted with the offering that the code is about. Sources: EC2
// API error codes; the EC2 user guide, On-Demand Instance quotas and Spot Instance quotas.
func reachOf(code string) catalog.Reach {
	switch code {
	case codeNoSpotRole:
		return catalog.ReachCapacityType
	case "VcpuLimitExceeded", "MaxSpotInstanceCountExceeded": // spot has a quota for each group of families, too
		return catalog.ReachQuota
	case "MaxFleetCountExceeded":
		return catalog.ReachAll
	}
	return catalog.ReachOffering
}

const (
	codeNoAddresses = "InsufficientFreeAddressesInSubnet"
	// codeNoSpotRole says that the account has no service-linked role for spot, and that
	// the caller may not create that role.
	codeNoSpotRole = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
)

// Launch launches one instance by CreateFleet (type instant). Errors: an
// *InsufficientCapacityError, ErrNothingLaunched, ErrIdempotentParameterMismatch,
// ErrLaunchTemplateNotFound, ErrUnauthorized, ErrThrottled, or EC2's own. With
// ErrNothingLaunched the result has the offerings without capacity. Only the first two
// errors mean that no instance exists. After any other error look the instance up by its
// tags, or launch again with the same token.
func (c *Clients) Launch(ctx context.Context, r LaunchRequest) (Launched, error) {
	var sent int
	out, err := c.launches.CreateFleet(context.WithValue(ctx, sentKey{}, &sent), fleetInput(r))
	if err != nil {
		var api smithy.APIError
		if errors.As(err, &api) && insufficientCapacity(api.ErrorCode()) {
			return Launched{}, fmt.Errorf("instance launch: %w", &InsufficientCapacityError{Offerings: failAll(r, api.ErrorCode(), api.ErrorMessage(), nil)})
		}
		return Launched{SentOnce: sent == 1}, wrap(err, "instance launch")
	}
	return launched(r, out)
}

func fleetInput(r LaunchRequest) *ec2.CreateFleetInput {
	var configs []ec2types.FleetLaunchTemplateConfigRequest
	for _, name := range r.Templates() {
		config := ec2types.FleetLaunchTemplateConfigRequest{
			LaunchTemplateSpecification: &ec2types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: &name, Version: awssdk.String("$Latest")},
		}
		for _, o := range r.Overrides {
			if cmp.Or(o.LaunchTemplate, r.LaunchTemplate) != name {
				continue
			}
			config.Overrides = append(config.Overrides, ec2types.FleetLaunchTemplateOverridesRequest{
				InstanceType: ec2types.InstanceType(o.InstanceType), AvailabilityZone: optional(o.Zone), SubnetId: optional(o.SubnetID),
				ImageId: optional(o.ImageID), Priority: awssdk.Float64(o.Priority),
			})
		}
		configs = append(configs, config)
	}
	in := &ec2.CreateFleetInput{
		Type:                        ec2types.FleetTypeInstant,
		ClientToken:                 &r.ClientToken,
		Context:                     optional(r.Context),
		LaunchTemplateConfigs:       configs,
		TargetCapacitySpecification: &ec2types.TargetCapacitySpecificationRequest{TotalTargetCapacity: awssdk.Int32(1)},
		TagSpecifications: []ec2types.TagSpecification{
			tagsFor(ec2types.ResourceTypeFleet, r.Tags), tagsFor(ec2types.ResourceTypeInstance, r.Tags), tagsFor(ec2types.ResourceTypeVolume, r.Tags),
		},
	}
	if r.CapacityType == CapacityTypeSpot {
		in.TargetCapacitySpecification.DefaultTargetCapacityType = ec2types.DefaultTargetCapacityTypeSpot
		in.SpotOptions = &ec2types.SpotOptionsRequest{AllocationStrategy: ec2types.SpotAllocationStrategyPriceCapacityOptimized}
	} else {
		in.TargetCapacitySpecification.DefaultTargetCapacityType = ec2types.DefaultTargetCapacityTypeOnDemand
		in.OnDemandOptions = &ec2types.OnDemandOptionsRequest{AllocationStrategy: ec2types.FleetOnDemandAllocationStrategyLowestPrice}
	}
	return in
}

// launched reads the answer of CreateFleet. If it has an instance, the failures do not
// matter. The failures are an *InsufficientCapacityError only if each of them is a lack
// of capacity.
func launched(r LaunchRequest, out *ec2.CreateFleetOutput) (Launched, error) {
	failed, other := readFailures(r, out.Errors)
	for _, fleet := range out.Instances {
		if len(fleet.InstanceIds) == 0 {
			continue
		}
		l := Launched{InstanceID: fleet.InstanceIds[0], InstanceType: string(fleet.InstanceType), CapacityType: r.CapacityType, Reservation: r.Reservation, Failed: failed}
		if t := fleet.LaunchTemplateAndOverrides; t != nil && t.Overrides != nil {
			l.Zone, l.SubnetID, l.ImageID = awssdk.ToString(t.Overrides.AvailabilityZone), awssdk.ToString(t.Overrides.SubnetId), awssdk.ToString(t.Overrides.ImageId)
		}
		return l.completed(r), nil
	}
	if other != nil {
		return Launched{Failed: failed}, fmt.Errorf("instance launch: %w: %w", ErrNothingLaunched, classify(other))
	}
	if len(failed) > 0 {
		return Launched{}, fmt.Errorf("instance launch: %w", &InsufficientCapacityError{Offerings: failed})
	}
	return Launched{}, fmt.Errorf("instance launch: fleet %s has neither an instance nor an error", awssdk.ToString(out.FleetId))
}

// completed takes what the answer leaves out from the override that was launched.
func (l Launched) completed(r LaunchRequest) Launched {
	for _, o := range r.Overrides {
		if o.InstanceType != l.InstanceType || (l.SubnetID != "" && o.SubnetID != l.SubnetID) || (l.Zone != "" && o.Zone != l.Zone) {
			continue
		}
		l.Zone, l.SubnetID, l.ImageID = cmp.Or(l.Zone, o.Zone), cmp.Or(l.SubnetID, o.SubnetID), cmp.Or(l.ImageID, o.ImageID)
		return l
	}
	return l
}

// readFailures splits the errors of the fleet: the offerings without capacity, and the
// first error that is no lack of capacity.
func readFailures(r LaunchRequest, failures []ec2types.CreateFleetError) ([]OfferingFailure, error) {
	var failed []OfferingFailure
	var other error
	for _, f := range failures {
		code, message := awssdk.ToString(f.ErrorCode), awssdk.ToString(f.ErrorMessage)
		if !insufficientCapacity(code) {
			if other == nil {
				other = &smithy.GenericAPIError{Code: code, Message: message}
			}
			continue
		}
		if f.LaunchTemplateAndOverrides == nil || f.LaunchTemplateAndOverrides.Overrides == nil || code == codeNoSpotRole {
			failed = append(failed, failAll(r, code, message, nil)...)
			continue
		}
		o := f.LaunchTemplateAndOverrides.Overrides
		if code == codeNoAddresses { // every launch into this subnet fails in the same way
			failed = append(failed, failAll(r, code, message, o.SubnetId)...)
			continue
		}
		key := catalog.OfferingKey{InstanceType: string(o.InstanceType), Zone: awssdk.ToString(o.AvailabilityZone), CapacityType: r.CapacityType, Reservation: r.Reservation}
		for _, asked := range r.Overrides {
			if key.Zone == "" && o.SubnetId != nil && asked.SubnetID == *o.SubnetId {
				key.Zone = asked.Zone
			}
		}
		failed = append(failed, OfferingFailure{OfferingKey: key, Code: code, Message: message, Reach: reachOf(code)})
	}
	return sortedFailures(failed), other
}

// failAll returns a failure for every offering of the request, or for every offering in
// the subnet.
func failAll(r LaunchRequest, code, message string, subnet *string) []OfferingFailure {
	var failed []OfferingFailure
	for _, o := range r.Overrides {
		if subnet == nil || *subnet == o.SubnetID {
			key := catalog.OfferingKey{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: r.CapacityType, Reservation: r.Reservation}
			f := OfferingFailure{OfferingKey: key, Code: code, Message: message, Reach: reachOf(code)}
			if code == codeNoAddresses {
				f.Subnet = o.SubnetID
			}
			failed = append(failed, f)
		}
	}
	return sortedFailures(failed)
}

// sortedFailures sorts the failures, and keeps one for each offering.
func sortedFailures(failed []OfferingFailure) []OfferingFailure {
	slices.SortStableFunc(failed, func(a, b OfferingFailure) int {
		return strings.Compare(a.InstanceType+"/"+a.Zone, b.InstanceType+"/"+b.Zone)
	})
	return slices.CompactFunc(failed, func(a, b OfferingFailure) bool { return a.OfferingKey == b.OfferingKey })
}
