package translate

import (
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// podParts are the parts that pods of one template have in common.
type podParts struct {
	spec   corev1.PodSpec // without the node
	status corev1.PodStatus
	notes  map[string]string
}

// pod reduces a pod, and returns what it has in common with others. Of a finished
// pod it drops spec and status: the pod takes no room, and no other pod is modelled
// on it.
func (k *Keeper) pod(p *corev1.Pod) *podParts {
	meta := keepMeta(p)
	meta.Generation, meta.Namespace = 0, k.text(meta.Namespace)
	meta.Labels, meta.OwnerReferences = k.labelsOf(p.Labels), k.ownersOf(keepOwner(p))
	if slices.Contains(p.Finalizers, batchv1.JobTrackingFinalizer) {
		meta.Finalizers = []string{batchv1.JobTrackingFinalizer}
	}
	nominated := p.Status.NominatedNodeName
	if nominated != "" && nominatedBy(p.ManagedFields, FieldManager) {
		meta.ManagedFields = k.nominated
	}
	own := &podParts{notes: keepAnnotations(p.Annotations, podAnnotations()...)}
	if !Finished(p) {
		own.spec, own.status = keepSpec(&p.Spec, false), keepStatus(p)
	}
	own.status.Phase = p.Status.Phase
	parts := k.parts(own)
	meta.Annotations = parts.notes
	if cost, there := p.Annotations[corev1.PodDeletionCost]; there { // often another for each pod
		meta.Annotations = maps.Clone(parts.notes)
		if meta.Annotations == nil {
			meta.Annotations = map[string]string{}
		}
		meta.Annotations[corev1.PodDeletionCost] = cost
	}
	status := parts.status
	status.NominatedNodeName = nominated
	if _, timed := parts.notes[v1.AnnotationDoNotDisrupt]; timed {
		status.StartTime = p.Status.StartTime
	}
	node := k.text(p.Spec.NodeName)
	*p = corev1.Pod{ObjectMeta: meta, Spec: parts.spec, Status: status}
	p.Spec.NodeName = node
	return parts
}

// keepTemplate keeps the fields of a template that are read of pods, and those
// that admission reads to make pods of the template.
func keepTemplate(t *corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	out := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: t.Labels, Annotations: keepAnnotations(t.Annotations, podAnnotations()...)},
		Spec:       keepSpec(&t.Spec, true),
	}
	out.Spec.NodeName = t.Spec.NodeName // some name the node of all their pods
	return out
}

// keepSpec leaves out the node. It keeps limits of templates only: the API
// server has already derived a pod's requests from them.
func keepSpec(s *corev1.PodSpec, limits bool) corev1.PodSpec {
	out := corev1.PodSpec{
		SchedulerName: s.SchedulerName, SchedulingGates: s.SchedulingGates, SchedulingGroup: s.SchedulingGroup,
		NodeSelector: s.NodeSelector, Affinity: s.Affinity, Tolerations: s.Tolerations, TopologySpreadConstraints: s.TopologySpreadConstraints,
		Priority: s.Priority, PriorityClassName: s.PriorityClassName, RuntimeClassName: s.RuntimeClassName, Overhead: s.Overhead,
		HostNetwork: s.HostNetwork, TerminationGracePeriodSeconds: s.TerminationGracePeriodSeconds,
		Containers: keepContainers(s.Containers, s.HostNetwork, limits), InitContainers: keepContainers(s.InitContainers, s.HostNetwork, limits),
		Volumes: keepVolumes(s.Volumes),
	}
	if s.Resources != nil {
		out.Resources = &corev1.ResourceRequirements{Requests: s.Resources.Requests}
	}
	if len(s.ResourceClaims) > 0 {
		out.ResourceClaims = []corev1.PodResourceClaim{{Name: s.ResourceClaims[0].Name}} // only that there is one matters
	}
	return out
}

func keepContainers(in []corev1.Container, hostNetwork, limits bool) []corev1.Container {
	var out []corev1.Container
	for i := range in {
		c := &in[i]
		container := corev1.Container{Name: c.Name, RestartPolicy: c.RestartPolicy, Resources: corev1.ResourceRequirements{Requests: c.Resources.Requests}}
		if limits {
			container.Resources.Limits = c.Resources.Limits
		}
		for _, p := range c.Ports {
			if p.HostPort != 0 || hostNetwork {
				container.Ports = append(container.Ports, corev1.ContainerPort{HostPort: p.HostPort, ContainerPort: p.ContainerPort, HostIP: p.HostIP, Protocol: p.Protocol})
			}
		}
		out = append(out, container)
	}
	return out
}

func keepVolumes(in []corev1.Volume) []corev1.Volume {
	var out []corev1.Volume
	for _, v := range in {
		volume := corev1.Volume{Name: v.Name}
		if claim := v.PersistentVolumeClaim; claim != nil {
			volume.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.ClaimName}
		}
		if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
			volume.Ephemeral = &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
				Spec: keepClaimSpec(&v.Ephemeral.VolumeClaimTemplate.Spec),
			}}
		}
		if v.AWSElasticBlockStore != nil {
			volume.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{}
		}
		if volume.VolumeSource != (corev1.VolumeSource{}) {
			out = append(out, volume)
		}
	}
	return out
}

// keepStatus keeps the pod's conditions, and what decides how much room the pod
// takes while it is resized in place.
func keepStatus(p *corev1.Pod) corev1.PodStatus {
	var out corev1.PodStatus
	reported := func(s corev1.ContainerStatus) bool { return s.Resources != nil || s.AllocatedResources != nil }
	if slices.ContainsFunc(p.Status.ContainerStatuses, reported) || slices.ContainsFunc(p.Status.InitContainerStatuses, reported) {
		out.ContainerStatuses, out.InitContainerStatuses = keepReported(p.Status.ContainerStatuses), keepReported(p.Status.InitContainerStatuses)
	}
	if p.Status.Resources != nil {
		out.Resources = &corev1.ResourceRequirements{Requests: p.Status.Resources.Requests}
		out.AllocatedResources = p.Status.AllocatedResources
	}
	for _, c := range p.Status.Conditions {
		switch {
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse, c.Type == corev1.PodReady, c.Type == corev1.PodResizePending:
			out.Conditions = append(out.Conditions, corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason})
		}
	}
	return out
}

// keepReported keeps the resources that a kubelet has reported.
func keepReported(in []corev1.ContainerStatus) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for i := range in {
		status := corev1.ContainerStatus{Name: in[i].Name, AllocatedResources: in[i].AllocatedResources}
		if r := in[i].Resources; r != nil {
			status.Resources = &corev1.ResourceRequirements{Requests: r.Requests}
		}
		out = append(out, status)
	}
	return out
}
