package world

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// objects are the newest versions, by name or namespace/name.
type objects struct {
	pods           map[string]*corev1.Pod
	nodes          map[string]*corev1.Node
	claims         map[string]*v1.NodeClaim
	pools          map[string]*v1.NodePool
	classes        map[string]*awsv1.EC2NodeClass
	daemonSets     map[string]*appsv1.DaemonSet
	replicaSets    map[string]*appsv1.ReplicaSet
	statefulSets   map[string]*appsv1.StatefulSet
	jobs           map[string]*batchv1.Job
	namespaces     map[string]*corev1.Namespace
	volumeClaims   map[string]*corev1.PersistentVolumeClaim
	volumes        map[string]*corev1.PersistentVolume
	storageClasses map[string]*storagev1.StorageClass
	csiNodes       map[string]*storagev1.CSINode
	limitRanges    map[string]map[string]*corev1.LimitRange // by namespace
	services       map[string]map[string]*corev1.Service    // by namespace

	controllers map[types.UID]ref // DaemonSets, ReplicaSets, StatefulSets and Jobs
}

func newObjects() objects {
	return objects{
		pods: map[string]*corev1.Pod{}, nodes: map[string]*corev1.Node{}, claims: map[string]*v1.NodeClaim{},
		pools: map[string]*v1.NodePool{}, classes: map[string]*awsv1.EC2NodeClass{}, daemonSets: map[string]*appsv1.DaemonSet{},
		replicaSets: map[string]*appsv1.ReplicaSet{}, statefulSets: map[string]*appsv1.StatefulSet{}, jobs: map[string]*batchv1.Job{},
		namespaces: map[string]*corev1.Namespace{}, volumeClaims: map[string]*corev1.PersistentVolumeClaim{},
		volumes: map[string]*corev1.PersistentVolume{}, storageClasses: map[string]*storagev1.StorageClass{}, csiNodes: map[string]*storagev1.CSINode{},
		limitRanges: map[string]map[string]*corev1.LimitRange{}, services: map[string]map[string]*corev1.Service{},
		controllers: map[types.UID]ref{},
	}
}

// put stores the object unless it is older than what is known, and returns what
// that concerns.
func (w *World) put(object metav1.Object) concern {
	if _, dead := w.gone[object.GetUID()]; dead {
		return concern{}
	}
	switch o := object.(type) {
	case *corev1.Pod:
		return concern{claims: w.putPod(o)}
	case *corev1.Node:
		return concern{claims: w.putNode(o)}
	case *v1.NodeClaim:
		if !ours(o.Spec.NodeClassRef) {
			return concern{}
		}
		w.putClaim(o)
		return concern{claims: []string{o.Name}}
	case *awsv1.EC2NodeClass:
		if store(w.objects.classes, o.Name, o) {
			w.touchClass(o.Name)
		}
		return concern{claims: w.unlaunched(o.Name), classes: []string{o.Name}}
	case *v1.NodePool:
		if ours(o.Spec.Template.Spec.NodeClassRef) {
			keep(w, w.objects.pools, ref{poolKind, o.Name}, o)
		}
	case *appsv1.DaemonSet, *appsv1.ReplicaSet, *appsv1.StatefulSet, *batchv1.Job:
		w.putController(object)
	default:
		w.putOther(object)
	}
	return concern{}
}

// putController stores what owns pods.
func (w *World) putController(object metav1.Object) {
	k := key(object)
	switch o := object.(type) {
	case *appsv1.DaemonSet:
		keepController(w, w.objects.daemonSets, ref{daemonSetKind, k}, o)
	case *appsv1.ReplicaSet:
		keepController(w, w.objects.replicaSets, ref{replicaSetKind, k}, o)
	case *appsv1.StatefulSet:
		keepController(w, w.objects.statefulSets, ref{statefulSetKind, k}, o)
	case *batchv1.Job:
		keepController(w, w.objects.jobs, ref{jobKind, k}, o)
	}
}

// keepController stores the controller in place of another of its name.
func keepController[T metav1.Object](w *World, m map[string]T, r ref, o T) {
	old, known := m[r.name]
	if !keep(w, m, r, o) {
		return
	}
	if known {
		delete(w.objects.controllers, old.GetUID())
	}
	w.objects.controllers[o.GetUID()] = r
}

