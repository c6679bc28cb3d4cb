package translate

import (
	"bytes"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podresources "k8s.io/component-helpers/resource"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// FieldManager is the name under which the daemon writes. It tells the daemon's
// own nominations from the kube-scheduler's.
const FieldManager = "karpenterd"

// Pod reads a pod. The second result is false for pods that the core ignores;
// see Ours.
func Pod(p *corev1.Pod, l Lookups) (cluster.Pod, bool) {
	if !Ours(p) {
		return cluster.Pod{}, false
	}
	out := cluster.Pod{
		UID: string(p.UID), Namespace: p.Namespace, Name: p.Name, Labels: podLabels(p.Labels),
		Node: p.Spec.NodeName, Created: p.CreationTimestamp.Time,
		Nominated: p.Status.NominatedNodeName, Deleting: p.DeletionTimestamp != nil,
	}
	out.DeletionCost = deletionCost(p)
	protected := PodProtection(p)
	out.DoNotDisrupt, out.ProtectedUntil = protected.Always, protected.Until
	if ref := metav1.GetControllerOfNoCopy(p); ref != nil {
		out.Owner = cluster.Owner{Kind: ref.Kind, Name: ref.Name, UID: string(ref.UID)}
		if l.ControllerSince != nil {
			out.OwnedSince = l.ControllerSince(ref.UID)
		}
	}
	out.Returns = returns(p, l)
	out.NotReady, out.NotStarted = !PodReady(p), p.Status.Phase == corev1.PodPending
	out.Pinned = Pinned(p)
	claims := needs(p)
	out.Volumes = len(claims) > 0
	out.Shape = shape(p, claims, l)
	if out.Pinned {
		// The DaemonSet controller names the node in each pod's affinity, so that
		// every pod would be a class of its own. The affinity adds nothing to Pinned.
		out.Shape.NodeAffinity = nil
	}
	out.NominatedByUs = out.Nominated != "" && nominatedBy(p.ManagedFields, FieldManager)
	out.Unschedulable, out.OtherScheduler = unschedulable(p), !byDefault(p)
	return out, true
}

// unschedulable says whether the pod's scheduler has found no node for it.
func unschedulable(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
	})
}

// byDefault says whether the pod is the default scheduler's to place.
func byDefault(p *corev1.Pod) bool {
	return p.Spec.SchedulerName == "" || p.Spec.SchedulerName == corev1.DefaultSchedulerName
}

// returns says whether the pod terminates and its StatefulSet will create it anew: the
// StatefulSet is there, is not being deleted, and still declares the pod's number.
func returns(p *corev1.Pod, l Lookups) bool {
	ref := metav1.GetControllerOfNoCopy(p)
	if p.DeletionTimestamp == nil || ref == nil || ref.APIVersion != appsv1.SchemeGroupVersion.String() || ref.Kind != "StatefulSet" || l.StatefulSet == nil {
		return false
	}
	s, there := l.StatefulSet(p.Namespace, ref.Name)
	if !there || s.UID != ref.UID || s.DeletionTimestamp != nil {
		return false
	}
	i, numbered := ordinal(s.Name, p.Name)
	return numbered && declares(s, i)
}

// deletionCost reads the annotation by which controllers scale down the cheapest pods
// first. Like them, it takes a value that is no number as 0.
func deletionCost(p *corev1.Pod) int32 {
	n, err := strconv.ParseInt(p.Annotations[corev1.PodDeletionCost], 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

// Pinned says whether the pod belongs to its node and never gets another: a static
// pod or one of a DaemonSet.
func Pinned(p *corev1.Pod) bool {
	if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return true
	}
	ref := metav1.GetControllerOfNoCopy(p)
	return ref != nil && (ref.Kind == "DaemonSet" || ref.Kind == "Node")
}

// Moves says whether the pod, bound to a node that is deleted, needs another place. It says
// the same as Moves of the pod that Pod reads.
func Moves(p *corev1.Pod) bool { return Ours(p) && !Pinned(p) && p.DeletionTimestamp == nil }

// Ours says whether a pod takes room or may need some. It is false for finished
// pods, and for unbound pods that wait behind a scheduling gate. It is also false for
// unbound pods of another scheduler until that scheduler says that no node has room for
// them: nobody knows when it tries, and by what rules.
func Ours(p *corev1.Pod) bool {
	if Finished(p) {
		return false
	}
	return p.Spec.NodeName != "" || len(p.Spec.SchedulingGates) == 0 && (byDefault(p) || unschedulable(p))
}

// Finished says whether the pod's containers have ended for good: it takes no room.
func Finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// PodReady says whether the pod serves: its condition Ready is true.
func PodReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func nominatedBy(entries []metav1.ManagedFieldsEntry, manager string) bool {
	return slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && e.FieldsV1 != nil && bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(`"f:nominatedNodeName"`))
	})
}

// PodRequests sums what the pod takes of a node, as the kube-scheduler of
// Kubernetes 1.37 does: containers, restartable and other init containers,
// pod-level requests, overhead, and one pod slot. While a resize in place is
// under way, the larger of the wanted and the granted amount counts.
func PodRequests(p *corev1.Pod) quantity.Resources {
	r := Resources(podresources.PodRequests(p, podresources.PodResourcesOptions{
		UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true,
	}))
	r.PodSlots = 1
	return r
}
