package install

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// affinity keeps the daemon off the nodes that it may delete, and its replicas off each
// other's: if a node is lost, another replica goes on. The user's rules come on top: node selector terms are alternatives, so
// each of them gets the first rule.
func (o Options) affinity() *corev1.Affinity {
	out := &corev1.Affinity{}
	if o.Affinity != nil {
		out = o.Affinity.DeepCopy()
	}
	if o.Mode != ModeShadow { // which deletes no node
		out.NodeAffinity = keptOff(out.NodeAffinity)
	}
	if out.PodAntiAffinity == nil && o.Replicas > 1 {
		out.PodAntiAffinity = differentNodes(o.selector())
	}
	return out
}

// keptOff is the affinity with the rule in each of its terms.
func keptOff(out *corev1.NodeAffinity) *corev1.NodeAffinity {
	if out == nil {
		out = &corev1.NodeAffinity{}
	}
	required := out.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil || len(required.NodeSelectorTerms) == 0 {
		required = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
	}
	for i := range required.NodeSelectorTerms {
		term := &required.NodeSelectorTerms[i]
		term.MatchExpressions = append(term.MatchExpressions, offOwnNodes())
	}
	out.RequiredDuringSchedulingIgnoredDuringExecution = required
	return out
}

func offOwnNodes() corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: v1.LabelNodePool, Operator: corev1.NodeSelectorOpDoesNotExist}
}

// differentNodes lets each node have one replica at most, as Karpenter's chart does.
func differentNodes(selector map[string]string) *corev1.PodAntiAffinity {
	return &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{onOneNode(selector)}}
}

// formerlyDifferentNodes is what earlier versions had in its place: the preference alone.
func formerlyDifferentNodes(selector map[string]string) *corev1.PodAntiAffinity {
	return &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 100, PodAffinityTerm: onOneNode(selector)}}}
}

func onOneNode(selector map[string]string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: selector}}
}

// UserAffinity is the reverse: the affinity without what every installation has; nil if
// nothing is left. selector is that of the Deployment.
func UserAffinity(live *corev1.Affinity, selector *metav1.LabelSelector) *corev1.Affinity {
	if live == nil {
		return nil
	}
	out := live.DeepCopy()
	if node := out.NodeAffinity; node != nil {
		if required := node.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
			for i := range required.NodeSelectorTerms {
				term := &required.NodeSelectorTerms[i]
				term.MatchExpressions = slices.DeleteFunc(term.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
					return equality.Semantic.DeepEqual(r, offOwnNodes())
				})
			}
			required.NodeSelectorTerms = slices.DeleteFunc(required.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool {
				return len(t.MatchExpressions)+len(t.MatchFields) == 0
			})
			if len(required.NodeSelectorTerms) == 0 {
				node.RequiredDuringSchedulingIgnoredDuringExecution = nil
			}
		}
		if equality.Semantic.DeepEqual(*node, corev1.NodeAffinity{}) {
			out.NodeAffinity = nil
		}
	}
	if selector != nil && out.PodAntiAffinity != nil {
		for _, own := range []*corev1.PodAntiAffinity{differentNodes(selector.MatchLabels), formerlyDifferentNodes(selector.MatchLabels)} {
			if equality.Semantic.DeepEqual(out.PodAntiAffinity, own) {
				out.PodAntiAffinity = nil
				break
			}
		}
	}
	if *out == (corev1.Affinity{}) {
		return nil
	}
	return out
}
