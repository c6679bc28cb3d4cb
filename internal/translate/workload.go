package translate

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

// Pods are the pods that a controller owns, in any order. They may be the same variable, one after
// the other.
type Pods = iter.Seq[*corev1.Pod]

// DaemonSet reads a DaemonSet by its newest live pod, which has what admission
// added. The node affinity is that of the template, since each pod's own
// affinity names its node.
func DaemonSet(d *appsv1.DaemonSet, pods Pods, l Lookups) cluster.DaemonSet {
	template := d.Spec.Template
	var newest *corev1.Pod
	for p := range pods {
		if live(p) && (newest == nil || newer(p, newest)) {
			newest = copyOf(p)
		}
	}
	model, _ := toCome(&template, newest, d, "DaemonSet", l) // a pod that admission refuses now may be admitted at any time
	if newest == nil {
		model.Spec.Tolerations = append(slices.Clip(model.Spec.Tolerations), daemonTolerations(model.Spec.HostNetwork)...)
	} else {
		model.Spec.Affinity = withNodeAffinityOf(model.Spec.Affinity, template.Spec.Affinity)
	}
	return cluster.DaemonSet{UID: string(d.UID), Namespace: d.Namespace, Name: d.Name, Shape: shape(model, needs(model), l)}
}

func newer(a, b *corev1.Pod) bool {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name)) > 0
}

