package translate

import (
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// Keeper reduces API objects to the fields that are read, for callers that keep
// many objects. It copies by name each field that is read, and drops the rest,
// so that a field that a later Kubernetes release adds costs nothing. Code that
// reads another field must add the field here. The tests of Keeper fill every
// field, and fail where an object means something else than what Keeper kept of
// it.
//
// Parts that many objects have in common are kept once, so callers must not
// change them. A Keeper is safe for use by many goroutines.
type Keeper struct {
	mu        sync.Mutex
	labels    shared[map[string]string]
	owners    shared[[]metav1.OwnerReference]
	specs     shared[*podParts]
	texts     shared[string]
	key       []byte                      // room to make a key in
	nominated []metav1.ManagedFieldsEntry // says that the daemon has nominated the pod
}

// NewKeeper makes a Keeper that has seen nothing.
func NewKeeper() *Keeper {
	return &Keeper{nominated: []metav1.ManagedFieldsEntry{{
		Manager: FieldManager, FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:nominatedNodeName":{}}}`),
	}}}
}

// Keep reduces the object in place. A second Keep changes nothing. Of an object
// of an unknown kind it drops the managed fields only.
func (k *Keeper) Keep(object metav1.Object) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch o := object.(type) {
	case *corev1.Pod:
		k.pod(o)
	case *corev1.Node:
		keepNode(o)
	case *appsv1.DaemonSet:
		*o = appsv1.DaemonSet{ObjectMeta: keepMeta(o), Spec: appsv1.DaemonSetSpec{Template: keepTemplate(&o.Spec.Template)}}
	case *appsv1.ReplicaSet:
		k.replicaSet(o)
	case *appsv1.StatefulSet:
		keepStatefulSet(o)
	case *batchv1.Job:
		keepJob(o)
	case *corev1.PersistentVolumeClaim, *corev1.PersistentVolume, *storagev1.StorageClass, *storagev1.CSINode, *storagev1.VolumeAttachment:
		keepStorage(o)
	default:
		keepPolicy(o)
	}
}

// keepMeta is what is read of every object's metadata.
func keepMeta(o metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: o.GetName(), Namespace: o.GetNamespace(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
		CreationTimestamp: o.GetCreationTimestamp(), DeletionTimestamp: o.GetDeletionTimestamp(), Generation: o.GetGeneration(),
	}
}

// keepAnnotations returns the annotations with one of the keys.
func keepAnnotations(all map[string]string, keys ...string) map[string]string {
	var out map[string]string
	for _, key := range keys {
		if value, there := all[key]; there {
			if out == nil {
				out = map[string]string{}
			}
			out[key] = value
		}
	}
	return out
}

// keepOwner returns the reference to the controller alone.
func keepOwner(o metav1.Object) []metav1.OwnerReference {
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil {
		return nil
	}
	return []metav1.OwnerReference{{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, UID: ref.UID, Controller: ref.Controller}}
}

// keepClaimOwners returns the references to the controller of a claim, and to pods with
// which the claim is deleted.
func keepClaimOwners(c *corev1.PersistentVolumeClaim) []metav1.OwnerReference {
	out := keepOwner(c)
	for _, ref := range c.OwnerReferences {
		if ref.Kind == podKind && (ref.Controller == nil || !*ref.Controller) {
			out = append(out, metav1.OwnerReference{Kind: ref.Kind, UID: ref.UID})
		}
	}
	return out
}

// keepNode keeps whole the lists and maps that registration and drains write
// back.
func keepNode(n *corev1.Node) {
	meta := keepMeta(n)
	meta.Labels, meta.Annotations, meta.OwnerReferences, meta.Finalizers = n.Labels, n.Annotations, n.OwnerReferences, n.Finalizers
	status := corev1.NodeStatus{Allocatable: n.Status.Allocatable}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			status.Conditions = append(status.Conditions, corev1.NodeCondition{Type: c.Type, Status: c.Status})
		}
	}
	*n = corev1.Node{
		ObjectMeta: meta, Status: status,
		Spec: corev1.NodeSpec{ProviderID: n.Spec.ProviderID, Taints: n.Spec.Taints, Unschedulable: n.Spec.Unschedulable},
	}
}

