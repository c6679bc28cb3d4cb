package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// ec2Source reads one region's EC2.
type ec2Source struct {
	region string
	client *ec2.Client
}

func newEC2(ctx context.Context, region, endpoint string) (ec2Source, error) {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(region))
	if err != nil {
		return ec2Source{}, fmt.Errorf("AWS configuration load: %w", err)
	}
	return ec2Source{region, ec2.NewFromConfig(cfg, func(o *ec2.Options) {
		if endpoint != "" {
			o.BaseEndpoint = &endpoint
		}
	})}, nil
}

func anyType(string) bool { return true }

// addTypes adds the facts of the region's instance types that are wanted and that a
// Linux node can run on. Facts do not depend on the region, so what is there already
// stays.
func (s ec2Source) addTypes(ctx context.Context, byName map[string]catalog.Fact, wanted func(name string) bool) error {
	pages := ec2.NewDescribeInstanceTypesPaginator(s.client, &ec2.DescribeInstanceTypesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("instance types describe: %w", err)
		}
		for i := range page.InstanceTypes {
			f, ok := factOf(&page.InstanceTypes[i])
			if _, known := byName[f.Name]; ok && !known && wanted(f.Name) {
				byName[f.Name] = f
			}
		}
	}
	return nil
}

func factOf(t *types.InstanceTypeInfo) (catalog.Fact, bool) {
	arch, ok := archOf(t.ProcessorInfo)
	if !ok || !slices.Contains(t.SupportedVirtualizationTypes, types.VirtualizationTypeHvm) {
		return catalog.Fact{}, false
	}
	f := catalog.Fact{
		Name:                 string(t.InstanceType),
		Arch:                 arch,
		VCPU:                 int(aws.ToInt32(t.VCpuInfo.DefaultVCpus)),
		MemoryMiB:            aws.ToInt64(t.MemoryInfo.SizeInMiB),
		CPUManufacturer:      kebab(aws.ToString(t.ProcessorInfo.Manufacturer)),
		ClockMHz:             int(math.Round(aws.ToFloat64(t.ProcessorInfo.SustainedClockSpeedInGhz) * 1000)),
		Hypervisor:           string(t.Hypervisor),
		BareMetal:            aws.ToBool(t.BareMetal),
		Burstable:            aws.ToBool(t.BurstablePerformanceSupported),
		CurrentGeneration:    aws.ToBool(t.CurrentGeneration),
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
	return f, true
}

func archOf(p *types.ProcessorInfo) (string, bool) {
	for _, a := range p.SupportedArchitectures {
		if a == types.ArchitectureTypeX8664 {
			return "amd64", true
		}
		if a == types.ArchitectureTypeArm64 {
			return "arm64", true
		}
	}
	return "", false
}

func addNetwork(f *catalog.Fact, n *types.NetworkInfo) {
	f.EncryptionInTransit = aws.ToBool(n.EncryptionInTransitSupported)
	f.IPv4PerENI = int(aws.ToInt32(n.Ipv4AddressesPerInterface))
	if n.EfaInfo != nil {
		f.EFAs = int(aws.ToInt32(n.EfaInfo.MaximumEfaInterfaces))
	}
	var gbps float64
	for _, card := range n.NetworkCards {
		gbps += aws.ToFloat64(card.BaselineBandwidthInGbps)
		if aws.ToInt32(card.NetworkCardIndex) == aws.ToInt32(n.DefaultNetworkCardIndex) {
			f.ENIs = int(aws.ToInt32(card.MaximumNetworkInterfaces))
		}
	}
	f.BranchENIs = branchENIs(f.Name)
	// "Low", "Moderate" and "High" have no number in the documentation.
	if mbps, documented := bandwidth(f.Name); documented {
		f.NetworkMbps = mbps
	} else if strings.Contains(aws.ToString(n.NetworkPerformance), "Gigabit") {
		f.NetworkMbps = int(math.Round(gbps * 1000))
	}
}

func addStorage(f *catalog.Fact, t *types.InstanceTypeInfo) {
	if e := t.EbsInfo; e != nil {
		if e.EbsOptimizedInfo != nil && e.EbsOptimizedSupport == types.EbsOptimizedSupportDefault {
			f.EBSMbps = int(aws.ToInt32(e.EbsOptimizedInfo.MaximumBandwidthInMbps))
		}
		f.EBSVolumes = int(aws.ToInt32(e.MaximumEbsAttachments))
		f.SharedEBSSlots = e.AttachmentLimitType == types.AttachmentLimitTypeShared
	}
	if s := t.InstanceStorageInfo; s != nil && s.NvmeSupport != types.EphemeralNvmeSupportUnsupported {
		f.NVMeGB = int(aws.ToInt64(s.TotalSizeInGB))
	}
}

// addDevices fills in GPUs and accelerators. A type with several kinds of GPU
// has none named, since one label cannot.
func addDevices(f *catalog.Fact, t *types.InstanceTypeInfo) {
	if t.GpuInfo != nil && len(t.GpuInfo.Gpus) == 1 {
		g := t.GpuInfo.Gpus[0]
		f.GPUName, f.GPUManufacturer = kebab(aws.ToString(g.Name)), kebab(aws.ToString(g.Manufacturer))
		f.GPUCount = int(aws.ToInt32(g.Count))
		if g.MemoryInfo != nil {
			f.GPUMemoryMiB = int64(aws.ToInt32(g.MemoryInfo.SizeInMiB))
		}
	}
	switch {
	case t.NeuronInfo != nil:
		addNeuron(f, t.NeuronInfo.NeuronDevices)
	case t.InferenceAcceleratorInfo != nil && len(t.InferenceAcceleratorInfo.Accelerators) == 1:
		a := t.InferenceAcceleratorInfo.Accelerators[0]
		f.AcceleratorName, f.AcceleratorManufacturer = kebab(aws.ToString(a.Name)), kebab(aws.ToString(a.Manufacturer))
		f.AcceleratorCount = int(aws.ToInt32(a.Count))
	}
}

func addNeuron(f *catalog.Fact, devices []types.NeuronDeviceInfo) {
	for _, d := range devices {
		f.NeuronDevices += int(aws.ToInt32(d.Count))
	}
	if len(devices) == 0 {
		return
	}
	d := devices[0]
	if d.CoreInfo != nil {
		f.NeuronCores = int(aws.ToInt32(d.Count) * aws.ToInt32(d.CoreInfo.Count))
	}
	if len(devices) == 1 {
		f.AcceleratorName, f.AcceleratorManufacturer = kebab(aws.ToString(d.Name)), "aws"
		f.AcceleratorCount = f.NeuronDevices
	}
}

// kebab makes a label value of a name that EC2 writes for people.
func kebab(s string) string { return strings.ToLower(strings.ReplaceAll(s, " ", "-")) }

// market reads what the region sells and prices it. It adds the facts of older families.
func (s ec2Source) market(ctx context.Context, o options, list priceList, byName map[string]catalog.Fact) (catalog.Market, error) {
	m := catalog.Market{
		Region:  s.region,
		Offered: map[string][]int{}, OnDemand: map[string]quantity.Money{}, OnDemandIsEstimate: map[string]bool{}, Spot: map[string][]quantity.Money{},
	}
	var err error
	if m.Zones, err = s.zones(ctx); err != nil {
		return m, err
	}
	if err := s.addOfferings(ctx, &m, anyType); err != nil {
		return m, err
	}
	if err := o.older.addTo(ctx, &m, byName); err != nil {
		return m, err
	}
	m.Sources = []catalog.Source{{Group: "offerings", Date: o.ec2.Date, Text: o.ec2.Text + o.older.note(slices.Collect(maps.Keys(m.Offered)))}}
	if err := list.addOnDemand(ctx, &m); err != nil {
		return m, err
	}
	history, err := s.spotHistory(ctx, m, o.today)
	if err != nil {
		return m, err
	}
	if len(history) > 0 {
		m.Spot = history
		m.Sources = append(m.Sources, catalog.Source{Group: "spot", Date: o.ec2.Date, Text: o.ec2.Text})
		return m, nil
	}
	list.tables.addSpot(&m)
	return m, nil
}

func (s ec2Source) zones(ctx context.Context) ([]catalog.Zone, error) {
	out, err := s.client.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		return nil, fmt.Errorf("availability zones describe: %w", err)
	}
	var zones []catalog.Zone
	for _, z := range out.AvailabilityZones {
		if aws.ToString(z.ZoneType) == "availability-zone" {
			zones = append(zones, catalog.Zone{Name: aws.ToString(z.ZoneName), ID: aws.ToString(z.ZoneId)})
		}
	}
	slices.SortFunc(zones, func(a, b catalog.Zone) int { return strings.Compare(a.ID, b.ID) })
	return zones, nil
}

// addOfferings goes by zone IDs: names mean other places to other accounts.
func (s ec2Source) addOfferings(ctx context.Context, m *catalog.Market, wanted func(name string) bool) error {
	pages := ec2.NewDescribeInstanceTypeOfferingsPaginator(s.client, &ec2.DescribeInstanceTypeOfferingsInput{
		LocationType: types.LocationTypeAvailabilityZoneId,
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("instance type offerings describe: %w", err)
		}
		for _, offering := range page.InstanceTypeOfferings {
			at := slices.IndexFunc(m.Zones, func(z catalog.Zone) bool { return z.ID == aws.ToString(offering.Location) })
			if at >= 0 && wanted(string(offering.InstanceType)) {
				m.Offered[string(offering.InstanceType)] = append(m.Offered[string(offering.InstanceType)], at)
			}
		}
	}
	for _, at := range m.Offered {
		slices.Sort(at)
	}
	return nil
}
