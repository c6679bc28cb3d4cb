package translate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Resources reads a ResourceList. A negative amount counts as zero. The API
// server refuses negative amounts, but no arithmetic should depend on that.
func Resources(list corev1.ResourceList) quantity.Resources {
	var r quantity.Resources
	for name, q := range list {
		switch name {
		case corev1.ResourceCPU:
			r.MilliCPU = max(0, q.MilliValue())
		case corev1.ResourceMemory:
			r.MemoryBytes = max(0, q.Value())
		case corev1.ResourceEphemeralStorage:
			r.EphemeralBytes = max(0, q.Value())
		case corev1.ResourcePods:
			r.PodSlots = max(0, q.Value())
		default:
			r = r.Extend(string(name), max(0, q.Value()))
		}
	}
	return r
}

// ResourceList writes a vector as the API does. It leaves out zero amounts, and
// the slots to attach volumes, which are no resource of the API.
func ResourceList(r quantity.Resources) corev1.ResourceList {
	list := corev1.ResourceList{}
	put := func(name corev1.ResourceName, q *resource.Quantity) {
		if !q.IsZero() {
			list[name] = *q
		}
	}
	put(corev1.ResourceCPU, resource.NewMilliQuantity(r.MilliCPU, resource.DecimalSI))
	put(corev1.ResourceMemory, resource.NewQuantity(r.MemoryBytes, resource.BinarySI))
	put(corev1.ResourceEphemeralStorage, resource.NewQuantity(r.EphemeralBytes, resource.BinarySI))
	put(corev1.ResourcePods, resource.NewQuantity(r.PodSlots, resource.DecimalSI))
	for _, a := range r.Extended {
		if cluster.IsAttachSlots(a.Name) {
			continue
		}
		put(corev1.ResourceName(a.Name), resource.NewQuantity(a.Count, resource.DecimalSI))
	}
	return list
}

// Limits reads a NodePool's limits: amounts by resource name, CPU in millicores.
func Limits(list corev1.ResourceList) []quantity.Amount {
	var out quantity.Resources
	for name, q := range list {
		count := q.Value()
		if name == corev1.ResourceCPU {
			count = q.MilliValue()
		}
		// A limit of zero is a limit: keep it apart from a missing limit.
		out.Extended = append(out.Extended, quantity.Amount{Name: string(name), Count: max(0, count)})
	}
	return slices.SortedFunc(slices.Values(out.Extended), func(a, b quantity.Amount) int { return strings.Compare(a.Name, b.Name) })
}
