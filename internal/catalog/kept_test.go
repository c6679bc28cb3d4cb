package catalog

import "testing"

// The numbers are of a machine with 2 vCPUs, 8000 MiB and 3 network interfaces.
func TestAllocatable_IsWhatTheKubeletLeaves(t *testing.T) {
	f := Fact{Name: "x", Arch: "amd64", VCPU: 2, MemoryMiB: 8000, ENIs: 3, IPv4PerENI: 10}
	n := func(x int64) *int64 { return &x }
	for name, c := range map[string]struct {
		kept              Kept
		cpu, memory, disk int64 // millicores, MiB, MiB
	}{
		"by itself":          {Kept{}, 2000 - 70, 8000 - (11*29 + 255) - 100, 20480 - 1024 - 2048},
		"for itself":         {Kept{KubeMilliCPU: n(100), KubeMemory: n(gi), KubeDisk: n(0)}, 1900, 8000 - 1024 - 100, 20480 - 2048},
		"for the system":     {Kept{SystemMilliCPU: 200, SystemMemory: gi, SystemDisk: gi}, 1930 - 200, 7326 - 1024, 17408 - 1024},
		"by an amount":       {Kept{EvictMemory: &Threshold{Bytes: gi}, EvictDisk: &Threshold{Bytes: gi}}, 1930, 8000 - (11*29 + 255) - 1024, 20480 - 2048},
		"by a part":          {Kept{EvictMemory: &Threshold{PerTenThousand: 550}, EvictDisk: &Threshold{PerTenThousand: 2000}}, 1930, 8000 - (11*29 + 255) - 440, 20480 - 1024 - 4096},
		"more than there is": {Kept{KubeMilliCPU: n(9000), SystemMemory: 9 * gi, EvictDisk: &Threshold{Bytes: 99 * gi}}, 0, 0, 0},
	} {
		got := f.allocatable(f.capacity(Settings{RootVolumeBytes: 20 * gi}), Settings{Kept: c.kept})
		if got.MilliCPU != c.cpu || got.MemoryBytes != c.memory*mi || got.EphemeralBytes != c.disk*mi || got.PodSlots != 29 {
			t.Errorf("%s: %d millicores, %d MiB, %d MiB of disk, want %d, %d, %d", name, got.MilliCPU, got.MemoryBytes/mi, got.EphemeralBytes/mi, c.cpu, c.memory, c.disk)
		}
	}
}
