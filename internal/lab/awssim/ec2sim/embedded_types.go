package ec2sim

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// EmbeddedTypes is the type source that the product's embedded catalogue
// makes: every type that the region offers. It fails for a region that the
// catalogue does not have.
func EmbeddedTypes(region string) (TypeSource, error) {
	facts, market, err := embedded.Load(region)
	if err != nil {
		return nil, fmt.Errorf("instance types load: %w", err)
	}
	return fromCatalog(facts, market), nil
}

type catalogTypes struct {
	zones []Zone
	types []Type
}

// Zones lists the zones of the region.
func (c catalogTypes) Zones() []Zone { return c.zones }

// Types lists the types that the region offers.
func (c catalogTypes) Types() []Type { return c.types }

func fromCatalog(facts []catalog.Fact, market catalog.Market) catalogTypes {
	var out catalogTypes
	for _, z := range market.Zones {
		out.zones = append(out.zones, Zone{Name: z.Name, ID: z.ID})
	}
	for _, fact := range facts {
		offered := market.Offered[fact.Name]
		if len(offered) == 0 {
			continue
		}
		t := fromFact(fact)
		t.OnDemand, t.Spot = market.OnDemand[fact.Name], map[string]quantity.Money{}
		for n, zone := range offered {
			name := market.Zones[zone].Name
			t.Zones = append(t.Zones, name)
			if prices := market.Spot[fact.Name]; n < len(prices) {
				t.Spot[name] = prices[n]
			}
		}
		out.types = append(out.types, t)
	}
	return out
}

// fromFact spells a fact as EC2 does. The catalogue does not know the number
// of network cards: types with several EFAs have one card for each.
func fromFact(f catalog.Fact) Type {
	t := Type{
		Name: f.Name, Arch: f.Arch, VCPU: f.VCPU, ThreadsPerCore: 1, MemoryMiB: f.MemoryMiB, Manufacturer: maker(f.CPUManufacturer),
		ClockMHz: f.ClockMHz, Hypervisor: f.Hypervisor, BareMetal: f.BareMetal, Burstable: f.Burstable, CurrentGeneration: f.CurrentGeneration,
		ENIs: f.ENIs, IPv4PerENI: f.IPv4PerENI, Cards: max(f.EFAs, 1), NetworkMbps: f.NetworkMbps, EBSMbps: f.EBSMbps, EFAs: f.EFAs,
		EBSVolumes: f.EBSVolumes, SharedEBSSlots: f.SharedEBSSlots,
		NVMeGB: f.NVMeGB, EncryptionInTransit: f.EncryptionInTransit, NestedVirtualization: f.NestedVirtualization, UsageClasses: f.UsageClasses,
	}
	if f.Arch == "amd64" {
		t.Arch = "x86_64"
		if f.VCPU > 1 {
			t.ThreadsPerCore = 2
		}
	}
	if f.GPUName != "" {
		t.GPUs = []Device{{Name: spell(f.GPUName), Manufacturer: maker(f.GPUManufacturer), Count: f.GPUCount, MemoryMiB: f.GPUMemoryMiB}}
	}
	switch {
	case f.NeuronDevices > 0:
		t.NeuronDevices = []Device{{Name: spell(cmp.Or(f.AcceleratorName, "neuron")), Count: f.NeuronDevices, Cores: f.NeuronCores / f.NeuronDevices}}
	case f.AcceleratorName != "":
		t.InferenceChips = []Device{{Name: spell(f.AcceleratorName), Manufacturer: maker(f.AcceleratorManufacturer), Count: f.AcceleratorCount}}
	}
	return t
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
