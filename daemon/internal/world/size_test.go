package world

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// The cluster of BenchmarkSize: 20 pods on each node, of apps with 250 replicas.
const (
	sizeNodes, sizePods, sizeApps = 5_000, 100_000, 400
	sizeRegion                    = "us-west-2"
	// alone is the time from one pod to the next: while demand grows, launches wait.
	alone = 2 * time.Second
)

// BenchmarkSize is what the objects of a large cluster take in the daemon's memory, and how
// long a pod takes that comes to it, from the watch event to the plan. No API server is needed:
// objects are as large as those that a watch brings, and are reduced as they are there.
//
// What is required: 1 GB of heap in use, and 5 ms; better are 600 MB and 2 ms.
func BenchmarkSize(b *testing.B) {
	for _, c := range []struct {
		name         string
		milliCPU     int64
		consolidates bool
	}{{"room", 100, false}, {"launch", 7_000, false}, {"room-consolidating", 100, true}} {
		b.Run(c.name, func(b *testing.B) { benchmarkSize(b, c.milliCPU, c.consolidates) })
	}
}

func benchmarkSize(b *testing.B, milliCPU int64, consolidates bool) {
	b.Helper()
	now := time.Unix(1_790_000_000, 0)
	facts, market, err := embedded.Load(sizeRegion)
	if err != nil {
		b.Fatal(err)
	}
	w, keeper := New(facts, market, func() time.Time { return now }), translate.NewKeeper()
	version := 0
	observe := func(o metav1.Object) {
		version++
		o.SetResourceVersion(fmt.Sprint(version))
		w.Observe(keeper.Compact(o))
	}
	fillLarge(observe, now, consolidates)
	decide := func(m engine.Memory, seed uint64) engine.Output {
		s, faults := w.Snapshot()
		if len(faults) > 0 {
			b.Fatal(faults)
		}
		return engine.Step(engine.Input{Snapshot: s, Memory: m, Policy: engine.DefaultPolicy(), Now: now, Seed: seed})
	}
	memory := decide(engine.Memory{}, 0).Memory
	runtime.GC()
	runtime.GC() // what had finalizers in the first
	var heap runtime.MemStats
	runtime.ReadMemStats(&heap)
	var out engine.Output
	for i := uint64(1); b.Loop(); i++ {
		b.StopTimer()
		now = now.Add(alone)
		memory = decide(memory, i).Memory // what it is time for anyway
		p := largePod(int(i)%sizeApps, sizePods+int(i), "", milliCPU, now)
		b.StartTimer()
		observe(p)
		out = decide(memory, i)
		b.StopTimer()
		if launches := out.Trace.Launches; out.Trace.Refused > 0 || (launches > 0) != (milliCPU > 1_000) {
			b.Fatalf("%+v", out.Trace)
		}
		w.Forget(p) // each pod comes alone
		memory = out.Memory
		b.StartTimer()
	}
	b.ReportMetric(float64(heap.HeapInuse)/(1<<20), "heap-MB")
	b.ReportMetric(float64(out.Trace.Objects), "objects-touched")
	runtime.KeepAlive(w)
}

// fillLarge brings the objects of the cluster.
func fillLarge(observe func(metav1.Object), now time.Time, consolidates bool) {
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "class"}}
	class.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}}
	class.Status.AMIs = []awsv1.AMI{{ID: "ami-1", Requirements: []awsv1.AMIRequirement{{Key: corev1.LabelArchStable, Operator: "In", Values: []string{"amd64"}}}}}
	for _, zone := range "abc" {
		class.Status.Subnets = append(class.Status.Subnets, awsv1.Subnet{ID: "subnet-" + string(zone), Zone: sizeRegion + string(zone)})
	}
	for _, is := range awsv1.ReadyConditions() {
		class.Conditions().SetTrue(is, now)
	}
	observe(class)
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "pool", UID: "pool"}}
	pool.Spec.Template.Spec.NodeClassRef = v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: "default"}
	pool.Spec.Template.Spec.Requirements = []v1.Requirement{{Key: v1.LabelCapacityType, Operator: corev1.NodeSelectorOpIn, Values: []string{v1.CapacityTypeOnDemand}}}
	pool.Spec.Disruption.ConsolidateAfter.Never = !consolidates
	for _, is := range []string{v1.ConditionNodeClassReady, v1.ConditionValidationSucceeded, v1.ConditionNodeRegistrationHealthy} {
		pool.Conditions().SetTrue(is, now)
	}
	observe(pool)
	for i := range sizeNodes {
		claim, node := largeNode(i, now)
		observe(claim)
		observe(node)
	}
	for app := range sizeApps {
		name := fmt.Sprintf("service-%03d", app)
		replicas := int32(sizePods / sizeApps)
		t := largePod(app, 0, "", 250, now)
		observe(&appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: t.Namespace, Name: name + "-6d4cf56db6", UID: types.UID("set-" + name), CreationTimestamp: metav1.NewTime(now)},
			Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: t.Labels}, Spec: t.Spec}},
		})
	}
	for i := range sizePods {
		observe(largePod(i%sizeApps, i, nodeName(i%sizeNodes), 250, now))
	}
}

