package translate

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// schedulerConfig is the part of the kube-scheduler's configuration that decides
// where pods may run: the arguments of its plugin PodTopologySpread.
type schedulerConfig struct {
	PodTopologySpread struct {
		DefaultConstraints []corev1.TopologySpreadConstraint `json:"defaultConstraints"`
		DefaultingType     string                            `json:"defaultingType"`
	} `json:"podTopologySpread"`
}

// DefaultSpread reads the cluster's default topology spread constraints from
// JSON or YAML. The text holds the arguments of the kube-scheduler's plugin
// PodTopologySpread under podTopologySpread. An empty text means no constraint.
// DefaultSpread accepts what the validation of kubescheduler.config.k8s.io/v1
// PodTopologySpreadArgs accepts.
func DefaultSpread(text string) ([]cluster.Spread, error) {
	var config schedulerConfig
	if err := yaml.UnmarshalStrict([]byte(text), &config); err != nil {
		return nil, fmt.Errorf("scheduler config: the text is not podTopologySpread.defaultConstraints in JSON or YAML: %s", oneLine(err))
	}
	args := config.PodTopologySpread
	if args.DefaultingType != "" && args.DefaultingType != "List" {
		return nil, fmt.Errorf("scheduler config: podTopologySpread.defaultingType is %q: give List, or leave it out", args.DefaultingType)
	}
	var out []cluster.Spread
	type identity struct {
		key    string
		action corev1.UnsatisfiableConstraintAction
	}
	seen := map[identity]bool{}
	for i, c := range args.DefaultConstraints {
		word, err := spread(c, nil)
		if err == nil {
			err = checkDefault(c)
		}
		if id := (identity{c.TopologyKey, c.WhenUnsatisfiable}); err == nil && seen[id] {
			err = fmt.Errorf("topologyKey %s with whenUnsatisfiable %s is there twice: remove one", id.key, id.action)
		} else {
			seen[id] = true
		}
		if err != nil {
			return nil, fmt.Errorf("scheduler config: podTopologySpread.defaultConstraints[%d]: %w", i, err)
		}
		out = append(out, word)
	}
	return out, nil
}

// checkDefault checks the rules of a default constraint that spread does not
// check.
func checkDefault(c corev1.TopologySpreadConstraint) error {
	if faults := validation.IsQualifiedName(c.TopologyKey); len(faults) > 0 {
		return fmt.Errorf("topologyKey %q: %s", c.TopologyKey, faults[0])
	}
	hard := c.WhenUnsatisfiable == corev1.DoNotSchedule
	switch {
	case !hard && c.WhenUnsatisfiable != corev1.ScheduleAnyway:
		return fmt.Errorf("whenUnsatisfiable is %q: give DoNotSchedule or ScheduleAnyway", c.WhenUnsatisfiable)
	case c.LabelSelector != nil || len(c.MatchLabelKeys) > 0:
		return errors.New("labelSelector and matchLabelKeys follow from each pod's Services and controller: remove them")
	case c.MinDomains != nil && (*c.MinDomains < 1 || !hard):
		return fmt.Errorf("minDomains is %d: must be 1 or more, and only with whenUnsatisfiable DoNotSchedule", *c.MinDomains)
	}
	for _, p := range []struct {
		field string
		value *corev1.NodeInclusionPolicy
	}{{"nodeAffinityPolicy", c.NodeAffinityPolicy}, {"nodeTaintsPolicy", c.NodeTaintsPolicy}} {
		if p.value != nil && *p.value != corev1.NodeInclusionPolicyHonor && *p.value != corev1.NodeInclusionPolicyIgnore {
			return fmt.Errorf("%s is %q: give Honor or Ignore", p.field, *p.value)
		}
	}
	return nil
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// spreadByDefault returns the cluster's default constraints for a pod that
// declares none. As in the kube-scheduler, the constraints select pods by all
// selectors that match the pod: those of its Services and that of its
// controller. A pod that no selector matches gets no default constraint.
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