// putOther stores what only matters to the meaning of other objects.
func (w *World) putOther(object metav1.Object) {
	switch o := object.(type) {
	case *corev1.Namespace:
		keep(w, w.objects.namespaces, ref{namespaceKind, o.Name}, o)
	case *corev1.PersistentVolumeClaim:
		keep(w, w.objects.volumeClaims, ref{volumeClaimKind, key(o)}, o)
	case *corev1.PersistentVolume:
		keep(w, w.objects.volumes, ref{volumeKind, o.Name}, o)
	case *storagev1.StorageClass:
		keep(w, w.objects.storageClasses, ref{storageClassKind, o.Name}, o)
		w.words.touch(ref{storageClassKind, ""})
	case *storagev1.CSINode:
		if keep(w, w.objects.csiNodes, ref{nodeKind, o.Name}, o) {
			w.learnDrivers(o)
		}
	case *corev1.LimitRange:
		keep(w, inner(w.objects.limitRanges, o.Namespace), ref{limitRangeKind, o.Namespace}, o)
	case *corev1.Service:
		keep(w, inner(w.objects.services, o.Namespace), ref{serviceKind, o.Namespace}, o)
	}
}

func (w *World) remove(object metav1.Object) concern {
	w.bury(object.GetUID())
	switch o := object.(type) {
	case *corev1.Pod:
		return concern{claims: w.removePod(o)}
	case *corev1.Node:
		return concern{claims: w.removeNode(o)}
	case *v1.NodeClaim:
		w.removeClaim(o)
		return concern{claims: []string{o.Name}, classes: []string{o.Spec.NodeClassRef.Name}}
	case *awsv1.EC2NodeClass:
		if drop(w, w.objects.classes, ref{classKind, o.Name}, o) {
			w.touchClass(o.Name)
		}
	case *v1.NodePool:
		drop(w, w.objects.pools, ref{poolKind, o.Name}, o)
	case *appsv1.DaemonSet, *appsv1.ReplicaSet, *appsv1.StatefulSet, *batchv1.Job:
		w.removeController(object)
	default:
		w.removeOther(object)
	}
	return concern{}
}

func (w *World) removeController(object metav1.Object) {
	k := key(object)
	switch o := object.(type) {
	case *appsv1.DaemonSet:
		drop(w, w.objects.daemonSets, ref{daemonSetKind, k}, o)
	case *appsv1.ReplicaSet:
		drop(w, w.objects.replicaSets, ref{replicaSetKind, k}, o)
	case *appsv1.StatefulSet:
		drop(w, w.objects.statefulSets, ref{statefulSetKind, k}, o)
	case *batchv1.Job:
		drop(w, w.objects.jobs, ref{jobKind, k}, o)
	}
	delete(w.objects.controllers, object.GetUID())
}

func (w *World) removeOther(object metav1.Object) {
	switch o := object.(type) {
	case *corev1.Namespace:
		drop(w, w.objects.namespaces, ref{namespaceKind, o.Name}, o)
	case *corev1.PersistentVolumeClaim:
		drop(w, w.objects.volumeClaims, ref{volumeClaimKind, key(o)}, o)
	case *corev1.PersistentVolume:
		drop(w, w.objects.volumes, ref{volumeKind, o.Name}, o)
	case *storagev1.StorageClass:
		drop(w, w.objects.storageClasses, ref{storageClassKind, o.Name}, o)
		w.words.touch(ref{storageClassKind, ""})
	case *storagev1.CSINode:
		drop(w, w.objects.csiNodes, ref{nodeKind, o.Name}, o)
	case *corev1.LimitRange:
		dropInner(w, w.objects.limitRanges, ref{limitRangeKind, o.Namespace}, o)
	case *corev1.Service:
		dropInner(w, w.objects.services, ref{serviceKind, o.Namespace}, o)
	}
}

// store keeps the newer of two versions and says whether that is o. Objects of
// the same name with another uid are another object: the newer version wins too.
func store[T metav1.Object](m map[string]T, k string, o T) bool {
	if old, ok := m[k]; ok && older(o, old) {
		return false
	}
	m[k] = o
	return true
}

// keep stores the object and has read again what was made of the reference.
func keep[T metav1.Object](w *World, m map[string]T, r ref, o T) bool {
	if !store(m, key(o), o) {
		return false
	}
	w.words.touch(r)
	return true
}

// drop takes the object out, and not another of the same name.
func drop[T metav1.Object](w *World, m map[string]T, r ref, o T) bool {
	if known, there := m[key(o)]; !there || known.GetUID() != o.GetUID() {
		return false
	}
	delete(m, key(o))
	w.words.touch(r)
	return true
}

// dropInner takes the object out of its namespace, and that with its last object.
func dropInner[T metav1.Object](w *World, m map[string]map[string]T, r ref, o T) {
	drop(w, m[r.name], r, o)
	if len(m[r.name]) == 0 {
		delete(m, r.name)
	}
}

func inner[T any](m map[string]map[string]T, k string) map[string]T {
	if m[k] == nil {
		m[k] = map[string]T{}
	}
	return m[k]
}

// key is namespace/name, or the name of what is in no namespace.
func key(o metav1.Object) string {
	if o.GetNamespace() == "" {
		return o.GetName()
	}
	return o.GetNamespace() + "/" + o.GetName()
}
