package translate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// shaper reads a pod part by part, and gathers what the core cannot carry out.
type shaper struct {
	pod   *corev1.Pod
	shape cluster.Shape
}

// shape reads what decides where the pod can run. claims are the volumes that
// the pod needs.
func shape(p *corev1.Pod, claims []volumeNeed, l Lookups) cluster.Shape {
	s := shaper{pod: p, shape: cluster.Shape{Requests: PodRequests(p), Tolerations: Tolerations(p.Spec.Tolerations)}}
	if p.Spec.Priority != nil {
		s.shape.Priority = *p.Spec.Priority
	}
	chosen := make([]label.Requirement, 0, len(p.Spec.NodeSelector))
	for key, value := range p.Spec.NodeSelector {
		chosen = append(chosen, label.Is(key, value))
	}
	s.shape.Selector = label.All(chosen...)
	if a := p.Spec.Affinity; a != nil {
		s.nodeAffinity(a.NodeAffinity)
		s.podAffinity(a)
	}
	s.spread(l)
	s.shape.Ports = ports(&p.Spec)
	s.gang()
	s.volumes(claims, l)
	if len(p.Spec.ResourceClaims) > 0 {
		s.refuse("resourceClaims", nil)
	}
	slices.Sort(s.shape.Unsupported)
	s.shape.Unsupported = slices.Compact(s.shape.Unsupported)
	return s.shape
}

func (s *shaper) refuse(what string, err error) {
	if err != nil {
		what += ": " + err.Error()
	}
	s.shape.Unsupported = append(s.shape.Unsupported, what)
}

func (s *shaper) nodeAffinity(a *corev1.NodeAffinity) {
	if a == nil {
		return
	}
	if required := a.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		s.requiredTerms(required.NodeSelectorTerms)
	}
	for _, p := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		// The scheduler's filters do not look at what a pod prefers, whether it can be
		// read or not.
		if reqs, ok, err := nodeTerm(p.Preference); err == nil && ok && p.Weight > 0 {
			s.shape.Preferred = append(s.shape.Preferred, cluster.Preference{Weight: p.Weight, Node: reqs})
		}
	}
}

// requiredTerms reads alternatives. As in the kube-scheduler, no node meets one that cannot
// be read, and that does not matter where a node meets another one.
func (s *shaper) requiredTerms(terms []corev1.NodeSelectorTerm) {
	var unread []string
	for i, term := range terms {
		reqs, ok, err := nodeTerm(term)
		switch {
		case err != nil:
			unread = append(unread, fmt.Sprintf("required nodeAffinity[%d]: %v", i, err))
		case ok:
			s.shape.NodeAffinity = append(s.shape.NodeAffinity, reqs)
		}
	}
	if len(s.shape.NodeAffinity) > 0 {
		return
	}
	s.shape.Unsupported = append(s.shape.Unsupported, unread...)
	if len(unread) == 0 {
		s.refuse("required nodeAffinity has only empty terms, which select no node", nil)
	}
}

func (s *shaper) podAffinity(a *corev1.Affinity) {
	if t := a.PodAffinity; t != nil {
		s.shape.PodAffinity = s.podTerms("podAffinity", t.RequiredDuringSchedulingIgnoredDuringExecution, t.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if t := a.PodAntiAffinity; t != nil {
		s.shape.PodAntiAffinity = s.podTerms("podAntiAffinity", t.RequiredDuringSchedulingIgnoredDuringExecution, t.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

func (s *shaper) podTerms(field string, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) []cluster.PodTerm {
	var out []cluster.PodTerm
	add := func(kind string, i int, t corev1.PodAffinityTerm, weight int32) {
		word, err := podTerm(t, weight, s.pod)
		if err != nil {
			s.refuse(fmt.Sprintf("%s %s[%d]", kind, field, i), err)
			return
		}
		out = append(out, word)
	}
	for i, t := range required {
		add("required", i, t, 0)
	}
	for i, t := range preferred {
		if t.Weight > 0 {
			add("preferred", i, t.PodAffinityTerm, t.Weight)
		}
	}
	return out
}

func (s *shaper) spread(l Lookups) {
	if len(s.pod.Spec.TopologySpreadConstraints) == 0 {
		s.shape.Spread = l.spreadByDefault(s.pod)
		return
	}
	for i, c := range s.pod.Spec.TopologySpreadConstraints {
		word, err := spread(c, s.pod.Labels)
		if err != nil && c.WhenUnsatisfiable == corev1.ScheduleAnyway {
			continue // the scheduler's filters do not read it
		}
		if err != nil {
			s.refuse(fmt.Sprintf("topologySpreadConstraints[%d]", i), err)
			continue
		}
		s.shape.Spread = append(s.shape.Spread, word)
	}
}

// gang reads the gang from our annotations, else from the pod's own field, else
// from the label of the coscheduling plugin.
func (s *shaper) gang() {
	name := s.pod.Annotations[v1.AnnotationGang]
	if group := s.pod.Spec.SchedulingGroup; name == "" && group != nil && group.PodGroupName != nil {
		name = *group.PodGroupName
	}
	if name == "" {
		name = s.pod.Labels[v1.LabelPodGroup]
	}
	if name == "" {
		return
	}
	s.shape.Gang.Name = name
	text, sized := s.pod.Annotations[v1.AnnotationGangSize]
	if !sized {
		return
	}
	size, err := strconv.ParseInt(text, 10, 32)
	if err != nil || size < 1 {
		s.refuse(fmt.Sprintf("annotation %s is %q: give a whole number of 1 or more", v1.AnnotationGangSize, text), nil)
		return
	}
	s.shape.Gang.Size = size
}

// ports lists the ports of the node that pods of the spec take. On the host's
// network, a container port without a host port takes the same port of the node,
// as the API server defaults it.
func ports(spec *corev1.PodSpec) []cluster.HostPort {
	var out []cluster.HostPort
	add := func(c *corev1.Container) {
		for _, p := range c.Ports {
			port := p.HostPort
			if port == 0 && spec.HostNetwork {
				port = p.ContainerPort
			}
			if port > 0 {
				out = append(out, cluster.HostPort{
					IP: cmp.Or(p.HostIP, "0.0.0.0"), Protocol: cmp.Or(string(p.Protocol), string(corev1.ProtocolTCP)), Port: port,
				})
			}
		}
	}
	for i := range spec.Containers {
		add(&spec.Containers[i])
	}
	for i := range spec.InitContainers {
		// Other init containers end before the pod serves: the kube-scheduler leaves
		// them out.
		if restart := spec.InitContainers[i].RestartPolicy; restart != nil && *restart == corev1.ContainerRestartPolicyAlways {
			add(&spec.InitContainers[i])
		}
	}
	slices.SortFunc(out, func(a, b cluster.HostPort) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.IP, b.IP))
	})
	return slices.Compact(out)
}

// Tolerations reads tolerations. An operator that is off by default in
// Kubernetes tolerates nothing.
func Tolerations(in []corev1.Toleration) []cluster.Toleration {
	var out []cluster.Toleration
	for _, t := range in {
		if t.Operator == "" || t.Operator == corev1.TolerationOpEqual || t.Operator == corev1.TolerationOpExists {
			out = append(out, cluster.Toleration{
				Key: t.Key, Value: t.Value, Effect: string(t.Effect), Exists: t.Operator == corev1.TolerationOpExists,
			})
		}
	}
	return out
}
