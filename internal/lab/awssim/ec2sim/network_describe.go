package ec2sim

type subnetItem struct {
	AssignIPv6       bool     `xml:"assignIpv6AddressOnCreation"`
	Zone             string   `xml:"availabilityZone" filter:"availability-zone"`
	ZoneID           string   `xml:"availabilityZoneId" filter:"availability-zone-id"`
	AvailableIPs     int      `xml:"availableIpAddressCount" filter:"available-ip-address-count"`
	CIDR             string   `xml:"cidrBlock" filter:"cidr-block"`
	DefaultForAZ     bool     `xml:"defaultForAz" filter:"default-for-az"`
	EnableDNS64      bool     `xml:"enableDns64"`
	IPv6Native       bool     `xml:"ipv6Native"`
	MapCustomerOwned bool     `xml:"mapCustomerOwnedIpOnLaunch"`
	MapPublic        bool     `xml:"mapPublicIpOnLaunch" filter:"map-public-ip-on-launch"`
	OwnerID          string   `xml:"ownerId" filter:"owner-id"`
	State            string   `xml:"state" filter:"state"`
	ARN              string   `xml:"subnetArn" filter:"subnet-arn"`
	ID               string   `xml:"subnetId" filter:"subnet-id"`
	Tags             set[tag] `xml:"tagSet" filter:""`
	VPCID            string   `xml:"vpcId" filter:"vpc-id"`
}

func (s *Service) subnetItem(n *subnet) subnetItem {
	return subnetItem{
		Zone: n.zone.Name, ZoneID: n.zone.ID, AvailableIPs: n.free(), CIDR: n.cidr.String(),
		MapPublic: n.publicIPs, OwnerID: s.cfg.Account, State: "available",
		ARN: s.arn(kindSubnet, n.id), ID: n.id, Tags: n.tagSet(), VPCID: n.vpc.id,
	}
}

type groupItem struct {
	Description string            `xml:"groupDescription" filter:"description"`
	ID          string            `xml:"groupId" filter:"group-id"`
	Name        string            `xml:"groupName" filter:"group-name"`
	Ingress     set[ipPermission] `xml:"ipPermissions"`
	Egress      set[ipPermission] `xml:"ipPermissionsEgress"`
	OwnerID     string            `xml:"ownerId" filter:"owner-id"`
	ARN         string            `xml:"securityGroupArn"`
	Tags        set[tag]          `xml:"tagSet" filter:""`
	VPCID       string            `xml:"vpcId" filter:"vpc-id"`
}

// ipPermission: every group lets its members reach each other and go anywhere.
type ipPermission struct {
	Protocol string       `xml:"ipProtocol"`
	Ranges   set[ipRange] `xml:"ipRanges"`
	Groups   set[pair]    `xml:"groups"`
}

type ipRange struct {
	CIDR string `xml:"cidrIp"`
}

type pair struct {
	GroupID string `xml:"groupId"`
	UserID  string `xml:"userId"`
}

func (s *Service) groupItem(g *securityGroup) groupItem {
	return groupItem{
		Description: g.description, ID: g.id, Name: g.name, OwnerID: s.cfg.Account,
		Ingress: set[ipPermission]{{Protocol: "-1", Groups: set[pair]{{g.id, s.cfg.Account}}}},
		Egress:  set[ipPermission]{{Protocol: "-1", Ranges: set[ipRange]{{"0.0.0.0/0"}}}},
		ARN:     s.arn(kindGroup, g.id), Tags: g.tagSet(), VPCID: g.vpc.id,
	}
}
