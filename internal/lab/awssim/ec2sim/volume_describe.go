package ec2sim

type volumeItem struct {
	Attachments set[volumeAttachment] `xml:"attachmentSet" filter:"attachment."`
	Zone        string                `xml:"availabilityZone" filter:"availability-zone"`
	ZoneID      string                `xml:"availabilityZoneId" filter:"availability-zone-id"`
	Created     string                `xml:"createTime"`
	Encrypted   bool                  `xml:"encrypted" filter:"encrypted"`
	IOPS        *int64                `xml:"iops"`
	KMSKeyID    string                `xml:"kmsKeyId,omitempty"`
	SizeGiB     int64                 `xml:"size" filter:"size"`
	SnapshotID  string                `xml:"snapshotId"`
	Status      string                `xml:"status" filter:"status"`
	Tags        set[tag]              `xml:"tagSet" filter:""`
	Throughput  *int64                `xml:"throughput"`
	ID          string                `xml:"volumeId" filter:"volume-id"`
	Type        string                `xml:"volumeType" filter:"volume-type"`
}

type volumeAttachment struct {
	AttachTime          string `xml:"attachTime"`
	DeleteOnTermination bool   `xml:"deleteOnTermination" filter:"delete-on-termination"`
	Device              string `xml:"device" filter:"device"`
	InstanceID          string `xml:"instanceId" filter:"instance-id"`
	Status              string `xml:"status"`
	VolumeID            string `xml:"volumeId"`
}

func (s *Service) volumeItem(v *volume) volumeItem {
	out := volumeItem{
		Zone: v.zone.Name, ZoneID: v.zone.ID, Created: stamp(v.created), Encrypted: value(v.spec.Encrypted), IOPS: v.spec.IOPS,
		KMSKeyID: v.spec.KMSKeyID, SizeGiB: value(v.spec.SizeGiB), SnapshotID: v.spec.SnapshotID, Status: "available",
		Tags: v.tagSet(), Throughput: v.spec.Throughput, ID: v.id, Type: v.spec.Type,
	}
	if v.attached != nil {
		out.Status = "in-use"
		out.Attachments = set[volumeAttachment]{{stamp(v.created), v.deleteOnTermination, v.device, v.attached.ID, "attached", v.id}}
	}
	return out
}

type eniItem struct {
	Attachment     instanceAttachment `xml:"attachment" filter:"attachment."`
	Zone           string             `xml:"availabilityZone" filter:"availability-zone"`
	ZoneID         string             `xml:"availabilityZoneId"`
	Description    string             `xml:"description"`
	Groups         set[groupRef]      `xml:"groupSet" filter:""`
	Type           string             `xml:"interfaceType" filter:"interface-type"`
	MAC            string             `xml:"macAddress"`
	ID             string             `xml:"networkInterfaceId" filter:"network-interface-id"`
	OwnerID        string             `xml:"ownerId"`
	PrivateDNSName string             `xml:"privateDnsName,omitempty"`
	PrivateIP      string             `xml:"privateIpAddress,omitempty" filter:"private-ip-address"`
	PrivateIPs     set[privateIP]     `xml:"privateIpAddressesSet" filter:"addresses."`
	Managed        bool               `xml:"requesterManaged"`
	SourceDest     bool               `xml:"sourceDestCheck"`
	Status         string             `xml:"status" filter:"status"`
	SubnetID       string             `xml:"subnetId" filter:"subnet-id"`
	Tags           set[tag]           `xml:"tagSet" filter:""`
	VPCID          string             `xml:"vpcId" filter:"vpc-id"`
}

type instanceAttachment struct {
	eniAttachment
	InstanceID string `xml:"instanceId" filter:"instance-id"`
	OwnerID    string `xml:"instanceOwnerId"`
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
