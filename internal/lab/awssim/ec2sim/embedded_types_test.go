package ec2sim

import "testing"

func TestEmbeddedTypes_OfferWhatTheRegionHas(t *testing.T) {
	source, err := EmbeddedTypes("us-west-2")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]Type{}
	for _, typ := range source.Types() {
		found[typ.Name] = typ
		if typ.MemoryMiB == 0 || typ.VCPU == 0 || typ.ENIs == 0 || len(typ.Zones) == 0 || len(typ.Spot) != 0 && len(typ.Spot) != len(typ.Zones) {
			t.Errorf("type %+v", typ)
		}
	}
	m5, g5, inf := found["m5.large"], found["g5.xlarge"], found["inf2.xlarge"]
	if m5.Arch != "x86_64" || m5.Manufacturer != "Intel" || m5.OnDemand == 0 || m5.Spot["us-west-2a"] == 0 || m5.Spot["us-west-2a"] >= m5.OnDemand {
		t.Errorf("m5.large is %+v", m5)
	}
	if len(g5.GPUs) != 1 || g5.GPUs[0].Manufacturer != "NVIDIA" || g5.GPUs[0].Name != "A10G" || len(inf.NeuronDevices) != 1 || inf.NeuronDevices[0].Cores != 2 {
		t.Errorf("g5.xlarge has %+v, inf2.xlarge %+v", g5.GPUs, inf.NeuronDevices)
	}
	if found["m6g.large"].Arch != "arm64" || len(source.Zones()) < 3 {
		t.Errorf("m6g.large is %+v in zones %v", found["m6g.large"], source.Zones())
	}
	if _, err := EmbeddedTypes("mars-north-1"); err == nil {
		t.Error("an unknown region is offered")
	}
}
