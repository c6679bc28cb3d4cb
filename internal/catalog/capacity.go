package catalog

import "github.com/karpenterd/terraform-provider-karpenter/internal/quantity"

const (
	mi = int64(1) << 20
	gi = int64(1) << 30

	// DefaultRootVolumeBytes is the size of the root volume of an AL2023 node whose
	// NodeClass maps no root volume.
	DefaultRootVolumeBytes = 20 * gi
	// DefaultMemoryOverheadPerMillion is the part of an instance's memory that its
	// hypervisor and kernel are assumed to keep: 7.5 %, as Karpenter assumes
	// (vm-memory-overhead-percent).
	DefaultMemoryOverheadPerMillion = 75_000
)

// Extended resources that instance types advertise.
const (
	resourceNvidiaGPU  = "nvidia.com/gpu"
	resourceAMDGPU     = "amd.com/gpu"
	resourceGaudi      = "habana.ai/gaudi"
	resourceNeuron     = "aws.amazon.com/neuron"
	resourceNeuronCore = "aws.amazon.com/neuroncore"
	resourcePodENI     = "vpc.amazonaws.com/pod-eni"
	resourceEFA        = "vpc.amazonaws.com/efa"
)

// capacity is what a node of the type reports before anything is reserved.
func (f Fact) capacity(s Settings) quantity.Resources {
	r := quantity.Resources{
		MilliCPU:       int64(f.VCPU) * 1000,
		MemoryBytes:    f.usableMemoryMiB(s.MemoryOverheadPerMillion) * mi,
		EphemeralBytes: f.ephemeralBytes(s),
		PodSlots:       f.Pods(s),
	}
	switch f.GPUManufacturer {
	case "nvidia":
		r = r.Extend(resourceNvidiaGPU, int64(f.GPUCount))
	case "amd":
		r = r.Extend(resourceAMDGPU, int64(f.GPUCount))
	case "habana":
		r = r.Extend(resourceGaudi, int64(f.GPUCount))
	}
	r = r.Extend(resourceNeuron, int64(f.NeuronDevices))
	r = r.Extend(resourceNeuronCore, int64(f.NeuronCores))
	r = r.Extend(resourcePodENI, int64(f.BranchENIs))
	return r.Extend(resourceEFA, int64(f.EFAs))
}

// Pods is how many pods a node of the type can have.
func (f Fact) Pods(s Settings) int64 {
	pods := int64(f.eniPods(s.ReservedENIs))
	if s.MaxPods > 0 {
		pods = int64(s.MaxPods)
	}
	if s.PodsPerCore > 0 {
		pods = min(pods, int64(s.PodsPerCore)*int64(f.VCPU))
	}
	return pods
}

// ephemeralBytes is the size of the file system for pods.
func (f Fact) ephemeralBytes(s Settings) int64 {
	if s.InstanceStore && f.NVMeGB > 0 {
		return int64(f.NVMeGB) * 1_000_000_000
	}
	return s.RootVolumeBytes
}

// usableMemoryMiB is the memory that the node is expected to report. Arm
// instances lose another 64 MiB to the firmware's reserved region.
func (f Fact) usableMemoryMiB(overheadPerMillion int64) int64 {
	total := f.MemoryMiB
	if f.Arch == "arm64" {
		total -= 64
	}
	return total - ceilDiv(total*overheadPerMillion, 1_000_000)
}

// eniPods is how many pods a node can have: one for each secondary address of
// its network interfaces, and two on the host's network. The formula is that of
// eni-max-pods.txt in amazon-eks-ami.
func (f Fact) eniPods(reservedENIs int) int {
	usable := f.ENIs - reservedENIs
	if usable <= 0 {
		return 0
	}
	return usable*(f.IPv4PerENI-1) + 2
}

// warmENIs is how many network interfaces a node has when its volume driver
// counts them: the primary interface, and the one that the VPC CNI plugin keeps
// ready.
const warmENIs = 2

// attachable is how many EBS volumes the driver of a node reports that it can
// attach. This is EC2's limit, less the volumes that the node is launched with
// and, where volumes share their slots with network interfaces, less the
// interfaces after the first. The driver never reports fewer than one. 0 means
// that EC2 names no limit.
func (f Fact) attachable(launched int) int64 {
	if f.EBSVolumes == 0 {
		return 0
	}
	n := f.EBSVolumes - max(1, launched)
	if f.SharedEBSSlots {
		n -= min(warmENIs, max(1, f.ENIs)) - 1
	}
	return int64(max(1, n))
}

// kubeReserved is what is reserved for the kubelet and the container runtime, with memory
// for so many pods. AL2023 counts those that all network interfaces could carry: neither
// the maxPods in force nor reserved interfaces change that.
func (f Fact) kubeReserved(pods int64) quantity.Resources {
	return quantity.Resources{
		MilliCPU:       reservedMilliCPU(int64(f.VCPU)),
		MemoryBytes:    (11*pods + 255) * mi,
		EphemeralBytes: gi,
	}
}

// reservedMilliCPU is 6 % of the first core, 1 % of the second, 0.5 % of the next
// two and 0.25 % of the rest. Each of the four parts is rounded down.
func reservedMilliCPU(cores int64) int64 {
	var reserved int64
	for _, step := range []struct{ from, to, perTenThousand int64 }{
		{0, 1, 600}, {1, 2, 100}, {2, 4, 50}, {4, 1 << 20, 25},
	} {
		if in := min(cores, step.to) - step.from; in > 0 {
			reserved += in * 1000 * step.perTenThousand / 10_000
		}
	}
	return reserved
}

// evictionReserved is what the kubelet's hard eviction thresholds keep free:
// 100 MiB of memory and 10 % of the disk.
func evictionReserved(diskBytes int64) quantity.Resources {
	return quantity.Resources{MemoryBytes: 100 * mi, EphemeralBytes: ceilDiv(diskBytes, 10)}
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
