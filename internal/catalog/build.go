package catalog

import (
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Settings are what a NodeClass and the daemon's options change about
// instance types.
type Settings struct {
	// WithoutGraviton1 says that the image does not boot on the first Graviton generation.
	WithoutGraviton1 bool
	// KeepsByPods says that the memory which the kubelet keeps follows the pods that the
	// node may have, and not those that its network interfaces have addresses for.
	KeepsByPods bool
	// Zones are the zones that nodes may be launched in: those of the NodeClass's
	// subnets, as the account names them. There are no offerings in other zones.
	Zones []Zone
	// MaxPods is the kubelet's maxPods. 0 means as many pods as the network
	// interfaces have addresses for.
	MaxPods int
	// PodsPerCore is the kubelet's podsPerCore: a node has at most this many pods
	// for each vCPU, where that is fewer. 0 means no limit.
	PodsPerCore int
	// Kept is what the kubelet keeps from pods.
	Kept Kept
	// RootVolumeBytes is the size of the node's root volume; 0 means
	// DefaultRootVolumeBytes.
	RootVolumeBytes int64
	// InstanceStore says that pods' ephemeral storage is on the instance store volumes
	// of types that have some, and not on the root volume.
	InstanceStore bool
	// Volumes is how many EBS volumes a node is launched with, including the root
	// volume. 0 means the root volume alone.
	Volumes int
	// MemoryOverheadPerMillion is subtracted from the memory that EC2 names. 0 means
	// no overhead. DefaultMemoryOverheadPerMillion fits most types.
	MemoryOverheadPerMillion int64
	// ReservedENIs is the number of network interfaces that pods do not use.
	ReservedENIs int
	// Reservations are the capacity reservations that nodes may be launched into.
	Reservations []Reservation
}

// Overhead is what the daemon's options keep of every instance from pods, whatever its
// NodeClass says.
type Overhead struct {
	MemoryPerMillion int64 // see Settings.MemoryOverheadPerMillion
	ReservedENIs     int   // see Settings.ReservedENIs
}

// DefaultOverhead is that of a daemon without such options.
func DefaultOverhead() Overhead { return Overhead{MemoryPerMillion: DefaultMemoryOverheadPerMillion} }

// Reservation is an on-demand capacity reservation.
type Reservation struct {
	ID, InstanceType, Zone string
	Left                   int64     // instances that the reservation still has room for
	Counted                time.Time // see Offering
}

// reservedShare divides the on-demand price to give the price of a reserved
// offering. The reservation is paid for already, but of two reserved offerings
// the smaller should go first. The price is too small to matter otherwise.
// Karpenter divides by the same number.
const reservedShare = 10_000_000

// Build makes the instance types that can be bought in the settings' zones,
// sorted by name. It leaves out types that no zone offers.
func Build(facts []Fact, m Market, s Settings) []InstanceType {
	if s.RootVolumeBytes == 0 {
		s.RootVolumeBytes = DefaultRootVolumeBytes
	}
	zones := slices.SortedFunc(slices.Values(s.Zones), func(a, b Zone) int { return strings.Compare(a.Name, b.Name) })
	out := make([]InstanceType, 0, len(facts))
	for _, f := range facts {
		offerings := offeringsOf(f, m, zones, s)
		if len(offerings) == 0 {
			continue
		}
		capacity := f.capacity(s)
		out = append(out, InstanceType{
			Name:        f.Name,
			Labels:      f.Labels(m.Region),
			Capacity:    capacity,
			Allocatable: f.allocatable(capacity, s),
			Offerings:   offerings,
			EBSVolumes:  f.attachable(s.Volumes),
			MaxPods:     s.toldPods(capacity),
		})
	}
	slices.SortFunc(out, func(a, b InstanceType) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func offeringsOf(f Fact, m Market, zones []Zone, s Settings) []Offering {
	var out []Offering
	for _, z := range zones {
		out = append(out, reservedIn(f, m, z, s)...)
		i, known := m.zoneIndex(z)
		if !known || !slices.Contains(m.Offered[f.Name], i) {
			continue
		}
		for _, class := range f.UsageClasses {
			price, standsIn := m.priceIn(f.Name, class, i)
			out = append(out, Offering{
				Zone:         z.Name,
				ZoneID:       z.ID,
				CapacityType: class,
				Price:        price,
				Available:    price > 0 && s.serves(f),
				StandIn:      standsIn,
			})
		}
	}
	return out
}

// reservedIn lists the reservations of the type in the zone. Full reservations
// are listed too, since the nodes in them need a price.
func reservedIn(f Fact, m Market, z Zone, s Settings) []Offering {
	var out []Offering
	onDemand, _ := m.priceIn(f.Name, label.OnDemand, 0)
	for _, r := range s.Reservations {
		if r.InstanceType != f.Name || r.Zone != z.Name {
			continue
		}
		out = append(out, Offering{
			Zone: z.Name, ZoneID: z.ID, CapacityType: label.Reserved, Price: onDemand / reservedShare, Available: s.serves(f),
			Reservation: r.ID, Left: max(0, r.Left), Counted: r.Counted,
		})
	}
	return out
}

// serves says whether the image boots on the type, and whether a node of it has room for
// any pod: all its network interfaces may be reserved.
func (s Settings) serves(f Fact) bool {
	return (!s.WithoutGraviton1 || f.Family != "a1") && (s.MaxPods > 0 || s.ReservedENIs == 0 || f.eniPods(s.ReservedENIs) > 0)
}

// toldPods is the number of pods that the kubelet has to be told; 0 where nothing differs
// from the number that the image finds by itself. No image knows of reserved interfaces.
func (s Settings) toldPods(capacity quantity.Resources) int64 {
	if s.ReservedENIs == 0 || s.MaxPods > 0 {
		return 0
	}
	return capacity.PodSlots
}
