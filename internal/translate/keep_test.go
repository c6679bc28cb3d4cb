package translate_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate/filltest"
)

// scene is an object of each kind, which refer to each other by chance.
type scene struct {
	Pod             *corev1.Pod
	Siblings        []*corev1.Pod
	Node            *corev1.Node
	CSINode         *storagev1.CSINode
	Namespace       *corev1.Namespace
	DaemonSet       *appsv1.DaemonSet
	ReplicaSet      *appsv1.ReplicaSet
	StatefulSet     *appsv1.StatefulSet
	Job             *batchv1.Job
	VolumeClaim     *corev1.PersistentVolumeClaim
	Volume          *corev1.PersistentVolume
	StorageClass    *storagev1.StorageClass
	LimitRange      *corev1.LimitRange
	PriorityClass   *schedulingv1.PriorityClass
	RuntimeClass    *nodev1.RuntimeClass
	Service         *corev1.Service
	Replication     *corev1.ReplicationController
	found, fallback bool
}

func newScene(seed uint64) scene {
	f := filltest.New(seed)
	s := scene{
		Pod: filltest.Fill(f, &corev1.Pod{}), Node: filltest.Fill(f, &corev1.Node{}), CSINode: filltest.Fill(f, &storagev1.CSINode{}),
		Namespace: filltest.Fill(f, &corev1.Namespace{}), DaemonSet: filltest.Fill(f, &appsv1.DaemonSet{}), ReplicaSet: filltest.Fill(f, &appsv1.ReplicaSet{}),
		StatefulSet: filltest.Fill(f, &appsv1.StatefulSet{}), Job: filltest.Fill(f, &batchv1.Job{}),
		VolumeClaim: filltest.Fill(f, &corev1.PersistentVolumeClaim{}), Volume: filltest.Fill(f, &corev1.PersistentVolume{}),
		StorageClass: filltest.Fill(f, &storagev1.StorageClass{}), LimitRange: filltest.Fill(f, &corev1.LimitRange{}),
		PriorityClass: filltest.Fill(f, &schedulingv1.PriorityClass{}), RuntimeClass: filltest.Fill(f, &nodev1.RuntimeClass{}),
		Service: filltest.Fill(f, &corev1.Service{}), Replication: filltest.Fill(f, &corev1.ReplicationController{}), found: f.Yes(), fallback: f.Yes(),
	}
	for i := range 3 {
		p := filltest.Fill(f, &corev1.Pod{})
		p.Name = s.StatefulSet.Name + "-" + string(rune('0'+i))
		s.Siblings = append(s.Siblings, p)
	}
	// An object that is being deleted or has a condition is soon told apart from
	// others. So most objects of the scene are not.
	for i, o := range s.objects() {
		if i%7 != int(seed%7) {
			o.SetDeletionTimestamp(nil)
		}
	}
	if seed%3 > 0 {
		s.Job.Status.Conditions, s.Job.Status.Failed, s.ReplicaSet.Status.Conditions = nil, 0, nil
		s.StatefulSet.Status.ObservedGeneration = s.StatefulSet.Generation
		many := int32(9)
		s.Job.Spec.Parallelism, s.Job.Spec.Completions, s.ReplicaSet.Spec.Replicas = &many, &many, &many
		if seed%2 == 0 {
			s.Job.Spec.PodFailurePolicy, s.Volume.Spec.Local = nil, nil
		}
		s.ReplicaSet.Annotations = map[string]string{"deployment.kubernetes.io/desired-replicas": "7"}
		s.StatefulSet.Spec.Replicas, s.StatefulSet.Spec.Ordinals = &many, nil
		for _, p := range s.Siblings {
			p.Status.Phase = corev1.PodRunning
			if seed%4 == 1 {
				p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1002, 0)}
			}
			if seed%2 == 0 {
				p.DeletionTimestamp, p.Status.Conditions = nil, append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
			}
		}
	}
	return s
}

