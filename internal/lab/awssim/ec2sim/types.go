package ec2sim

import (
	"hash/fnv"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Capacity types, as offerings and launches name them.
const (
	onDemand = "on-demand"
	spot     = "spot"
)

// Offered is what EC2 offers in a region.
type Offered struct {
	Zones []Zone
	Types []Type
}

// Zone is an availability zone.
type Zone struct {
	Name, ID string
}

// Type is an instance type with its prices. What is said of it, EC2 spells in
// its own way.
type Type struct {
	catalog.Fact

	Zones    []string                  // names of the zones that offer it
	OnDemand quantity.Money            // 0: no price
	Spot     map[string]quantity.Money // by zone; a zone without entry has no spot market
}

func (t *Type) key() string { return t.Name }

// arch is the architecture as EC2 spells it.
func (t *Type) arch() string {
	if t.Arch == "amd64" {
		return "x86_64"
	}
	return t.Arch
}

// threadsPerCore: processors of arm64 have one, as those with one vCPU.
func (t *Type) threadsPerCore() int {
	if t.Arch == "amd64" && t.VCPU > 1 {
		return 2
	}
	return 1
}

// cards is the number of network cards, which the catalogue does not know:
// types with several EFAs have one for each.
func (t *Type) cards() int { return max(t.EFAs, 1) }

// offering is one thing that capacity is counted for.
type offering struct {
	capacityType, instanceType, zone string
}

// SetCapacity sets how many more instances can be launched of the offering;
// with n = 0 launches fail with InsufficientInstanceCapacity. A terminated
// instance gives its place back. Offerings that were never set are unlimited, as are those
// with n < 0.
func (s *Service) SetCapacity(capacityType, instanceType, zone string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 0 {
		delete(s.capacity, offering{capacityType, instanceType, zone})
		return
	}
	s.capacity[offering{capacityType, instanceType, zone}] = n
}

// Storm leaves the region without capacity for launches, but for those of the types to keep;
// what is set of single offerings counts again once the returned function has ended it.
func (s *Service) Storm(keep ...string) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.storms++
	s.kept = keep
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.storms--
	}
}

// room is how many more instances of the offering can be launched; false for any number.
func (s *Service) room(off offering) (left int, limited bool) {
	if s.storms > 0 && !slices.Contains(s.kept, off.instanceType) {
		return 0, true
	}
	left, limited = s.capacity[off]
	return left, limited
}

// RealMemoryBytes is what a machine of the type really has for its operating
// system: the advertised memory less what firmware and hypervisor keep, which
// is a share of 1.5 % to 7 % that differs by family, and a fixed part. Zero
// for an unknown type. It knows nothing of the formula by which a scheduler
// estimates this number.
func (s *Service) RealMemoryBytes(instanceType string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.types[instanceType]
	if t == nil {
		return 0
	}
	family, _, _ := strings.Cut(instanceType, ".")
	h := fnv.New32a()
	_, _ = h.Write([]byte(family))
	perMille := 15 + int64(h.Sum32()%56)
	fixedKiB := 12*1024 + int64(h.Sum32()/56%20)*1024
	kib := t.MemoryMiB * 1024
	return (kib - kib*perMille/1000 - fixedKiB) * 1024
}
