package translate_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

func TestClass_KubeletSettingsLimitThePodsOfANode(t *testing.T) {
	zone := catalog.Zone{Name: "us-west-2a", ID: "usw2-az1"}
	facts := []catalog.Fact{{Name: "m5.large", Arch: "amd64", VCPU: 2, MemoryMiB: 8192, ENIs: 3, IPv4PerENI: 10, UsageClasses: []string{label.OnDemand}}}
	market := catalog.Market{Zones: []catalog.Zone{zone}, Offered: map[string][]int{"m5.large": {0}}, OnDemand: map[string]quantity.Money{"m5.large": 1}}
	for name, c := range map[string]struct {
		kubelet *awsv1.KubeletConfiguration
		want    int64
	}{
		"none":                   {nil, 29},
		"maxPods":                {&awsv1.KubeletConfiguration{MaxPods: awsv1.Pods(110)}, 110},
		"podsPerCore":            {&awsv1.KubeletConfiguration{PodsPerCore: ptr[int32](5)}, 10},
		"podsPerCore 0":          {&awsv1.KubeletConfiguration{PodsPerCore: ptr[int32](0)}, 29},
		"the smaller of both":    {&awsv1.KubeletConfiguration{MaxPods: awsv1.Pods(110), PodsPerCore: ptr[int32](50)}, 100},
		"the smaller, the other": {&awsv1.KubeletConfiguration{MaxPods: awsv1.Pods(8), PodsPerCore: ptr[int32](50)}, 8},
	} {
		class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: awsv1.EC2NodeClassSpec{Kubelet: c.kubelet}}
		class.Status.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: zone.Name, ZoneID: zone.ID}}
		class.Status.AMIs = []awsv1.AMI{{ID: "ami-1"}}
		class.Status.Conditions = []v1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}}
		got := translate.Class(class, facts, market, nil, catalog.DefaultOverhead())
		if len(got.Types) != 1 {
			t.Fatalf("%s: class %+v", name, got)
		}
		if pods := got.Types[0].Allocatable.PodSlots; pods != c.want {
			t.Errorf("%s: %d pods, want %d", name, pods, c.want)
		}
	}
}

func TestClass_WhatTheKubeletKeepsIsNotForPods(t *testing.T) {
	zone := catalog.Zone{Name: "us-west-2a", ID: "usw2-az1"}
	facts := []catalog.Fact{{Name: "m5.large", Arch: "amd64", VCPU: 2, MemoryMiB: 8192, ENIs: 3, IPv4PerENI: 10, UsageClasses: []string{label.OnDemand}}}
	market := catalog.Market{Zones: []catalog.Zone{zone}, Offered: map[string][]int{"m5.large": {0}}, OnDemand: map[string]quantity.Money{"m5.large": 1}}
	left := func(k *awsv1.KubeletConfiguration) (quantity.Resources, quantity.Resources) {
		class := &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{Kubelet: k}}
		class.Status.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: zone.Name, ZoneID: zone.ID}}
		class.Status.AMIs = []awsv1.AMI{{ID: "ami-1"}}
		class.Status.Conditions = []v1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}}
		got := translate.Class(class, facts, market, nil, catalog.DefaultOverhead()).Types[0]
		return got.Capacity, got.Allocatable
	}
	const mi = 1 << 20
	capacity, got := left(&awsv1.KubeletConfiguration{
		KubeReserved:   map[string]awsv1.ReservedQuantity{"cpu": "250m", "memory": "1Gi", "ephemeral-storage": "2Gi", "pid": "100"},
		SystemReserved: map[string]awsv1.ReservedQuantity{"cpu": "0.1", "memory": "512Mi"},
		EvictionHard:   map[string]awsv1.EvictionThreshold{"memory.available": "200Mi", "nodefs.available": "25%"},
		EvictionSoft:   map[string]awsv1.EvictionThreshold{"memory.available": "4Gi"}, // keeps nothing
	})
	if kept := capacity.Sub(got); kept.MilliCPU != 350 || kept.MemoryBytes != (1024+512+200)*mi || kept.EphemeralBytes != (2048+20480/4)*mi || kept.PodSlots != 0 {
		t.Errorf("kept %+v", kept)
	}
	capacity, got = left(&awsv1.KubeletConfiguration{KubeReserved: map[string]awsv1.ReservedQuantity{"memory": "1Gi"}})
	if kept := capacity.Sub(got); kept.MilliCPU != 70 || kept.MemoryBytes != (1024+100)*mi {
		t.Errorf("with memory alone: kept %+v", kept)
	}
}

