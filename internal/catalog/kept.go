package catalog

import "github.com/karpenterd/terraform-provider-karpenter/internal/quantity"

// Kept is what a kubelet is told to keep from pods, in place of what it keeps by itself.
// nil is what AL2023 keeps. The units are millicores and bytes.
type Kept struct {
	KubeMilliCPU, KubeMemory, KubeDisk       *int64
	SystemMilliCPU, SystemMemory, SystemDisk int64 // AL2023 keeps nothing for the system
	// EvictMemory and EvictDisk are hard eviction thresholds.
	EvictMemory, EvictDisk *Threshold
}

// Threshold is an amount, or a part of what the node has.
type Threshold struct {
	Bytes          int64
	PerTenThousand int64 // where Bytes is 0
}

func (t Threshold) of(capacity int64) int64 {
	if t.PerTenThousand > 0 {
		return ceilDiv(capacity*t.PerTenThousand, 10_000)
	}
	return t.Bytes
}

// allocatable is what pods can use of the capacity, as the kubelet counts it: never less
// than nothing.
func (f Fact) allocatable(capacity quantity.Resources, s Settings) quantity.Resources {
	k, pods := s.Kept, int64(f.eniPods(0))
	if s.KeepsByPods {
		pods = capacity.PodSlots
	}
	reserved := f.kubeReserved(pods)
	for _, x := range []struct {
		told *int64
		into *int64
	}{{k.KubeMilliCPU, &reserved.MilliCPU}, {k.KubeMemory, &reserved.MemoryBytes}, {k.KubeDisk, &reserved.EphemeralBytes}} {
		if x.told != nil {
			*x.into = *x.told
		}
	}
	system := quantity.Resources{MilliCPU: k.SystemMilliCPU, MemoryBytes: k.SystemMemory, EphemeralBytes: k.SystemDisk}
	evicted := evictionReserved(capacity.EphemeralBytes)
	if k.EvictMemory != nil {
		evicted.MemoryBytes = k.EvictMemory.of(capacity.MemoryBytes)
	}
	if k.EvictDisk != nil {
		evicted.EphemeralBytes = k.EvictDisk.of(capacity.EphemeralBytes)
	}
	out := capacity.Sub(reserved).Sub(system).Sub(evicted)
	out.MilliCPU, out.MemoryBytes, out.EphemeralBytes = max(0, out.MilliCPU), max(0, out.MemoryBytes), max(0, out.EphemeralBytes)
	return out
}
