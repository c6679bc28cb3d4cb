package embedded

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func TestBlob_HoldsTheCommittedFacts(t *testing.T) {
	files, err := filepath.Glob("facts/*.tsv")
	if err != nil || len(files) != len(Regions())+3 {
		t.Fatalf("%d facts files for %d regions, the types, the prices elsewhere and the volumes, %v: run go generate", len(files), len(Regions()), err)
	}
	for _, file := range files {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := unpack(strings.TrimSuffix(filepath.Base(file), ".tsv"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("the blob of %s differs: run go generate", file)
		}
	}
}

// AWS opens regions more often than the daemon is released.
func TestElsewhere_KnowsTypesAndVolumesAndSellsNothing(t *testing.T) {
	facts, m, err := Elsewhere("mx-central-1")
	if err != nil || len(facts) < 1000 || m.Region != "mx-central-1" || len(m.Offered) > 0 || m.Volumes.Hourly(catalog.Volume{Type: catalog.GP3, GiB: 100}) <= 0 {
		t.Errorf("%d facts, market %+v, %v", len(facts), m, err)
	}
	zone := catalog.Zone{Name: "mx-central-1a", ID: "mxc1-az1"}
	live := catalog.Live{Zones: map[string][]string{"m5.large": {zone.Name}}, OnDemand: map[string]quantity.Money{"m5.large": 1}}
	facts, m = live.Over(facts, m, []catalog.Zone{zone})
	if types := catalog.Build(facts, m, catalog.Settings{Zones: []catalog.Zone{zone}}); len(types) != 1 || !types[0].Offerings[0].Available {
		t.Errorf("with AWS's answers: %+v", types)
	}
}

func TestLoad_UnknownRegionNamesTheKnownOnes(t *testing.T) {
	_, _, err := Load("mars-north-1")
	if !errors.Is(err, ErrUnknownRegion) {
		t.Fatalf("err = %v", err)
	}
	for _, want := range append(Regions(), "mars-north-1") {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %s", err, want)
		}
	}
}

func TestLoad_HasTheFourRegionsAndSaysWhereFactsAreFrom(t *testing.T) {
	for _, region := range []string{"us-east-1", "us-west-2", "eu-west-1", "ap-northeast-2"} {
		if !slices.Contains(Regions(), region) {
			t.Errorf("no %s", region)
		}
	}
	for _, region := range Regions() {
		_, m, err := Load(region)
		if err != nil {
			t.Fatal(err)
		}
		var groups []string
		for _, s := range m.Sources {
			groups = append(groups, s.Group)
			if len(s.Date) != len("2006-01-02") || s.Text == "" {
				t.Errorf("%s: source %+v lacks a date or a text", region, s)
			}
		}
		want := []string{"instance types", "branch interfaces", "network bandwidth", "offerings", "on-demand", "spot", "volumes"}
		if !slices.Equal(groups, want) {
			t.Errorf("%s: sources of %v, want %v", region, groups, want)
		}
	}
}

func TestDecode_SameResultEachTime(t *testing.T) {
	first, err := decodeTypes()
	if err != nil {
		t.Fatal(err)
	}
	second, _ := decodeTypes()
	if !reflect.DeepEqual(first, second) {
		t.Error("types differ")
	}
	for _, region := range Regions() {
		a, err := decodeMarket(region)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := decodeMarket(region)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s differs", region)
		}
	}
}

func instanceTypes(t *testing.T, region string) ([]catalog.InstanceType, catalog.Market) {
	t.Helper()
	facts, m, err := Load(region)
	if err != nil {
		t.Fatal(err)
	}
	return catalog.Build(facts, m, catalog.Settings{Zones: m.Zones, MemoryOverheadPerMillion: catalog.DefaultMemoryOverheadPerMillion}), m
}

