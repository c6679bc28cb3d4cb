package catalog

import (
	"cmp"
	"strings"
)

// Reach is how much a failed launch shows to be exhausted.
type Reach int

// The reaches, the narrowest first.
const (
	ReachOffering     Reach = iota // the offering that was tried
	ReachQuota                     // all instance types of its vCPU quota, with its capacity type
	ReachCapacityType              // all offerings of its capacity type
	ReachAll                       // every offering
)

// Scope is the offerings that a failure is about. With an instance type it is exactly one
// offering; else an empty field stands for any value.
type Scope struct {
	OfferingKey

	Quota string // see QuotaOf
}

// Scope returns what is exhausted if a launch of the offering failed with the reach.
func (k OfferingKey) Scope(r Reach) Scope {
	switch r {
	case ReachQuota:
		return Scope{OfferingKey{CapacityType: k.CapacityType}, QuotaOf(k.InstanceType)}
	case ReachCapacityType:
		return Scope{OfferingKey: OfferingKey{CapacityType: k.CapacityType}}
	case ReachAll:
		return Scope{}
	case ReachOffering:
	}
	return Scope{OfferingKey: k}
}

// Covers says whether the offering is one of the scope.
func (s Scope) Covers(k OfferingKey) bool {
	if s.InstanceType != "" {
		return s.OfferingKey == k
	}
	return (s.CapacityType == "" || s.CapacityType == k.CapacityType) && (s.Quota == "" || s.Quota == QuotaOf(k.InstanceType))
}

// Compare orders scopes: those of several offerings come first.
func (s Scope) Compare(o Scope) int {
	return cmp.Or(strings.Compare(s.InstanceType, o.InstanceType), s.OfferingKey.Compare(o.OfferingKey), strings.Compare(s.Quota, o.Quota))
}

// QuotaOf names the vCPU quota that instances of the type count against, as Service Quotas
// does: "Running On-Demand <name> instances", and "All <name> Spot Instance Requests".
// Source: the EC2 user guide, On-Demand Instance quotas. The name of a family that is not
// listed there is a quota of its own.
func QuotaOf(instanceType string) string {
	family, _, _ := strings.Cut(instanceType, ".")
	if i := strings.IndexAny(family, "0123456789-"); i > 0 {
		family = family[:i]
	}
	switch family {
	case "a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z":
		return "Standard (A, C, D, H, I, M, R, T, Z)"
	case "g", "gr", "vt":
		return "G and VT"
	case "u":
		return "High Memory"
	case "dl", "f", "hpc", "p", "x":
		return strings.ToUpper(family)
	case "inf":
		return "Inf"
	case "trn":
		return "Trn"
	}
	return family
}
