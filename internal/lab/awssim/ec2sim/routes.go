package ec2sim

import "fmt"

// routeTable is a route table of a VPC. Packets do not follow it: it is only told.
type routeTable struct {
	*resource
	vpc      *vpc
	main     bool
	subnets  []string
	internet string // internet gateway of the default route; empty: the table has none
}

// addTable adds a route table; the first is the main one. Ids follow from that of the VPC,
// so that tables take none from the other resources.
func (v *vpc) addTable(internet string, subnets ...string) {
	id := fmt.Sprintf("rtb-%s%02d", v.id[len("vpc-"):len(v.id)-2], len(v.tables))
	v.tables = append(v.tables, &routeTable{
		resource: &resource{id: id}, vpc: v, main: len(v.tables) == 0, subnets: subnets, internet: internet,
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
	Associations set[routeTableAssociation] `xml:"associationSet" filter:"association."`
	OwnerID      string                     `xml:"ownerId"`
	ID           string                     `xml:"routeTableId" filter:"route-table-id"`
	Routes       set[routeItem]             `xml:"routeSet" filter:"route."`
	Tags         set[tag]                   `xml:"tagSet" filter:""`
	VPCID        string                     `xml:"vpcId" filter:"vpc-id"`
}

type routeTableAssociation struct {
	State    string `xml:"associationState>state"`
	Main     bool   `xml:"main" filter:"main"`
	ID       string `xml:"routeTableAssociationId"`
	TableID  string `xml:"routeTableId"`
	SubnetID string `xml:"subnetId,omitempty" filter:"subnet-id"`
}

type routeItem struct {
	CIDR      string `xml:"destinationCidrBlock"`
	GatewayID string `xml:"gatewayId" filter:"gateway-id"`
	Origin    string `xml:"origin"`
	State     string `xml:"state"`
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

func (s *Service) routeTableItem(t *routeTable) routeTableItem {
	return routeTableItem{Associations: t.associations(), OwnerID: s.cfg.Account, ID: t.id, Routes: t.routes(), Tags: t.tagSet(), VPCID: t.vpc.id}
}

func (s *Service) routeTables() map[string]*routeTable {
	all := map[string]*routeTable{}
	for _, v := range s.vpcs {
		for _, t := range v.tables {
			all[t.id] = t
		}
	}
	return all
}