func nodeName(i int) string {
	return fmt.Sprintf("ip-10-%d-%d-%d.us-west-2.compute.internal", i>>16, i>>8%256, i%256)
}

// largeNode is a NodeClaim that is up, and its node.
func largeNode(i int, now time.Time) (*v1.NodeClaim, *corev1.Node) {
	labels := map[string]string{
		corev1.LabelInstanceTypeStable: "m5.2xlarge", corev1.LabelTopologyZone: sizeRegion + string("abc"[i%3]), corev1.LabelTopologyRegion: sizeRegion,
		corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux", v1.LabelNodePool: "pool", v1.LabelCapacityType: v1.CapacityTypeOnDemand,
		awsv1.Group + "/ec2nodeclass": "default", v1.LabelRegistered: v1.LabelTrue, v1.LabelInitialized: v1.LabelTrue,
	}
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("7910m"), corev1.ResourceMemory: resource.MustParse("31415Mi"),
		corev1.ResourcePods: resource.MustParse("58"), corev1.ResourceEphemeralStorage: resource.MustParse("90Gi"),
	}
	id := fmt.Sprintf("aws:///%s/i-%017x", labels[corev1.LabelTopologyZone], i)
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pool-%06x", i), UID: types.UID(fmt.Sprintf("claim-%d", i)), Labels: labels, CreationTimestamp: metav1.NewTime(now)}}
	claim.Spec.NodeClassRef = v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: "default"}
	claim.Annotations = map[string]string{v1.AnnotationLaunchRequest: strings.Repeat("x", 1000)}
	claim.Status = v1.NodeClaimStatus{NodeName: nodeName(i), ProviderID: id, ImageID: "ami-1", Capacity: room, Allocatable: room}
	for _, is := range []string{v1.ConditionLaunched, v1.ConditionRegistered, v1.ConditionInitialized} {
		claim.Conditions().SetTrue(is, now)
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), UID: types.UID(fmt.Sprintf("node-%d", i)), Labels: labels, CreationTimestamp: metav1.NewTime(now)},
		Spec:       corev1.NodeSpec{ProviderID: id},
		Status:     corev1.NodeStatus{Allocatable: room, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	for k := range 50 {
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{Names: []string{fmt.Sprintf("example.com/service-%d@sha256:%064x", k, k)}})
	}
	return claim, node
}

// largePod is the i-th pod, of an app, as a watch brings it: bound, or pending.
func largePod(app, i int, node string, milliCPU int64, now time.Time) *corev1.Pod {
	name, yes, grace := fmt.Sprintf("service-%03d", app), true, int64(30)
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("team-%02d", app%20), Name: fmt.Sprintf("%s-6d4cf56db6-%05x", name, i), UID: types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", i, app)),
			CreationTimestamp: metav1.NewTime(now), Annotations: map[string]string{"example.com/notes": strings.Repeat("x", 1000)},
			Labels: map[string]string{
				"app.kubernetes.io/name": name, "app.kubernetes.io/instance": name, "app.kubernetes.io/version": "1.42.0", "app.kubernetes.io/managed-by": "Helm",
				"team": fmt.Sprintf("team-%02d", app%20), appsv1.DefaultDeploymentUniqueLabelKey: "6d4cf56db6",
			},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name + "-6d4cf56db6", UID: types.UID("set-" + name), Controller: &yes}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(strings.Repeat(" ", 3000) + "{}")}},
		},
		Spec: corev1.PodSpec{NodeName: node, TerminationGracePeriodSeconds: &grace, SchedulerName: corev1.DefaultSchedulerName},
	}
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute})
	}
	if app%4 == 0 {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": name}},
		}}
	}
	requests := corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(milliCPU, resource.DecimalSI), corev1.ResourceMemory: resource.MustParse("512Mi")}
	c := corev1.Container{Name: "c", Image: "example.com/" + name, Resources: corev1.ResourceRequirements{Requests: requests}}
	for v := range 15 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("SET_%02d", v), Value: "v"})
	}
	p.Spec.Containers = []corev1.Container{c}
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	if node == "" {
		p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}}
	} else {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", Image: c.Image, AllocatedResources: requests, Resources: &corev1.ResourceRequirements{Requests: requests}}}
	}
	return p
}
