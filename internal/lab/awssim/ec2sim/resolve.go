package ec2sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// launchSpec is a launch as asked for.
type launchSpec struct {
	data         launchData
	template     *template // nil without one
	capacityType string
	subnetID     string // empty: of the first interface
	zone         string // empty: the subnet's
	tagSpecs     []tagSpec
	fleetID      string
	clientToken  string
}

// launchPlan is a launch all of whose parts exist and fit together.
type launchPlan struct {
	launchSpec
	instanceType *Type
	image        *image
	subnet       *subnet
	profile      *Profile
	reservation  *reservation // nil: none
	targeted     bool         // at that reservation: it is that one, or the launch fails
	userData     string
	interfaces   []plannedInterface
	devices      []blockDevice
	tags         map[string]map[string]string // by kind
}

type plannedInterface struct {
	spec   interfaceSpec
	groups []*securityGroup
}

// resolve looks everything up that the launch names, and checks that it fits;
// errors are those of RunInstances.
func (s *Service) resolve(spec launchSpec) (*launchPlan, error) {
	p := &launchPlan{launchSpec: spec}
	for _, step := range []func(*launchPlan) error{
		s.resolveType, s.resolveImage, s.resolveSubnet, s.resolveOffering, s.resolveInterfaces,
		s.resolveProfile, s.resolvePlacement, s.resolveReservation,
	} {
		if err := step(p); err != nil {
			return nil, err
		}
	}
	userData, err := decodeUserData(spec.data.UserData)
	if err != nil {
		return nil, err
	}
	p.userData = userData
	p.devices = mergeDevices(p.image, spec.data.BlockDevices)
	p.tags = map[string]map[string]string{}
	for _, kind := range []string{kindInstance, kindVolume, kindInterface, kindSpotRequest} {
		tags := tagsFor(kind, spec.data.TagSpecs)
		maps.Copy(tags, tagsFor(kind, spec.tagSpecs))
		p.tags[kind] = tags
	}
	return p, nil
}

func (s *Service) resolveType(p *launchPlan) error {
	name := p.data.InstanceType
	if name == "" {
		return missingParameter("InstanceType")
	}
	if p.instanceType = s.types[name]; p.instanceType == nil {
		return wire.Errorf("InvalidParameterValue", "Invalid value '%s' for InstanceType.", name)
	}
	if c := p.data.CPU; c != nil && c.Nested == "enabled" && !p.instanceType.NestedVirtualization {
		return wire.Errorf("InvalidParameterCombination", "The instance type '%s' does not support nested virtualization.", name)
	}
	return nil
}

func (s *Service) resolveImage(p *launchPlan) error {
	if p.data.ImageID == "" {
		return missingParameter("ImageId")
	}
	if err := checkImageIDs(p.data.ImageID); err != nil {
		return err
	}
	if p.image = s.images[p.data.ImageID]; p.image == nil {
		return notFound(p.data.ImageID)
	}
	if p.image.Arch != p.instanceType.arch() {
		return wire.Errorf("InvalidParameterValue", "The architecture '%s' of the specified instance type does not match the architecture '%s' of the specified AMI. Specify an instance type and an AMI that have matching architectures, and try again.", p.instanceType.arch(), p.image.Arch)
	}
	return nil
}

func (s *Service) resolveSubnet(p *launchPlan) error {
	id := p.subnetID
	if id == "" && len(p.data.Interfaces) > 0 {
		id = p.data.Interfaces[0].SubnetID
	}
	if id == "" {
		return wire.Errorf("VPCIdNotSpecified", "No default VPC for this user. Specify a subnet.")
	}
	if p.subnet = s.subnets[id]; p.subnet == nil {
		return notFound(id)
	}
	zone := p.zone
	if zone == "" && p.data.Placement != nil {
		zone = p.data.Placement.Zone
	}
	if zone != "" && zone != p.subnet.zone.Name {
		return wire.Errorf("InvalidParameterCombination", "The subnet '%s' is in Availability Zone %s, not in the requested %s.", id, p.subnet.zone.Name, zone)
	}
	return nil
}

// resolveOffering checks that the type is sold in the zone in that way.
func (s *Service) resolveOffering(p *launchPlan) error {
	t := p.instanceType
	if !slices.Contains(t.Zones, p.subnet.zone.Name) {
		return wire.Errorf("Unsupported", "Your requested instance type (%s) is not supported in your requested Availability Zone (%s). Please retry your request by not specifying an Availability Zone or choosing %s.", t.Name, p.subnet.zone.Name, strings.Join(t.Zones, ", "))
	}
	if !slices.Contains(t.UsageClasses, p.capacityType) {
		return wire.Errorf("Unsupported", "The requested configuration is currently not supported: instance type %s cannot be bought as %s.", t.Name, p.capacityType)
	}
	return nil
}

