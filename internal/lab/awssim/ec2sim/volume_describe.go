package ec2sim

type volumeItem struct {
	Attachments set[volumeAttachment] `xml:"attachmentSet"`
	Zone        string                `xml:"availabilityZone"`
	ZoneID      string                `xml:"availabilityZoneId"`
	Created     string                `xml:"createTime"`
	Encrypted   bool                  `xml:"encrypted"`
	IOPS        *int64                `xml:"iops"`
	KMSKeyID    string                `xml:"kmsKeyId,omitempty"`
	SizeGiB     int64                 `xml:"size"`
	SnapshotID  string                `xml:"snapshotId"`
	Status      string                `xml:"status"`
	Tags        set[tag]              `xml:"tagSet"`
	Throughput  *int64                `xml:"throughput"`
	ID          string                `xml:"volumeId"`
	Type        string                `xml:"volumeType"`
}

type volumeAttachment struct {
	AttachTime          string `xml:"attachTime"`
	DeleteOnTermination bool   `xml:"deleteOnTermination"`
	Device              string `xml:"device"`
	InstanceID          string `xml:"instanceId"`
	Status              string `xml:"status"`
	VolumeID            string `xml:"volumeId"`
}

type describeVolumesRequest struct {
	listing
	IDs []string `q:"VolumeId"`
}

type volumesAnswer struct {
	NextToken string          `xml:"nextToken,omitempty"`
	Volumes   set[volumeItem] `xml:"volumeSet"`
}

func (v *volume) status() string {
	if v.attached == nil {
		return "available"
	}
	return "in-use"
}

func (v *volume) instanceID() string {
	if v.attached == nil {
		return ""
	}
	return v.attached.ID
}

func describeVolumes(c *call, in *describeVolumesRequest) (any, error) {
	found, err := pick(in.IDs, c.s.volumes, unknownResource)
	if err != nil {
		return nil, err
	}
	page, next, err := view[*volume]{
		key:  func(v *volume) string { return v.id },
		tags: func(v *volume) map[string]string { return v.tags },
		fields: map[string]func(*volume) []string{
			"attachment.delete-on-termination": func(v *volume) []string { return oneBool(v.deleteOnTermination) },
			"attachment.device":                func(v *volume) []string { return one(v.device) },
			"attachment.instance-id":           func(v *volume) []string { return one(v.instanceID()) },
			"availability-zone":                func(v *volume) []string { return one(v.zone.Name) },
			"availability-zone-id":             func(v *volume) []string { return one(v.zone.ID) },
			"encrypted":                        func(v *volume) []string { return oneBool(value(v.spec.Encrypted)) },
			"size":                             func(v *volume) []string { return oneInt(value(v.spec.SizeGiB)) },
			"status":                           func(v *volume) []string { return one(v.status()) },
			"volume-id":                        func(v *volume) []string { return one(v.id) },
			"volume-type":                      func(v *volume) []string { return one(v.spec.Type) },
		},
		minPage: 5, maxPage: 1000,
	}.list(c, in.listing, found)
	if err != nil {
		return nil, err
	}
	out := volumesAnswer{NextToken: next}
	for _, v := range page {
		out.Volumes = append(out.Volumes, v.item())
	}
	return out, nil
}

func (v *volume) item() volumeItem {
	out := volumeItem{
		Zone: v.zone.Name, ZoneID: v.zone.ID, Created: stamp(v.created), Encrypted: value(v.spec.Encrypted), IOPS: v.spec.IOPS,
		KMSKeyID: v.spec.KMSKeyID, SizeGiB: value(v.spec.SizeGiB), SnapshotID: v.spec.SnapshotID, Status: v.status(),
		Tags: v.tagSet(), Throughput: v.spec.Throughput, ID: v.id, Type: v.spec.Type,
	}
	if v.attached != nil {
		out.Attachments = set[volumeAttachment]{{stamp(v.created), v.deleteOnTermination, v.device, v.attached.ID, "attached", v.id}}
	}
	return out
}

