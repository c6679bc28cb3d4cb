package ec2sim

type subnetItem struct {
	AssignIPv6       bool     `xml:"assignIpv6AddressOnCreation"`
	Zone             string   `xml:"availabilityZone"`
	ZoneID           string   `xml:"availabilityZoneId"`
	AvailableIPs     int      `xml:"availableIpAddressCount"`
	CIDR             string   `xml:"cidrBlock"`
	DefaultForAZ     bool     `xml:"defaultForAz"`
	EnableDNS64      bool     `xml:"enableDns64"`
	IPv6Native       bool     `xml:"ipv6Native"`
	MapCustomerOwned bool     `xml:"mapCustomerOwnedIpOnLaunch"`
	MapPublic        bool     `xml:"mapPublicIpOnLaunch"`
	OwnerID          string   `xml:"ownerId"`
	State            string   `xml:"state"`
	ARN              string   `xml:"subnetArn"`
	ID               string   `xml:"subnetId"`
	Tags             set[tag] `xml:"tagSet"`
	VPCID            string   `xml:"vpcId"`
}

type subnetsAnswer struct {
	NextToken string          `xml:"nextToken,omitempty"`
	Subnets   set[subnetItem] `xml:"subnetSet"`
}

type describeSubnetsRequest struct {
	listing
	IDs []string `q:"SubnetId"`
}

func (s *Service) subnetView() view[*subnet] {
	return view[*subnet]{
		key:  func(n *subnet) string { return n.id },
		tags: func(n *subnet) map[string]string { return n.tags },
		fields: map[string]func(*subnet) []string{
			"availability-zone":          func(n *subnet) []string { return one(n.zone.Name) },
			"availability-zone-id":       func(n *subnet) []string { return one(n.zone.ID) },
			"available-ip-address-count": func(n *subnet) []string { return oneInt(int64(n.free())) },
			"cidr-block":                 func(n *subnet) []string { return one(n.cidr.String()) },
			"default-for-az":             func(*subnet) []string { return oneBool(false) },
			"map-public-ip-on-launch":    func(n *subnet) []string { return oneBool(n.publicIPs) },
			"owner-id":                   func(*subnet) []string { return one(s.cfg.Account) },
			"state":                      func(*subnet) []string { return one("available") },
			"subnet-arn":                 func(n *subnet) []string { return one(s.arn(kindSubnet, n.id)) },
			"subnet-id":                  func(n *subnet) []string { return one(n.id) },
			"vpc-id":                     func(n *subnet) []string { return one(n.vpc.id) },
		},
		minPage: 5, maxPage: 1000, defaultPage: 1000,
	}
}

func describeSubnets(c *call, in *describeSubnetsRequest) (any, error) {
	found, err := pick(in.IDs, c.s.subnets, noSubnet)
	if err != nil {
		return nil, err
	}
	page, next, err := c.s.subnetView().list(c, in.listing, found)
	if err != nil {
		return nil, err
	}
	out := subnetsAnswer{NextToken: next}
	for _, n := range page {
		out.Subnets = append(out.Subnets, subnetItem{
			Zone: n.zone.Name, ZoneID: n.zone.ID, AvailableIPs: n.free(), CIDR: n.cidr.String(),
			MapPublic: n.publicIPs, OwnerID: c.s.cfg.Account, State: "available",
			ARN: c.s.arn(kindSubnet, n.id), ID: n.id, Tags: n.tagSet(), VPCID: n.vpc.id,
		})
	}
	return out, nil
}

