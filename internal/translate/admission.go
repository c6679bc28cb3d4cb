package translate

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

// admit does to a pod that was made from a template what the admission of the
// API server will do to it, as far as admission changes where and when the pod
// can run. It derives requests from limits and LimitRanges, adds the default
// tolerations of failing nodes, and applies the pod's classes. It returns false
// where the API server will refuse the pod. The spec belongs to the template, so
// admit copies what it changes.
func admit(p *corev1.Pod, l Lookups) bool {
	var ranges []*corev1.LimitRange
	if l.LimitRanges != nil {
		ranges = slices.SortedFunc(slices.Values(l.LimitRanges(p.Namespace)), func(a, b *corev1.LimitRange) int { return strings.Compare(a.Name, b.Name) })
	}
	p.Spec.Containers = withRequests(p.Spec.Containers, ranges)
	p.Spec.InitContainers = withRequests(p.Spec.InitContainers, ranges)
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		taint := cluster.Taint{Key: key, Effect: cluster.NoExecute}
		if _, untolerated := cluster.Untolerated([]cluster.Taint{taint}, Tolerations(p.Spec.Tolerations)); untolerated {
			p.Spec.Tolerations = append(slices.Clip(p.Spec.Tolerations), exists(key, corev1.TaintEffectNoExecute))
		}
	}
	prioritized, classified := prioritize(p, l), classify(p, l)
	return prioritized && classified
}

// prioritize gives the pod the priority of its class, or of the cluster's default
// class (admission plugin Priority).
func prioritize(p *corev1.Pod, l Lookups) bool {
	class, found := named(l.PriorityClass, p.Spec.PriorityClassName)
	if !found {
		class = &schedulingv1.PriorityClass{}
	}
	p.Spec.Priority = &class.Value
	return found || p.Spec.PriorityClassName == ""
}

// classify gives the pod the overhead of its RuntimeClass, and restricts the pod
// to nodes that support the class (admission plugin RuntimeClass). It returns
// false where the pod's own node selector contradicts the class.
func classify(p *corev1.Pod, l Lookups) bool {
	if p.Spec.RuntimeClassName == nil {
		return true
	}
	class, found := named(l.RuntimeClass, *p.Spec.RuntimeClassName)
	if !found {
		return false
	}
	if class.Overhead != nil {
		p.Spec.Overhead = class.Overhead.PodFixed
	}
	if class.Scheduling == nil {
		return true
	}
	p.Spec.Tolerations = slices.Clip(p.Spec.Tolerations)
	for _, t := range class.Scheduling.Tolerations {
		if !slices.ContainsFunc(p.Spec.Tolerations, func(own corev1.Toleration) bool { return equality.Semantic.DeepEqual(own, t) }) {
			p.Spec.Tolerations = append(p.Spec.Tolerations, t)
		}
	}
	chosen := maps.Clone(class.Scheduling.NodeSelector)
	for key, value := range p.Spec.NodeSelector {
		if other, both := chosen[key]; both && other != value {
			return false
		}
	}
	if chosen == nil {
		return true
	}
	maps.Copy(chosen, p.Spec.NodeSelector)
	p.Spec.NodeSelector = chosen
	return true
}

func named[T any](find func(name string) (T, bool), name string) (T, bool) {
	if find == nil {
		var none T
		return none, false
	}
	return find(name)
}

func exists(key string, effect corev1.TaintEffect) corev1.Toleration {
	return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect}
}

// daemonTolerations are the tolerations that the DaemonSet controller adds to
// its pods. The tolerations that admit adds are not among them.
func daemonTolerations(hostNetwork bool) []corev1.Toleration {
	var out []corev1.Toleration
	for _, key := range []string{corev1.TaintNodeDiskPressure, corev1.TaintNodeMemoryPressure, corev1.TaintNodePIDPressure, corev1.TaintNodeUnschedulable} {
		out = append(out, exists(key, corev1.TaintEffectNoSchedule))
	}
	if hostNetwork {
		out = append(out, exists(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule))
	}
	return out
}

// withRequests fills in missing requests: from the container's own limits first,
// then from the defaults of the LimitRanges.
func withRequests(in []corev1.Container, ranges []*corev1.LimitRange) []corev1.Container {
	out := slices.Clone(in)
	for i := range out {
		requests := corev1.ResourceList{}
		fill := func(list corev1.ResourceList) {
			for name, q := range list {
				if _, there := requests[name]; !there {
					requests[name] = q
				}
			}
		}
		fill(out[i].Resources.Requests)
		fill(out[i].Resources.Limits)
		for _, r := range ranges {
			for j := range slices.Backward(r.Spec.Limits) { // of two items the later wins
				if item := r.Spec.Limits[j]; item.Type == corev1.LimitTypeContainer {
					fill(item.DefaultRequest)
				}
			}
		}
		out[i].Resources.Requests = requests
	}
	return out
}
