package world

import (
	"cmp"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// kind is a kind of object. The kinds up to podBudgetKind have a counterpart in
// the decision core (package cluster). The others only matter to the translation of
// those.
type kind uint8

const (
	podKind kind = iota
	nodeKind
	claimKind
	poolKind
	classKind
	daemonSetKind
	replicaSetKind
	statefulSetKind
	jobKind
	namespaceKind
	podBudgetKind
	volumeClaimKind
	volumeKind
	storageClassKind  // the name "" is the default class
	limitRangeKind    // all of the namespace
	serviceKind       // all of the namespace
	driverKind        // whether volumes of the CSI driver are counted
	priorityClassKind // the name "" is the default class
	runtimeClassKind
	replicationKind // ReplicationControllers
	freeVolumesKind // all free volumes of the StorageClass
	claimUsersKind  // the pods that run and use the PersistentVolumeClaim
)

// ref names an object, or its translation.
type ref struct {
	kind kind
	name string
}

// translations is a cache: the objects as package translate reads them for the
// decision core, as of the last Snapshot. An object is translated once for each of
// its versions, and again when an object changes that its translation used.
type translations struct {
	snapshot    cluster.Snapshot
	classes     map[string]cluster.Class  // of the newest versions
	rooms       map[string]translate.Room // by capacity reservation
	drivers     []string                  // CSI drivers whose volumes are counted, sorted; EBS always, for EC2 names its limits
	stale       map[ref]struct{}          // to be translated before the next Snapshot
	conflicting map[ref]struct{}          // left out because of another object, which may be deleted
	faults      map[ref]error             // why a translation is left out

	alike   alike
	lookups translate.Lookups
	reading ref                      // the translation that lookups are for
	uses    map[ref][]ref            // translation -> what it used beyond its own object
	users   map[ref]map[ref]struct{} // the reverse
}

func newTranslations() translations {
	return translations{
		classes: map[string]cluster.Class{}, rooms: map[string]translate.Room{}, drivers: []string{translate.EBSDriver},
		stale: map[ref]struct{}{}, conflicting: map[ref]struct{}{}, faults: map[ref]error{},
		uses: map[ref][]ref{}, users: map[ref]map[ref]struct{}{},
	}
}

// touch marks as stale the translation of the object, and those that used it.
func (t *translations) touch(r ref) {
	if r.kind <= podBudgetKind {
		t.stale[r] = struct{}{}
	}
	for user := range t.users[r] {
		t.stale[user] = struct{}{}
	}
}

// begin starts the translation: it forgets what the last one used.
func (t *translations) begin(r ref) {
	for _, used := range t.uses[r] {
		delete(t.users[used], r)
		if len(t.users[used]) == 0 {
			delete(t.users, used)
		}
	}
	delete(t.uses, r)
	t.reading = r
}

// use notes that the current translation depends on the object.
func (t *translations) use(r ref) {
	if t.users[r] == nil {
		t.users[r] = map[ref]struct{}{}
	}
	if _, noted := t.users[r][t.reading]; !noted {
		t.users[r][t.reading] = struct{}{}
		t.uses[t.reading] = append(t.uses[t.reading], r)
	}
}

// lookups finds objects for the current translation, and notes that it depends on
// them even if they do not exist.
func (w *World) lookups() translate.Lookups {
	return translate.Lookups{
		VolumeClaim: func(namespace, name string) (*corev1.PersistentVolumeClaim, bool) {
			return find(w, w.objects.volumeClaims, ref{volumeClaimKind, namespace + "/" + name})
		},
		Volume: func(name string) (*corev1.PersistentVolume, bool) {
			return find(w, w.objects.volumes, ref{volumeKind, name})
		},
		FreeVolumes: w.freeVolumes,
		ClaimUser:   w.claimUser,
		StorageClass: func(name string) (*storagev1.StorageClass, bool) {
			if name == "" {
				w.translations.use(ref{storageClassKind, ""})
				return w.defaultStorageClass()
			}
			return find(w, w.objects.storageClasses, ref{storageClassKind, name})
		},
		Limited: func(driver string) bool {
			w.translations.use(ref{driverKind, driver})
			return slices.Contains(w.translations.drivers, driver)
		},
		LimitRanges: func(namespace string) []*corev1.LimitRange {
			w.translations.use(ref{limitRangeKind, namespace})
			return slices.Collect(maps.Values(w.objects.limitRanges[namespace]))
		},
		PriorityClass: func(name string) (*schedulingv1.PriorityClass, bool) {
			if name == "" {
				w.translations.use(ref{priorityClassKind, ""})
				return w.defaultPriorityClass()
			}
			return find(w, w.objects.priorityClasses, ref{priorityClassKind, name})
		},
		RuntimeClass: func(name string) (*nodev1.RuntimeClass, bool) {
			return find(w, w.objects.runtimeClasses, ref{runtimeClassKind, name})
		},
		StatefulSet: func(namespace, name string) (*appsv1.StatefulSet, bool) {
			return find(w, w.objects.statefulSets, ref{statefulSetKind, namespace + "/" + name})
		},
		Services: func(namespace string) []*corev1.Service {
			w.translations.use(ref{serviceKind, namespace})
			return slices.Collect(maps.Values(w.objects.services[namespace]))
		},
		Selector: w.selectorOf, ControllerSince: func(owner types.UID) time.Time { return w.ownedSince[owner] },
	}
}

func find[T any](w *World, m map[string]T, r ref) (T, bool) {
	w.translations.use(r)
	o, ok := m[r.name]
	return o, ok
}

// defaultStorageClass is the newest StorageClass that is marked as the default,
// as the API server chooses.
func (w *World) defaultStorageClass() (*storagev1.StorageClass, bool) {
	var chosen *storagev1.StorageClass
	for _, c := range w.objects.storageClasses {
		if c.Annotations[translate.AnnotationDefaultClass] != "true" {
			continue
		}
		if chosen == nil || cmp.Or(c.CreationTimestamp.Compare(chosen.CreationTimestamp.Time), cmp.Compare(chosen.Name, c.Name)) > 0 {
			chosen = c
		}
	}
	return chosen, chosen != nil
}

// defaultPriorityClass is the lowest PriorityClass that is marked as the default,
// as the API server chooses.
func (w *World) defaultPriorityClass() (*schedulingv1.PriorityClass, bool) {
	var chosen *schedulingv1.PriorityClass
	for _, c := range w.objects.priorityClasses {
		if c.GlobalDefault && (chosen == nil || c.Value < chosen.Value) {
			chosen = c
		}
	}
	return chosen, chosen != nil
}

func (w *World) selectorOf(namespace string, owner metav1.OwnerReference) (*metav1.LabelSelector, bool) {
	k := namespace + "/" + owner.Name
	apps := owner.APIVersion == appsv1.SchemeGroupVersion.String()
	switch {
	case owner.APIVersion == corev1.SchemeGroupVersion.String() && owner.Kind == "ReplicationController":
		if r, ok := find(w, w.objects.replication, ref{replicationKind, k}); ok {
			return &metav1.LabelSelector{MatchLabels: r.Spec.Selector}, true
		}
	case apps && owner.Kind == "ReplicaSet":
		if r, ok := find(w, w.objects.replicaSets, ref{replicaSetKind, k}); ok {
			return r.Spec.Selector, true
		}
	case apps && owner.Kind == "StatefulSet":
		if s, ok := find(w, w.objects.statefulSets, ref{statefulSetKind, k}); ok {
			return s.Spec.Selector, true
		}
	}
	return nil, false
}