func (s *Service) resolveInterfaces(p *launchPlan) error {
	specs := p.data.Interfaces
	if len(specs) == 0 {
		specs = []interfaceSpec{{Groups: p.data.SecurityGroupIDs}}
	}
	perCard := map[int64]int{}
	for n, spec := range specs {
		groups, err := s.groupsFor(spec.Groups, p.subnet)
		if err != nil {
			return err
		}
		card := value(spec.Card)
		perCard[card]++
		if card >= int64(p.instanceType.cards()) {
			return invalidValue("NetworkInterface.NetworkCardIndex", card, fmt.Sprintf("Instance type %s has %d network cards.", p.instanceType.Name, p.instanceType.cards()))
		}
		if perCard[card] > p.instanceType.ENIs {
			return wire.Errorf("AttachmentLimitExceeded", "Interface count %d exceeds the limit for %s", perCard[card], p.instanceType.Name)
		}
		if err := checkInterface(n, spec, p); err != nil {
			return err
		}
		p.interfaces = append(p.interfaces, plannedInterface{spec, groups})
	}
	return nil
}

func checkInterface(n int, spec interfaceSpec, p *launchPlan) error {
	if n == 0 && (value(spec.DeviceIndex) != 0 || value(spec.Card) != 0 || spec.Type == "efa-only") {
		return wire.Errorf("InvalidParameterValue", "The first network interface must have device index 0 on network card 0, and an address.")
	}
	if spec.SubnetID != "" && spec.SubnetID != p.subnet.id {
		return wire.Errorf("InvalidParameterCombination", "Network interface %d names subnet '%s' while the launch is for '%s'.", n, spec.SubnetID, p.subnet.id)
	}
	switch spec.Type {
	case "", "interface":
	case "efa", "efa-only":
		if p.instanceType.EFAs == 0 {
			return wire.Errorf("Unsupported", "EFA interfaces are not supported on %s", p.instanceType.Name)
		}
	default:
		return invalidValue("NetworkInterface.InterfaceType", spec.Type, "Expected interface, efa or efa-only.")
	}
	return nil
}

// groupsFor finds the groups of an interface; without any, the VPC's default.
func (s *Service) groupsFor(ids []string, n *subnet) ([]*securityGroup, error) {
	var out []*securityGroup
	for _, id := range ids {
		g := s.groups[id]
		if g == nil {
			return nil, notFound(id)
		}
		if g.vpc != n.vpc {
			return nil, wire.Errorf("InvalidParameter", "Security group %s and subnet %s belong to different networks.", g.id, n.id)
		}
		out = append(out, g)
	}
	if len(out) > 0 {
		return out, nil
	}
	for _, g := range s.groups {
		if g.vpc == n.vpc && g.name == "default" {
			return []*securityGroup{g}, nil
		}
	}
	return nil, notFound("sg-default")
}

func (s *Service) resolveProfile(p *launchPlan) error {
	spec := p.data.Profile
	if spec == nil {
		return nil
	}
	field, name := "iamInstanceProfile.name", spec.Name
	if spec.ARN != "" {
		field, name = "iamInstanceProfile.arn", spec.ARN
	}
	profile, err := s.cfg.ResolveProfile(name)
	if err != nil {
		return invalidValue(field, name, "Invalid IAM Instance Profile "+strings.TrimPrefix(field, "iamInstanceProfile."))
	}
	if profile.RoleARN == "" {
		return wire.Errorf("InvalidParameterValue", "IAM Instance Profile \"%s\" has no associated IAM Roles", profile.ARN)
	}
	p.profile = &profile
	return nil
}

// resolvePlacement: the account has no placement groups, so that to name one is
// to name one that does not exist.
func (s *Service) resolvePlacement(p *launchPlan) error {
	if where := p.data.Placement; where != nil {
		if name := where.GroupName + where.GroupID; name != "" {
			return wire.Errorf("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", name)
		}
		if where.Tenancy == "host" {
			return wire.Errorf("InsufficientHostCapacity", "There are no hosts of your account.")
		}
	}
	return nil
}

// mergeDevices lays the mappings of a launch over those of the image: a
// mapping of the same device replaces what it sets.
func mergeDevices(i *image, given []blockDevice) []blockDevice {
	out := []blockDevice{{Name: i.RootDevice, EBS: &ebsSpec{SizeGiB: new(i.RootGiB), Type: "gp3"}}}
	if i.DataDevice != "" {
		out = append(out, blockDevice{Name: i.DataDevice, EBS: &ebsSpec{SizeGiB: new(int64(20)), Type: "gp3"}})
	}
	for _, device := range given {
		at := slices.IndexFunc(out, func(b blockDevice) bool { return b.Name == device.Name })
		switch {
		case device.EBS == nil:
		case at >= 0:
			out[at].EBS = new(laid(*out[at].EBS, *device.EBS))
		default:
			out = append(out, device)
		}
	}
	return out
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
