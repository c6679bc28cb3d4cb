package world

import (
	"cmp"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// kind is a kind of object. Those up to namespaces are words of the core as
// well; the others only matter to what words mean.
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
	volumeClaimKind
	volumeKind
	storageClassKind  // the name "" is the default class
	limitRangeKind    // those of the namespace
	serviceKind       // those of the namespace
	driverKind        // whether volumes of the driver are counted
	priorityClassKind // the name "" is the default class
	runtimeClassKind
	replicationKind // ReplicationControllers
)

// ref names an object, or the word that is made of it.
type ref struct {
	kind kind
	name string
}

// words are the objects in the words of the core, as the last Snapshot has them,
// and what must be read again before the next: an object is read once for each
// of its versions, and once more when something changes that it was read with.
type words struct {
	snapshot cluster.Snapshot
	classes  map[string]cluster.Class  // made of the newest versions
	rooms    map[string]translate.Room // by capacity reservation
	drivers  []string                  // of which volumes are counted, sorted; EC2 says how many of EBS
	stale    map[ref]struct{}
	atOdds   map[ref]struct{} // words that are left out because of another, which may go
	faults   map[ref]error    // words that are left out

	lookups translate.Lookups
	reading ref                      // the word that lookups are for
	uses    map[ref][]ref            // word -> what it was read with, beside its own object
	users   map[ref]map[ref]struct{} // the reverse
}

func newWords() words {
	return words{
		classes: map[string]cluster.Class{}, rooms: map[string]translate.Room{}, drivers: []string{translate.EBSDriver},
		stale: map[ref]struct{}{}, atOdds: map[ref]struct{}{}, faults: map[ref]error{},
		uses: map[ref][]ref{}, users: map[ref]map[ref]struct{}{},
	}
}

// touch has the word of the object read again, and those that were read with it.
func (s *words) touch(r ref) {
	if r.kind <= namespaceKind {
		s.stale[r] = struct{}{}
	}
	for word := range s.users[r] {
		s.stale[word] = struct{}{}
	}
}

// begin forgets what the word was read with.
func (s *words) begin(word ref) {
	for _, r := range s.uses[word] {
		delete(s.users[r], word)
		if len(s.users[r]) == 0 {
			delete(s.users, r)
		}
	}
	delete(s.uses, word)
	s.reading = word
}

// use takes down that the word being read depends on the object.
func (s *words) use(r ref) {
	if s.users[r] == nil {
		s.users[r] = map[ref]struct{}{}
	}
	if _, noted := s.users[r][s.reading]; !noted {
		s.users[r][s.reading] = struct{}{}
		s.uses[s.reading] = append(s.uses[s.reading], r)
	}
}

// lookups finds objects for the word that is being read and takes down that it
// depends on them, whether or not they are there.
func (w *World) lookups() translate.Lookups {
	return translate.Lookups{
		VolumeClaim: func(namespace, name string) (*corev1.PersistentVolumeClaim, bool) {
			return find(w, w.objects.volumeClaims, ref{volumeClaimKind, namespace + "/" + name})
		},
		Volume: func(name string) (*corev1.PersistentVolume, bool) {
			return find(w, w.objects.volumes, ref{volumeKind, name})
		},
		StorageClass: func(name string) (*storagev1.StorageClass, bool) {
			if name == "" {
				w.words.use(ref{storageClassKind, ""})
				return w.defaultStorageClass()
			}
			return find(w, w.objects.storageClasses, ref{storageClassKind, name})
		},
		Limited: func(driver string) bool {
			w.words.use(ref{driverKind, driver})
			return slices.Contains(w.words.drivers, driver)
		},
		LimitRanges: func(namespace string) []*corev1.LimitRange {
			w.words.use(ref{limitRangeKind, namespace})
			return slices.Collect(maps.Values(w.objects.limitRanges[namespace]))
		},
		PriorityClass: func(name string) (*schedulingv1.PriorityClass, bool) {
			if name == "" {
				w.words.use(ref{priorityClassKind, ""})
				return w.defaultPriorityClass()
			}
			return find(w, w.objects.priorityClasses, ref{priorityClassKind, name})
		},
		RuntimeClass: func(name string) (*nodev1.RuntimeClass, bool) {
			return find(w, w.objects.runtimeClasses, ref{runtimeClassKind, name})
		},
		Services: func(namespace string) []*corev1.Service {
			w.words.use(ref{serviceKind, namespace})
			return slices.Collect(maps.Values(w.objects.services[namespace]))
		},
		Selector: w.selectorOf,
	}
}

func find[T any](w *World, m map[string]T, r ref) (T, bool) {
	w.words.use(r)
	o, ok := m[r.name]
	return o, ok
}

// defaultStorageClass is the newest of those that say they are it, as the API
// server chooses.
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

// defaultPriorityClass is the lowest of those that say they are it, as the API
// server chooses.
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