func TestBuild_EveryTypeOfEveryRegionIsUsable(t *testing.T) {
	for _, region := range Regions() {
		types, m := instanceTypes(t, region)
		if len(types) != len(m.Offered) || len(types) < 200 {
			t.Errorf("%s: built %d of %d types offered", region, len(types), len(m.Offered))
		}
		for _, it := range types {
			for _, key := range []string{label.Arch, label.OS, label.Region, label.InstanceType, catalog.LabelFamily, catalog.LabelSize, catalog.LabelCategory, catalog.LabelGeneration, catalog.LabelCPUManufacturer} {
				if v, ok := it.Labels.Get(key); !ok || v == "" {
					t.Errorf("%s %s has no label %s", region, it.Name, key)
				}
			}
			a := it.Allocatable
			if a.MilliCPU <= 0 || a.MemoryBytes <= 0 || a.EphemeralBytes <= 0 || a.PodSlots <= 0 {
				t.Errorf("%s %s: allocatable %v", region, it.Name, a)
			}
			if !a.Fits(it.Capacity) {
				t.Errorf("%s %s: allocatable %v exceeds capacity %v", region, it.Name, a, it.Capacity)
			}
			if it.EBSVolumes < 1 || it.EBSVolumes > 127 {
				t.Errorf("%s %s: %d EBS volumes", region, it.Name, it.EBSVolumes)
			}
			if len(it.Offerings) == 0 {
				t.Errorf("%s %s is offered nowhere", region, it.Name)
			}
		}
	}
}

// The monthly price of 100 GiB in dollars, for regions with prices of their own, and
// for one without.
func TestVolumes_HaveAPriceInEveryRegion(t *testing.T) {
	for _, region := range Regions() {
		_, m, err := Load(region)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{catalog.GP2, catalog.GP3, catalog.IO1, catalog.IO2, "st1", "sc1", "standard"} {
			each := m.Volumes.Hourly(catalog.Volume{Type: kind, GiB: 1000}) * 730 / 1000
			if each < 10_000_000 || each > 250_000_000 {
				t.Errorf("%s: a GiB of %s costs %s a month", region, kind, each.Dollars())
			}
		}
		if v := m.Volumes; v.Hourly(catalog.Volume{Type: catalog.GP3, GiB: 1, IOPS: 4000}) <= v.Hourly(catalog.Volume{Type: catalog.GP3, GiB: 1}) ||
			v.Hourly(catalog.Volume{Type: catalog.GP3, GiB: 1, Throughput: 200}) <= v.Hourly(catalog.Volume{Type: catalog.GP3, GiB: 1}) ||
			v.Hourly(catalog.Volume{Type: catalog.IO2, GiB: 1, IOPS: 100_000}) <= v.Hourly(catalog.Volume{Type: catalog.IO2, GiB: 1, IOPS: 64_000}) {
			t.Errorf("%s: performance costs nothing: %v", region, v)
		}
	}
	for region, want := range map[string]string{"us-east-1": "$8.0000", "eu-central-1": "$9.5200", "il-central-1": "$8.0000"} {
		_, m, err := Load(region)
		if err != nil {
			t.Fatal(err)
		}
		if got := (m.Volumes["gp3"] * 100).Dollars(); got != want {
			t.Errorf("%s: %s, want %s", region, got, want)
		}
	}
}

func TestPrices_SpotIsNeverDearerThanOnDemand(t *testing.T) {
	for _, region := range Regions() {
		_, m, err := Load(region)
		if err != nil {
			t.Fatal(err)
		}
		for name, prices := range m.Spot {
			for i, p := range prices {
				if p <= 0 || p > m.OnDemand[name] {
					t.Errorf("%s %s: spot %s in %s, on demand %s", region, name, p.Dollars(), m.Zones[m.Offered[name][i]].Name, m.OnDemand[name].Dollars())
				}
			}
		}
	}
}

