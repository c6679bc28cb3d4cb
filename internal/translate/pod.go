package translate

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podresources "k8s.io/component-helpers/resource"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// FieldManager is the name under which the daemon writes; by it the daemon
// tells its own nominations from the scheduler's.
const FieldManager = "karpenterd"

// Pod reads a pod. The second result is false for pods that are none of the
// core's business: finished ones, ones of another scheduler, and gated ones.
func Pod(p *corev1.Pod) (cluster.Pod, bool) {
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return cluster.Pod{}, false
	}
	scheduler := p.Spec.SchedulerName
	if p.Spec.NodeName == "" && (len(p.Spec.SchedulingGates) > 0 || scheduler != "" && scheduler != corev1.DefaultSchedulerName) {
		return cluster.Pod{}, false
	}
	out := cluster.Pod{
		UID: string(p.UID), Namespace: p.Namespace, Name: p.Name,
		Shape: Shape(&p.Spec, podRequests(p)), Node: p.Spec.NodeName, Created: p.CreationTimestamp.Time,
		Nominated: p.Status.NominatedNodeName, Deleting: p.DeletionTimestamp != nil,
		DoNotDisrupt: p.Annotations[v1.AnnotationDoNotDisrupt] == "true",
	}
	if ref := metav1.GetControllerOf(p); ref != nil {
		out.Owner = cluster.Owner{Kind: ref.Kind, Name: ref.Name, UID: string(ref.UID)}
	}
	_, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]
	out.Pinned = mirror || out.Owner.Kind == "DaemonSet" || out.Owner.Kind == "Node"
	out.NominatedByUs = out.Nominated != "" && nominatedBy(p.ManagedFields, FieldManager)
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			out.Unschedulable = true
		}
	}
	return out, true
}

func nominatedBy(entries []metav1.ManagedFieldsEntry, manager string) bool {
	return slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && e.FieldsV1 != nil && bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(`"f:nominatedNodeName"`))
	})
}

// podRequests sums what the pod takes of a node, as the scheduler does:
// containers, restartable and other init containers, overhead, in-place
// resizes that are under way; and one pod slot.
func podRequests(p *corev1.Pod) quantity.Resources {
	r := Resources(podresources.PodRequests(p, podresources.PodResourcesOptions{UseStatusResources: true}))
	r.PodSlots = 1
	return r
}

// TemplateShape reads the pods that a template will make.
func TemplateShape(t *corev1.PodTemplateSpec) cluster.Shape {
	return Shape(&t.Spec, podRequests(&corev1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec}))
}

// Shape reads what decides where pods of the spec can run. Hard constraints
// that the core does not carry out are named in Unsupported.
func Shape(spec *corev1.PodSpec, requests quantity.Resources) cluster.Shape {
	s := cluster.Shape{Requests: requests}
	if spec.Priority != nil {
		s.Priority = *spec.Priority
	}
	var selector []label.Requirement
	for key, value := range spec.NodeSelector {
		selector = append(selector, label.Is(key, value))
	}
	s.Selector = label.All(selector...)
	s.Tolerations = Tolerations(spec.Tolerations)
	s.Unsupported = unsupported(spec)
	if a := spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			rs, err := affinityTerm(term)
			if err != nil {
				s.Unsupported = append(s.Unsupported, err.Error())
				continue
			}
			s.Affinity = append(s.Affinity, rs)
		}
	}
	return s
}

// Tolerations reads tolerations.
func Tolerations(in []corev1.Toleration) []cluster.Toleration {
	var out []cluster.Toleration
	for _, t := range in {
		out = append(out, cluster.Toleration{
			Key: t.Key, Value: t.Value, Effect: string(t.Effect), Exists: t.Operator == corev1.TolerationOpExists,
		})
	}
	return out
}

func affinityTerm(term corev1.NodeSelectorTerm) (label.Requirements, error) {
	if len(term.MatchFields) > 0 {
		return nil, fmt.Errorf("nodeAffinity matchFields")
	}
	reqs := make([]label.Requirement, 0, len(term.MatchExpressions))
	for _, e := range term.MatchExpressions {
		r, err := label.NewRequirement(e.Key, label.Operator(e.Operator), e.Values...)
		if err != nil {
			return nil, fmt.Errorf("nodeAffinity: %w", err)
		}
		reqs = append(reqs, r)
	}
	return label.All(reqs...), nil
}

func unsupported(spec *corev1.PodSpec) []string {
	var out []string
	for _, t := range spec.TopologySpreadConstraints {
		if t.WhenUnsatisfiable == corev1.DoNotSchedule {
			out = append(out, "topologySpreadConstraints over "+t.TopologyKey+" with whenUnsatisfiable DoNotSchedule")
		}
	}
	if a := spec.Affinity; a != nil {
		if a.PodAffinity != nil && len(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
			out = append(out, "required podAffinity")
		}
		if a.PodAntiAffinity != nil && len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
			out = append(out, "required podAntiAffinity")
		}
	}
	for _, v := range spec.Volumes {
		if v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
			out = append(out, "persistent volume "+v.Name)
		}
	}
	for _, c := range spec.Containers {
		for _, p := range c.Ports {
			if p.HostPort != 0 {
				out = append(out, fmt.Sprintf("host port %d", p.HostPort))
			}
		}
	}
	if len(spec.ResourceClaims) > 0 {
		out = append(out, "resourceClaims")
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func sortedAmounts(in []quantity.Amount) []quantity.Amount {
	return slices.SortedFunc(slices.Values(in), func(a, b quantity.Amount) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.Count, b.Count))
	})
}
