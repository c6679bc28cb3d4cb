package machine

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const mib = int64(1) << 20

// Hardware is what a machine finds when it looks at itself.
type Hardware struct {
	Arch             string // amd64 or arm64
	VCPU             int64
	MemoryBytes      int64 // what the operating system really has
	ENIs, IPv4PerENI int64 // of the default network card
	Devices          map[corev1.ResourceName]int64
}

// maxPods is nodeadm's default: an address for every pod but the interfaces'
// own, and two pods on the host's network.
func (h Hardware) maxPods() int64 { return h.ENIs*(h.IPv4PerENI-1) + 2 }

// reservedCPU is nodeadm's default kube-reserved processor time, in
// millicores: 6 % of the first core, 1 % of the second, 0.5 % of the next two,
// 0.25 % of the rest.
func (h Hardware) reservedCPU() int64 {
	total, reserved := h.VCPU*1000, int64(0)
	for _, band := range []struct{ from, to, perTenThousand int64 }{
		{0, 1000, 600}, {1000, 2000, 100}, {2000, 4000, 50}, {4000, total, 25},
	} {
		if total > band.from {
			reserved += (min(total, band.to) - band.from) * band.perTenThousand / 10000
		}
	}
	return reserved
}

// resources derives a node's capacity and allocatable as the kubelet does from
// the defaults of nodeadm or of Bottlerocket, and the kubelet configuration over them.
func resources(h Hardware, diskBytes int64, c kubeletConfig, bottlerocket bool) (capacity, allocatable corev1.ResourceList, err error) {
	pods := h.maxPods()
	if c.MaxPods != nil {
		pods = *c.MaxPods
	}
	if c.PodsPerCore != nil && *c.PodsPerCore > 0 {
		pods = min(pods, *c.PodsPerCore*h.VCPU)
	}
	capacity = corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(h.VCPU, resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(h.MemoryBytes/1024*1024, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(diskBytes/1024*1024, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(pods, resource.DecimalSI),
	}
	// nodeadm counts the pods that the interfaces allow, whatever maxPods says; Bottlerocket
	// counts those that the node may have.
	counted := h.maxPods()
	if bottlerocket {
		counted = pods
	}
	reserved := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewMilliQuantity(h.reservedCPU(), resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity((11*counted+255)*mib, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(1<<30, resource.BinarySI),
	}
	if err := overlay(reserved, c.KubeReserved, "kubeReserved"); err != nil {
		return nil, nil, err
	}
	system := corev1.ResourceList{}
	if err := overlay(system, c.SystemReserved, "systemReserved"); err != nil {
		return nil, nil, err
	}
	eviction, err := evictions(capacity, c.EvictionHard)
	if err != nil {
		return nil, nil, err
	}
	allocatable = capacity.DeepCopy()
	for name, left := range allocatable {
		for _, taken := range []corev1.ResourceList{reserved, system, eviction} {
			if q, ok := taken[name]; ok {
				left.Sub(q)
			}
		}
		if left.Sign() < 0 {
			left.Set(0)
		}
		allocatable[name] = left
	}
	return capacity, allocatable, nil
}

func overlay(into corev1.ResourceList, from map[string]string, field string) error {
	for name, text := range from {
		q, err := resource.ParseQuantity(text)
		if err != nil {
			return fmt.Errorf("%w: kubelet config %s.%s %q: %w", ErrUserData, field, name, text, err)
		}
		into[corev1.ResourceName(name)] = q
	}
	return nil
}

// evictions is what the hard eviction thresholds keep free; nodeadm's defaults
// are 100 MiB of memory and a tenth of the disk.
func evictions(capacity corev1.ResourceList, hard map[string]string) (corev1.ResourceList, error) {
	out := corev1.ResourceList{}
	for signal, of := range map[string]struct {
		name   corev1.ResourceName
		preset string
	}{
		"memory.available": {corev1.ResourceMemory, "100Mi"},
		"nodefs.available": {corev1.ResourceEphemeralStorage, "10%"},
	} {
		text := of.preset
		if own, ok := hard[signal]; ok {
			text = own
		}
		if percent, ok := strings.CutSuffix(text, "%"); ok {
			p, err := strconv.ParseFloat(percent, 64)
			if err != nil {
				return nil, fmt.Errorf("%w: kubelet config evictionHard.%s %q: %w", ErrUserData, signal, text, err)
			}
			whole := capacity[of.name]
			out[of.name] = *resource.NewQuantity(int64(float64(whole.Value())*p/100), resource.BinarySI)
			continue
		}
		q, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("%w: kubelet config evictionHard.%s %q: %w", ErrUserData, signal, text, err)
		}
		out[of.name] = q
	}
	return out, nil
}