// withNodeAffinityOf returns a with the required node affinity of the template.
func withNodeAffinityOf(a, template *corev1.Affinity) *corev1.Affinity {
	if a == nil || a.NodeAffinity == nil {
		return a
	}
	node := *a.NodeAffinity
	node.RequiredDuringSchedulingIgnoredDuringExecution = nil
	if template != nil && template.NodeAffinity != nil {
		node.RequiredDuringSchedulingIgnoredDuringExecution = template.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return &corev1.Affinity{NodeAffinity: &node, PodAffinity: a.PodAffinity, PodAntiAffinity: a.PodAntiAffinity}
}

// ReplicaSet reads the replicas that a ReplicaSet has declared and not created.
// None count while a creation fails. None count either while the controller has
// not observed the declaration, unless a pod shows that creation works.
func ReplicaSet(r *appsv1.ReplicaSet, pods Pods, l Lookups) (cluster.Workload, bool) {
	if r.DeletionTimestamp != nil {
		return cluster.Workload{}, false
	}
	for _, c := range r.Status.Conditions {
		if c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue {
			return cluster.Workload{}, false
		}
	}
	exist, sibling := count(pods)
	if sibling == nil && r.Status.ObservedGeneration != r.Generation {
		return cluster.Workload{}, false
	}
	model, admitted := toCome(&r.Spec.Template, sibling, r, "ReplicaSet", l)
	if !admitted {
		return cluster.Workload{}, false
	}
	return workload("ReplicaSet", r, replicas(r.Spec.Replicas)-exist, model, nil, l)
}

// desiredReplicas is the annotation by which the Deployment controller writes the replicas
// of a Deployment on its ReplicaSets that want pods.
const desiredReplicas = "deployment.kubernetes.io/desired-replicas"

// revision is the annotation by which the Deployment controller numbers its ReplicaSets.
const revision = "deployment.kubernetes.io/revision"

// ControllerSince returns when the controller was created, or the Deployment of a
// ReplicaSet; zero if nobody knows, as a rollout has made the ReplicaSet, or another controller
// than a Deployment.
func ControllerSince(controller metav1.Object) time.Time {
	if r, ok := controller.(*appsv1.ReplicaSet); ok {
		n, numbered := r.Annotations[revision]
		if replicas(r.Spec.Replicas) == 0 || numbered && n != "1" || !numbered && metav1.GetControllerOfNoCopy(r) != nil {
			return time.Time{}
		}
	}
	return controller.GetCreationTimestamp().Time
}

// DeclaredBy returns how many replicas the owner of the ReplicaSets declares, such as their
// Deployment. In a rollout that is less than the ReplicaSets want together where pods
// surge. They count together where they do not say how many their owner wants.
func DeclaredBy(sets iter.Seq[*appsv1.ReplicaSet]) int64 {
	desired, told, sum := int64(0), false, int64(0)
	for r := range sets {
		n := replicas(r.Spec.Replicas)
		sum += n
		if d, err := strconv.ParseInt(r.Annotations[desiredReplicas], 10, 32); err == nil && n > 0 {
			desired, told = max(desired, d), true
		}
	}
	if told {
		return desired
	}
	return sum
}

// StatefulSet reads the pods that a StatefulSet will create now. With the policy
// Parallel these are all missing pods. Otherwise it is the next pod alone, once
// all pods before it are ready. The shape is that of the first missing pod, with
// its own volumes.
func StatefulSet(s *appsv1.StatefulSet, pods Pods, l Lookups) (cluster.Workload, bool) {
	if s.DeletionTimestamp != nil || s.Status.ObservedGeneration != s.Generation {
		return cluster.Workload{}, false
	}
	byName := map[string]*corev1.Pod{}
	var sibling *corev1.Pod
	for p := range pods {
		p = copyOf(p)
		byName[p.Name] = p
		current := s.Status.UpdateRevision == "" || p.Labels[appsv1.ControllerRevisionHashLabelKey] == s.Status.UpdateRevision
		if live(p) && current && (sibling == nil || p.Name < sibling.Name) {
			sibling = p
		}
	}
	missing, first := holes(s, byName)
	model, admitted := toCome(&s.Spec.Template, sibling, s, "StatefulSet", l)
	if !admitted {
		return cluster.Workload{}, false
	}
	return workload("StatefulSet", s, missing, model, claimsOf(s, model, first), l)
}

// holes counts the pods that the StatefulSet will create now, and names the
// first. Its running time depends on the pods that exist, not on the declared
// replicas. A finished pod is made again. A pod that is being deleted keeps its
// place.
func holes(s *appsv1.StatefulSet, byName map[string]*corev1.Pod) (n int64, first string) {
	start, all := ordinals(s)
	parallel := s.Spec.PodManagementPolicy == appsv1.ParallelPodManagement
	for i := range min(all, int64(len(byName))+1) { // at least one of these names is free
		name := s.Name + "-" + strconv.FormatInt(start+i, 10)
		p, there := byName[name]
		if !there || Finished(p) {
			first = name
			break
		}
		if !parallel && (p.DeletionTimestamp != nil || !PodReady(p)) {
			return 0, ""
		}
	}
	switch {
	case first == "":
		return 0, ""
	case !parallel:
		return 1, first
	}
	n = all
	for name, p := range byName {
		if i, ok := ordinal(s.Name, name); ok && declares(s, i) && !Finished(p) {
			n--
		}
	}
	return n, first
}

// ordinals returns the number of the first pod that the StatefulSet declares, and how many
// it declares.
func ordinals(s *appsv1.StatefulSet) (start, n int64) {
	if s.Spec.Ordinals != nil {
		start = int64(s.Spec.Ordinals.Start)
	}
	return start, replicas(s.Spec.Replicas)
}

// declares says whether the StatefulSet declares the pod of the number.
func declares(s *appsv1.StatefulSet, number int64) bool {
	start, n := ordinals(s)
	return start <= number && number < start+n
}

// ordinal reads the number in the name of a StatefulSet's pod.
func ordinal(set, pod string) (int64, bool) {
	digits, ok := strings.CutPrefix(pod, set+"-")
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, ok && err == nil && strconv.FormatInt(n, 10) == digits
}

// claimsOf lists the volumes that the pod of this name will need. The claims of
// the claim templates are the pod's own.
func claimsOf(s *appsv1.StatefulSet, model *corev1.Pod, pod string) []volumeNeed {
	own := *model
	own.Spec.Volumes = nil
	var out []volumeNeed
	for i := range s.Spec.VolumeClaimTemplates {
		t := &s.Spec.VolumeClaimTemplates[i]
		out = append(out, volumeNeed{claim: t.Name + "-" + pod, template: &t.Spec})
	}
	for _, v := range model.Spec.Volumes {
		if !slices.ContainsFunc(s.Spec.VolumeClaimTemplates, func(t corev1.PersistentVolumeClaim) bool { return t.Name == v.Name }) {
			own.Spec.Volumes = append(own.Spec.Volumes, v)
		}
	}
	return append(out, needs(&own)...)
}

// Job reads the pods that a Job will create now. A Job with failed pods counts
// none: its controller delays new pods for a time that grows with each failure.
func Job(j *batchv1.Job, pods Pods, l Lookups) (cluster.Workload, bool) {
	if j.DeletionTimestamp != nil || j.Status.StartTime == nil || j.Status.Failed > 0 ||
		j.Spec.Suspend != nil && *j.Spec.Suspend || j.Spec.ManagedBy != nil && *j.Spec.ManagedBy != batchv1.JobControllerName {
		return cluster.Workload{}, false
	}
	for _, c := range j.Status.Conditions {
		if c.Status == corev1.ConditionTrue { // every condition of a Job means that it ends or is suspended
			return cluster.Workload{}, false
		}
	}
	uncounted := j.Status.UncountedTerminatedPods
	succeeded := int64(j.Status.Succeeded)
	if uncounted != nil {
		succeeded += int64(len(uncounted.Succeeded))
	}
	waitsForEnd := j.Spec.PodFailurePolicy != nil || j.Spec.PodReplacementPolicy != nil && *j.Spec.PodReplacementPolicy == batchv1.Failed
	var active int64
	var sibling *corev1.Pod
	for p := range pods {
		switch {
		case p.Status.Phase == corev1.PodFailed:
			return cluster.Workload{}, false
		case p.Status.Phase == corev1.PodSucceeded:
			counted := !slices.Contains(p.Finalizers, batchv1.JobTrackingFinalizer) || uncounted != nil && slices.Contains(uncounted.Succeeded, p.UID)
			if !counted {
				succeeded++
			}
		case p.DeletionTimestamp != nil:
			if waitsForEnd {
				active++
			}
		default:
			active++
			if sibling == nil || p.Name < sibling.Name {
				sibling = copyOf(p)
			}
		}
	}
	want := replicas(j.Spec.Parallelism)
	switch {
	case j.Spec.Completions != nil:
		want = min(want, int64(*j.Spec.Completions)-succeeded)
	case succeeded > 0: // the Job is a work queue that has been emptied
		want = 0
	}
	model, admitted := toCome(&j.Spec.Template, sibling, j, "Job", l)
	if !admitted {
		return cluster.Workload{}, false
	}
	return workload("Job", j, want-active, model, nil, l)
}

// workload is the controller with n pods to come that are like the model. claims
// are the volumes that these pods need; nil means the claims that the model
// names. Pods that will wait behind a scheduling gate or for another scheduler
// do not count.
func workload(kind string, owner metav1.Object, n int64, model *corev1.Pod, claims []volumeNeed, l Lookups) (cluster.Workload, bool) {
	if n <= 0 || !Ours(model) {
		return cluster.Workload{}, false
	}
	if claims == nil {
		claims = needs(model)
	}
	return cluster.Workload{
		UID: string(owner.GetUID()), Kind: kind, Namespace: owner.GetNamespace(), Name: owner.GetName(),
		Missing: n, Labels: podLabels(model.Labels), Shape: shape(model, claims, l),
	}, true
}

func replicas(n *int32) int64 {
	if n == nil {
		return 1
	}
	return int64(*n)
}

// live says whether the pod has not finished and is not being deleted.
func live(p *corev1.Pod) bool { return p.DeletionTimestamp == nil && !Finished(p) }

// count returns how many pods are live, and the first of these by name.
func count(pods Pods) (n int64, first *corev1.Pod) {
	for p := range pods {
		if live(p) {
			n++
			if first == nil || p.Name < first.Name {
				first = copyOf(p)
			}
		}
	}
	return n, first
}

// toCome is a pod that the controller will create. It is like a live sibling,
// which has been through admission. Without a sibling, admit turns the template
// into the pod, and the second result says whether admission lets the pod in.
// The template's scheduling gates are added, since they may have been lifted
// from the sibling.
func toCome(t *corev1.PodTemplateSpec, sibling *corev1.Pod, owner metav1.Object, kind string, l Lookups) (*corev1.Pod, bool) {
	yes := true
	group := appsv1.SchemeGroupVersion
	if kind == "Job" {
		group = batchv1.SchemeGroupVersion
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.GetNamespace(), Labels: t.Labels, Annotations: t.Annotations,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: group.String(), Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: &yes}},
		},
	}
	if sibling != nil {
		p.Spec = sibling.Spec
		p.Spec.NodeName = ""
		p.Spec.SchedulingGates = slices.Concat(t.Spec.SchedulingGates, sibling.Spec.SchedulingGates)
		return p, true
	}
	p.Spec = t.Spec
	return p, admit(p, l)
}
