package install

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// networkPolicy lets pods of some namespaces read the metrics, and everybody call the health
// probes: who calls them is the kubelet, whose address nobody knows, and they tell nothing
// that is secret. Nothing else reaches the pods: what names pods is served on their own
// address alone, and no webhook calls the daemon. What the pods call is not limited.
//
// There is one only if it is asked for. To be closed by default would silence the Prometheus
// of every cluster that has one, and nobody but the user knows where that runs. Policies add
// up, so that a user's own opens the metrics for what no namespace says, such as a range of
// addresses.
func (o Options) networkPolicy() *networkingv1.NetworkPolicy {
	port := func(number int32) []networkingv1.NetworkPolicyPort {
		protocol, value := corev1.ProtocolTCP, intstr.FromInt32(number)
		return []networkingv1.NetworkPolicyPort{{Protocol: &protocol, Port: &value}}
	}
	rules := []networkingv1.NetworkPolicyIngressRule{{Ports: port(o.HealthPort)}}
	if len(o.MetricsNamespaces) > 0 { // without a source, a rule is for all sources
		rules = append(rules, networkingv1.NetworkPolicyIngressRule{
			Ports: port(o.MetricsPort),
			From: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
				Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: slices.Clone(o.MetricsNamespaces),
			}}}}},
		})
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta: kind("networking.k8s.io/v1", "NetworkPolicy"), ObjectMeta: o.meta(o.Namespace),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: o.selector()}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, Ingress: rules,
		},
	}
}

// UserMetricsNamespaces is the reverse: the namespaces of a policy; nil without a policy.
func UserMetricsNamespaces(live *networkingv1.NetworkPolicy) []string {
	if live == nil {
		return nil
	}
	out := []string{}
	for _, rule := range live.Spec.Ingress {
		for _, peer := range rule.From {
			if peer.NamespaceSelector == nil {
				continue
			}
			for _, expression := range peer.NamespaceSelector.MatchExpressions {
				if expression.Key == corev1.LabelMetadataName && expression.Operator == metav1.LabelSelectorOpIn {
					out = append(out, expression.Values...)
				}
			}
		}
	}
	return out
}