func TestClass_TypesAttachTheEBSVolumesThatTheLaunchLeaves(t *testing.T) {
	zone := catalog.Zone{Name: "us-west-2a", ID: "usw2-az1"}
	facts := []catalog.Fact{{Name: "m7i.large", Arch: "amd64", VCPU: 2, MemoryMiB: 8192, ENIs: 3, IPv4PerENI: 10, EBSVolumes: 32, UsageClasses: []string{label.OnDemand}}}
	market := catalog.Market{Zones: []catalog.Zone{zone}, Offered: map[string][]int{"m7i.large": {0}}, OnDemand: map[string]quantity.Money{"m7i.large": 1}}
	disk := func(device string) awsv1.BlockDeviceMapping {
		return awsv1.BlockDeviceMapping{DeviceName: &device, EBS: &awsv1.BlockDevice{}}
	}
	for name, c := range map[string]struct {
		mappings []awsv1.BlockDeviceMapping
		want     int64
	}{
		"nothing mapped":                 {nil, 31},
		"the root volume":                {[]awsv1.BlockDeviceMapping{disk("/dev/xvda")}, 31},
		"two beside the root volume":     {[]awsv1.BlockDeviceMapping{disk("/dev/xvdb"), disk("/dev/xvda"), disk("/dev/xvdc")}, 29},
		"one, and the root from the AMI": {[]awsv1.BlockDeviceMapping{disk("/dev/xvdb")}, 30},
	} {
		class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: awsv1.EC2NodeClassSpec{BlockDeviceMappings: c.mappings}}
		class.Status.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: zone.Name, ZoneID: zone.ID}}
		class.Status.AMIs = []awsv1.AMI{{ID: "ami-1"}}
		class.Status.Conditions = []v1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}}
		got := translate.Class(class, facts, market, nil, catalog.DefaultOverhead())
		if len(got.Types) != 1 || got.Types[0].Allocatable.Get(cluster.AttachSlots(translate.EBSDriver)) != c.want {
			t.Errorf("%s: %+v, want %d volumes", name, got.Types, c.want)
		}
	}
}

// Worked by hand: dollars a month over 730 hours.
func TestClass_HasWhatANodeCostsBesideItsInstance(t *testing.T) {
	const gp3, gp2, perIOPS, perMiB = 80_000_000, 100_000_000, 5_000_000, 40_000_000
	market := catalog.Market{Volumes: catalog.VolumePrices{"gp3": gp3, "gp3-iops": perIOPS, "gp3-throughput": perMiB, "gp2": gp2}}
	disk := func(device string, size string, with func(*awsv1.BlockDevice)) awsv1.BlockDeviceMapping {
		m := awsv1.BlockDeviceMapping{DeviceName: &device, EBS: &awsv1.BlockDevice{VolumeSize: resource.MustParse(size)}}
		with(m.EBS)
		return m
	}
	plain := func(*awsv1.BlockDevice) {}
	root := quantity.Money(20 * gp3 / 730) // of the image
	for name, c := range map[string]struct {
		mappings         []awsv1.BlockDeviceMapping
		public           *bool
		subnets          []bool // whether they give public addresses
		volumes, address quantity.Money
	}{
		"nothing said":                 {volumes: root},
		"a public address":             {public: ptr(true), volumes: root, address: 5_000_000},
		"no public address":            {public: ptr(false), volumes: root},
		"public subnets":               {subnets: []bool{true, true}, volumes: root, address: 5_000_000},
		"some public subnets":          {subnets: []bool{true, false}, volumes: root},
		"no address in public subnets": {public: ptr(false), subnets: []bool{true}, volumes: root},
		"an address in private ones":   {public: ptr(true), subnets: []bool{false}, volumes: root, address: 5_000_000},
		"the root volume":              {mappings: []awsv1.BlockDeviceMapping{disk("/dev/xvda", "500Gi", plain)}, volumes: 500 * gp3 / 730},
		"a size that is rounded up":    {mappings: []awsv1.BlockDeviceMapping{disk("/dev/xvda", "100G", plain)}, volumes: 94 * gp3 / 730},
		"one beside the image's root":  {mappings: []awsv1.BlockDeviceMapping{disk("/dev/xvdb", "100Gi", plain)}, volumes: root + 100*gp2/730},
		"a root volume of a gp2 class": {mappings: []awsv1.BlockDeviceMapping{disk("/dev/xvda", "10Gi", func(b *awsv1.BlockDevice) { b.VolumeType = ptr("gp2") })}, volumes: 10 * gp2 / 730},
		"performance that is provisioned": {mappings: []awsv1.BlockDeviceMapping{disk("/dev/xvda", "10Gi", func(b *awsv1.BlockDevice) {
			b.IOPS, b.Throughput = ptr[int64](4000), ptr[int64](200)
		})}, volumes: (10*gp3 + 1000*perIOPS + 75*perMiB) / 730},
	} {
		class := &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{BlockDeviceMappings: c.mappings, AssociatePublicIPAddress: c.public}}
		class.Status.Conditions = []v1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}}
		for _, public := range c.subnets {
			class.Status.Subnets = append(class.Status.Subnets, awsv1.Subnet{ID: "subnet", Zone: "a", PublicIPs: public})
		}
		if got := translate.Class(class, nil, market, nil, catalog.DefaultOverhead()); got.Volumes != c.volumes || got.Address != c.address {
			t.Errorf("%s: volumes %d and address %d, want %d and %d", name, got.Volumes, got.Address, c.volumes, c.address)
		}
	}
}

