package aws

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// InstanceTypes returns what EC2 says about the instance types of the region, sorted by
// name: all that a Linux node can run on (hardware virtualization, x86_64 or arm64).
//
// EC2 does not tell how many branch interfaces a type has: BranchENIs is 0. NetworkMbps is
// the baseline of all network cards together, and 0 where EC2 has only a word for the
// network ("Low", "Moderate", "High"). That is too much for types whose cards share the
// bandwidth: the embedded catalogue goes by EC2's documentation, so its number is to be
// taken where it has the type. All other members are EC2's; a zero says that the type has
// no such thing.
func (c *Clients) InstanceTypes(ctx context.Context) ([]catalog.Fact, error) {
	filter := func(name string, values ...string) ec2types.Filter {
		return ec2types.Filter{Name: &name, Values: values}
	}
	linux := []ec2types.Filter{
		filter("supported-virtualization-type", string(ec2types.VirtualizationTypeHvm)),
		filter("processor-info.supported-architecture", string(ec2types.ArchitectureTypeX8664), string(ec2types.ArchitectureTypeArm64)),
	}
	found := map[string]catalog.Fact{}
	pages := ec2.NewDescribeInstanceTypesPaginator(c.ec2, &ec2.DescribeInstanceTypesInput{Filters: linux, MaxResults: awssdk.Int32(100)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, wrap(err, "instance types list")
		}
		for i := range page.InstanceTypes {
			if f, ok := factOf(&page.InstanceTypes[i]); ok {
				found[f.Name] = f
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b catalog.Fact) int { return strings.Compare(a.Name, b.Name) }), nil
}

// factOf is false for a type that no Linux node can run on, and for one of which EC2
// leaves out what a node needs, or says that there is none: processors, memory, network
// interfaces and addresses. What the daemon knew of such a type before is better.
func factOf(t *ec2types.InstanceTypeInfo) (catalog.Fact, bool) {
	if t.ProcessorInfo == nil || t.VCpuInfo == nil || t.MemoryInfo == nil || t.NetworkInfo == nil {
		return catalog.Fact{}, false
	}
	arch, ok := nodeArch(t.ProcessorInfo)
	if !ok || !slices.Contains(t.SupportedVirtualizationTypes, ec2types.VirtualizationTypeHvm) {
		return catalog.Fact{}, false
	}
	f := catalog.Fact{
		Name:                 string(t.InstanceType),
		Arch:                 arch,
		VCPU:                 int(awssdk.ToInt32(t.VCpuInfo.DefaultVCpus)),
		MemoryMiB:            awssdk.ToInt64(t.MemoryInfo.SizeInMiB),
		CPUManufacturer:      kebab(awssdk.ToString(t.ProcessorInfo.Manufacturer)),
		ClockMHz:             int(math.Round(awssdk.ToFloat64(t.ProcessorInfo.SustainedClockSpeedInGhz) * 1000)),
		Hypervisor:           string(t.Hypervisor),
		BareMetal:            awssdk.ToBool(t.BareMetal),
		Burstable:            awssdk.ToBool(t.BurstablePerformanceSupported),
		CurrentGeneration:    awssdk.ToBool(t.CurrentGeneration),
		NestedVirtualization: slices.Contains(t.ProcessorInfo.SupportedFeatures, "nested-virtualization"),
	}
	f.NameParts = catalog.ParseName(f.Name)
	for _, class := range t.SupportedUsageClasses {
		if class == label.OnDemand || class == label.Spot {
			f.UsageClasses = append(f.UsageClasses, string(class))
		}
	}
	slices.Sort(f.UsageClasses)
	addNetwork(&f, t.NetworkInfo)
	addStorage(&f, t)
	addDevices(&f, t)
	return f, f.VCPU > 0 && f.MemoryMiB > 0 && f.ENIs > 0 && f.IPv4PerENI > 0
}

func nodeArch(p *ec2types.ProcessorInfo) (string, bool) {
	for _, a := range p.SupportedArchitectures {
		if a == ec2types.ArchitectureTypeX8664 {
			return "amd64", true
		}
		if a == ec2types.ArchitectureTypeArm64 {
			return "arm64", true
		}
	}
	return "", false
}

func addNetwork(f *catalog.Fact, n *ec2types.NetworkInfo) {
	f.EncryptionInTransit = awssdk.ToBool(n.EncryptionInTransitSupported)
	f.IPv4PerENI = int(awssdk.ToInt32(n.Ipv4AddressesPerInterface))
	if n.EfaInfo != nil {
		f.EFAs = int(awssdk.ToInt32(n.EfaInfo.MaximumEfaInterfaces))
	}
	var gbps float64
	for _, card := range n.NetworkCards {
		gbps += awssdk.ToFloat64(card.BaselineBandwidthInGbps)
		if awssdk.ToInt32(card.NetworkCardIndex) == awssdk.ToInt32(n.DefaultNetworkCardIndex) {
			f.ENIs = int(awssdk.ToInt32(card.MaximumNetworkInterfaces))
		}
	}
	// "Low", "Moderate" and "High" have no number in the documentation.
	if strings.Contains(awssdk.ToString(n.NetworkPerformance), "Gigabit") {
		f.NetworkMbps = int(math.Round(gbps * 1000))
	}
}

func addStorage(f *catalog.Fact, t *ec2types.InstanceTypeInfo) {
	if e := t.EbsInfo; e != nil {
		if e.EbsOptimizedInfo != nil && e.EbsOptimizedSupport == ec2types.EbsOptimizedSupportDefault {
			f.EBSMbps = int(awssdk.ToInt32(e.EbsOptimizedInfo.MaximumBandwidthInMbps))
		}
		f.EBSVolumes = int(awssdk.ToInt32(e.MaximumEbsAttachments))
		f.SharedEBSSlots = e.AttachmentLimitType == ec2types.AttachmentLimitTypeShared
	}
	if s := t.InstanceStorageInfo; s != nil && s.NvmeSupport != ec2types.EphemeralNvmeSupportUnsupported {
		f.NVMeGB = int(awssdk.ToInt64(s.TotalSizeInGB))
	}
}

// addDevices fills in GPUs and accelerators. A type with several kinds of GPU
// has none named, since one label cannot.
func addDevices(f *catalog.Fact, t *ec2types.InstanceTypeInfo) {
	if t.GpuInfo != nil && len(t.GpuInfo.Gpus) == 1 {
		g := t.GpuInfo.Gpus[0]
		f.GPUName, f.GPUManufacturer = kebab(awssdk.ToString(g.Name)), kebab(awssdk.ToString(g.Manufacturer))
		f.GPUCount = int(awssdk.ToInt32(g.Count))
		if g.MemoryInfo != nil {
			f.GPUMemoryMiB = int64(awssdk.ToInt32(g.MemoryInfo.SizeInMiB))
		}
	}
	switch {
	case t.NeuronInfo != nil:
		addNeuron(f, t.NeuronInfo.NeuronDevices)
	case t.InferenceAcceleratorInfo != nil && len(t.InferenceAcceleratorInfo.Accelerators) == 1:
		a := t.InferenceAcceleratorInfo.Accelerators[0]
		f.AcceleratorName, f.AcceleratorManufacturer = kebab(awssdk.ToString(a.Name)), kebab(awssdk.ToString(a.Manufacturer))
		f.AcceleratorCount = int(awssdk.ToInt32(a.Count))
	}
}

func addNeuron(f *catalog.Fact, devices []ec2types.NeuronDeviceInfo) {
	for _, d := range devices {
		f.NeuronDevices += int(awssdk.ToInt32(d.Count))
	}
	if len(devices) == 0 {
		return
	}
	d := devices[0]
	if d.CoreInfo != nil {
		f.NeuronCores = int(awssdk.ToInt32(d.Count) * awssdk.ToInt32(d.CoreInfo.Count))
	}
	if len(devices) == 1 {
		f.AcceleratorName, f.AcceleratorManufacturer = kebab(awssdk.ToString(d.Name)), "aws"
		f.AcceleratorCount = f.NeuronDevices
	}
}

// kebab makes a label value of a name that EC2 writes for people.
func kebab(s string) string { return strings.ToLower(strings.ReplaceAll(s, " ", "-")) }