type groupItem struct {
	Description string            `xml:"groupDescription"`
	ID          string            `xml:"groupId"`
	Name        string            `xml:"groupName"`
	Ingress     set[ipPermission] `xml:"ipPermissions"`
	Egress      set[ipPermission] `xml:"ipPermissionsEgress"`
	OwnerID     string            `xml:"ownerId"`
	ARN         string            `xml:"securityGroupArn"`
	Tags        set[tag]          `xml:"tagSet"`
	VPCID       string            `xml:"vpcId"`
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

type groupsAnswer struct {
	NextToken string         `xml:"nextToken,omitempty"`
	Groups    set[groupItem] `xml:"securityGroupInfo"`
}

type describeSecurityGroupsRequest struct {
	listing
	IDs   []string `q:"GroupId"`
	Names []string `q:"GroupName"`
}

func (s *Service) groupView() view[*securityGroup] {
	return view[*securityGroup]{
		key:  func(g *securityGroup) string { return g.id },
		tags: func(g *securityGroup) map[string]string { return g.tags },
		fields: map[string]func(*securityGroup) []string{
			"description": func(g *securityGroup) []string { return one(g.description) },
			"group-id":    func(g *securityGroup) []string { return one(g.id) },
			"group-name":  func(g *securityGroup) []string { return one(g.name) },
			"owner-id":    func(*securityGroup) []string { return one(s.cfg.Account) },
			"vpc-id":      func(g *securityGroup) []string { return one(g.vpc.id) },
		},
		minPage: 5, maxPage: 1000, defaultPage: 1000,
	}
}

func describeSecurityGroups(c *call, in *describeSecurityGroupsRequest) (any, error) {
	found, err := c.s.groupsNamed(in.IDs, in.Names)
	if err != nil {
		return nil, err
	}
	page, next, err := c.s.groupView().list(c, in.listing, found)
	if err != nil {
		return nil, err
	}
	out := groupsAnswer{NextToken: next}
	for _, g := range page {
		out.Groups = append(out.Groups, groupItem{
			Description: g.description, ID: g.id, Name: g.name, OwnerID: c.s.cfg.Account,
			Ingress: set[ipPermission]{{Protocol: "-1", Groups: set[pair]{{g.id, c.s.cfg.Account}}}},
			Egress:  set[ipPermission]{{Protocol: "-1", Ranges: set[ipRange]{{"0.0.0.0/0"}}}},
			ARN:     c.s.arn(kindGroup, g.id), Tags: g.tagSet(), VPCID: g.vpc.id,
		})
	}
	return out, nil
}

// groupsNamed finds groups by id and by name; all where neither is given.
func (s *Service) groupsNamed(ids, names []string) ([]*securityGroup, error) {
	if len(names) == 0 {
		return pick(ids, s.groups, noGroup)
	}
	wanted := map[string]*securityGroup{}
	for _, name := range names {
		found := false
		for _, g := range s.groups {
			if g.name == name {
				wanted[g.id], found = g, true
			}
		}
		if !found {
			return nil, noGroup(name)
		}
	}
	for _, id := range ids {
		g, ok := s.groups[id]
		if !ok {
			return nil, noGroup(id)
		}
		wanted[id] = g
	}
	return pick(nil, wanted, noGroup)
}

type vpcItem struct {
	CIDR        string       `xml:"cidrBlock"`
	CIDRs       set[vpcCIDR] `xml:"cidrBlockAssociationSet"`
	DHCPOptions string       `xml:"dhcpOptionsId"`
	Tenancy     string       `xml:"instanceTenancy"`
	IsDefault   bool         `xml:"isDefault"`
	OwnerID     string       `xml:"ownerId"`
	State       string       `xml:"state"`
	Tags        set[tag]     `xml:"tagSet"`
	ID          string       `xml:"vpcId"`
}

type vpcCIDR struct {
	AssociationID string `xml:"associationId"`
	CIDR          string `xml:"cidrBlock"`
	State         string `xml:"cidrBlockState>state"`
}

type vpcsAnswer struct {
	NextToken string       `xml:"nextToken,omitempty"`
	VPCs      set[vpcItem] `xml:"vpcSet"`
}

type describeVPCsRequest struct {
	listing
	IDs []string `q:"VpcId"`
}

func describeVPCs(c *call, in *describeVPCsRequest) (any, error) {
	found, err := pick(in.IDs, c.s.vpcs, notFound("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist"))
	if err != nil {
		return nil, err
	}
	page, next, err := view[*vpc]{
		key:  func(v *vpc) string { return v.id },
		tags: func(v *vpc) map[string]string { return v.tags },
		fields: map[string]func(*vpc) []string{
			"cidr":       func(v *vpc) []string { return one(v.cidr.String()) },
			"is-default": func(*vpc) []string { return oneBool(false) },
			"owner-id":   func(*vpc) []string { return one(c.s.cfg.Account) },
			"state":      func(*vpc) []string { return one("available") },
			"vpc-id":     func(v *vpc) []string { return one(v.id) },
		},
		minPage: 5, maxPage: 1000, defaultPage: 1000,
	}.list(c, in.listing, found)
	if err != nil {
		return nil, err
	}
	out := vpcsAnswer{NextToken: next}
	for _, v := range page {
		out.VPCs = append(out.VPCs, vpcItem{
			CIDR: v.cidr.String(), DHCPOptions: "default", Tenancy: "default", OwnerID: c.s.cfg.Account,
			CIDRs: set[vpcCIDR]{{"vpc-cidr-assoc-" + v.id[len("vpc-"):], v.cidr.String(), "associated"}},
			State: "available", Tags: v.tagSet(), ID: v.id,
		})
	}
	return out, nil
}