// The numbers are those of an m5.large: 3 interfaces of 10 addresses make 29 pods.
func TestClass_HasWhatItsImageFamilyKeepsAndMaps(t *testing.T) {
	const mi, gi = int64(1) << 20, int64(1) << 30
	zone := catalog.Zone{Name: "us-west-2a", ID: "usw2-az1"}
	facts := []catalog.Fact{
		{Name: "a1.large", NameParts: catalog.ParseName("a1.large"), Arch: "arm64", VCPU: 2, MemoryMiB: 4096, ENIs: 3, IPv4PerENI: 10, UsageClasses: []string{label.OnDemand}},
		{Name: "m5.large", NameParts: catalog.ParseName("m5.large"), Arch: "amd64", VCPU: 2, MemoryMiB: 8192, ENIs: 3, IPv4PerENI: 10, UsageClasses: []string{label.OnDemand}},
	}
	market := catalog.Market{
		Zones: []catalog.Zone{zone}, Offered: map[string][]int{"a1.large": {0}, "m5.large": {0}},
		OnDemand: map[string]quantity.Money{"a1.large": 1, "m5.large": 1}, Volumes: catalog.VolumePrices{"gp3": 730, "gp2": 1460},
	}
	disk := func(device, size string) awsv1.BlockDeviceMapping {
		return awsv1.BlockDeviceMapping{DeviceName: &device, EBS: &awsv1.BlockDevice{VolumeSize: resource.MustParse(size)}}
	}
	snapshot := disk("/dev/xvdb", "0")
	snapshot.EBS.SnapshotID = ptr("snap-1")
	whole := func(m awsv1.BlockDeviceMapping) awsv1.BlockDeviceMapping { m.RootVolume = true; return m }
	for name, c := range map[string]struct {
		family        string
		kubelet       *awsv1.KubeletConfiguration
		mappings      []awsv1.BlockDeviceMapping
		pods          int64
		kept          int64 // memory
		disk          int64 // for pods
		volumes       int64 // what they cost
		firstGraviton bool
	}{
		"AL2023":                           {family: "AL2023", pods: 29, kept: (11*29 + 255 + 100) * mi, disk: 20 * gi, volumes: 20},
		"AL2023 with fewer pods":           {family: "AL2023", kubelet: &awsv1.KubeletConfiguration{MaxPods: awsv1.Pods(8)}, pods: 8, kept: (11*29 + 255 + 100) * mi, disk: 20 * gi, volumes: 20},
		"AL2":                              {family: "AL2", pods: 29, kept: (11*29 + 255 + 100) * mi, disk: 20 * gi, volumes: 20, firstGraviton: true},
		"Bottlerocket":                     {family: "Bottlerocket", pods: 29, kept: (11*29 + 255 + 100) * mi, disk: 20 * gi, volumes: 24, firstGraviton: true},
		"Bottlerocket with fewer pods":     {family: "Bottlerocket", kubelet: &awsv1.KubeletConfiguration{MaxPods: awsv1.Pods(8), PodsPerCore: ptr[int32](1)}, pods: 8, kept: (11*8 + 255 + 100) * mi, disk: 20 * gi, volumes: 24, firstGraviton: true},
		"Bottlerocket with a larger disk":  {family: "Bottlerocket", mappings: []awsv1.BlockDeviceMapping{disk("/dev/xvda", "5Gi"), disk("/dev/xvdb", "100Gi")}, pods: 29, kept: (11*29 + 255 + 100) * mi, disk: 100 * gi, volumes: 105, firstGraviton: true},
		"Bottlerocket of a snapshot":       {family: "Bottlerocket", mappings: []awsv1.BlockDeviceMapping{snapshot}, pods: 29, kept: (11*29 + 255 + 100) * mi, disk: 20 * gi, volumes: 4, firstGraviton: true},
		"Custom":                           {family: "Custom", pods: 29, kept: (11*29 + 255 + 100) * mi, disk: 20 * gi, volumes: 20, firstGraviton: true},
		"Custom has its pods on the last":  {family: "Custom", mappings: []awsv1.BlockDeviceMapping{disk("/dev/sda1", "8Gi"), disk("/dev/sdb", "50Gi")}, pods: 29, kept: (11*29 + 255 + 100) * mi, disk: 50 * gi, volumes: 116, firstGraviton: true},
		"the marked one counts everywhere": {family: "AL2023", mappings: []awsv1.BlockDeviceMapping{disk("/dev/xvda", "8Gi"), whole(disk("/dev/sdb", "50Gi"))}, pods: 29, kept: (11*29 + 255 + 100) * mi, disk: 50 * gi, volumes: 108},
	} {
		class := &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{AMIFamily: c.family, Kubelet: c.kubelet, BlockDeviceMappings: c.mappings}}
		class.Status.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: zone.Name, ZoneID: zone.ID}}
		class.Status.AMIs = []awsv1.AMI{{ID: "ami-1"}}
		class.Status.Conditions = []v1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}}
		got := translate.Class(class, facts, market, nil, catalog.DefaultOverhead())
		a1, m5 := got.Types[0], got.Types[1]
		if kept := m5.Capacity.MemoryBytes - m5.Allocatable.MemoryBytes; m5.Capacity.PodSlots != c.pods || kept != c.kept || m5.Capacity.EphemeralBytes != c.disk {
			t.Errorf("%s: %d pods, %d MiB kept, %d GiB of disk, want %d, %d and %d", name, m5.Capacity.PodSlots, kept/mi, m5.Capacity.EphemeralBytes/gi, c.pods, c.kept/mi, c.disk/gi)
		}
		if int64(got.Volumes) != c.volumes || a1.Offerings[0].Available != c.firstGraviton {
			t.Errorf("%s: volumes cost %d, a1 is for sale: %v, want %d and %v", name, got.Volumes, a1.Offerings[0].Available, c.volumes, c.firstGraviton)
		}
	}
}

