package ec2sim

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// typeItem is an instance type as DescribeInstanceTypes shows it.
type typeItem struct {
	AutoRecovery     bool           `xml:"autoRecoverySupported"`
	BareMetal        bool           `xml:"bareMetal" filter:"bare-metal"`
	Burstable        bool           `xml:"burstablePerformanceSupported" filter:"burstable-performance-supported"`
	Current          bool           `xml:"currentGeneration" filter:"current-generation"`
	EBS              ebsInfo        `xml:"ebsInfo"`
	GPUs             *gpuInfo       `xml:"gpuInfo"`
	Hypervisor       string         `xml:"hypervisor,omitempty" filter:"hypervisor"`
	Inference        *inferenceInfo `xml:"inferenceAcceleratorInfo"`
	Storage          *storageInfo   `xml:"instanceStorageInfo"`
	StorageSupported bool           `xml:"instanceStorageSupported" filter:"instance-storage-supported"`
	Name             string         `xml:"instanceType" filter:"instance-type"`
	MemoryMiB        int64          `xml:"memoryInfo>sizeInMiB" filter:"memory-info.size-in-mib"`
	Network          networkInfo    `xml:"networkInfo" filter:"network-info."`
	Neuron           *neuronInfo    `xml:"neuronInfo"`
	Enclaves         string         `xml:"nitroEnclavesSupport"`
	Placement        set[string]    `xml:"placementGroupInfo>supportedStrategies"`
	Processor        processorInfo  `xml:"processorInfo" filter:"processor-info."`
	RootDevices      set[string]    `xml:"supportedRootDeviceTypes" filter:"supported-root-device-type"`
	UsageClasses     set[string]    `xml:"supportedUsageClasses" filter:"supported-usage-class"`
	Virtualization   set[string]    `xml:"supportedVirtualizationTypes" filter:"supported-virtualization-type"`
	VCPU             vcpuInfo       `xml:"vCpuInfo" filter:"vcpu-info."`
}

type ebsInfo struct {
	LimitType        string        `xml:"attachmentLimitType,omitempty"`
	MaxVolumes       int           `xml:"maximumEbsAttachments,omitempty"`
	Optimized        *ebsOptimized `xml:"ebsOptimizedInfo"`
	OptimizedSupport string        `xml:"ebsOptimizedSupport"`
	Encryption       string        `xml:"encryptionSupport"`
	NVMe             string        `xml:"nvmeSupport"`
}

type ebsOptimized struct {
	MaxMbps int `xml:"maximumBandwidthInMbps"`
}

type gpuInfo struct {
	GPUs     set[deviceInfo] `xml:"gpus"`
	TotalMiB int64           `xml:"totalGpuMemoryInMiB"`
}

// deviceInfo is a GPU or an accelerator; cores are of neuron devices only.
type deviceInfo struct {
	Cores        *coreInfo   `xml:"coreInfo"`
	Count        int         `xml:"count"`
	Manufacturer string      `xml:"manufacturer,omitempty"`
	Memory       *deviceSize `xml:"memoryInfo"`
	Name         string      `xml:"name"`
}

type deviceSize struct {
	MiB int64 `xml:"sizeInMiB"`
}

type coreInfo struct {
	Count   int `xml:"count"`
	Version int `xml:"version"`
}

// inferenceInfo: the members of this one list are called member.
type inferenceInfo struct {
	Devices []deviceInfo `xml:"accelerators>member"`
}

type neuronInfo struct {
	Devices set[deviceInfo] `xml:"neuronDevices"`
}

type storageInfo struct {
	Encryption string `xml:"encryptionSupport"`
	NVMe       string `xml:"nvmeSupport"`
	TotalGB    int    `xml:"totalSizeInGB"`
}

type networkInfo struct {
	DefaultCard int       `xml:"defaultNetworkCardIndex"`
	EFA         *efaInfo  `xml:"efaInfo"`
	EFAs        bool      `xml:"efaSupported" filter:"efa-supported"`
	ENA         string    `xml:"enaSupport"`
	Encryption  bool      `xml:"encryptionInTransitSupported" filter:"encryption-in-transit-supported"`
	IPv4PerENI  int       `xml:"ipv4AddressesPerInterface"`
	IPv6PerENI  int       `xml:"ipv6AddressesPerInterface"`
	IPv6        bool      `xml:"ipv6Supported"`
	MaxCards    int       `xml:"maximumNetworkCards"`
	MaxENIs     int       `xml:"maximumNetworkInterfaces" filter:"maximum-network-interfaces"`
	Cards       set[card] `xml:"networkCards"`
	Performance string    `xml:"networkPerformance"`
}

type efaInfo struct {
	Max int `xml:"maximumEfaInterfaces"`
}

type card struct {
	MaxENIs      int     `xml:"maximumNetworkInterfaces"`
	Index        int     `xml:"networkCardIndex"`
	BaselineGbps float64 `xml:"baselineBandwidthInGbps,omitempty"`
}

type processorInfo struct {
	Manufacturer  string      `xml:"manufacturer,omitempty"`
	Architectures set[string] `xml:"supportedArchitectures" filter:"supported-architecture"`
	Features      set[string] `xml:"supportedFeatures,omitempty"`
	ClockGHz      float64     `xml:"sustainedClockSpeedInGhz,omitempty"`
}

