package catalog

import (
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func TestParseName_FollowsKarpentersPattern(t *testing.T) {
	for name, want := range map[string]NameParts{
		"m5.large":           {Category: "m", Generation: 5, Family: "m5", Size: "large"},
		"c7i-flex.xlarge":    {Category: "c", Generation: 7, Family: "c7i-flex", Size: "xlarge", Flex: true},
		"inf2.48xlarge":      {Category: "inf", Generation: 2, Family: "inf2", Size: "48xlarge"},
		"u-12tb1.112xlarge":  {Category: "u", Generation: 1, Family: "u-12tb1", Size: "112xlarge"},
		"u7i-12tb.224xlarge": {Category: "u", Generation: 7, Family: "u7i-12tb", Size: "224xlarge"},
		"x2iedn.metal":       {Category: "x", Generation: 2, Family: "x2iedn", Size: "metal"},
		"m7i.metal-24xl":     {Category: "m", Generation: 7, Family: "m7i", Size: "metal-24xl"},
		"mac-m4.metal":       {Family: "mac-m4", Size: "metal"},
		"odd":                {Family: "odd"},
		"":                   {},
	} {
		if got := ParseName(name); got != want {
			t.Errorf("ParseName(%q) = %+v, want %+v", name, got, want)
		}
	}
}

func TestReservedMilliCPU_FollowsTheStaircase(t *testing.T) {
	for cores, want := range map[int64]int64{0: 0, 1: 60, 2: 70, 3: 75, 4: 80, 5: 82, 8: 90, 16: 110, 64: 230, 192: 550} {
		if got := reservedMilliCPU(cores); got != want {
			t.Errorf("%d cores reserve %dm, want %dm", cores, got, want)
		}
	}
}

func m5Large() Fact {
	return Fact{
		Name: "m5.large", Arch: "amd64", VCPU: 2, MemoryMiB: 8192, CPUManufacturer: "intel", ClockMHz: 3100, Hypervisor: "nitro",
		ENIs: 3, IPv4PerENI: 10, BranchENIs: 9, NetworkMbps: 750, EBSMbps: 4750,
		UsageClasses: []string{label.OnDemand, label.Spot}, NameParts: ParseName("m5.large"),
	}
}

func oneZone(names ...string) Market {
	m := Market{
		Region: "us-west-2", Zones: []Zone{{"us-west-2b", "usw2-az1"}, {"us-west-2a", "usw2-az2"}},
		Offered: map[string][]int{}, OnDemand: map[string]quantity.Money{}, Spot: map[string][]quantity.Money{},
	}
	for _, n := range names {
		m.Offered[n] = []int{1}
		m.OnDemand[n] = 96_000_000
		m.Spot[n] = []quantity.Money{30_000_000}
	}
	return m
}

func build(t *testing.T, f Fact, s Settings) InstanceType {
	t.Helper()
	m := oneZone(f.Name)
	if s.Zones == nil {
		s.Zones = m.Zones
	}
	s.MemoryOverheadPerMillion = DefaultMemoryOverheadPerMillion
	built := Build([]Fact{f}, m, s)
	if len(built) != 1 {
		t.Fatalf("built %d types", len(built))
	}
	return built[0]
}

// Worked by hand: 8192 MiB less 7.5 % (615) is 7577; 29 pods reserve
// 11*29+255 = 574; 100 are kept from eviction.
func TestBuild_M5LargeHasTheKnownAllocatable(t *testing.T) {
	it := build(t, m5Large(), Settings{})
	capacity := quantity.Resources{MilliCPU: 2000, MemoryBytes: 7577 * mi, EphemeralBytes: 20 * gi, PodSlots: 29}.Extend("vpc.amazonaws.com/pod-eni", 9)
	if it.Capacity.Compare(capacity) != 0 {
		t.Errorf("capacity %v, want %v", it.Capacity, capacity)
	}
	allocatable := quantity.Resources{MilliCPU: 1930, MemoryBytes: 6903 * mi, EphemeralBytes: 17 * gi, PodSlots: 29}.Extend("vpc.amazonaws.com/pod-eni", 9)
	if it.Allocatable.Compare(allocatable) != 0 {
		t.Errorf("allocatable %v, want %v", it.Allocatable, allocatable)
	}
}

// An image counts the pods of all interfaces, so the kubelet has to be told where some are
// reserved, and only there: user data would differ otherwise.
func TestBuild_KubeletIsToldItsPodsOnlyWhereTheImageCountsOthers(t *testing.T) {
	for _, c := range []struct {
		s    Settings
		want int64
	}{
		{Settings{}, 0},
		{Settings{MaxPods: 8}, 0},
		{Settings{PodsPerCore: 5}, 0},
		{Settings{ReservedENIs: 1}, 20},
		{Settings{ReservedENIs: 1, MaxPods: 8}, 0},
		{Settings{ReservedENIs: 1, PodsPerCore: 5}, 10},
	} {
		got := build(t, m5Large(), c.s)
		if got.MaxPods != c.want || c.want > 0 && got.MaxPods != got.Capacity.PodSlots {
			t.Errorf("%+v: the kubelet is told %d pods, want %d; planned are %d", c.s, got.MaxPods, c.want, got.Capacity.PodSlots)
		}
	}
}

func TestBuild_MemoryOverheadIsTheGivenPart(t *testing.T) {
	for perMillion, want := range map[int64]int64{0: 8192, 75_000: 7577, 37_500: 7884, 1: 8191} {
		m := oneZone("m5.large")
		got := Build([]Fact{m5Large()}, m, Settings{Zones: m.Zones, MemoryOverheadPerMillion: perMillion})[0].Capacity.MemoryBytes
		if got != want*mi {
			t.Errorf("%d millionths: %d MiB, want %d", perMillion, got/mi, want)
		}
	}
}

func TestBuild_SettingsChangeCapacity(t *testing.T) {
	plain := build(t, m5Large(), Settings{}).Allocatable
	if got := build(t, m5Large(), Settings{MaxPods: 110}).Allocatable; got.PodSlots != 110 || got.MemoryBytes != plain.MemoryBytes {
		t.Errorf("with maxPods 110: %v; the memory reserved must go by the interfaces", got)
	}
	for _, c := range []struct {
		s    Settings
		want int64
	}{
		{Settings{PodsPerCore: 10}, 20},
		{Settings{PodsPerCore: 10, MaxPods: 110}, 20},
		{Settings{PodsPerCore: 10, MaxPods: 8}, 8},
		{Settings{PodsPerCore: 100}, 29},
	} {
		if got := build(t, m5Large(), c.s).Allocatable; got.PodSlots != c.want || got.MemoryBytes != plain.MemoryBytes {
			t.Errorf("with podsPerCore %d, maxPods %d: %v, want %d pods", c.s.PodsPerCore, c.s.MaxPods, got, c.want)
		}
	}
	if got := build(t, m5Large(), Settings{ReservedENIs: 1}).Allocatable; got.PodSlots != 20 || got.MemoryBytes != plain.MemoryBytes {
		t.Errorf("with an interface reserved: %v", got)
	}
	if got := build(t, m5Large(), Settings{ReservedENIs: 3}); got.Capacity.PodSlots != 0 || got.Offerings[0].Available {
		t.Errorf("with every interface reserved: %d pods, for sale: %v", got.Capacity.PodSlots, got.Offerings[0].Available)
	}
	if got := build(t, m5Large(), Settings{ReservedENIs: 3, MaxPods: 110}); got.Capacity.PodSlots != 110 || !got.Offerings[0].Available {
		t.Errorf("with maxPods and every interface reserved: %d pods, for sale: %v", got.Capacity.PodSlots, got.Offerings[0].Available)
	}
	if got := build(t, m5Large(), Settings{RootVolumeBytes: 100 * gi}).Allocatable.EphemeralBytes; got != 89*gi {
		t.Errorf("with a disk of 100 GiB: %d", got)
	}
	disks := m5Large()
	disks.NVMeGB = 75
	for _, c := range []struct {
		fact Fact
		s    Settings
		want int64
	}{
		{disks, Settings{InstanceStore: true, RootVolumeBytes: 100 * gi}, 75_000_000_000},
		{disks, Settings{RootVolumeBytes: 100 * gi}, 100 * gi},
		{m5Large(), Settings{InstanceStore: true, RootVolumeBytes: 100 * gi}, 100 * gi},
	} {
		// A tenth is for the eviction threshold, and 1 GiB for the kubelet.
		if got, want := build(t, c.fact, c.s), c.want-(c.want+9)/10-gi; got.Capacity.EphemeralBytes != c.want || got.Allocatable.EphemeralBytes != want {
			t.Errorf("%d GB of instance store, used %t: %d of %d, want %d", c.fact.NVMeGB, c.s.InstanceStore, got.Allocatable.EphemeralBytes, got.Capacity.EphemeralBytes, want)
		}
	}
}

// Worked out by hand, by the rule of the EBS CSI driver 1.62: volumes and
// interfaces share 27 slots. The root volume takes one slot, and the second
// interface takes one.
func TestBuild_EBSVolumesAreThoseThatEC2CarriesBesideRootAndInterfaces(t *testing.T) {
	for name, c := range map[string]struct {
		most, launched int
		shared         bool
		enis           int
		want           int64
	}{
		"shared slots":              {27, 0, true, 3, 25},
		"one interface":             {27, 0, true, 1, 26},
		"slots of their own":        {32, 0, false, 4, 31},
		"launched with three":       {32, 3, false, 4, 29},
		"never fewer than one":      {3, 3, true, 4, 1},
		"EC2 does not say how many": {0, 0, true, 4, 0},
	} {
		f := m5Large()
		f.EBSVolumes, f.SharedEBSSlots, f.ENIs = c.most, c.shared, c.enis
		if got := build(t, f, Settings{Volumes: c.launched}).EBSVolumes; got != c.want {
			t.Errorf("%s: %d volumes, want %d", name, got, c.want)
		}
	}
}

func TestBuild_ArmHas64MiBLess(t *testing.T) {
	f := m5Large()
	f.Arch = "arm64"
	if got := build(t, f, Settings{}).Capacity.MemoryBytes / mi; got != 8192-64-610 {
		t.Errorf("memory %d MiB", got)
	}
}

func TestBuild_AdvertisesDevices(t *testing.T) {
	f := m5Large()
	f.EFAs, f.NeuronDevices, f.NeuronCores = 1, 2, 4
	for maker, resource := range map[string]string{"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu", "habana": "habana.ai/gaudi"} {
		f.GPUName, f.GPUManufacturer, f.GPUCount = "x", maker, 8
		it := build(t, f, Settings{})
		for name, want := range map[string]int64{resource: 8, "aws.amazon.com/neuron": 2, "aws.amazon.com/neuroncore": 4, "vpc.amazonaws.com/efa": 1} {
			if it.Capacity.Get(name) != want || it.Allocatable.Get(name) != want {
				t.Errorf("%s: capacity %d, allocatable %d of %s", maker, it.Capacity.Get(name), it.Allocatable.Get(name), name)
			}
		}
	}
}

func TestBuild_LabelsAreAbsentWhereTheFactIs(t *testing.T) {
	labels := build(t, m5Large(), Settings{}).Labels.Map()
	want := map[string]string{
		label.InstanceType: "m5.large", label.Arch: "amd64", label.OS: "linux", label.Region: "us-west-2",
		LabelCategory: "m", LabelGeneration: "5", LabelFamily: "m5", LabelSize: "large", LabelFlex: "false",
		LabelCPU: "2", LabelCPUManufacturer: "intel", LabelClockMHz: "3100", LabelMemory: "8192",
		LabelEBSBandwidth: "4750", LabelNetworkBandwidth: "750", LabelHypervisor: "nitro",
		LabelEncryptionInTransit: "false",
	}
	for key, value := range want {
		if labels[key] != value {
			t.Errorf("%s = %q, want %q", key, labels[key], value)
		}
	}
	for key, value := range labels {
		if _, ok := want[key]; !ok {
			t.Errorf("%s = %q should be absent", key, value)
		}
	}
}

func TestBuild_OffersZonesOfTheSettingsByID(t *testing.T) {
	// Another account calls the same place us-west-2c.
	elsewhere := []Zone{{"us-west-2c", "usw2-az2"}, {"us-west-2a", "usw2-az1"}}
	got := build(t, m5Large(), Settings{Zones: elsewhere}).Offerings
	want := []Offering{
		{Zone: "us-west-2c", ZoneID: "usw2-az2", CapacityType: label.OnDemand, Price: 96_000_000, Available: true},
		{Zone: "us-west-2c", ZoneID: "usw2-az2", CapacityType: label.Spot, Price: 30_000_000, Available: true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("offerings %+v", got)
	}
	byName := build(t, m5Large(), Settings{Zones: []Zone{{Name: "us-west-2a"}}}).Offerings
	if len(byName) != 2 || byName[0].Zone != "us-west-2a" {
		t.Errorf("offerings by name %+v", byName)
	}
	if got := Build([]Fact{m5Large()}, oneZone("m5.large"), Settings{}); len(got) != 0 {
		t.Errorf("without zones: %+v", got)
	}
}

func TestBuild_NoPriceOrNoImageIsUnavailable(t *testing.T) {
	m := oneZone("m5.large", "a1.large")
	m.Spot["m5.large"] = nil
	a1 := m5Large()
	a1.Name, a1.NameParts = "a1.large", ParseName("a1.large")
	got := Build([]Fact{m5Large(), a1}, m, Settings{Zones: m.Zones, WithoutGraviton1: true})
	if len(got) != 2 || got[0].Name != "a1.large" {
		t.Fatalf("built %+v", got)
	}
	available := map[string]bool{}
	for _, it := range got {
		for _, o := range it.Offerings {
			available[it.Name+" "+o.CapacityType] = o.Available
		}
	}
	want := map[string]bool{"a1.large on-demand": false, "a1.large spot": false, "m5.large on-demand": true, "m5.large spot": false}
	for k, v := range want {
		if available[k] != v {
			t.Errorf("%s available = %t", k, available[k])
		}
	}
}

// A reservation is an offering of its own type in its own zone, whatever other
// offerings there are. It costs almost nothing: of two, the smaller goes first.
func TestBuild_ReservationsAreOffersOfTheirTypeInTheirZone(t *testing.T) {
	counted := time.Unix(1000, 0)
	in := func(id, kind, zone string, left int64) Reservation {
		return Reservation{ID: id, InstanceType: kind, Zone: zone, Left: left, Counted: counted}
	}
	got := build(t, m5Large(), Settings{Reservations: []Reservation{
		in("cr-1", "m5.large", "us-west-2a", 3), in("cr-2", "m5.large", "us-west-2b", 0), in("cr-3", "m5.xlarge", "us-west-2a", 1),
		in("cr-4", "m5.large", "us-west-2c", 1),
	}})
	var reserved []Offering
	for _, o := range got.Offerings {
		if o.CapacityType == label.Reserved {
			reserved = append(reserved, o)
		}
	}
	want := []Offering{
		{Zone: "us-west-2a", ZoneID: "usw2-az2", CapacityType: label.Reserved, Price: 9, Available: true, Reservation: "cr-1", Left: 3, Counted: counted},
		{Zone: "us-west-2b", ZoneID: "usw2-az1", CapacityType: label.Reserved, Price: 9, Available: true, Reservation: "cr-2", Counted: counted},
	}
	if !slices.Equal(reserved, want) {
		t.Errorf("got  %+v\nwant %+v", reserved, want)
	}
	all := map[string]string{
		label.Zone: "us-west-2a", label.ZoneID: "usw2-az2", label.CapacityType: "reserved", label.Reservation: "cr-1",
		label.ReservationType: "default", label.ReservationInterruptible: "false",
	}
	if l := want[0].Labels(); !slices.Equal(l, label.FromMap(all)) {
		t.Errorf("labels %v", l)
	}
}
