package catalog

import (
	"strconv"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// LabelPrefix is that of the labels that instance types have, and of the tenancy.
const LabelPrefix = "karpenter.k8s.aws/instance-"

// Node labels that only instance types have.
const (
	LabelCategory            = "karpenter.k8s.aws/instance-category"
	LabelGeneration          = "karpenter.k8s.aws/instance-generation"
	LabelFamily              = "karpenter.k8s.aws/instance-family"
	LabelSize                = "karpenter.k8s.aws/instance-size"
	LabelFlex                = "karpenter.k8s.aws/instance-capability-flex"
	LabelCPU                 = "karpenter.k8s.aws/instance-cpu"
	LabelCPUManufacturer     = "karpenter.k8s.aws/instance-cpu-manufacturer"
	LabelClockMHz            = "karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz"
	LabelMemory              = "karpenter.k8s.aws/instance-memory"
	LabelEBSBandwidth        = "karpenter.k8s.aws/instance-ebs-bandwidth"
	LabelNetworkBandwidth    = "karpenter.k8s.aws/instance-network-bandwidth"
	LabelLocalNVMe           = "karpenter.k8s.aws/instance-local-nvme"
	LabelGPUName             = "karpenter.k8s.aws/instance-gpu-name"
	LabelGPUManufacturer     = "karpenter.k8s.aws/instance-gpu-manufacturer"
	LabelGPUCount            = "karpenter.k8s.aws/instance-gpu-count"
	LabelGPUMemory           = "karpenter.k8s.aws/instance-gpu-memory"
	LabelAcceleratorName     = "karpenter.k8s.aws/instance-accelerator-name"
	LabelAcceleratorMaker    = "karpenter.k8s.aws/instance-accelerator-manufacturer"
	LabelAcceleratorCount    = "karpenter.k8s.aws/instance-accelerator-count"
	LabelHypervisor          = "karpenter.k8s.aws/instance-hypervisor"
	LabelEncryptionInTransit = "karpenter.k8s.aws/instance-encryption-in-transit-supported"
)

// Labels are those of every node of the type, except zone and capacity type,
// which an offering decides, and the tenancy, which the pool decides. A label whose fact is missing is absent.
func (f Fact) Labels(region string) label.Labels {
	m := map[string]string{
		label.InstanceType:       f.Name,
		label.Arch:               f.Arch,
		label.OS:                 "linux",
		label.Region:             region,
		LabelFamily:              f.Family,
		LabelFlex:                strconv.FormatBool(f.Flex),
		LabelCPU:                 strconv.Itoa(f.VCPU),
		LabelClockMHz:            strconv.Itoa(f.ClockMHz),
		LabelMemory:              strconv.FormatInt(f.MemoryMiB, 10),
		LabelHypervisor:          f.Hypervisor,
		LabelEncryptionInTransit: strconv.FormatBool(f.EncryptionInTransit),
	}
	put := func(key, value string) {
		if value != "" && value != "0" {
			m[key] = value
		}
	}
	put(LabelSize, f.Size)
	put(LabelCategory, f.Category)
	put(LabelGeneration, strconv.Itoa(f.Generation))
	put(LabelCPUManufacturer, f.CPUManufacturer)
	put(LabelEBSBandwidth, strconv.Itoa(f.EBSMbps))
	put(LabelNetworkBandwidth, strconv.Itoa(f.NetworkMbps))
	put(LabelLocalNVMe, strconv.Itoa(f.NVMeGB))
	if f.GPUName != "" {
		m[LabelGPUName] = f.GPUName
		m[LabelGPUManufacturer] = f.GPUManufacturer
		m[LabelGPUCount] = strconv.Itoa(f.GPUCount) // 0 where the instance has only a part of a GPU
		m[LabelGPUMemory] = strconv.FormatInt(f.GPUMemoryMiB, 10)
	}
	if f.AcceleratorName != "" {
		m[LabelAcceleratorName] = f.AcceleratorName
		m[LabelAcceleratorMaker] = f.AcceleratorManufacturer
		m[LabelAcceleratorCount] = strconv.Itoa(f.AcceleratorCount)
	}
	return label.FromMap(m)
}
