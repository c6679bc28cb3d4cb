package ec2sim

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
	"strings"
)

// reservedIPs are the addresses of a subnet that AWS keeps: the first four and the last.
const reservedIPs = 5

type vpc struct {
	*resource
	cidr   netip.Prefix
	tables []*routeTable // the main one first
}

type subnet struct {
	*resource
	vpc       *vpc
	zone      Zone
	cidr      netip.Prefix
	publicIPs bool // MapPublicIpOnLaunch
	inUse     map[netip.Addr]bool
	full      bool   // see FillSubnet
	cursor    uint32 // offset of the last address given out
}

type securityGroup struct {
	*resource
	vpc               *vpc
	name, description string
}

// VPC is what SeedVPC made.
type VPC struct {
	ID, CIDR               string
	SubnetIDs              []string // in the order of the zones
	ClusterSecurityGroupID string   // named eks-cluster-sg, as EKS makes one
}

// SeedVPC makes a VPC with one private subnet of equal size in each zone, its
// default security group and the cluster's. Zones that the type source does
// not have are given an id of their own. It panics where the CIDR is malformed
// or too small to be divided: that is a mistake in the laboratory itself.
func (s *Service) SeedVPC(cidr string, zones []string) VPC {
	prefix := netip.MustParsePrefix(cidr).Masked()
	size := prefix.Bits() + bits.Len(uint(max(len(zones)-1, 0)))
	if !prefix.Addr().Is4() || size > 28 {
		panic(fmt.Sprintf("ec2sim: %s cannot be divided into %d subnets of at least /28", cidr, len(zones))) //nolint:forbidigo // a mistake in the laboratory itself; there is no state to go on with
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := &vpc{resource: s.newResource(kindVPC, "vpc", nil), cidr: prefix}
	v.addTable("")
	s.vpcs[v.id] = v
	out := VPC{ID: v.id, CIDR: prefix.String()}
	s.addGroup(v, "default", "default VPC security group", nil)
	out.ClusterSecurityGroupID = s.addGroup(v, "eks-cluster-sg", "EKS created security group applied to ENI that is attached to EKS Control Plane master nodes, as well as any managed workloads.", nil).id
	base := binary.BigEndian.Uint32(prefix.Addr().AsSlice())
	for i, zone := range zones {
		first := addrOf(base + uint32(i)<<(32-size))
		out.SubnetIDs = append(out.SubnetIDs, s.addSubnet(v, zone, netip.PrefixFrom(first, size), nil).id)
	}
	return out
}

// SubnetSpec is a further subnet for SeedSubnet.
type SubnetSpec struct {
	VPCID, Zone, CIDR   string
	MapPublicIPOnLaunch bool
	Tags                map[string]string
}

// SeedSubnet adds a subnet to a seeded VPC and returns its id. It panics where
// the VPC is unknown or the CIDR malformed.
func (s *Service) SeedSubnet(spec SubnetSpec) string {
	prefix := netip.MustParsePrefix(spec.CIDR).Masked()
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.addSubnet(s.vpcs[spec.VPCID], spec.Zone, prefix, spec.Tags)
	n.publicIPs = spec.MapPublicIPOnLaunch
	return n.id
}

func (s *Service) addGroup(v *vpc, name, description string, tags map[string]string) *securityGroup {
	g := &securityGroup{s.newResource(kindGroup, "sg", tags), v, name, description}
	s.groups[g.id] = g
	return g
}

func (s *Service) addSubnet(v *vpc, zone string, cidr netip.Prefix, tags map[string]string) *subnet {
	n := &subnet{
		resource: s.newResource(kindSubnet, "subnet", tags),
		vpc:      v, zone: s.zone(zone), cidr: cidr,
		inUse: map[netip.Addr]bool{}, cursor: reservedIPs - 2,
	}
	s.subnets[n.id] = n
	return n
}

func (s *Service) zone(name string) Zone {
	for _, z := range s.zones {
		if z.Name == name {
			return z
		}
	}
	z := Zone{Name: name, ID: fmt.Sprintf("%s-az%d", strings.ReplaceAll(s.cfg.Region, "-", ""), len(s.zones)+1)}
	s.zones = append(s.zones, z)
	return z
}

func addrOf(n uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n)
	return netip.AddrFrom4(b)
}

func (n *subnet) size() uint32 { return 1 << (32 - n.cidr.Bits()) }

func (n *subnet) free() int {
	if n.full {
		return 0
	}
	return int(n.size()) - reservedIPs - len(n.inUse)
}

// FillSubnet takes the free addresses of a subnet away, as other users of it would, or gives
// them back. It says whether there is such a subnet.
func (s *Service) FillSubnet(id string, full bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.subnets[id]
	if n != nil {
		n.full = full
	}
	return n != nil
}

// take gives out the next free address; addresses come round before they are
// reused, so that a new machine seldom has the name of one just gone.
func (n *subnet) take() (netip.Addr, error) {
	if n.free() <= 0 {
		return netip.Addr{}, noAddress(n.id)
	}
	base := binary.BigEndian.Uint32(n.cidr.Addr().AsSlice())
	for {
		n.cursor++
		if n.cursor >= n.size()-1 {
			n.cursor = reservedIPs - 1
		}
		if addr := addrOf(base + n.cursor); !n.inUse[addr] {
			n.inUse[addr] = true
			return addr, nil
		}
	}
}

func (n *subnet) release(addr netip.Addr) { delete(n.inUse, addr) }
