package ec2sim

import "cmp"

// instanceItem is an instance as DescribeInstances and RunInstances show it.
type instanceItem struct {
	Index          int              `xml:"amiLaunchIndex"`
	Arch           string           `xml:"architecture" filter:"architecture"`
	Devices        set[deviceItem]  `xml:"blockDeviceMapping"`
	ReservationID  string           `xml:"capacityReservationId,omitempty"`
	Reservation    *reservationSpec `xml:"capacityReservationSpecification"`
	ClientToken    string           `xml:"clientToken,omitempty" filter:"client-token"`
	CPU            cpuItem          `xml:"cpuOptions"`
	EBSOptimized   bool             `xml:"ebsOptimized"`
	ENASupport     bool             `xml:"enaSupport"`
	Enclave        enclaveItem      `xml:"enclaveOptions"`
	Hypervisor     string           `xml:"hypervisor"`
	Profile        *profileItem     `xml:"iamInstanceProfile" filter:"iam-instance-profile."`
	ImageID        string           `xml:"imageId" filter:"image-id"`
	ID             string           `xml:"instanceId" filter:"instance-id"`
	Lifecycle      string           `xml:"instanceLifecycle,omitempty" filter:"instance-lifecycle"`
	Type           string           `xml:"instanceType" filter:"instance-type"`
	LaunchTime     string           `xml:"launchTime" filter:"launch-time"`
	Metadata       metadataItem     `xml:"metadataOptions"`
	Monitoring     monitoringItem   `xml:"monitoring"`
	Interfaces     set[attachedENI] `xml:"networkInterfaceSet" filter:"network-interface."`
	Placement      placementItem    `xml:"placement" filter:""`
	Platform       string           `xml:"platform,omitempty"`
	Details        string           `xml:"platformDetails"`
	PrivateDNSName string           `xml:"privateDnsName" filter:"private-dns-name"`
	PrivateIP      string           `xml:"privateIpAddress,omitempty" filter:"private-ip-address"`
	DNSName        string           `xml:"dnsName"`
	PublicIP       string           `xml:"ipAddress,omitempty"`
	RootDevice     string           `xml:"rootDeviceName"`
	RootType       string           `xml:"rootDeviceType"`
	Groups         set[groupRef]    `xml:"groupSet" filter:"instance."`
	SourceDest     bool             `xml:"sourceDestCheck"`
	SpotRequestID  string           `xml:"spotInstanceRequestId,omitempty" filter:"spot-instance-request-id"`
	State          stateItem        `xml:"instanceState" filter:"instance-state-"`
	StateReason    *stateReason     `xml:"stateReason" filter:"state-reason-"`
	Reason         string           `xml:"reason"`
	SubnetID       string           `xml:"subnetId,omitempty" filter:"subnet-id"`
	Tags           set[tag]         `xml:"tagSet" filter:""`
	Virtualization string           `xml:"virtualizationType"`
	VPCID          string           `xml:"vpcId,omitempty" filter:"vpc-id"`
}

type deviceItem struct {
	Name string        `xml:"deviceName"`
	EBS  deviceEBSItem `xml:"ebs"`
}

type deviceEBSItem struct {
	AttachTime          string `xml:"attachTime"`
	DeleteOnTermination bool   `xml:"deleteOnTermination"`
	Status              string `xml:"status"`
	VolumeID            string `xml:"volumeId"`
}

type cpuItem struct {
	Cores          int `xml:"coreCount"`
	ThreadsPerCore int `xml:"threadsPerCore"`
}

type enclaveItem struct {
	Enabled bool `xml:"enabled"`
}

type profileItem struct {
	ARN string `xml:"arn" filter:"arn"`
	ID  string `xml:"id" filter:"id"`
}

type metadataItem struct {
	Endpoint string `xml:"httpEndpoint"`
	IPv6     string `xml:"httpProtocolIpv6"`
	HopLimit int64  `xml:"httpPutResponseHopLimit"`
	Tokens   string `xml:"httpTokens"`
	Tags     string `xml:"instanceMetadataTags"`
	State    string `xml:"state"`
}

type monitoringItem struct {
	State string `xml:"state"`
}

type placementItem struct {
	Zone    string `xml:"availabilityZone" filter:"availability-zone"`
	ZoneID  string `xml:"availabilityZoneId" filter:"availability-zone-id"`
	Group   string `xml:"groupName"`
	Tenancy string `xml:"tenancy" filter:"tenancy"`
}

type groupRef struct {
	ID   string `xml:"groupId" filter:"group-id"`
	Name string `xml:"groupName"`
}

type stateItem struct {
	Code int   `xml:"code" filter:"code"`
	Name State `xml:"name" filter:"name"`
}

type attachedENI struct {
	Attachment     eniAttachment  `xml:"attachment"`
	Description    string         `xml:"description"`
	Groups         set[groupRef]  `xml:"groupSet"`
	Type           string         `xml:"interfaceType"`
	MAC            string         `xml:"macAddress"`
	ID             string         `xml:"networkInterfaceId"`
	OwnerID        string         `xml:"ownerId"`
	PrivateDNSName string         `xml:"privateDnsName,omitempty"`
	PrivateIP      string         `xml:"privateIpAddress,omitempty"`
	PrivateIPs     set[privateIP] `xml:"privateIpAddressesSet" filter:"addresses."`
	SourceDest     bool           `xml:"sourceDestCheck"`
	Status         string         `xml:"status"`
	SubnetID       string         `xml:"subnetId"`
	VPCID          string         `xml:"vpcId"`
}

