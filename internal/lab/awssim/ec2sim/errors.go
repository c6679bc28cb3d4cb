package ec2sim

import (
	"errors"
	"fmt"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// Errors of the methods that the laboratory itself calls.
var (
	// ErrNoInstance says that no instance with that id is alive.
	ErrNoInstance = errors.New("no such running instance")
	// ErrNoReservation says that no capacity reservation with that id is active.
	ErrNoReservation = errors.New("no such active capacity reservation")
	// ErrNotSpot says that the instance is not a spot instance, so that it can have no spot notice.
	ErrNotSpot = errors.New("not a spot instance")
)

// invalidValue is the answer to a parameter whose value EC2 would refuse.
func invalidValue(parameter string, value any, why string) *wire.Error {
	return wire.Errorf("InvalidParameterValue", "Value (%v) for parameter %s is invalid. %s", value, parameter, why)
}

func missingParameter(name string) *wire.Error {
	return wire.Errorf("MissingParameter", "The request must contain the parameter %s", name)
}

// dryRunOK is what EC2 answers to a dry run that would have been allowed.
func dryRunOK() *wire.Error {
	return &wire.Error{Code: "DryRunOperation", Message: "Request would have succeeded, but DryRun flag is set.", Status: 412}
}

// notFound returns a constructor of the NotFound error of one resource type.
func notFound(code, format string) func(id string) error {
	return func(id string) error { return &wire.Error{Code: code, Message: fmt.Sprintf(format, id), Status: 400} }
}

func noInstance(id string) error {
	return notFound("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist")(id)
}

func noSubnet(id string) error {
	return notFound("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist")(id)
}

func noGroup(id string) error {
	return notFound("InvalidGroup.NotFound", "The security group '%s' does not exist")(id)
}

func noImage(id string) error {
	return notFound("InvalidAMIID.NotFound", "The image id '[%s]' does not exist")(id)
}

func noTemplateName(name string) error {
	return notFound("InvalidLaunchTemplateName.NotFoundException", "The specified launch template, with template name %s, does not exist.")(name)
}

func noTemplateID(id string) error {
	return notFound("InvalidLaunchTemplateId.NotFound", "The specified launch template, with template ID %s, does not exist.")(id)
}

func noAddress(subnetID string) error {
	return notFound("InsufficientFreeAddressesInSubnet", "There are not enough free addresses in subnet '%s' to satisfy the requested number of instances.")(subnetID)
}