type vcpuInfo struct {
	Cores          int `xml:"defaultCores"`
	ThreadsPerCore int `xml:"defaultThreadsPerCore"`
	VCPUs          int `xml:"defaultVCpus" filter:"default-vcpus"`
}

func (s *Service) typeItem(t *Type) typeItem {
	threads := t.threadsPerCore()
	out := typeItem{
		AutoRecovery: !t.BareMetal, BareMetal: t.BareMetal, Burstable: t.Burstable, Current: t.CurrentGeneration,
		EBS:        ebsInfo{OptimizedSupport: "unsupported", Encryption: "supported", NVMe: nvme(t.nitro())},
		Hypervisor: t.Hypervisor, StorageSupported: t.NVMeGB > 0, Name: t.Name, MemoryMiB: t.MemoryMiB, Network: t.network(),
		Enclaves: "unsupported", Placement: set[string]{"partition", "spread"},
		Processor:   processorInfo{Manufacturer: maker(t.CPUManufacturer), Architectures: set[string]{t.arch()}, ClockGHz: math.Round(float64(t.ClockMHz)/10) / 100},
		RootDevices: set[string]{"ebs"}, UsageClasses: t.UsageClasses, Virtualization: set[string]{"hvm"},
		VCPU: vcpuInfo{max(t.VCPU/threads, 1), threads, t.VCPU},
	}
	if t.EBSMbps > 0 {
		out.EBS.Optimized, out.EBS.OptimizedSupport = &ebsOptimized{t.EBSMbps}, "default"
	}
	if t.EBSVolumes > 0 {
		out.EBS.MaxVolumes, out.EBS.LimitType = t.EBSVolumes, "dedicated"
		if t.SharedEBSSlots {
			out.EBS.LimitType = "shared"
		}
	}
	if t.NVMeGB > 0 {
		out.Storage = &storageInfo{"required", "required", t.NVMeGB} // i3 has NVMe disks without the Nitro hypervisor
	}
	if t.nitro() && !t.Burstable {
		out.Placement = set[string]{"cluster", "partition", "spread"}
	}
	if t.NestedVirtualization {
		out.Processor.Features = set[string]{"nested-virtualization"}
	}
	t.addDevices(&out)
	return out
}

func (t *Type) addDevices(out *typeItem) {
	if t.GPUName != "" {
		gpu := deviceInfo{Count: t.GPUCount, Manufacturer: maker(t.GPUManufacturer), Name: spell(t.GPUName)}
		if t.GPUMemoryMiB > 0 {
			gpu.Memory = &deviceSize{t.GPUMemoryMiB}
		}
		out.GPUs = &gpuInfo{set[deviceInfo]{gpu}, int64(t.GPUCount) * t.GPUMemoryMiB}
	}
	switch {
	case t.NeuronDevices > 0: // EC2 names no manufacturer of these
		device := deviceInfo{Count: t.NeuronDevices, Name: spell(cmp.Or(t.AcceleratorName, "neuron")), Cores: &coreInfo{t.NeuronCores / t.NeuronDevices, 2}}
		out.Neuron = &neuronInfo{set[deviceInfo]{device}}
	case t.AcceleratorName != "":
		out.Inference = &inferenceInfo{[]deviceInfo{{Count: t.AcceleratorCount, Manufacturer: maker(t.AcceleratorManufacturer), Name: spell(t.AcceleratorName)}}}
	}
}

// spell undoes the label form of a device's name, but for the case of letters.
func spell(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", " ")) }

// maker writes a manufacturer as EC2 does: clients compare the exact spelling.
func maker(name string) string {
	switch name {
	case "":
		return ""
	case "amd", "aws", "nvidia":
		return strings.ToUpper(name)
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

func (t *Type) nitro() bool { return t.Hypervisor != "xen" }

func nvme(required bool) string {
	if required {
		return "required"
	}
	return "unsupported"
}

func (t *Type) network() networkInfo {
	cards := t.cards()
	out := networkInfo{
		EFAs: t.EFAs > 0, ENA: "required", Encryption: t.EncryptionInTransit, IPv4PerENI: t.IPv4PerENI, IPv6PerENI: t.IPv4PerENI,
		IPv6: true, MaxCards: cards, MaxENIs: t.ENIs * cards, Performance: t.networkPerformance(),
	}
	if !t.nitro() {
		out.ENA = "supported"
	}
	if t.EFAs > 0 {
		out.EFA = &efaInfo{t.EFAs}
	}
	for n := range cards {
		out.Cards = append(out.Cards, card{MaxENIs: t.ENIs, Index: n, BaselineGbps: float64(t.NetworkMbps) / 1000 / float64(cards)})
	}
	return out
}

// networkPerformance is the baseline in EC2's words. EC2 names what a burst may reach, which
// is not known here; where the baseline is no round number, there is always such a burst.
func (t *Type) networkPerformance() string {
	switch {
	case t.NetworkMbps == 0:
		return "Moderate"
	case t.NetworkMbps%1000 == 0:
		return fmt.Sprintf("%d Gigabit", t.NetworkMbps/1000)
	}
	return fmt.Sprintf("Up to %d Gigabit", t.NetworkMbps/1000+1)
}
