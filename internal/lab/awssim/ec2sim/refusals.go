package ec2sim

import (
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
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

// notFound is the error about an id of nothing; it follows from the id's prefix.
func notFound(id string) error {
	prefix, _, _ := strings.Cut(id, "-")
	what, known := map[string]struct{ code, text string }{
		"ami":    {"InvalidAMIID.NotFound", "The image id '[%s]' does not exist"},
		"cr":     {"InvalidCapacityReservationId.NotFound", "The capacity reservation '%s' does not exist"},
		"eni":    {"InvalidNetworkInterfaceID.NotFound", "The networkInterface ID '%s' does not exist"},
		"i":      {"InvalidInstanceID.NotFound", "The instance ID '%s' does not exist"},
		"lt":     {"InvalidLaunchTemplateId.NotFound", "The specified launch template, with template ID %s, does not exist."},
		"rtb":    {"InvalidRouteTableID.NotFound", "The routeTable ID '%s' does not exist"},
		"sg":     {"InvalidGroup.NotFound", "The security group '%s' does not exist"},
		"subnet": {"InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist"},
		"vol":    {"InvalidVolume.NotFound", "The volume '%s' does not exist."},
		"vpc":    {"InvalidVpcID.NotFound", "The vpc ID '%s' does not exist"},
	}[prefix]
	if !known {
		return wire.Errorf("InvalidID", "The ID '%s' is not valid", id)
	}
	return wire.Errorf(what.code, what.text, id)
}

func noTemplateNamed(name string) error {
	return wire.Errorf("InvalidLaunchTemplateName.NotFoundException", "The specified launch template, with template name %s, does not exist.", name)
}

func noAddress(subnetID string) error {
	return wire.Errorf("InsufficientFreeAddressesInSubnet", "There are not enough free addresses in subnet '%s' to satisfy the requested number of instances.", subnetID)
}

func noInstanceType(name string) error {
	return wire.Errorf("InvalidInstanceType", "The following supplied instance types do not exist: [%s]", name)
}
