package label

import "strings"

// Labels that the decision core itself reads. All other labels are only text to
// it.
const (
	Zone         = "topology.kubernetes.io/zone"
	ZoneID       = "topology.k8s.aws/zone-id"
	Region       = "topology.kubernetes.io/region"
	InstanceType = "node.kubernetes.io/instance-type"
	Arch         = "kubernetes.io/arch"
	OS           = "kubernetes.io/os"
	Hostname     = "kubernetes.io/hostname"
	CapacityType = "karpenter.sh/capacity-type"
	NodePool     = "karpenter.sh/nodepool"
	NodeClass    = "karpenter.k8s.aws/ec2nodeclass"
	// Labels that each node of a NodeClaim gets on its way: when it has joined, and when it
	// can take pods.
	Registered  = "karpenter.sh/registered"
	Initialized = "karpenter.sh/initialized"
	// Labels of nodes in a capacity reservation; other nodes lack these labels.
	Reservation              = "karpenter.k8s.aws/capacity-reservation-id"
	ReservationType          = "karpenter.k8s.aws/capacity-reservation-type"
	ReservationInterruptible = "karpenter.k8s.aws/capacity-reservation-interruptible"
	// Tenancy says whether an instance shares its hardware with those of other accounts. The
	// pool decides it.
	Tenancy = "karpenter.k8s.aws/instance-tenancy"
	// NodeName is not a label: matchFields of node affinity selects by it. The @
	// keeps it apart from every label key.
	NodeName = "@metadata.name"
)

// Values of the capacity-type label.
const (
	OnDemand = "on-demand"
	Spot     = "spot"
	Reserved = "reserved"
)

// Values of the tenancy label.
const (
	SharedTenancy = "default"
	Dedicated     = "dedicated"
)

// OfReady returns the labels that each node of a NodeClaim has once it takes pods,
// beside those that its NodeClaim and its instance give it.
func OfReady() Labels { return Labels{{Initialized, "true"}, {Registered, "true"}} }

// Canonical maps another spelling of a label key to the one in use, and every other
// key to itself. The other spellings are legacy ones, and that of the EBS CSI driver for
// the zone: nodes get that label once the driver runs there, and new nodes run it soon.
func Canonical(key string) string {
	switch key {
	case "failure-domain.beta.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone":
		return Zone
	case "failure-domain.beta.kubernetes.io/region":
		return Region
	case "beta.kubernetes.io/arch":
		return Arch
	case "beta.kubernetes.io/os":
		return OS
	case "beta.kubernetes.io/instance-type":
		return InstanceType
	}
	return key
}

// OfOffering says whether the offering alone decides the label, so that nodes of
// one instance type differ in it.
func OfOffering(key string) bool {
	switch key {
	case Zone, ZoneID, CapacityType, Reservation, ReservationType, ReservationInterruptible:
		return true
	}
	return false
}

// NamesNode says whether the label is that of one node alone.
func NamesNode(key string) bool { return key == Hostname || key == NodeName }

// OfInstance says whether instance types and offerings decide the label, so that
// a pool's template cannot.
func OfInstance(key string) bool {
	switch key {
	case Zone, ZoneID, Region, InstanceType, Arch, OS, CapacityType, Hostname:
		return true
	}
	return strings.HasPrefix(key, "karpenter.k8s.aws/")
}
