package ec2sim

import "testing"

func TestEmbeddedTypes_OfferWhatTheRegionHas(t *testing.T) {
	source, err := EmbeddedTypes("us-west-2")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]Type{}
	for _, typ := range source.Types {
		found[typ.Name] = typ
		if typ.MemoryMiB == 0 || typ.VCPU == 0 || typ.ENIs == 0 || len(typ.Zones) == 0 || len(typ.Spot) != 0 && len(typ.Spot) != len(typ.Zones) {
			t.Errorf("type %+v", typ)
		}
	}
	m5, g5, inf := found["m5.large"], found["g5.xlarge"], found["inf2.xlarge"]
	if m5.arch() != "x86_64" || m5.CPUManufacturer != "intel" || m5.OnDemand == 0 || m5.Spot["us-west-2a"] == 0 || m5.Spot["us-west-2a"] >= m5.OnDemand {
		t.Errorf("m5.large is %+v", m5)
	}
	var service Service
	shown, chips := service.typeItem(&g5), service.typeItem(&inf)
	if gpus := shown.GPUs.GPUs; len(gpus) != 1 || gpus[0].Manufacturer != "NVIDIA" || gpus[0].Name != "A10G" || len(chips.Neuron.Devices) != 1 || chips.Neuron.Devices[0].Cores.Count != 2 {
		t.Errorf("g5.xlarge has %+v, inf2.xlarge %+v", gpus, chips.Neuron)
	}
	if found["m6g.large"].Arch != "arm64" || len(source.Zones) < 3 {
		t.Errorf("m6g.large is %+v in zones %v", found["m6g.large"], source.Zones)
	}
	if _, err := EmbeddedTypes("mars-north-1"); err == nil {
		t.Error("an unknown region is offered")
	}
}
