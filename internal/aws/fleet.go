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
	CapacityTypeReserved = "reserved" // in a capacity reservation that the launch names
)

// Override is one thing that a launch may become.
type Override struct {
	InstanceType, Zone, SubnetID, ImageID string
	Priority                              float64 // lower is better; by convention the price in dollars an hour
}

// LaunchRequest asks for one instance.
type LaunchRequest struct {
	LaunchTemplate string // name; its newest version is used
	CapacityType   string
	Reservation    string // with capacity type reserved: the one that the template names
	Overrides      []Override
	// ClientToken makes the launch idempotent: the same token with the same
	// request gives the same answer, instance or failure.
	ClientToken string
	Tags        map[string]string // of the fleet, the instance and its volumes
}

// Launched is the instance that a launch became.
type Launched struct {
	InstanceID, InstanceType, Zone, SubnetID, ImageID, CapacityType, Reservation string
	// Failed are the offerings that EC2 tried before and had no capacity of.
	Failed []OfferingFailure
}

// OfferingFailure says what EC2 had no capacity of.
type OfferingFailure struct {
	catalog.OfferingKey
	Code, Message string
}

// InsufficientCapacityError says that nothing could be launched for lack of
// capacity, and of which offerings. Asked again with the same client token, EC2
// replays it: the next attempt needs another.
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

// insufficientCapacity lists the codes that say that an offering cannot be had
// now, whatever the request. Source: EC2 API error codes; Karpenter's list.
func insufficientCapacity(code string) bool {
	switch code {
	case "InsufficientInstanceCapacity", "MaxSpotInstanceCountExceeded", "VcpuLimitExceeded", "UnfulfillableCapacity",
		"Unsupported", codeNoAddresses, "MaxFleetCountExceeded", "ReservationCapacityExceeded", codeNoSpotRole,
		"InvalidCapacityReservationState", "InvalidCapacityReservationId.NotFound": // it has ended since it was chosen
		return true
	}
	return false
}

const (
	codeNoAddresses = "InsufficientFreeAddressesInSubnet"
	// codeNoSpotRole says that the account has no service-linked role for spot
	// and that the caller may not make it.
	codeNoSpotRole = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
)

// Launch starts one instance by CreateFleet (type instant). Errors: an
// *InsufficientCapacityError, ErrIdempotentParameterMismatch,
// ErrLaunchTemplateNotFound, ErrUnauthorized, ErrThrottled, or EC2's own.
// ErrNothingLaunched comes with the offerings that had no capacity. After any
// other error than these three the instance may exist: look it up by its tags,
// or launch again with the same token.
func (c *Clients) Launch(ctx context.Context, r LaunchRequest) (Launched, error) {
	out, err := c.ec2.CreateFleet(ctx, fleetInput(r))
	if err != nil {
		var api smithy.APIError
		if errors.As(err, &api) && insufficientCapacity(api.ErrorCode()) {
			return Launched{}, fmt.Errorf("instance launch: %w", &InsufficientCapacityError{Offerings: failAll(r, api.ErrorCode(), api.ErrorMessage(), nil)})
		}
		return Launched{}, wrap(err, "instance launch")
	}
	return launched(r, out)
}

func fleetInput(r LaunchRequest) *ec2.CreateFleetInput {
	config := ec2types.FleetLaunchTemplateConfigRequest{
		LaunchTemplateSpecification: &ec2types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: &r.LaunchTemplate, Version: awssdk.String("$Latest")},
	}
	for _, o := range r.Overrides {
		config.Overrides = append(config.Overrides, ec2types.FleetLaunchTemplateOverridesRequest{
			InstanceType: ec2types.InstanceType(o.InstanceType), AvailabilityZone: optional(o.Zone), SubnetId: optional(o.SubnetID),
			ImageId: optional(o.ImageID), Priority: awssdk.Float64(o.Priority),
		})
	}
	in := &ec2.CreateFleetInput{
		Type:                        ec2types.FleetTypeInstant,
		ClientToken:                 &r.ClientToken,
		LaunchTemplateConfigs:       []ec2types.FleetLaunchTemplateConfigRequest{config},
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

// launched reads the fleet's answer: an instance wins over failures, and
// failures are a lack of capacity only if all of them are.
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

// completed fills what the answer leaves out from the override that it names.
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

// readFailures splits the fleet's errors into offerings without capacity and
// the first error that is something else.
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
		if code == codeNoAddresses { // whatever would go into that subnet fails alike
			failed = append(failed, failAll(r, code, message, o.SubnetId)...)
			continue
		}
		key := catalog.OfferingKey{InstanceType: string(o.InstanceType), Zone: awssdk.ToString(o.AvailabilityZone), CapacityType: r.CapacityType, Reservation: r.Reservation}
		for _, asked := range r.Overrides {
			if key.Zone == "" && o.SubnetId != nil && asked.SubnetID == *o.SubnetId {
				key.Zone = asked.Zone
			}
		}
		failed = append(failed, OfferingFailure{OfferingKey: key, Code: code, Message: message})
	}
	return sortedFailures(failed), other
}

// failAll reports every offering of the request, or every one in the subnet.
func failAll(r LaunchRequest, code, message string, subnet *string) []OfferingFailure {
	var failed []OfferingFailure
	for _, o := range r.Overrides {
		if subnet == nil || *subnet == o.SubnetID {
			key := catalog.OfferingKey{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: r.CapacityType, Reservation: r.Reservation}
			failed = append(failed, OfferingFailure{OfferingKey: key, Code: code, Message: message})
		}
	}
	return sortedFailures(failed)
}

// sortedFailures sorts and keeps one failure for each offering.
func sortedFailures(failed []OfferingFailure) []OfferingFailure {
	slices.SortStableFunc(failed, func(a, b OfferingFailure) int {
		return strings.Compare(a.InstanceType+"/"+a.Zone, b.InstanceType+"/"+b.Zone)
	})
	return slices.CompactFunc(failed, func(a, b OfferingFailure) bool { return a.OfferingKey == b.OfferingKey })
}
