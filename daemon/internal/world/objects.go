package world

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// objects are the newest versions, by name or namespace/name.
type objects struct {
	pods            map[string]*translate.CompactPod
	nodes           map[string]*corev1.Node
	claims          map[string]*v1.NodeClaim
	pools           map[string]*v1.NodePool
	classes         map[string]*awsv1.EC2NodeClass
	daemonSets      map[string]*appsv1.DaemonSet
	replicaSets     map[string]*appsv1.ReplicaSet
	statefulSets    map[string]*appsv1.StatefulSet
	jobs            map[string]*batchv1.Job
	namespaces      map[string]*corev1.Namespace
	volumeClaims    map[string]*corev1.PersistentVolumeClaim
	volumes         map[string]*corev1.PersistentVolume
	storageClasses  map[string]*storagev1.StorageClass
	csiNodes        map[string]*storagev1.CSINode
	priorityClasses map[string]*schedulingv1.PriorityClass
	runtimeClasses  map[string]*nodev1.RuntimeClass
	replication     map[string]*corev1.ReplicationController
	podBudgets      map[string]*policyv1.PodDisruptionBudget
	limitRanges     map[string]map[string]*corev1.LimitRange          // by namespace
	services        map[string]map[string]*corev1.Service             // by namespace
	attachments     map[string]map[string]*storagev1.VolumeAttachment // by node
	freeVolumes     map[string]map[string]translate.FreeVolume        // by StorageClass
	freeIndex       map[string]*translate.FreeVolumes                 // those that were asked for since the last change

	controllers map[types.UID]ref // DaemonSets, ReplicaSets, StatefulSets and Jobs
}

func newObjects() objects {
	return objects{
		pods: map[string]*translate.CompactPod{}, nodes: map[string]*corev1.Node{}, claims: map[string]*v1.NodeClaim{},
		pools: map[string]*v1.NodePool{}, classes: map[string]*awsv1.EC2NodeClass{}, daemonSets: map[string]*appsv1.DaemonSet{},
		replicaSets: map[string]*appsv1.ReplicaSet{}, statefulSets: map[string]*appsv1.StatefulSet{}, jobs: map[string]*batchv1.Job{},
		namespaces: map[string]*corev1.Namespace{}, volumeClaims: map[string]*corev1.PersistentVolumeClaim{},
		volumes: map[string]*corev1.PersistentVolume{}, storageClasses: map[string]*storagev1.StorageClass{}, csiNodes: map[string]*storagev1.CSINode{},
		priorityClasses: map[string]*schedulingv1.PriorityClass{}, runtimeClasses: map[string]*nodev1.RuntimeClass{},
		podBudgets:  map[string]*policyv1.PodDisruptionBudget{},
		replication: map[string]*corev1.ReplicationController{},
		limitRanges: map[string]map[string]*corev1.LimitRange{}, services: map[string]map[string]*corev1.Service{},
		attachments: map[string]map[string]*storagev1.VolumeAttachment{},
		freeVolumes: map[string]map[string]translate.FreeVolume{}, freeIndex: map[string]*translate.FreeVolumes{},
		controllers: map[types.UID]ref{},
	}
}

// place is where the world keeps an object.
type place struct {
	ref ref
	// keep stores the object unless a newer version is known, and returns the uid of
	// the version that it replaced. drop removes the object, but not another object of
	// the same name.
	keep func() (old types.UID, kept bool)
	drop func() bool
}

// placeOf lists the kinds that the world stores without further indexes. Pods,
// Nodes and NodeClaims are not in the list: they are also indexed by each other. Neither
// are VolumeAttachments, which are kept by node.
func (w *World) placeOf(object metav1.Object) (place, bool) {
	o, name := &w.objects, key(object)
	switch x := object.(type) {
	case *v1.NodePool:
		return in(w, o.pools, ref{poolKind, name}, x), true
	case *awsv1.EC2NodeClass:
		return in(w, o.classes, ref{classKind, name}, x), true
	case *appsv1.DaemonSet:
		return in(w, o.daemonSets, ref{daemonSetKind, name}, x), true
	case *appsv1.ReplicaSet:
		return in(w, o.replicaSets, ref{replicaSetKind, name}, x), true
	case *appsv1.StatefulSet:
		return in(w, o.statefulSets, ref{statefulSetKind, name}, x), true
	case *batchv1.Job:
		return in(w, o.jobs, ref{jobKind, name}, x), true
	case *corev1.Namespace:
		return in(w, o.namespaces, ref{namespaceKind, name}, x), true
	case *corev1.PersistentVolumeClaim:
		return in(w, o.volumeClaims, ref{volumeClaimKind, name}, x), true
	case *corev1.PersistentVolume:
		return in(w, o.volumes, ref{volumeKind, name}, x), true
	case *storagev1.StorageClass:
		return in(w, o.storageClasses, ref{storageClassKind, name}, x), true
	case *storagev1.CSINode:
		return in(w, o.csiNodes, ref{nodeKind, name}, x), true
	case *schedulingv1.PriorityClass:
		return in(w, o.priorityClasses, ref{priorityClassKind, name}, x), true
	case *nodev1.RuntimeClass:
		return in(w, o.runtimeClasses, ref{runtimeClassKind, name}, x), true
	case *corev1.ReplicationController:
		return in(w, o.replication, ref{replicationKind, name}, x), true
	case *policyv1.PodDisruptionBudget:
		return in(w, o.podBudgets, ref{podBudgetKind, name}, x), true
	case *corev1.LimitRange:
		return inNamespace(w, o.limitRanges, ref{limitRangeKind, x.Namespace}, x), true
	case *corev1.Service:
		return inNamespace(w, o.services, ref{serviceKind, x.Namespace}, x), true
	}
	return place{}, false
}

