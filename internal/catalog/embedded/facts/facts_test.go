package facts

import (
	"reflect"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func TestTypes_ComeBackAsWritten(t *testing.T) {
	full := catalog.Fact{
		Name: "p4d.24xlarge", Arch: "amd64", VCPU: 96, MemoryMiB: 1179648, CPUManufacturer: "intel", ClockMHz: 3000, Hypervisor: "nitro",
		BareMetal: true, Burstable: true, CurrentGeneration: true, EncryptionInTransit: true, NestedVirtualization: true, SharedEBSSlots: true,
		ENIs: 15, IPv4PerENI: 50, BranchENIs: 7, NetworkMbps: 400000, EBSMbps: 19000, EBSVolumes: 27, EFAs: 4, NVMeGB: 8000,
		GPUName: "a100", GPUManufacturer: "nvidia", GPUCount: 8, GPUMemoryMiB: 40960,
		AcceleratorName: "x", AcceleratorManufacturer: "y", AcceleratorCount: 1, NeuronDevices: 2, NeuronCores: 3,
		UsageClasses: []string{"on-demand", "spot"}, NameParts: catalog.ParseName("p4d.24xlarge"),
	}
	for field, value := range reflect.ValueOf(full).Fields() {
		if value.IsZero() {
			t.Fatalf("the test leaves %s empty", field.Name)
		}
	}
	bare := catalog.Fact{Name: "t2.nano", NameParts: catalog.ParseName("t2.nano")}
	want := Types{Sources: []catalog.Source{{Group: "g", Date: "2026-01-02", Text: "a text"}}, Facts: []catalog.Fact{full, bare}}
	got, err := DecodeTypes(want.Encode())
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestMarket_ComesBackAsWritten(t *testing.T) {
	want := catalog.Market{
		Region:             "r",
		Zones:              []catalog.Zone{{Name: "ra", ID: "r-az2"}, {Name: "rb", ID: "r-az3"}},
		Sources:            []catalog.Source{{Group: "g", Date: "2026-01-02", Text: "a text"}},
		Offered:            map[string][]int{"m5.large": {0, 1}, "m5.xlarge": {1}, "u.x": {0}},
		OnDemand:           map[string]quantity.Money{"m5.large": 96_000_000, "m5.xlarge": 12_000_000_001},
		OnDemandIsEstimate: map[string]bool{"m5.xlarge": true},
		Spot:               map[string][]quantity.Money{"m5.large": {1, 30_000_000}, "m5.xlarge": {0}},
		SpotIsEstimate:     true,
	}
	got, err := DecodeMarket("r", EncodeMarket(want))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestDecode_NamesTheLineAtFault(t *testing.T) {
	market := "zone\tz-az1\tza\n"
	for text, want := range map[string]string{
		market + "m5.large\ta\n":                "line 2 (m5.large): has 2 cells",
		market + "m5.large\tb\t1\t1\n":          "no zone is lettered",
		market + "m5.large\ta\tcheap\t1\n":      "on-demand",
		market + "m5.large\ta\t1\t1 2\n":        "2 spot prices for 1 zones",
		market + "m5.large\ta\t1\tdear\n":       "spot",
		market + "m5.large\tA\t~1\t1\n":         "no zone is lettered",
		market + "\nm5.large\ta\t1\t0.5\textra": "line 2 ()",
	} {
		if _, err := DecodeMarket("r", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	line := string(Types{Facts: []catalog.Fact{{Name: "m5.large", VCPU: 2, Burstable: true}}}.Encode())
	for from, to := range map[string]string{"\t2\t": "\ttwo\t", "burstable": "bursting", "m5.large\t": "m5.large "} {
		if _, err := DecodeTypes([]byte(strings.Replace(line, from, to, 1))); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: %v", to, err)
		}
	}
}

func TestVolumes_WhatARegionLacksCostsAsInTheReference(t *testing.T) {
	v, err := DecodeVolumes([]byte("source\tvolumes\t2026-01-02\ta text\nregion\tgp3\tst1\nr1\t0.08\t0.045\nr2\t0.1\t-\n"))
	if err != nil || len(v.Sources) != 1 {
		t.Fatalf("%+v, %v", v, err)
	}
	for region, want := range map[string]catalog.VolumePrices{
		"r1": {"gp3": 80_000_000, "st1": 45_000_000}, "r2": {"gp3": 100_000_000, "st1": 45_000_000}, "r3": {"gp3": 80_000_000, "st1": 45_000_000},
	} {
		if got := v.In(region, "r1"); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", region, got, want)
		}
	}
	for text, want := range map[string]string{"region\tgp3\nr1\n": "line 2 (r1): has 1 cells", "region\tgp3\nr1\tcheap\n": "gp3"} {
		if _, err := DecodeVolumes([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestPrices_ComeBackAsWritten(t *testing.T) {
	want := Prices{
		Source: "a text", Dates: map[string]string{"r1": "2026-01-02", "r2": "2025-01-02"},
		ByType: map[string]map[string]quantity.Money{"r1": {"m5.large": 96_000_000}, "r2": {"m5.large": 700_000_000, "m5.xlarge": 1_400_000_000}},
	}
	text := EncodePrices(want)
	got, err := DecodePrices(text)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	for from, to := range map[string]string{"0.096": "cheap", "m5.xlarge\t-\t": "m5.xlarge\t", "region\tr1": "regio\tr1"} {
		if _, err := DecodePrices([]byte(strings.Replace(string(text), from, to, 1))); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%q: %v", to, err)
		}
	}
	if prices, source, known := got.In("r2"); !known || len(prices) != 2 || source != (catalog.Source{Group: "on-demand", Date: "2025-01-02", Text: "a text"}) {
		t.Errorf("r2: %v, %+v", prices, source)
	}
}