// replicaSet drops the template of a ReplicaSet that wants no pods, and whose it is. A
// Deployment keeps ten such ReplicaSets by default for each one in use.
func (k *Keeper) replicaSet(r *appsv1.ReplicaSet) {
	meta := keepMeta(r)
	spec := appsv1.ReplicaSetSpec{Replicas: r.Spec.Replicas, Selector: r.Spec.Selector}
	if replicas(r.Spec.Replicas) > 0 {
		spec.Template = keepTemplate(&r.Spec.Template)
		meta.OwnerReferences, meta.Annotations = k.ownersOf(keepOwner(r)), keepAnnotations(r.Annotations, desiredReplicas, revision)
	}
	status := appsv1.ReplicaSetStatus{ObservedGeneration: r.Status.ObservedGeneration}
	for _, c := range r.Status.Conditions {
		if c.Type == appsv1.ReplicaSetReplicaFailure {
			status.Conditions = append(status.Conditions, appsv1.ReplicaSetCondition{Type: c.Type, Status: c.Status})
		}
	}
	*r = appsv1.ReplicaSet{ObjectMeta: meta, Spec: spec, Status: status}
}

func keepStatefulSet(s *appsv1.StatefulSet) {
	spec := appsv1.StatefulSetSpec{
		Replicas: s.Spec.Replicas, Selector: s.Spec.Selector, Ordinals: s.Spec.Ordinals, PodManagementPolicy: s.Spec.PodManagementPolicy,
		Template: keepTemplate(&s.Spec.Template),
	}
	for i := range s.Spec.VolumeClaimTemplates {
		t := &s.Spec.VolumeClaimTemplates[i]
		spec.VolumeClaimTemplates = append(spec.VolumeClaimTemplates, corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: t.Name}, Spec: keepClaimSpec(&t.Spec),
		})
	}
	*s = appsv1.StatefulSet{ObjectMeta: keepMeta(s), Spec: spec, Status: appsv1.StatefulSetStatus{
		ObservedGeneration: s.Status.ObservedGeneration, UpdateRevision: s.Status.UpdateRevision,
	}}
}

// keepJob drops the template of a Job that has ended or is suspended, since
// CronJobs leave many such Jobs.
func keepJob(j *batchv1.Job) {
	spec := batchv1.JobSpec{
		Suspend: j.Spec.Suspend, ManagedBy: j.Spec.ManagedBy, Parallelism: j.Spec.Parallelism, Completions: j.Spec.Completions,
		PodReplacementPolicy: j.Spec.PodReplacementPolicy,
	}
	if j.Spec.PodFailurePolicy != nil {
		spec.PodFailurePolicy = &batchv1.PodFailurePolicy{}
	}
	status := batchv1.JobStatus{StartTime: j.Status.StartTime, Failed: j.Status.Failed, Succeeded: j.Status.Succeeded}
	for _, c := range j.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			status.Conditions = append(status.Conditions, batchv1.JobCondition{Type: c.Type, Status: c.Status})
		}
	}
	if len(status.Conditions) == 0 {
		spec.Template = keepTemplate(&j.Spec.Template)
		if u := j.Status.UncountedTerminatedPods; u != nil {
			status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: u.Succeeded}
		}
	}
	*j = batchv1.Job{ObjectMeta: keepMeta(j), Spec: spec, Status: status}
}

// keepStorage keeps the fields of storage objects that say where pods can run.
func keepStorage(object metav1.Object) {
	meta := keepMeta(object)
	switch o := object.(type) {
	case *corev1.PersistentVolumeClaim:
		meta.OwnerReferences, meta.Annotations = keepClaimOwners(o), keepAnnotations(o.Annotations, selectedNode)
		*o = corev1.PersistentVolumeClaim{
			ObjectMeta: meta, Spec: keepClaimSpec(&o.Spec),
			Status: corev1.PersistentVolumeClaimStatus{Phase: o.Status.Phase},
		}
	case *corev1.PersistentVolume:
		meta.Labels = o.Labels
		spec := corev1.PersistentVolumeSpec{NodeAffinity: o.Spec.NodeAffinity}
		if csi := o.Spec.CSI; csi != nil {
			spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: csi.Driver}
		}
		if o.Spec.AWSElasticBlockStore != nil {
			spec.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{}
		}
		if o.Spec.Local != nil {
			spec.Local = &corev1.LocalVolumeSource{}
		}
		if o.Spec.HostPath != nil {
			spec.HostPath = &corev1.HostPathVolumeSource{}
		}
		status := corev1.PersistentVolumeStatus{}
		if Free(o) {
			keepFree(&spec, &o.Spec)
			status.Phase = o.Status.Phase
		}
		*o = corev1.PersistentVolume{ObjectMeta: meta, Spec: spec, Status: status}
	case *storagev1.StorageClass:
		meta.Annotations = keepAnnotations(o.Annotations, AnnotationDefaultClass)
		*o = storagev1.StorageClass{
			ObjectMeta: meta, Provisioner: o.Provisioner, VolumeBindingMode: o.VolumeBindingMode, AllowedTopologies: o.AllowedTopologies,
		}
	case *storagev1.CSINode:
		var drivers []storagev1.CSINodeDriver
		for _, d := range o.Spec.Drivers {
			drivers = append(drivers, storagev1.CSINodeDriver{Name: d.Name, Allocatable: d.Allocatable})
		}
		*o = storagev1.CSINode{ObjectMeta: meta, Spec: storagev1.CSINodeSpec{Drivers: drivers}}
	case *storagev1.VolumeAttachment:
		*o = storagev1.VolumeAttachment{ObjectMeta: meta, Spec: storagev1.VolumeAttachmentSpec{
			NodeName: o.Spec.NodeName, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: o.Spec.Source.PersistentVolumeName},
		}}
	}
}

