package translate

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// podLabels makes Labels of a map. Keys get the spelling that requirements use;
// a label under that spelling wins over one under its legacy spelling.
func podLabels(m map[string]string) label.Labels {
	for key := range m {
		if label.Canonical(key) == key {
			continue
		}
		renamed := make(map[string]string, len(m))
		for k, v := range m {
			if c := label.Canonical(k); c != k {
				if _, both := m[c]; both {
					continue
				}
				k = c
			}
			renamed[k] = v
		}
		return label.FromMap(renamed)
	}
	return label.FromMap(m)
}

// requirement reads one expression of a selector of the API. The API is stricter
// than Karpenter: NotIn needs values, too.
func requirement(key, operator string, values []string) (label.Requirement, error) {
	r, err := label.NewRequirement(key, label.Operator(operator), values...)
	if err == nil && label.Operator(operator) == label.NotIn && len(values) == 0 {
		err = fmt.Errorf("requirement %s %s: needs at least one value", key, operator)
	}
	return r, err
}

// selector reads a label selector. A missing selector selects nothing, an empty
// selector selects everything.
func selector(s *metav1.LabelSelector) (cluster.PodSelector, error) {
	if s == nil {
		return cluster.PodSelector{Nothing: true}, nil
	}
	reqs := make([]label.Requirement, 0, len(s.MatchLabels)+len(s.MatchExpressions))
	for key, value := range s.MatchLabels {
		reqs = append(reqs, label.Is(key, value))
	}
	for _, e := range s.MatchExpressions {
		r, err := requirement(e.Key, string(e.Operator), e.Values)
		if err != nil {
			return cluster.PodSelector{}, fmt.Errorf("labelSelector: %w", err)
		}
		reqs = append(reqs, r)
	}
	if len(reqs) == 0 {
		return cluster.PodSelector{}, nil
	}
	return cluster.PodSelector{Match: label.All(reqs...)}, nil
}

// narrow restricts the selector to pods that have the values of own for the
// keys. With NotIn it restricts the selector to pods that have other values.
// Keys that own lacks are left out. A selector of nothing stays a selector of
// nothing.
func narrow(s cluster.PodSelector, keys []string, op label.Operator, own map[string]string) cluster.PodSelector {
	if s.Nothing {
		return s
	}
	for _, key := range keys {
		value, there := own[key]
		if !there {
			continue
		}
		if r, err := label.NewRequirement(key, op, value); err == nil {
			s.Match = s.Match.And(label.All(r))
		}
	}
	return s
}

// spread reads a topology spread constraint of a pod with the labels own.
func spread(c corev1.TopologySpreadConstraint, own map[string]string) (cluster.Spread, error) {
	s, err := selector(c.LabelSelector)
	if err != nil {
		return cluster.Spread{}, err
	}
	if c.MaxSkew < 1 {
		return cluster.Spread{}, fmt.Errorf("maxSkew is %d: must be 1 or more", c.MaxSkew)
	}
	out := cluster.Spread{
		Key: label.Canonical(c.TopologyKey), MaxSkew: int64(c.MaxSkew), Soft: c.WhenUnsatisfiable == corev1.ScheduleAnyway,
		Selector: narrow(s, c.MatchLabelKeys, label.In, own),
	}
	if c.MinDomains != nil {
		out.MinDomains = int64(*c.MinDomains)
	}
	out.IgnoreAffinity = c.NodeAffinityPolicy != nil && *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore
	out.HonorTaints = c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor
	return out, nil
}

// podTerm reads a term of the pod's affinity or anti-affinity. Where the API
// server has merged matchLabelKeys into the selector, podTerm keeps the merged
// values. The pod's labels may have changed since, and the kube-scheduler does
// not read them again either.
func podTerm(t corev1.PodAffinityTerm, weight int32, p *corev1.Pod) (cluster.PodTerm, error) {
	s, err := selector(t.LabelSelector)
	if err != nil {
		return cluster.PodTerm{}, err
	}
	in, err := selector(t.NamespaceSelector)
	if err != nil {
		return cluster.PodTerm{}, fmt.Errorf("namespaceSelector: %w", err)
	}
	merged := func(key string) bool { _, there := s.Match.Get(label.Canonical(key)); return there }
	match := slices.DeleteFunc(slices.Clone(t.MatchLabelKeys), merged)
	mismatch := slices.DeleteFunc(slices.Clone(t.MismatchLabelKeys), merged)
	s = narrow(narrow(s, match, label.In, p.Labels), mismatch, label.NotIn, p.Labels)
	out := cluster.PodTerm{
		Weight: weight, Key: label.Canonical(t.TopologyKey), Selector: s, InNamespaces: in,
		Namespaces: slices.Compact(slices.Sorted(slices.Values(t.Namespaces))),
	}
	if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
		out.Namespaces = []string{p.Namespace}
	}
	return out, nil
}

// nodeTerm reads a node selector term. An empty one selects no node: ok is false. It
// refuses what the kube-scheduler cannot read: the API server takes values that no label
// can have, as it took them once.
func nodeTerm(t corev1.NodeSelectorTerm) (reqs label.Requirements, ok bool, err error) {
	all := make([]label.Requirement, 0, len(t.MatchExpressions)+len(t.MatchFields))
	for _, e := range t.MatchExpressions {
		r, err := requirement(e.Key, string(e.Operator), e.Values)
		if err == nil {
			err = labelValues(e.Key, e.Values)
		}
		if err != nil {
			return nil, false, err
		}
		all = append(all, r)
	}
	for _, f := range t.MatchFields {
		if f.Key != metav1.ObjectNameField {
			return nil, false, fmt.Errorf("matchFields %s: only %s can be matched", f.Key, metav1.ObjectNameField)
		}
		r, err := requirement(label.NodeName, string(f.Operator), f.Values)
		if err != nil {
			return nil, false, err
		}
		all = append(all, r)
	}
	return label.All(all...), len(all) > 0, nil
}

// labelValues says which of the values no label can have.
func labelValues(key string, values []string) error {
	for _, v := range values {
		if faults := validation.IsValidLabelValue(v); len(faults) > 0 {
			return fmt.Errorf("requirement %s: value %q: %s", key, v, faults[0])
		}
	}
	return nil
}