func (s *scene) objects() []metav1.Object {
	out := []metav1.Object{
		s.Pod, s.Node, s.CSINode, s.Namespace, s.DaemonSet, s.ReplicaSet, s.StatefulSet, s.Job, s.VolumeClaim, s.Volume, s.StorageClass, s.LimitRange,
		s.PriorityClass, s.RuntimeClass, s.Service, s.Replication,
	}
	for _, p := range s.Siblings {
		out = append(out, p)
	}
	return out
}

// free is what package world finds as the free volumes of the class.
func (s *scene) free() *translate.FreeVolumes {
	if !translate.Free(s.Volume) {
		return nil
	}
	return translate.NewFreeVolumes([]translate.FreeVolume{translate.ReadFree(s.Volume)})
}

func (s *scene) lookups() translate.Lookups {
	return translate.Lookups{
		VolumeClaim: func(string, string) (*corev1.PersistentVolumeClaim, bool) { return s.VolumeClaim, s.found },
		Volume:      func(string) (*corev1.PersistentVolume, bool) { return s.Volume, true },
		FreeVolumes: func(string) *translate.FreeVolumes { return s.free() },
		ClaimUser:   func(string, string, types.UID) (string, bool) { return "another", true },
		StorageClass: func(string) (*storagev1.StorageClass, bool) {
			return s.StorageClass, s.StorageClass.Annotations[translate.AnnotationDefaultClass] == "true" || s.fallback
		},
		Limited:       func(string) bool { return true },
		LimitRanges:   func(string) []*corev1.LimitRange { return []*corev1.LimitRange{s.LimitRange} },
		PriorityClass: func(string) (*schedulingv1.PriorityClass, bool) { return s.PriorityClass, true },
		RuntimeClass:  func(string) (*nodev1.RuntimeClass, bool) { return s.RuntimeClass, true },
		Spread:        []cluster.Spread{{Key: label.Zone, MaxSkew: 1}},
		Services:      func(string) []*corev1.Service { return []*corev1.Service{s.Service} },
		Selector: func(_ string, owner metav1.OwnerReference) (*metav1.LabelSelector, bool) {
			switch owner.Kind {
			case "ReplicaSet":
				return s.ReplicaSet.Spec.Selector, true
			case "StatefulSet":
				return s.StatefulSet.Spec.Selector, true
			case "ReplicationController":
				return &metav1.LabelSelector{MatchLabels: s.Replication.Spec.Selector}, true
			}
			return nil, false
		},
	}
}

// meaning is what every entry point makes of the scene, and what package world
// reads of it by itself.
func (s *scene) meaning() map[string]any {
	l, siblings := s.lookups(), slices.Values(s.Siblings)
	out := map[string]any{
		"node": translate.Node(s.Node, "claim", s.CSINode, []string{translate.EBSDriver, "a"}), "attach": translate.AttachLimits(s.CSINode),
		"namespace": translate.Namespace(s.Namespace), "daemonset": translate.DaemonSet(s.DaemonSet, siblings, l),
		"new daemonset": translate.DaemonSet(s.DaemonSet, slices.Values([]*corev1.Pod{}), l), "ours": translate.Ours(s.Pod),
		"place": []string{s.Pod.Spec.NodeName, s.Node.Spec.ProviderID}, "priority": []any{s.PriorityClass.GlobalDefault, s.PriorityClass.Value},
		"default": s.StorageClass.Annotations[translate.AnnotationDefaultClass], "created": s.StorageClass.CreationTimestamp,
	}
	put := func(what string, word any, there bool) { out[what] = []any{word, there} }
	for name, pods := range map[string][]*corev1.Pod{"": nil, "+pods": s.Siblings} {
		w, there := translate.ReplicaSet(s.ReplicaSet, slices.Values(pods), l)
		put("replicaset"+name, w, there)
		w, there = translate.StatefulSet(s.StatefulSet, slices.Values(pods), l)
		put("statefulset"+name, w, there)
		w, there = translate.Job(s.Job, slices.Values(pods), l)
		put("job"+name, w, there)
	}
	for i, p := range append(slices.Clone(s.Siblings), s.Pod) {
		w, there := translate.Pod(p, l)
		put("pod"+string(rune('0'+i)), w, there)
	}
	for _, o := range s.objects() {
		id := reflect.TypeOf(o).String() + " " + o.GetName() + " "
		out[id+"identity"] = []any{o.GetNamespace(), o.GetUID(), o.GetResourceVersion(), o.GetDeletionTimestamp()}
	}
	if ref := metav1.GetControllerOfNoCopy(s.ReplicaSet); ref != nil && (s.ReplicaSet.Spec.Replicas == nil || *s.ReplicaSet.Spec.Replicas > 0) {
		out["deployment"] = []any{ref.APIVersion, ref.Kind, ref.Name, ref.UID}
	}
	out["declared"] = translate.DeclaredBy(slices.Values([]*appsv1.ReplicaSet{s.ReplicaSet}))
	if ref := metav1.GetControllerOfNoCopy(s.Pod); ref != nil {
		out["owner"] = []any{ref.APIVersion, ref.Kind, ref.Name, ref.UID}
	}
	return out
}