// keepClaimSpec keeps the fields that say which volume a claim has, and that it is for one pod
// at a time. While it has none, it keeps those that say which volumes match.
func keepClaimSpec(s *corev1.PersistentVolumeClaimSpec) corev1.PersistentVolumeClaimSpec {
	out := corev1.PersistentVolumeClaimSpec{VolumeName: s.VolumeName, StorageClassName: s.StorageClassName}
	if s.VolumeName != "" {
		if slices.Contains(s.AccessModes, corev1.ReadWriteOncePod) {
			out.AccessModes = s.AccessModes
		}
		return out
	}
	out.AccessModes, out.Selector, out.VolumeMode, out.VolumeAttributesClassName = s.AccessModes, s.Selector, s.VolumeMode, s.VolumeAttributesClassName
	out.Resources.Requests = keepStorageOf(s.Resources.Requests)
	return out
}

// keepFree keeps the fields that say which claims match a free volume.
func keepFree(out, s *corev1.PersistentVolumeSpec) {
	out.AccessModes, out.VolumeMode, out.VolumeAttributesClassName = s.AccessModes, s.VolumeMode, s.VolumeAttributesClassName
	out.StorageClassName, out.Capacity = s.StorageClassName, keepStorageOf(s.Capacity)
	if ref := s.ClaimRef; ref != nil {
		out.ClaimRef = &corev1.ObjectReference{Namespace: ref.Namespace, Name: ref.Name, UID: ref.UID}
	}
}

// keepStorageOf returns the size of a volume alone.
func keepStorageOf(r corev1.ResourceList) corev1.ResourceList {
	size, there := r[corev1.ResourceStorage]
	if !there {
		return nil
	}
	return corev1.ResourceList{corev1.ResourceStorage: size}
}

// keepPolicy keeps the fields of objects that select pods or set defaults for
// them.
func keepPolicy(object metav1.Object) {
	meta := keepMeta(object)
	switch o := object.(type) {
	case *corev1.Namespace:
		meta.Labels = o.Labels
		*o = corev1.Namespace{ObjectMeta: meta}
	case *corev1.LimitRange:
		limits := slices.DeleteFunc(slices.Clone(o.Spec.Limits), func(i corev1.LimitRangeItem) bool { return i.Type != corev1.LimitTypeContainer })
		for i := range limits {
			limits[i] = corev1.LimitRangeItem{Type: limits[i].Type, DefaultRequest: limits[i].DefaultRequest}
		}
		*o = corev1.LimitRange{ObjectMeta: meta, Spec: corev1.LimitRangeSpec{Limits: limits}}
	case *schedulingv1.PriorityClass:
		*o = schedulingv1.PriorityClass{ObjectMeta: meta, Value: o.Value, GlobalDefault: o.GlobalDefault}
	case *nodev1.RuntimeClass:
		*o = nodev1.RuntimeClass{ObjectMeta: meta, Overhead: o.Overhead, Scheduling: o.Scheduling}
	case *corev1.Service:
		*o = corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: o.Spec.Selector}}
	case *policyv1.PodDisruptionBudget:
		*o = policyv1.PodDisruptionBudget{
			ObjectMeta: meta, Spec: policyv1.PodDisruptionBudgetSpec{Selector: o.Spec.Selector, UnhealthyPodEvictionPolicy: o.Spec.UnhealthyPodEvictionPolicy},
			Status: policyv1.PodDisruptionBudgetStatus{
				DisruptionsAllowed: o.Status.DisruptionsAllowed, CurrentHealthy: o.Status.CurrentHealthy, DesiredHealthy: o.Status.DesiredHealthy,
			},
		}
	case *corev1.ReplicationController:
		*o = corev1.ReplicationController{ObjectMeta: meta, Spec: corev1.ReplicationControllerSpec{Selector: o.Spec.Selector}}
	default:
		object.SetManagedFields(nil)
	}
}

// podAnnotations are the annotations of pods that are read.
func podAnnotations() []string {
	return []string{v1.AnnotationDoNotDisrupt, v1.AnnotationDoNotEvict, corev1.MirrorPodAnnotationKey, v1.AnnotationGang, v1.AnnotationGangSize}
}