func TestClass_HasTheOverheadOfTheDaemonsOptions(t *testing.T) {
	const mi = int64(1) << 20
	zone := catalog.Zone{Name: "us-west-2a", ID: "usw2-az1"}
	facts := []catalog.Fact{{Name: "m5.large", Arch: "amd64", VCPU: 2, MemoryMiB: 8192, ENIs: 3, IPv4PerENI: 10, UsageClasses: []string{label.OnDemand}}}
	market := catalog.Market{Zones: []catalog.Zone{zone}, Offered: map[string][]int{"m5.large": {0}}, OnDemand: map[string]quantity.Money{"m5.large": 1}}
	class := &awsv1.EC2NodeClass{}
	class.Status.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: zone.Name, ZoneID: zone.ID}}
	class.Status.AMIs = []awsv1.AMI{{ID: "ami-1"}}
	class.Status.Conditions = []v1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}}
	for overhead, want := range map[catalog.Overhead]quantity.Resources{
		catalog.DefaultOverhead():                    {MemoryBytes: 7577 * mi, PodSlots: 29},
		{MemoryPerMillion: 30_000}:                   {MemoryBytes: 7946 * mi, PodSlots: 29},
		{ReservedENIs: 1}:                            {MemoryBytes: 8192 * mi, PodSlots: 20},
		{MemoryPerMillion: 500_000, ReservedENIs: 2}: {MemoryBytes: 4096 * mi, PodSlots: 11},
	} {
		got := translate.Class(class, facts, market, nil, overhead).Types[0].Capacity
		if got.MemoryBytes != want.MemoryBytes || got.PodSlots != want.PodSlots {
			t.Errorf("%+v: %d MiB and %d pods, want %d and %d", overhead, got.MemoryBytes/mi, got.PodSlots, want.MemoryBytes/mi, want.PodSlots)
		}
	}
}

func ptr[T any](x T) *T { return &x }