// A misplaced decimal point, a wrong column or a bad estimate would make a
// larger instance cheaper than a smaller one of its family.
func TestPrices_RiseWithTheSizeWithinAFamily(t *testing.T) {
	for _, region := range Regions() {
		facts, m, err := Load(region)
		if err != nil {
			t.Fatal(err)
		}
		families := map[string][]catalog.Fact{}
		for _, f := range facts {
			if m.OnDemand[f.Name] > 0 && !f.BareMetal {
				families[f.Family] = append(families[f.Family], f)
			}
		}
		compared := 0
		for _, members := range families {
			for _, small := range members {
				for _, large := range members {
					if small.VCPU >= large.VCPU || small.MemoryMiB > large.MemoryMiB || small.GPUCount > large.GPUCount || small.NVMeGB > large.NVMeGB {
						continue
					}
					compared++
					if m.OnDemand[small.Name] > m.OnDemand[large.Name] {
						t.Errorf("%s: %s costs %s, %s costs %s", region, small.Name, m.OnDemand[small.Name].Dollars(), large.Name, m.OnDemand[large.Name].Dollars())
					}
				}
			}
		}
		if compared < 500 {
			t.Errorf("%s: compared %d pairs only", region, compared)
		}
	}
}

// EC2 does not list the older of these families any more. The labels are Karpenter's.
func TestBuild_OlderFamiliesHaveTheLabelsOfTheirGPUs(t *testing.T) {
	types, m := instanceTypes(t, "us-east-1")
	for name, want := range map[string][4]string{
		"p3.2xlarge": {"v100", "nvidia", "1", "16384"}, "p3.8xlarge": {"v100", "nvidia", "4", "16384"}, "p3.16xlarge": {"v100", "nvidia", "8", "16384"},
		"p3dn.24xlarge": {"v100", "nvidia", "8", "32768"}, "g4ad.xlarge": {"radeon-pro-v520", "amd", "1", "8192"},
		"dl1.24xlarge": {"gaudi-hl-205", "habana", "8", "32768"},
	} {
		i := slices.IndexFunc(types, func(it catalog.InstanceType) bool { return it.Name == name })
		if i < 0 {
			t.Errorf("no %s", name)
			continue
		}
		for n, key := range []string{catalog.LabelGPUName, catalog.LabelGPUManufacturer, catalog.LabelGPUCount, catalog.LabelGPUMemory} {
			if got, _ := types[i].Labels.Get(key); got != want[n] {
				t.Errorf("%s: label %s is %q, want %q", name, key, got, want[n])
			}
		}
		if m.OnDemand[name] == 0 || m.OnDemandIsEstimate[name] || len(m.Spot[name]) == 0 {
			t.Errorf("%s: on demand %s, spot %v", name, m.OnDemand[name].Dollars(), m.Spot[name])
		}
	}
}

// testdata/allocatable.tsv has a sample of types of every kind, with what a node
// can allocate: millicores, MiB of memory, MiB of disk, pods, and GPUs and
// accelerators together. The numbers were worked out apart from this code.
func TestBuild_AgreesWithAllocatableWorkedOutElsewhere(t *testing.T) {
	types, _ := instanceTypes(t, "us-east-1")
	data, err := os.ReadFile("testdata/allocatable.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) < 40 {
		t.Fatalf("a sample of %d lines only", len(lines))
	}
	for _, line := range lines {
		name, want, _ := strings.Cut(line, "\t")
		i := slices.IndexFunc(types, func(it catalog.InstanceType) bool { return it.Name == name })
		if i < 0 {
			t.Errorf("no %s", name)
			continue
		}
		a := types[i].Allocatable
		devices := a.Get("nvidia.com/gpu") + a.Get("amd.com/gpu") + a.Get("habana.ai/gaudi") + a.Get("aws.amazon.com/neuron") + a.Get("aws.amazon.com/neuroncore")
		got := fmt.Sprintf("%d\t%d\t%d\t%d\t%d", a.MilliCPU, a.MemoryBytes>>20, a.EphemeralBytes>>20, a.PodSlots, devices)
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for b.Loop() {
		if _, err := decodeTypes(); err != nil {
			b.Fatal(err)
		}
		if _, err := decodeMarket("us-east-1"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	facts, m, err := Load("us-east-1")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		catalog.Build(facts, m, catalog.Settings{Zones: m.Zones, MemoryOverheadPerMillion: catalog.DefaultMemoryOverheadPerMillion})
	}
}
