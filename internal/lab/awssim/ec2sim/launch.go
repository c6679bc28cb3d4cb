package ec2sim

import (
	"cmp"
	"fmt"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// launch makes one pending instance of the plan. It fails, changing nothing,
// where the offering has no capacity or the subnet no address.
func (s *Service) launch(p *launchPlan, reservationID string, index int) (*instance, error) {
	off := offering{p.capacityType, p.instanceType.Name, p.subnet.zone.Name}
	reserved := p.reservation // an open one may have filled up since; what is left is on demand
	if reserved != nil && s.left(reserved) == 0 {
		if p.targeted || p.data.Reservation != nil && p.data.Reservation.Preference == onlyReserved {
			return nil, reservationFull(reserved.id)
		}
		reserved = nil
	}
	if err := s.overQuota(off, p.instanceType); err != nil {
		return nil, err
	}
	if left, limited := s.room(off); reserved == nil && limited && left == 0 {
		return nil, noCapacity(off)
	}
	if p.capacityType == spot && p.instanceType.Spot[off.zone] == 0 {
		return nil, noCapacity(off)
	}
	i := &instance{plan: p, reservationID: reservationID, index: index, clientToken: p.clientToken, offering: off, reservation: reserved, reserved: reserved != nil}
	i.resource = s.newResource(kindInstance, "i", p.tags[kindInstance])
	if err := s.attachInterfaces(i); err != nil {
		s.release(i)
		delete(s.resources, i.id)
		return nil, err
	}
	if left, limited := s.capacity[off]; reserved == nil && limited {
		s.capacity[off] = left - 1
	}
	s.attachVolumes(i)
	s.describe(i)
	s.launches++
	i.seq, i.visible = s.launches, i.LaunchTime.Add(s.delay+s.draw())
	s.instances[i.id] = i
	if i.FleetID != "" {
		s.fleets[i.FleetID] = append(s.fleets[i.FleetID], i.id)
	}
	s.setState(i, StatePending)
	s.after(s.cfg.StartTime, func() { s.start(i) })
	return i, nil
}

func noCapacity(off offering) error {
	if off.capacityType == spot {
		return wire.Errorf("InsufficientInstanceCapacity", "There is no Spot capacity available that matches your request.")
	}
	return wire.Errorf("InsufficientInstanceCapacity", "We currently do not have sufficient %s capacity in the Availability Zone you requested (%s). Our system will be working on provisioning additional capacity.", off.instanceType, off.zone)
}

func (s *Service) attachInterfaces(i *instance) error {
	for _, planned := range i.plan.interfaces {
		n := &networkInterface{instance: i, spec: planned.spec, groups: planned.groups, subnet: i.plan.subnet, attached: s.cfg.Now()}
		if planned.spec.Type != "efa-only" {
			addr, err := n.subnet.take()
			if err != nil {
				return err
			}
			n.addr = addr
		}
		n.resource = s.newResource(kindInterface, "eni", i.plan.tags[kindInterface])
		n.attachmentID = s.newID("eni-attach")
		n.mac = fmt.Sprintf("02:%02x:%02x:%02x:%02x:%02x", byte(s.random.Uint32()), byte(s.random.Uint32()), byte(s.random.Uint32()), byte(s.random.Uint32()), byte(s.random.Uint32()))
		s.enis[n.id] = n
		i.interfaces = append(i.interfaces, n)
	}
	return nil
}

func (s *Service) attachVolumes(i *instance) {
	for _, device := range i.plan.devices {
		v := &volume{
			resource: s.newResource(kindVolume, "vol", i.plan.tags[kindVolume]),
			device:   device.Name, spec: *device.EBS, zone: i.plan.subnet.zone, created: s.cfg.Now(), attached: i,
			deleteOnTermination: device.EBS.DeleteOnTermination == nil || *device.EBS.DeleteOnTermination,
		}
		v.spec.Type = cmp.Or(v.spec.Type, "gp2")
		s.volumes[v.id] = v
		i.volumes = append(i.volumes, v)
	}
}

// describe fills in what the laboratory sees of a new instance.
func (s *Service) describe(i *instance) {
	p := i.plan
	first := i.interfaces[0]
	i.Instance = Instance{
		ID: i.id, Type: p.instanceType.Name, Arch: p.instanceType.arch(), Zone: p.subnet.zone.Name, ZoneID: p.subnet.zone.ID,
		VPCID: p.subnet.vpc.id, SubnetID: p.subnet.id, PrivateIP: first.addr.String(), PrivateDNSName: privateName(s.cfg.Region, first.addr),
		ImageID: p.image.ID, ImageName: p.image.Name, UserData: p.userData, Spot: p.capacityType == spot, FleetID: p.fleetID, LaunchTime: s.cfg.Now(),
	}
	for _, g := range first.groups {
		i.SecurityGroupIDs = append(i.SecurityGroupIDs, g.id)
	}
	if p.profile != nil {
		i.ProfileARN, i.ProfileID, i.RoleARN = p.profile.ARN, p.profile.ID, p.profile.RoleARN
	}
	if i.Spot {
		i.SpotRequestID = s.newResource(kindSpotRequest, "sir", p.tags[kindSpotRequest]).id
	}
	for _, v := range i.volumes {
		if v.device == cmp.Or(p.image.DataDevice, p.image.RootDevice) {
			i.DataVolumeGiB = value(v.spec.SizeGiB)
		}
	}
	if public := first.spec.PublicIP; public != nil && *public || public == nil && p.subnet.publicIPs {
		s.publicIPs++
		i.publicIP = fmt.Sprintf("198.18.%d.%d", s.publicIPs/250%256, s.publicIPs%250+1)
	}
	// EC2 itself marks instances of fleets and templates.
	if p.fleetID != "" {
		i.tags["aws:ec2:fleet-id"] = p.fleetID
	}
	if p.template != nil {
		i.tags["aws:ec2launchtemplate:id"] = p.template.id
		i.tags["aws:ec2launchtemplate:version"] = templateVersion
	}
}