const scenes = 500

// The rule of Keeper: an object means the same before and after Keep, for every
// reader.
func TestKeep_ObjectsMeanWhatTheyMeant(t *testing.T) {
	k := translate.NewKeeper()
	meant := map[string]int{}
	for seed := range uint64(scenes) {
		whole, kept := newScene(seed), newScene(seed)
		for _, o := range kept.objects() {
			k.Keep(o)
		}
		want, got := whole.meaning(), kept.meaning()
		for what := range want {
			if !reflect.DeepEqual(want[what], got[what]) {
				t.Fatalf("seed %d: %s means something else now:\n%s", seed, what, cmp.Diff(want[what], got[what], cmp.Exporter(func(reflect.Type) bool { return true })))
			}
			if pair, ok := want[what].([]any); ok && len(pair) == 2 && pair[1] == true {
				meant[what]++
			}
		}
	}
	for _, what := range []string{"pod0", "replicaset", "replicaset+pods", "statefulset", "statefulset+pods", "job", "job+pods"} {
		if meant[what] < scenes/100 {
			t.Errorf("%s meant something in %d of %d scenes: the test sees too little", what, meant[what], scenes)
		}
	}
}

// A pod in less memory is the pod that Keep leaves.
func TestCompact_IsThePodThatKeepLeaves(t *testing.T) {
	k := translate.NewKeeper()
	for seed := range uint64(300) {
		want, pod := newScene(seed).Pod, newScene(seed).Pod
		k.Keep(want)
		want.TypeMeta = metav1.TypeMeta{}
		kept, is := k.Compact(pod).(*translate.CompactPod)
		if !is || kept.Node() != want.Spec.NodeName || kept.Name != want.Name {
			t.Fatalf("seed %d: kept %+v", seed, kept)
		}
		if again := k.Compact(kept); again != kept {
			t.Fatalf("seed %d: what is kept is reduced again", seed)
		}
		if got := kept.Pod(); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: kept in less memory:\n%s", seed, cmp.Diff(want, got))
		}
		whole := newScene(seed).Pod
		whole.TypeMeta = metav1.TypeMeta{}
		if got := translate.Whole(whole).Pod(); !reflect.DeepEqual(got, whole) {
			t.Fatalf("seed %d: kept whole:\n%s", seed, cmp.Diff(whole, got))
		}
	}
}

// An informer keeps an object twice where the API server streams lists.
func TestKeep_TwiceIsOnce(t *testing.T) {
	k := translate.NewKeeper()
	for seed := range uint64(300) {
		once, twice := newScene(seed), newScene(seed)
		for i, o := range twice.objects() {
			k.Keep(once.objects()[i])
			k.Keep(o)
			k.Keep(o)
			if !reflect.DeepEqual(once.objects()[i], o) {
				t.Fatalf("seed %d: kept twice:\n%s", seed, cmp.Diff(once.objects()[i], o))
			}
		}
	}
}