type eniAttachment struct {
	ID                  string `xml:"attachmentId"`
	AttachTime          string `xml:"attachTime"`
	DeleteOnTermination bool   `xml:"deleteOnTermination"`
	DeviceIndex         int64  `xml:"deviceIndex"`
	Card                int64  `xml:"networkCardIndex"`
	Status              string `xml:"status"`
}

type privateIP struct {
	Primary        bool   `xml:"primary"`
	PrivateDNSName string `xml:"privateDnsName"`
	IP             string `xml:"privateIpAddress" filter:"private-ip-address"`
}

func (s *Service) instanceItem(i *instance) instanceItem {
	p := i.plan
	threads := p.instanceType.threadsPerCore()
	out := instanceItem{
		Index: i.index, Arch: i.Arch, Devices: set[deviceItem]{}, Reservation: &reservationSpec{Preference: "open"},
		ClientToken: i.clientToken, CPU: cpuItem{max(p.instanceType.VCPU/threads, 1), threads},
		EBSOptimized: value(p.data.EBSOptimized), ENASupport: true, Hypervisor: "xen", ImageID: i.ImageID, ID: i.ID,
		Type: i.Type, LaunchTime: stamp(i.LaunchTime), Metadata: p.data.Metadata.item(),
		Monitoring: monitoringItem{"disabled"}, Placement: placementItem{Zone: i.Zone, ZoneID: i.ZoneID, Tenancy: p.tenancy()},
		Platform: p.image.Platform, Details: p.image.details(), RootDevice: p.image.RootDevice, RootType: "ebs",
		SourceDest: true, SpotRequestID: i.SpotRequestID, State: stateItem{s.shown(i).code(), s.shown(i)}, Reason: i.reason.Message,
		Tags: i.tagSet(), Virtualization: "hvm",
	}
	if p.data.Enclave != nil {
		out.Enclave.Enabled = value(p.data.Enclave.Enabled)
	}
	if r := p.data.Reservation; r != nil {
		out.Reservation = &reservationSpec{cmp.Or(r.Preference, openReservation), r.Target}
	}
	if i.reservation != nil && i.State != StateTerminated {
		out.ReservationID = i.reservation.id
	}
	if i.Spot {
		out.Lifecycle = spot
	}
	if p.profile != nil {
		out.Profile = &profileItem{i.ProfileARN, i.ProfileID}
	}
	if p.data.Monitoring != nil && value(p.data.Monitoring.Enabled) {
		out.Monitoring.State = "enabled"
	}
	if i.reason != (stateReason{}) {
		out.StateReason = &i.reason
	}
	if i.State != StateTerminated { // a terminated instance has lost all of these
		s.addConnections(&out, i)
	}
	return out
}

func (s *Service) addConnections(out *instanceItem, i *instance) {
	out.PrivateDNSName, out.PrivateIP, out.PublicIP = i.PrivateDNSName, i.PrivateIP, i.publicIP
	out.SubnetID, out.VPCID = i.SubnetID, i.VPCID
	for _, n := range i.interfaces {
		out.Interfaces = append(out.Interfaces, s.attachedENI(n))
	}
	if len(i.interfaces) > 0 {
		out.Groups = groupRefs(i.interfaces[0].groups)
	}
	for _, v := range i.volumes {
		out.Devices = append(out.Devices, deviceItem{v.device, deviceEBSItem{stamp(v.created), v.deleteOnTermination, "attached", v.id}})
	}
}

func (s *Service) attachedENI(n *networkInterface) attachedENI {
	out := attachedENI{
		Attachment: n.attachment(), Description: n.spec.Description, Groups: groupRefs(n.groups), Type: n.kind(), MAC: n.mac, ID: n.id,
		OwnerID: s.cfg.Account, SourceDest: true, Status: "in-use", SubnetID: n.subnet.id, VPCID: n.subnet.vpc.id,
	}
	if n.addr.IsValid() {
		out.PrivateIP, out.PrivateDNSName = n.addr.String(), privateName(s.cfg.Region, n.addr)
		out.PrivateIPs = set[privateIP]{{true, out.PrivateDNSName, out.PrivateIP}}
	}
	return out
}

func (n *networkInterface) attachment() eniAttachment {
	return eniAttachment{
		ID: n.attachmentID, AttachTime: stamp(n.attached), DeleteOnTermination: true,
		DeviceIndex: value(n.spec.DeviceIndex), Card: value(n.spec.Card), Status: "attached",
	}
}

func (n *networkInterface) kind() string {
	return cmp.Or(n.spec.Type, "interface")
}

func groupRefs(groups []*securityGroup) set[groupRef] {
	var out set[groupRef]
	for _, g := range groups {
		out = append(out, groupRef{g.id, g.name})
	}
	return out
}

func (p *launchPlan) tenancy() string {
	if p.data.Placement != nil && p.data.Placement.Tenancy != "" {
		return p.data.Placement.Tenancy
	}
	return "default"
}

// item fills in EC2's defaults.
func (m *metadataOptions) item() metadataItem {
	all := metadataOptions{"enabled", "disabled", new(int64(1)), "optional", "disabled"}
	if m != nil {
		all = laid(all, *m)
	}
	return metadataItem{all.Endpoint, all.IPv6, *all.HopLimit, all.Tokens, all.Tags, "applied"}
}
