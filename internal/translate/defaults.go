package translate

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// spreadByDefault returns the cluster's default constraints for a pod that
// declares none. As in the scheduler they select the pods that the Services of
// the pod and its controller select between them; where nothing selects the pod
// there is no default.
func (l Lookups) spreadByDefault(p *corev1.Pod) []cluster.Spread {
	if len(l.Spread) == 0 {
		return nil
	}
	match := l.likePod(p)
	if len(match) == 0 {
		return nil
	}
	out := make([]cluster.Spread, len(l.Spread))
	for i, s := range l.Spread {
		s.Selector = cluster.PodSelector{Match: match}
		out[i] = s
	}
	return out
}

func (l Lookups) likePod(p *corev1.Pod) label.Requirements {
	var match label.Requirements
	if l.Services != nil {
		labels := podLabels(p.Labels)
		for _, service := range l.Services(p.Namespace) {
			s, err := selector(&metav1.LabelSelector{MatchLabels: service.Spec.Selector})
			if err == nil && len(service.Spec.Selector) > 0 && s.Selects(labels) {
				match = match.And(s.Match)
			}
		}
	}
	if ref := metav1.GetControllerOfNoCopy(p); ref != nil && l.Selector != nil {
		if of, ok := l.Selector(p.Namespace, *ref); ok {
			if s, err := selector(of); err == nil && !s.Nothing {
				match = match.And(s.Match)
			}
		}
	}
	return match
}