// A field that nothing reads takes no room: managed fields, probes, environment,
// and the status of containers.
func TestKeep_DropsWhatNobodyReads(t *testing.T) {
	k := translate.NewKeeper()
	for seed := range uint64(300) {
		s := newScene(seed)
		for _, o := range s.objects() {
			k.Keep(o)
		}
		for _, c := range s.Pod.Spec.Containers {
			if c.Env != nil || c.ReadinessProbe != nil || c.Image != "" || c.VolumeMounts != nil || c.Resources.Limits != nil {
				t.Fatalf("seed %d: container %+v", seed, c)
			}
		}
		if s.Node.Status.Images != nil || s.Node.ManagedFields != nil || s.Job.ManagedFields != nil || s.Pod.Spec.Hostname != "" {
			t.Fatalf("seed %d: node %+v", seed, s.Node)
		}
	}
}

// Pods of one template have one copy of what they have alike.
func TestKeep_SharesWhatPodsHaveAlike(t *testing.T) {
	k := translate.NewKeeper()
	a, b := newScene(2).Pod, newScene(2).Pod
	a.Status.Phase, b.Status.Phase = corev1.PodRunning, corev1.PodRunning
	a.Labels, b.Labels = map[string]string{"app": "x"}, map[string]string{"app": "x"}
	a.Spec.Containers = append(a.Spec.Containers, corev1.Container{Name: "c"})
	b.Spec.Containers = append(b.Spec.Containers, corev1.Container{Name: "c"})
	b.Name, b.UID, b.Spec.NodeName = "other", "other", "elsewhere"
	k.Keep(a)
	k.Keep(b)
	if &a.Spec.Containers[0] != &b.Spec.Containers[0] || reflect.ValueOf(a.Labels).Pointer() != reflect.ValueOf(b.Labels).Pointer() {
		t.Error("two pods of one template have a copy each")
	}
	if a.Name == b.Name || a.Spec.NodeName == b.Spec.NodeName {
		t.Error("they are one pod now")
	}
}

// A volume on a directory of its node stays behind when its pod moves. So Keeper
// must keep the fact that it is such a volume.
func TestKeep_KnowsVolumesThatStayBehind(t *testing.T) {
	for name, source := range map[string]corev1.PersistentVolumeSource{
		"local": {Local: &corev1.LocalVolumeSource{Path: "/x"}}, "host path": {HostPath: &corev1.HostPathVolumeSource{Path: "/x"}},
	} {
		volume := &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeSource: source,
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: label.Hostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"n"}}},
			}}}},
		}}
		translate.NewKeeper().Keep(volume)
		p := pod(func(p *corev1.Pod) {
			p.Spec.NodeName = "n"
			p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}
		})
		got, _ := translate.Pod(p, translate.Lookups{
			VolumeClaim: func(string, string) (*corev1.PersistentVolumeClaim, bool) {
				return &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "v"}}, true
			},
			Volume: func(string) (*corev1.PersistentVolume, bool) { return volume, true },
		})
		if len(got.Shape.Volumes) > 0 || len(got.Shape.Unsupported) > 0 {
			t.Errorf("%s: the pod is held to %v, %v", name, got.Shape.Volumes, got.Shape.Unsupported)
		}
	}
}

// A value that is not asked for any more is forgotten.
func TestKeep_RemembersABoundedNumber(t *testing.T) {
	k := translate.NewKeeper()
	last := map[string]string{}
	for i := range 20_000 {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"n": string(rune(i + 1000))}}}
		last = p.Labels
		k.Keep(p)
	}
	again := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"n": string(rune(19_999 + 1000))}}}
	k.Keep(again)
	if reflect.ValueOf(again.Labels).Pointer() != reflect.ValueOf(last).Pointer() {
		t.Error("the newest is forgotten")
	}
	if n := k.Remembered(); n > 4*2*4096 {
		t.Errorf("%d values are remembered", n)
	}
}