func in[T metav1.Object](w *World, m map[string]T, r ref, o T) place {
	return place{
		ref: r,
		keep: func() (types.UID, bool) {
			var old types.UID
			if known, there := m[key(o)]; there {
				old = known.GetUID()
			}
			return old, keep(w, m, r, o)
		},
		drop: func() bool { return drop(w, m, r, o) },
	}
}

// inNamespace is the place of an object of the kinds only read per namespace.
func inNamespace[T metav1.Object](w *World, m map[string]map[string]T, r ref, o T) place {
	return place{
		ref: r,
		keep: func() (types.UID, bool) {
			if m[r.name] == nil {
				m[r.name] = map[string]T{}
			}
			return "", keep(w, m[r.name], r, o)
		},
		drop: func() bool {
			dropped := drop(w, m[r.name], r, o)
			if len(m[r.name]) == 0 {
				delete(m, r.name)
			}
			return dropped
		},
	}
}

// put stores the object unless a newer version is known, and returns what the
// change concerns.
func (w *World) put(object metav1.Object) concern {
	if _, dead := w.gone[object.GetUID()]; dead {
		return concern{}
	}
	switch o := object.(type) {
	case *corev1.Pod:
		return concern{claims: w.putPod(translate.Whole(o))}
	case *translate.CompactPod:
		return concern{claims: w.putPod(o)}
	case *corev1.Node:
		return concern{claims: w.putNode(o)}
	case *storagev1.VolumeAttachment:
		w.putAttachment(o)
		return concern{}
	case *v1.NodeClaim:
		if !translate.Serves(o.Spec.NodeClassRef, o.Unread) {
			return concern{}
		}
		w.putClaim(o)
		return concern{claims: []string{o.Name}}
	case *v1.NodePool:
		if !translate.Serves(o.Spec.Template.Spec.NodeClassRef, o.Unread) {
			return concern{}
		}
		return concern{claims: w.putPool(o)}
	case *awsv1.EC2NodeClass:
		return w.putClass(o)
	}
	w.putPlaced(object)
	return concern{}
}

// putPlaced stores an object that has a place; see placeOf.
func (w *World) putPlaced(object metav1.Object) {
	p, known := w.placeOf(object)
	if !known {
		return
	}
	if old, kept := p.keep(); kept {
		w.tie(object, p.ref, old)
	}
}

// putPool also has the NodeClaims of a Provisioner read anew when its nodes expire at
// another time: they have no time of their own. It returns the NodeClaims that a change of when
// nodes are consolidated concerns.
func (w *World) putPool(p *v1.NodePool) (concerned []string) {
	was := w.objects.pools[p.Name]
	w.putPlaced(p)
	if live(was) != live(p) || live(p) && !sameExpiry(was, p) {
		w.touchClaimsOf(p.Name)
	}
	if was == nil || was.Unread != p.Unread || was.Spec.Disruption.ConsolidateAfter != p.Spec.Disruption.ConsolidateAfter {
		return w.claimsOf(p.Name)
	}
	return nil
}

func (w *World) touchClaimsOf(pool string) {
	for _, name := range w.claimsOf(pool) {
		w.translations.touch(ref{claimKind, name})
	}
}

func (w *World) claimsOf(pool string) (names []string) {
	for name, c := range w.objects.claims {
		if c.Labels[v1.LabelNodePool] == pool {
			names = append(names, name)
		}
	}
	return names
}

// live says whether NodeClaims expire by what the pool says now.
func live(p *v1.NodePool) bool { return p != nil && translate.FromProvisioner(p) }

func sameExpiry(a, b *v1.NodePool) bool {
	return equality.Semantic.DeepEqual(a.Spec.Template.Spec.ExpireAfter, b.Spec.Template.Spec.ExpireAfter)
}

func (w *World) putClass(c *awsv1.EC2NodeClass) concern {
	was := w.objects.classes[c.Name]
	w.putPlaced(c)
	out := concern{claims: w.unlaunched(c.Name)}
	if asksAnew(was, c) {
		out.classes = []string{c.Name}
	}
	return out
}

