package difftest

import (
	"fmt"
	"math/rand/v2"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

const (
	rack  = "example.com/rack"
	cores = "example.com/cores"
	gpu   = "example.com/gpu"
	// Kubelets and cloud controllers set a legacy label with each of the ones in
	// use; a pod may select by either.
	legacyZone = "failure-domain.beta.kubernetes.io/zone"
)

// world is the objects of a cluster.
type world struct {
	pods    []*corev1.Pod // with and without a node
	nodes   []*corev1.Node
	claims  map[string]*corev1.PersistentVolumeClaim // by namespace/name
	volumes map[string]*corev1.PersistentVolume
	classes map[string]*storagev1.StorageClass
	sets    []*appsv1.ReplicaSet
}

// others is what the scheduler's plugins look up beside pods and nodes.
func others(worlds []*world) []runtime.Object {
	var out []runtime.Object
	for _, w := range worlds {
		for _, x := range w.claims {
			out = append(out, x)
		}
		for _, x := range w.volumes {
			out = append(out, x)
		}
		for _, x := range w.classes {
			out = append(out, x)
		}
		for _, x := range w.sets {
			out = append(out, x)
		}
	}
	for _, x := range namespaces() {
		out = append(out, x)
	}
	return out
}

// namespaces are those with an object. Pods are also in three, which has none
// that the scheduler has seen.
func namespaces() []*corev1.Namespace {
	return []*corev1.Namespace{
		{ObjectMeta: metav1.ObjectMeta{Name: "one", Labels: map[string]string{"team": "red"}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "two", Labels: map[string]string{"team": "blue"}}},
	}
}

// dice draws; the same seed gives the same world.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 7))} }

func (d dice) in(percent int) bool { return d.IntN(100) < percent }

func one[T any](d dice, of ...T) T { return of[d.IntN(len(of))] }

// sizes of a random world.
type sizes struct{ nodes, bound, pending int }

// randomWorld makes names that no world of another seed has, so that several can
// share one scheduler's informers.
func randomWorld(seed uint64, n sizes) *world {
	d := newDice(seed)
	w := &world{
		claims: map[string]*corev1.PersistentVolumeClaim{}, volumes: map[string]*corev1.PersistentVolume{}, classes: map[string]*storagev1.StorageClass{},
	}
	for i := range n.nodes {
		w.nodes = append(w.nodes, randomNode(d, fmt.Sprintf("node-%d", i)))
	}
	for i := range n.bound + n.pending {
		p := w.randomPod(d, fmt.Sprintf("pod-%d-%d", seed, i))
		if i < n.bound {
			p.Spec.NodeName = one(d, w.nodes...).Name
			if d.in(15) {
				p.DeletionTimestamp, p.Finalizers = &metav1.Time{}, []string{"example.com/slow"}
			}
		}
		w.pods = append(w.pods, p)
	}
	return w
}

func randomNode(d dice, name string) *corev1.Node {
	labels := map[string]string{corev1.LabelArchStable: one(d, "amd64", "arm64")}
	if d.in(92) {
		labels[corev1.LabelHostname] = name
	}
	if d.in(88) {
		labels[corev1.LabelTopologyZone] = one(d, "a", "b", "c")
		labels[legacyZone] = labels[corev1.LabelTopologyZone]
	}
	if d.in(70) {
		labels[rack] = one(d, "r1", "r2", "r3", "")
	}
	if d.in(80) {
		labels[cores] = one(d, "2", "4", "8", "+8", "many", "9223372036854775808")
	}
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: labels},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Allocatable: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(one(d, "2", "4", "3999m")), corev1.ResourceMemory: resource.MustParse(one(d, "4Gi", "8Gi")),
				corev1.ResourceEphemeralStorage: resource.MustParse("20Gi"), corev1.ResourcePods: resource.MustParse(one(d, "3", "5", "30")),
			},
		},
	}
	if d.in(40) {
		n.Status.Allocatable[gpu] = resource.MustParse(one(d, "1", "2"))
	}
	for _, t := range []corev1.Taint{
		{Key: "dedicated", Value: one(d, "a", "b"), Effect: corev1.TaintEffectNoSchedule},
		{Key: "hot", Effect: corev1.TaintEffectNoExecute},
		{Key: "busy", Effect: corev1.TaintEffectPreferNoSchedule},
	} {
		if d.in(30) {
			n.Spec.Taints = append(n.Spec.Taints, t)
		}
	}
	return n
}

func (w *world) randomPod(d dice, name string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: one(d, "one", "two", "three"), UID: types.UID("uid-" + name),
		Labels: map[string]string{"app": one(d, "a", "b", "c")},
	}}
	if d.in(50) {
		p.Labels["hash"] = one(d, "1", "2")
	}
	p.Spec.Containers = []corev1.Container{{Name: "main", Resources: randomRequests(d)}}
	if d.in(20) {
		p.Spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
	}
	if d.in(20) {
		always := corev1.ContainerRestartPolicyAlways
		c := corev1.Container{Name: "init", Resources: randomRequests(d), Ports: randomPorts(d)}
		if d.in(50) {
			c.RestartPolicy = &always
		}
		p.Spec.InitContainers = []corev1.Container{c}
	}
	p.Spec.Containers[0].Ports = randomPorts(d)
	for _, t := range []corev1.Toleration{
		{Key: "dedicated", Value: one(d, "a", "b")},
		{Key: "dedicated", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
		{Key: "hot", Operator: corev1.TolerationOpExists},
		{Operator: corev1.TolerationOpExists, Effect: one(d, corev1.TaintEffectNoExecute, "")},
		{Key: "dedicated", Operator: corev1.TolerationOpGt, Value: "1"},
		{Value: "a"},
	} {
		if d.in(20) {
			p.Spec.Tolerations = append(p.Spec.Tolerations, t)
		}
	}
	p.Spec.Affinity = &corev1.Affinity{}
	randomNodeAffinity(d, p)
	randomSpread(d, p)
	randomPodAffinity(d, p)
	if d.in(70) {
		w.randomVolume(d, p)
	}
	return p
}

func randomRequests(d dice) corev1.ResourceRequirements {
	list := corev1.ResourceList{}
	if d.in(80) {
		list[corev1.ResourceCPU] = resource.MustParse(one(d, "250m", "1", "1500m", "0", "333300u"))
	}
	if d.in(80) {
		list[corev1.ResourceMemory] = resource.MustParse(one(d, "256Mi", "1Gi", "2Gi", "1G"))
	}
	if d.in(20) {
		list[corev1.ResourceEphemeralStorage] = resource.MustParse(one(d, "1Gi", "9Gi"))
	}
	if d.in(25) {
		list[gpu] = resource.MustParse(one(d, "0", "1", "2"))
	}
	return corev1.ResourceRequirements{Requests: list}
}

func randomPorts(d dice) []corev1.ContainerPort {
	var out []corev1.ContainerPort
	for range d.IntN(4) {
		out = append(out, corev1.ContainerPort{
			ContainerPort: 1, HostPort: one(d, int32(80), 81, 0), Protocol: one(d, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP, ""),
			HostIP: one(d, "", "0.0.0.0", "10.0.0.1", "10.0.0.1", "10.0.0.2", "::", "::1"),
		})
	}
	return out
}
