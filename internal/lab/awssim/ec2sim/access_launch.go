package ec2sim

import (
	"cmp"
	"maps"
	"strconv"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// What EC2 asks IAM about a launch: the action on each resource that the launch uses or
// makes, each with the condition keys of its type.
//
// Source: service authorization reference of EC2, RunInstances and CreateFleet. Keys that no
// launch here can differ in are left out, such as those of hosts and key pairs.

// runQuestions are what IAM is asked about a launch: ec2:RunInstances on
// everything it uses and makes, ec2:CreateTags for what is born with tags, and
// iam:PassRole for the role of the profile.
func (c *call) runQuestions(p *launchPlan) []wire.Access {
	const run = "RunInstances"
	keys := c.s.launchKeys(p)
	questions := c.usedBy(run, p)
	questions = append(questions, c.creation(run, kindInstance, p.tags[kindInstance], keys[kindInstance])...)
	questions = append(questions, c.volumes(run, p, p.tags[kindVolume])...)
	questions = append(questions, c.creation(run, kindInterface, p.tags[kindInterface], keys[kindInterface])...)
	// Without tags, EC2 does not look at the spot request (user guide of EC2, "IAM permissions
	// for Spot Instance requests").
	if tags := p.tags[kindSpotRequest]; p.capacityType == spot && len(tags) > 0 {
		questions = append(questions, c.creation(run, kindSpotRequest, tags, nil)...)
	}
	if p.profile != nil {
		questions = append(questions, c.passRole(p.profile.RoleARN))
	}
	return questions
}

// fleetQuestions are what IAM is asked about what a fleet launches, beside the questions
// about the launch itself: ec2:CreateFleet on everything that the launch uses, and on what
// the fleet's own tags are for.
func (c *call) fleetQuestions(p *launchPlan) []wire.Access {
	const fleet = "CreateFleet"
	questions := c.usedBy(fleet, p)
	if tags := tagsFor(kindInstance, p.tagSpecs); len(tags) > 0 {
		questions = append(questions, c.creation(fleet, kindInstance, tags, c.s.launchKeys(p)[kindInstance])...)
	}
	if tags := tagsFor(kindVolume, p.tagSpecs); len(tags) > 0 {
		questions = append(questions, c.volumes(fleet, p, tags)...)
	}
	return questions
}

// usedBy are the questions about what the launch uses and does not make.
func (c *call) usedBy(action string, p *launchPlan) []wire.Access {
	s, keys := c.s, c.s.launchKeys(p)
	var questions []wire.Access
	ask := func(r wire.Resource, kind string) {
		questions = append(questions, c.accessTo("ec2:"+action, keys[kind], r))
	}
	ask(s.existing(p.image.resource), kindImage)
	ask(s.existing(p.subnet.resource), kindSubnet)
	asked := map[string]bool{}
	for _, n := range p.interfaces {
		for _, g := range n.groups {
			if !asked[g.id] {
				asked[g.id] = true
				ask(s.existing(g.resource), kindGroup)
			}
		}
	}
	for _, device := range p.devices {
		if device.EBS != nil && device.EBS.SnapshotID != "" {
			ask(wire.Resource{ARN: s.arn(kindSnapshot, device.EBS.SnapshotID)}, kindSnapshot)
		}
	}
	if p.template != nil {
		ask(s.existing(p.template.resource), kindTemplate)
	}
	if p.targeted { // whoever owns it may have shared it
		r := s.existing(p.reservation.resource)
		r.ARN = s.arnOf(p.reservation.OwnerID, kindReservation, p.reservation.id)
		ask(r, kindReservation)
	}
	return questions
}

// volumes are the questions about making the volumes of a launch, one for each that differs.
func (c *call) volumes(action string, p *launchPlan, tags map[string]string) []wire.Access {
	var questions []wire.Access
	asked := map[ebsSpec]bool{}
	for _, device := range p.devices {
		if device.EBS == nil || asked[*device.EBS] {
			continue
		}
		asked[*device.EBS] = true
		more := map[string][]string{
			"ec2:AvailabilityZone": {p.subnet.zone.Name}, "ec2:Encrypted": {strconv.FormatBool(value(device.EBS.Encrypted))},
			"ec2:VolumeSize": {strconv.FormatInt(value(device.EBS.SizeGiB), 10)}, "ec2:VolumeType": {cmp.Or(device.EBS.Type, "gp2")},
		}
		if device.EBS.SnapshotID != "" {
			more["ec2:ParentSnapshot"] = []string{c.s.arn(kindSnapshot, device.EBS.SnapshotID)}
		}
		maps.Copy(more, c.s.templateKey(p))
		questions = append(questions, c.creation(action, kindVolume, tags, more)...)
	}
	return questions
}

// launchKeys are the condition keys of a launch by kind of resource, but for volumes.
func (s *Service) launchKeys(p *launchPlan) map[string]map[string][]string {
	zone, network := []string{p.subnet.zone.Name}, []string{s.arn(kindVPC, p.subnet.vpc.id)}
	instance := map[string][]string{
		"ec2:AvailabilityZone": zone, "ec2:InstanceType": {p.instanceType.Name}, "ec2:InstanceMarketType": {p.capacityType},
		"ec2:RootDeviceType": {"ebs"}, "ec2:EbsOptimized": {strconv.FormatBool(value(p.data.EBSOptimized))}, "ec2:Tenancy": {"default"},
	}
	if where := p.data.Placement; where != nil && where.Tenancy != "" {
		instance["ec2:Tenancy"] = []string{where.Tenancy}
	}
	if p.profile != nil {
		instance["ec2:InstanceProfile"] = []string{p.profile.ARN}
	}
	if m := p.data.Metadata; m != nil {
		instance["ec2:MetadataHttpTokens"] = []string{cmp.Or(m.Tokens, "optional")}
		instance["ec2:MetadataHttpEndpoint"] = []string{cmp.Or(m.Endpoint, "enabled")}
	}
	nic := map[string][]string{"ec2:AvailabilityZone": zone, "ec2:Subnet": {s.arn(kindSubnet, p.subnet.id)}, "ec2:Vpc": network}
	if public := p.interfaces[0].spec.PublicIP; public != nil {
		nic["ec2:AssociatePublicIpAddress"] = []string{strconv.FormatBool(*public)}
	}
	keys := map[string]map[string][]string{
		kindInstance: instance, kindInterface: nic,
		kindImage:  {"ec2:Owner": {cmp.Or(p.image.OwnerAlias, p.image.OwnerID)}, "ec2:Public": {strconv.FormatBool(p.image.OwnerAlias != "")}, "ec2:RootDeviceType": {"ebs"}, "ec2:ImageType": {"machine"}},
		kindSubnet: {"ec2:AvailabilityZone": zone, "ec2:Vpc": network},
		kindGroup:  {"ec2:Vpc": network}, kindTemplate: {}, kindReservation: {}, kindSnapshot: {},
	}
	for _, of := range keys {
		maps.Copy(of, s.templateKey(p))
	}
	return keys
}

// templateKey names the launch template of a launch that has one.
func (s *Service) templateKey(p *launchPlan) map[string][]string {
	if p.template == nil {
		return nil
	}
	return map[string][]string{"ec2:LaunchTemplate": {s.arn(kindTemplate, p.template.id)}}
}