// asksAnew says whether AWS has to be asked about the class: not because of a new status,
// which the daemon itself has written.
func asksAnew(was, is *awsv1.EC2NodeClass) bool {
	return was == nil || was.UID != is.UID || was.Generation != is.Generation || !slices.Equal(was.Finalizers, is.Finalizers) ||
		was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero()
}

// tie updates what depends on a new version of the object.
func (w *World) tie(object metav1.Object, r ref, old types.UID) {
	switch o := object.(type) {
	case *awsv1.EC2NodeClass:
		w.touchClass(r.name)
	case *corev1.PersistentVolume:
		w.listFree(r.name, o)
	case *storagev1.CSINode:
		w.learnDrivers(o)
	case *storagev1.StorageClass, *schedulingv1.PriorityClass:
		w.translations.touch(ref{r.kind, ""})
	case *appsv1.DaemonSet, *appsv1.ReplicaSet, *appsv1.StatefulSet, *batchv1.Job:
		if old != o.GetUID() {
			delete(w.objects.controllers, old)
			w.setOwnedSince(old, time.Time{})
		}
		w.objects.controllers[o.GetUID()] = r
		w.setOwnedSince(o.GetUID(), translate.ControllerSince(o))
		if set, is := o.(*appsv1.ReplicaSet); is {
			w.indexSet(r.name, set)
		}
	case *policyv1.PodDisruptionBudget:
		delete(w.budgets, o.Namespace)
	}
}

// setOwnedSince notes when the controller was created; zero for nobody knows. Its pods are
// read anew only where that is news: controllers change often.
func (w *World) setOwnedSince(controller types.UID, since time.Time) {
	if w.ownedSince[controller].Equal(since) {
		return
	}
	if w.ownedSince[controller] = since; since.IsZero() {
		delete(w.ownedSince, controller)
	}
	for name := range w.podsOwned[controller] {
		w.translations.touch(ref{podKind, name})
	}
}

func (w *World) remove(object metav1.Object) concern {
	w.bury(object.GetUID())
	return w.take(object)
}

// take removes the object, and returns what that concerns.
func (w *World) take(object metav1.Object) concern {
	switch o := object.(type) {
	case *corev1.Pod:
		return concern{claims: w.removePod(translate.Whole(o))}
	case *translate.CompactPod:
		return concern{claims: w.removePod(o)}
	case *corev1.Node:
		return concern{claims: w.removeNode(o)}
	case *storagev1.VolumeAttachment:
		return concern{claims: w.removeAttachment(o)}
	case *v1.NodeClaim:
		w.removeClaim(o)
		out := concern{claims: []string{o.Name}}
		if class := w.objects.classes[o.Spec.NodeClassRef.Name]; class != nil && class.DeletionTimestamp != nil {
			out.classes = []string{class.Name} // it may be deleted now
		}
		return out
	}
	p, known := w.placeOf(object)
	if !known || !p.drop() {
		return concern{}
	}
	switch p.ref.kind {
	case poolKind:
		if pool, is := object.(*v1.NodePool); is && live(pool) {
			w.touchClaimsOf(pool.Name)
		}
		return concern{claims: w.claimsOf(p.ref.name)}
	case classKind:
		w.touchClass(p.ref.name)
	case volumeKind:
		w.listFree(p.ref.name, nil)
	case storageClassKind, priorityClassKind:
		w.translations.touch(ref{p.ref.kind, ""})
	case daemonSetKind, replicaSetKind, statefulSetKind, jobKind:
		delete(w.objects.controllers, object.GetUID())
		w.setOwnedSince(object.GetUID(), time.Time{})
		if p.ref.kind == replicaSetKind {
			w.indexSet(p.ref.name, nil)
		}
	case podBudgetKind:
		delete(w.budgets, object.GetNamespace())
	default: // nothing depends on it
	}
	return concern{}
}

// store keeps the newer of two versions, and reports whether that is o. The two may
// be different objects of the same name: the newer version wins there too.
func store[T metav1.Object](m map[string]T, k string, o T) bool {
	if old, ok := m[k]; ok && !news(o, old) {
		return false
	}
	m[k] = o
	return true
}

// keep stores the object and marks the translations that use it as stale.
func keep[T metav1.Object](w *World, m map[string]T, r ref, o T) bool {
	if !store(m, key(o), o) {
		return false
	}
	w.translations.touch(r)
	return true
}

// drop removes the object, but not another object of the same name.
func drop[T metav1.Object](w *World, m map[string]T, r ref, o T) bool {
	if known, there := m[key(o)]; !there || known.GetUID() != o.GetUID() {
		return false
	}
	delete(m, key(o))
	w.translations.touch(r)
	return true
}

// key is namespace/name, or the name alone for a cluster-scoped object.
func key(o metav1.Object) string {
	if o.GetNamespace() == "" {
		return o.GetName()
	}
	return o.GetNamespace() + "/" + o.GetName()
}