type eniItem struct {
	Attachment     instanceAttachment `xml:"attachment"`
	Zone           string             `xml:"availabilityZone"`
	ZoneID         string             `xml:"availabilityZoneId"`
	Description    string             `xml:"description"`
	Groups         set[groupRef]      `xml:"groupSet"`
	Type           string             `xml:"interfaceType"`
	MAC            string             `xml:"macAddress"`
	ID             string             `xml:"networkInterfaceId"`
	OwnerID        string             `xml:"ownerId"`
	PrivateDNSName string             `xml:"privateDnsName,omitempty"`
	PrivateIP      string             `xml:"privateIpAddress,omitempty"`
	PrivateIPs     set[privateIP]     `xml:"privateIpAddressesSet"`
	Managed        bool               `xml:"requesterManaged"`
	SourceDest     bool               `xml:"sourceDestCheck"`
	Status         string             `xml:"status"`
	SubnetID       string             `xml:"subnetId"`
	Tags           set[tag]           `xml:"tagSet"`
	VPCID          string             `xml:"vpcId"`
}

type instanceAttachment struct {
	eniAttachment
	InstanceID string `xml:"instanceId"`
	OwnerID    string `xml:"instanceOwnerId"`
}

type describeENIsRequest struct {
	listing
	IDs []string `q:"NetworkInterfaceId"`
}

type enisAnswer struct {
	ENIs      set[eniItem] `xml:"networkInterfaceSet"`
	NextToken string       `xml:"nextToken,omitempty"`
}

func describeNetworkInterfaces(c *call, in *describeENIsRequest) (any, error) {
	found, err := pick(in.IDs, c.s.enis, unknownResource)
	if err != nil {
		return nil, err
	}
	groups := func(n *networkInterface) []string {
		var out []string
		for _, g := range n.groups {
			out = append(out, g.id)
		}
		return out
	}
	page, next, err := view[*networkInterface]{
		key:  func(n *networkInterface) string { return n.id },
		tags: func(n *networkInterface) map[string]string { return n.tags },
		fields: map[string]func(*networkInterface) []string{
			"attachment.instance-id":       func(n *networkInterface) []string { return one(n.instance.ID) },
			"availability-zone":            func(n *networkInterface) []string { return one(n.subnet.zone.Name) },
			"group-id":                     groups,
			"interface-type":               func(n *networkInterface) []string { return one(n.kind()) },
			"network-interface-id":         func(n *networkInterface) []string { return one(n.id) },
			"private-ip-address":           func(n *networkInterface) []string { return one(n.instance.PrivateIP) },
			"addresses.private-ip-address": func(n *networkInterface) []string { return one(n.instance.PrivateIP) },
			"status":                       func(*networkInterface) []string { return one("in-use") },
			"subnet-id":                    func(n *networkInterface) []string { return one(n.subnet.id) },
			"vpc-id":                       func(n *networkInterface) []string { return one(n.subnet.vpc.id) },
		},
		minPage: 5, maxPage: 1000,
	}.list(c, in.listing, found)
	if err != nil {
		return nil, err
	}
	out := enisAnswer{NextToken: next}
	for _, n := range page {
		out.ENIs = append(out.ENIs, c.s.eniItem(n))
	}
	return out, nil
}

func (s *Service) eniItem(n *networkInterface) eniItem {
	seen := s.attachedENI(n)
	return eniItem{
		Attachment: instanceAttachment{seen.Attachment, n.instance.ID, s.cfg.Account},
		Zone:       n.subnet.zone.Name, ZoneID: n.subnet.zone.ID, Description: seen.Description, Groups: seen.Groups, Type: seen.Type,
		MAC: seen.MAC, ID: n.id, OwnerID: s.cfg.Account, PrivateDNSName: seen.PrivateDNSName, PrivateIP: seen.PrivateIP,
		PrivateIPs: seen.PrivateIPs, SourceDest: true, Status: "in-use", SubnetID: n.subnet.id, Tags: n.tagSet(), VPCID: n.subnet.vpc.id,
	}
}
