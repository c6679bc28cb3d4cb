package ec2sim

import "fmt"

// routeTable is a route table of a VPC. Packets do not follow it: it is only told.
type routeTable struct {
	id       string
	vpc      *vpc
	main     bool
	subnets  []string
	internet string // internet gateway of the default route; empty: the table has none
}

// addTable adds a route table; the first is the main one. Ids follow from that of the VPC,
// so that tables take none from the other resources.
func (v *vpc) addTable(internet string, subnets ...string) {
	v.tables = append(v.tables, &routeTable{
		id: fmt.Sprintf("rtb-%s%02d", v.id[len("vpc-"):len(v.id)-2], len(v.tables)), vpc: v, main: len(v.tables) == 0,
		subnets: subnets, internet: internet,
	})
}

// SeedPublicRouteTable adds a route table to a seeded VPC, for subnets that then no longer have the
// main one. Their default route is to an internet gateway.
func (s *Service) SeedPublicRouteTable(vpcID string, subnets ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.vpcs[vpcID]
	v.addTable("igw-"+v.id[len("vpc-"):], subnets...)
}

type routeTableItem struct {
	Associations set[routeTableAssociation] `xml:"associationSet"`
	OwnerID      string                     `xml:"ownerId"`
	ID           string                     `xml:"routeTableId"`
	Routes       set[routeItem]             `xml:"routeSet"`
	Tags         set[tag]                   `xml:"tagSet"`
	VPCID        string                     `xml:"vpcId"`
}

type routeTableAssociation struct {
	State    string `xml:"associationState>state"`
	Main     bool   `xml:"main"`
	ID       string `xml:"routeTableAssociationId"`
	TableID  string `xml:"routeTableId"`
	SubnetID string `xml:"subnetId,omitempty"`
}

type routeItem struct {
	CIDR      string `xml:"destinationCidrBlock"`
	GatewayID string `xml:"gatewayId"`
	Origin    string `xml:"origin"`
	State     string `xml:"state"`
}

type routeTablesAnswer struct {
	NextToken string              `xml:"nextToken,omitempty"`
	Tables    set[routeTableItem] `xml:"routeTableSet"`
}

type describeRouteTablesRequest struct {
	listing
	IDs []string `q:"RouteTableId"`
}

func (t *routeTable) routes() set[routeItem] {
	out := set[routeItem]{{CIDR: t.vpc.cidr.String(), GatewayID: "local", Origin: "CreateRouteTable", State: "active"}}
	if t.internet != "" {
		out = append(out, routeItem{CIDR: "0.0.0.0/0", GatewayID: t.internet, Origin: "CreateRoute", State: "active"})
	}
	return out
}

func (t *routeTable) associations() set[routeTableAssociation] {
	id := func(n int) string { return fmt.Sprintf("rtbassoc-%s%02d", t.id[len("rtb-"):len(t.id)-2], n) }
	var out set[routeTableAssociation]
	if t.main {
		out = append(out, routeTableAssociation{State: "associated", Main: true, ID: id(0), TableID: t.id})
	}
	for n, subnet := range t.subnets {
		out = append(out, routeTableAssociation{State: "associated", ID: id(n + 1), TableID: t.id, SubnetID: subnet})
	}
	return out
}

func describeRouteTables(c *call, in *describeRouteTablesRequest) (any, error) {
	all := map[string]*routeTable{}
	for _, v := range c.s.vpcs {
		for _, t := range v.tables {
			all[t.id] = t
		}
	}
	found, err := pick(in.IDs, all, notFound("InvalidRouteTableID.NotFound", "The routeTable ID '%s' does not exist"))
	if err != nil {
		return nil, err
	}
	page, next, err := view[*routeTable]{
		key:  func(t *routeTable) string { return t.id },
		tags: func(*routeTable) map[string]string { return nil },
		fields: map[string]func(*routeTable) []string{
			"association.main":      func(t *routeTable) []string { return oneBool(t.main) },
			"association.subnet-id": func(t *routeTable) []string { return t.subnets },
			"route-table-id":        func(t *routeTable) []string { return one(t.id) },
			"route.gateway-id": func(t *routeTable) []string {
				var ids []string
				for _, r := range t.routes() {
					ids = append(ids, r.GatewayID)
				}
				return ids
			},
			"vpc-id": func(t *routeTable) []string { return one(t.vpc.id) },
		},
		minPage: 5, maxPage: 100, defaultPage: 100,
	}.list(c, in.listing, found)
	if err != nil {
		return nil, err
	}
	out := routeTablesAnswer{NextToken: next}
	for _, t := range page {
		out.Tables = append(out.Tables, routeTableItem{
			Associations: t.associations(), OwnerID: c.s.cfg.Account, ID: t.id, Routes: t.routes(), VPCID: t.vpc.id,
		})
	}
	return out, nil
}
