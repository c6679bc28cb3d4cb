package catalog

import (
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// Settings are what a NodeClass and the daemon's options change about
// instance types.
type Settings struct {
	// Zones are those that nodes may be launched in, as the account names
	// them: the zones of the NodeClass's subnets. There are no offerings
	// anywhere else.
	Zones []Zone
	// MaxPods is the kubelet's; 0 means what the network interfaces carry.
	MaxPods int
	// PodsPerCore is the kubelet's: a node has at most so many pods for each of
	// its vCPUs, where that is fewer. 0 is no limit.
	PodsPerCore int
	// RootVolumeBytes is the node's disk; 0 means DefaultRootVolumeBytes.
	RootVolumeBytes int64
	// Volumes is how many EBS volumes a node is launched with, the root volume
	// among them; 0 means that one.
	Volumes int
	// MemoryOverheadPermille is kept off the memory that EC2 names. Zero is
	// no overhead; DefaultMemoryOverheadPermille fits most types.
	MemoryOverheadPermille int64
	// ReservedENIs are not used for pods.
	ReservedENIs int
	// Reservations are those that nodes may be launched into.
	Reservations []Reservation
}

// Reservation is an on-demand capacity reservation.
type Reservation struct {
	ID, InstanceType, Zone string
	Left                   int64     // so many more instances have room
	Counted                time.Time // see Offering
}

// reservedShare is the part of the on-demand price by which a reserved offering
// is priced. It is paid for already, but of two the smaller should go first: the
// share is too small to matter otherwise (it is Karpenter's).
const reservedShare = 10_000_000

// Build makes the instance types that can be bought in the settings' zones,
// sorted by name. Types that none of the zones offers are left out.
func Build(facts []Fact, m Market, s Settings) []InstanceType {
	if s.RootVolumeBytes == 0 {
		s.RootVolumeBytes = DefaultRootVolumeBytes
	}
	zones := slices.SortedFunc(slices.Values(s.Zones), func(a, b Zone) int { return strings.Compare(a.Name, b.Name) })
	out := make([]InstanceType, 0, len(facts))
	for _, f := range facts {
		offerings := offeringsOf(f, m, zones, s.Reservations)
		if len(offerings) == 0 {
			continue
		}
		capacity := f.capacity(s)
		out = append(out, InstanceType{
			Name:        f.Name,
			Labels:      f.labels(m.Region),
			Capacity:    capacity,
			Allocatable: capacity.Sub(f.kubeReserved()).Sub(evictionReserved(s.RootVolumeBytes)),
			Offerings:   offerings,
			EBSVolumes:  f.attachable(s.Volumes),
		})
	}
	slices.SortFunc(out, func(a, b InstanceType) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func offeringsOf(f Fact, m Market, zones []Zone, reservations []Reservation) []Offering {
	var out []Offering
	for _, z := range zones {
		out = append(out, reservedIn(f, m, z, reservations)...)
		i, known := m.zoneIndex(z)
		if !known || !slices.Contains(m.Offered[f.Name], i) {
			continue
		}
		for _, class := range f.UsageClasses {
			price := m.OnDemand[f.Name]
			if class == label.Spot {
				price = m.spotPrice(f.Name, i)
			}
			out = append(out, Offering{
				Zone:         z.Name,
				ZoneID:       z.ID,
				CapacityType: class,
				Price:        price,
				Available:    price > 0 && f.runsAL2023(),
			})
		}
	}
	return out
}

// reservedIn lists the reservations of the type in the zone, full ones too: nodes
// in them have a price.
func reservedIn(f Fact, m Market, z Zone, reservations []Reservation) []Offering {
	var out []Offering
	for _, r := range reservations {
		if r.InstanceType != f.Name || r.Zone != z.Name {
			continue
		}
		out = append(out, Offering{
			Zone: z.Name, ZoneID: z.ID, CapacityType: label.Reserved, Price: m.OnDemand[f.Name] / reservedShare, Available: f.runsAL2023(),
			Reservation: r.ID, Left: max(0, r.Left), Counted: r.Counted,
		})
	}
	return out
}

// runsAL2023 is false for the first Graviton generation, whose cores lack
// instructions that AL2023 is built with.
func (f Fact) runsAL2023() bool { return f.Family != "a1" }
