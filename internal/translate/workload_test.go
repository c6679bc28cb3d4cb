package translate_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

func number(n int32) *int32 { return &n }

// template asks for half a CPU and bears the label app=web.
func template() corev1.PodTemplateSpec {
	p := pod(func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("500m")}
	})
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: p.Spec}
}

// pods makes pods that ask for one CPU, as admission left them.
func pods(names ...string) []*corev1.Pod {
	var out []*corev1.Pod
	for _, name := range names {
		out = append(out, pod(func(p *corev1.Pod) {
			p.Name, p.UID = name, types.UID(name)
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}))
	}
	return out
}

func changed(all []*corev1.Pod, i int, change func(*corev1.Pod)) []*corev1.Pod {
	change(all[i])
	return all
}

func terminating(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
func unready(p *corev1.Pod)     { p.Status.Conditions = nil }
func phase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}

func TestReplicaSet_CountsDeclaredReplicasThatCanBeCreated(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*appsv1.ReplicaSet)
		pods   []*corev1.Pod
		want   int64
		cpu    int64
	}{
		"like a live sibling":           {nil, pods("a"), 2, 1000},
		"else like the template":        {nil, nil, 3, 500},
		"terminating ones do not count": {nil, changed(pods("a", "b"), 1, terminating), 2, 1000},
		"all there":                     {nil, pods("a", "b", "c"), 0, 0},
		"no pod and not looked at":      {func(r *appsv1.ReplicaSet) { r.Generation = 2 }, nil, 0, 0},
		"a pod and not looked at":       {func(r *appsv1.ReplicaSet) { r.Generation = 2 }, pods("a"), 2, 1000},
		"being deleted":                 {func(r *appsv1.ReplicaSet) { r.DeletionTimestamp = &metav1.Time{} }, pods("a"), 0, 0},
		"creation fails": {func(r *appsv1.ReplicaSet) {
			r.Status.Conditions = []appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue}}
		}, pods("a"), 0, 0},
		"one is declared where none is": {func(r *appsv1.ReplicaSet) { r.Spec.Replicas = nil }, nil, 1, 500},
	} {
		r := &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", Generation: 1},
			Spec:       appsv1.ReplicaSetSpec{Replicas: number(3), Template: template()}, Status: appsv1.ReplicaSetStatus{ObservedGeneration: 1},
		}
		if tc.change != nil {
			tc.change(r)
		}
		w, ok := translate.ReplicaSet(r, slices.Values(tc.pods), translate.Lookups{})
		checkWorkload(t, name, w, ok, tc.want, tc.cpu)
	}
}

func checkWorkload(t *testing.T, name string, w cluster.Workload, ok bool, missing, cpu int64) {
	t.Helper()
	if ok != (missing > 0) || w.Missing != missing || w.Shape.Requests.MilliCPU != cpu {
		t.Errorf("%s: %d missing of %s, %v; want %d of %dm", name, w.Missing, w.Shape.Requests, ok, missing, cpu)
	}
	if ok && w.Labels.Compare(label.FromMap(map[string]string{"app": "web"})) != 0 {
		t.Errorf("%s: labels %v", name, w.Labels)
	}
}

func TestStatefulSet_CountsTheNextPodOrAllByItsPolicy(t *testing.T) {
	parallel := func(s *appsv1.StatefulSet) { s.Spec.PodManagementPolicy = appsv1.ParallelPodManagement }
	for name, tc := range map[string]struct {
		change func(*appsv1.StatefulSet)
		pods   []*corev1.Pod
		want   int64
		cpu    int64
	}{
		"the first":                     {nil, nil, 1, 500},
		"the next":                      {nil, pods("db-0"), 1, 1000},
		"one in between":                {nil, pods("db-0", "db-2"), 1, 1000},
		"the one before is not ready":   {nil, changed(pods("db-0", "db-1"), 1, unready), 0, 0},
		"the one before goes":           {nil, changed(pods("db-0", "db-1"), 1, terminating), 0, 0},
		"a failed one is made again":    {nil, changed(pods("db-0", "db-1"), 1, phase(corev1.PodFailed)), 1, 1000},
		"all there":                     {nil, pods("db-0", "db-1", "db-2", "db-3"), 0, 0},
		"all at once":                   {parallel, changed(pods("db-1"), 0, unready), 3, 1000},
		"ordinals start late":           {func(s *appsv1.StatefulSet) { s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 2} }, pods("db-2", "db-3"), 1, 1000},
		"not looked at":                 {func(s *appsv1.StatefulSet) { s.Generation = 2 }, pods("db-0"), 0, 0},
		"siblings of an older revision": {func(s *appsv1.StatefulSet) { s.Status.UpdateRevision = "2" }, pods("db-0"), 1, 500},
		"being deleted":                 {func(s *appsv1.StatefulSet) { s.DeletionTimestamp = &metav1.Time{} }, nil, 0, 0},
	} {
		s := statefulSet()
		if tc.change != nil {
			tc.change(s)
		}
		w, ok := translate.StatefulSet(s, slices.Values(tc.pods), translate.Lookups{})
		checkWorkload(t, name, w, ok, tc.want, tc.cpu)
	}
}

func TestStatefulSet_ParallelCountsOrdinalsInRangeHoweverManyAreDeclared(t *testing.T) {
	for name, tc := range map[string]struct {
		pods    []*corev1.Pod
		missing int64
	}{
		"none there":                      {nil, math.MaxInt32},
		"two there":                       {pods("db-3", "db-900"), math.MaxInt32 - 2},
		"a failed one is made again":      {changed(pods("db-3", "db-4"), 0, phase(corev1.PodFailed)), math.MaxInt32 - 1},
		"one that goes keeps its place":   {changed(pods("db-3", "db-4"), 0, terminating), math.MaxInt32 - 2},
		"below the first ordinal":         {pods("db-2", "db-3"), math.MaxInt32 - 1},
		"above the last ordinal":          {pods("db-3", "db-2147483650"), math.MaxInt32 - 1},
		"the last ordinal":                {pods("db-3", "db-2147483649"), math.MaxInt32 - 2},
		"names that are no ordinal of it": {pods("db-3", "db-x", "db-04", "db-+5", "web-6"), math.MaxInt32 - 1},
	} {
		s := statefulSet()
		s.Spec.PodManagementPolicy, s.Spec.Replicas = appsv1.ParallelPodManagement, number(math.MaxInt32)
		s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 3}
		if w, _ := translate.StatefulSet(s, slices.Values(tc.pods), translate.Lookups{}); w.Missing != tc.missing {
			t.Errorf("%s: %d missing, want %d", name, w.Missing, tc.missing)
		}
	}
}

func TestStatefulSet_OrderedFindsTheFirstHoleHoweverManyAreDeclared(t *testing.T) {
	s := statefulSet()
	s.Spec.Replicas = number(math.MaxInt32)
	w, ok := translate.StatefulSet(s, slices.Values(pods("db-0", "db-1", "db-7")), translate.Lookups{})
	checkWorkload(t, "the next", w, ok, 1, 1000)
}

func TestWorkload_PodsThatAreNotOursToPlaceDoNotCount(t *testing.T) {
	gate := []corev1.PodSchedulingGate{{Name: "example.com/quota"}}
	for name, tc := range map[string]struct {
		change func(*corev1.PodSpec)
		pods   []*corev1.Pod
		want   int64
		cpu    int64
	}{
		"the scheduler by its name":       {func(s *corev1.PodSpec) { s.SchedulerName = corev1.DefaultSchedulerName }, nil, 3, 500},
		"another scheduler":               {func(s *corev1.PodSpec) { s.SchedulerName = "batch" }, nil, 0, 0},
		"a gate":                          {func(s *corev1.PodSpec) { s.SchedulingGates = gate }, nil, 0, 0},
		"a gate, lifted from the sibling": {func(s *corev1.PodSpec) { s.SchedulingGates = gate }, pods("a"), 0, 0},
		"a sibling's scheduler, from admission": {nil, changed(pods("a"), 0, func(p *corev1.Pod) {
			p.Spec.SchedulerName = "batch"
		}), 0, 0},
		"a sibling's gate, from admission": {nil, changed(pods("a"), 0, func(p *corev1.Pod) { p.Spec.SchedulingGates = gate }), 0, 0},
	} {
		r := &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
			Spec:       appsv1.ReplicaSetSpec{Replicas: number(3), Template: template()},
		}
		if tc.change != nil {
			tc.change(&r.Spec.Template.Spec)
		}
		w, ok := translate.ReplicaSet(r, slices.Values(tc.pods), translate.Lookups{})
		checkWorkload(t, name, w, ok, tc.want, tc.cpu)
	}
}

func statefulSet() *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db", Generation: 1},
		Spec:       appsv1.StatefulSetSpec{Replicas: number(4), Template: template()}, Status: appsv1.StatefulSetStatus{ObservedGeneration: 1},
	}
}

func TestStatefulSet_PodToComeHasItsOwnVolumesNotItsSiblings(t *testing.T) {
	s := statefulSet()
	fast := "fast"
	s.Name, s.Spec.Replicas = "web", number(2)
	s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &fast}}}
	sibling := changed(pods("web-0"), 0, func(p *corev1.Pod) {
		withClaims("data-web-0")(p) // its volume is in zone a
		p.Spec.Volumes[0].Name = "data"
	})
	w, ok := translate.StatefulSet(s, slices.Values(sibling), storage())
	if !ok || len(w.Shape.Volumes) != 0 || w.Shape.Requests.Get(cluster.AttachSlots(ebs)) != 1 {
		t.Errorf("web-1: %v, %s; want any zone", w.Shape.Volumes, w.Shape.Requests)
	}
	w, ok = translate.StatefulSet(s, slices.Values([]*corev1.Pod(nil)), storage())
	if want := "[[topology.kubernetes.io/zone In [a]]]"; !ok || fmt.Sprint(w.Shape.Volumes) != want {
		t.Errorf("web-0, whose volume is still there: %v, want %s", w.Shape.Volumes, want)
	}
}

func TestJob_CountsPodsThatItCreatesNow(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*batchv1.Job)
		pods   []*corev1.Pod
		want   int64
		cpu    int64
	}{
		"up to its parallelism":     {nil, pods("a"), 2, 1000},
		"none there":                {nil, nil, 3, 500},
		"up to what remains":        {func(j *batchv1.Job) { j.Status.Succeeded = 4 }, nil, 1, 500},
		"a success not yet counted": {func(j *batchv1.Job) { j.Status.Succeeded = 3 }, changed(pods("a"), 0, tracked), 1, 500},
		"a success being counted": {func(j *batchv1.Job) {
			j.Status.Succeeded = 3
			j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{"a"}}
		}, changed(pods("a"), 0, tracked), 1, 500},
		"a work queue":                          {func(j *batchv1.Job) { j.Spec.Completions = nil }, pods("a"), 2, 1000},
		"a work queue, empty":                   {func(j *batchv1.Job) { j.Spec.Completions, j.Status.Succeeded = nil, 1 }, pods("a"), 0, 0},
		"suspended":                             {func(j *batchv1.Job) { yes := true; j.Spec.Suspend = &yes }, nil, 0, 0},
		"not started":                           {func(j *batchv1.Job) { j.Status.StartTime = nil }, nil, 0, 0},
		"backing off":                           {func(j *batchv1.Job) { j.Status.Failed = 1 }, pods("a"), 0, 0},
		"a failure not yet counted":             {nil, changed(pods("a", "b"), 1, phase(corev1.PodFailed)), 0, 0},
		"failed":                                {condition(batchv1.JobFailed), nil, 0, 0},
		"complete":                              {condition(batchv1.JobComplete), nil, 0, 0},
		"another controller's":                  {func(j *batchv1.Job) { other := "example.com/queue"; j.Spec.ManagedBy = &other }, nil, 0, 0},
		"terminating ones are replaced at once": {nil, changed(pods("a", "b"), 1, terminating), 2, 1000},
		"terminating ones are waited for":       {func(j *batchv1.Job) { failed := batchv1.Failed; j.Spec.PodReplacementPolicy = &failed }, changed(pods("a", "b"), 1, terminating), 1, 1000},
	} {
		j := &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "batch"},
			Spec:       batchv1.JobSpec{Parallelism: number(3), Completions: number(5), Template: template()},
			Status:     batchv1.JobStatus{StartTime: &metav1.Time{}},
		}
		if tc.change != nil {
			tc.change(j)
		}
		w, ok := translate.Job(j, slices.Values(tc.pods), translate.Lookups{})
		checkWorkload(t, name, w, ok, tc.want, tc.cpu)
	}
}

func tracked(p *corev1.Pod) {
	p.Status.Phase = corev1.PodSucceeded
	p.Finalizers = []string{batchv1.JobTrackingFinalizer}
}

func condition(kind batchv1.JobConditionType) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue}}
	}
}

func TestDaemonSet_IsItsNewestLivePodWithTheTemplatesNodeAffinity(t *testing.T) {
	node := func(term corev1.NodeSelectorTerm) *corev1.Affinity {
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}}}
	}
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent"}, Spec: appsv1.DaemonSetSpec{Template: template()}}
	d.Spec.Template.Spec.Affinity = node(in(label.Arch, "arm64"))
	all := pods("a", "b", "c")
	for i, p := range all {
		p.CreationTimestamp = metav1.Unix(int64(i), 0)
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": *resource.NewQuantity(int64(i+1), resource.DecimalSI)}
		p.Spec.Affinity = node(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{p.Name}}}})
	}
	terminating(all[2])
	got := translate.DaemonSet(d, slices.Values(all), translate.Lookups{}).Shape
	if got.Requests.MilliCPU != 2000 || fmt.Sprint(got.NodeAffinity) != "[kubernetes.io/arch In [arm64]]" {
		t.Errorf("shape %s %v", got.Requests, got.NodeAffinity)
	}
	got = translate.DaemonSet(d, slices.Values([]*corev1.Pod(nil)), translate.Lookups{}).Shape
	cordoned := []cluster.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: cluster.NoSchedule}, {Key: corev1.TaintNodeNotReady, Effect: cluster.NoExecute}}
	if _, kept := cluster.Untolerated(cordoned, got.Tolerations); kept || got.Requests.MilliCPU != 500 {
		t.Errorf("without pods: %s, tolerations %+v", got.Requests, got.Tolerations)
	}
}

func TestPool_MinValuesAreKeptByLabel(t *testing.T) {
	two, three := 2, 3
	p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	p.Spec.Template.Spec.Requirements = []v1.Requirement{
		{Key: "beta.kubernetes.io/instance-type", Operator: "Exists", MinValues: &three},
		{Key: label.Arch, Operator: "In", Values: []string{"amd64", "arm64"}, MinValues: &two},
		{Key: label.OS, Operator: "Exists"},
	}
	want := []cluster.MinValues{{Key: label.Arch, Count: 2}, {Key: label.InstanceType, Count: 3}}
	if got := translate.Pool(p).MinValues; !reflect.DeepEqual(got, want) {
		t.Errorf("minimum values %v, want %v", got, want)
	}
}

func TestDeclaredBy_IsWhatTheDeploymentWantsWhateverItsReplicaSetsDoInARollout(t *testing.T) {
	set := func(replicas int32, desired string) *appsv1.ReplicaSet {
		r := &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Replicas: &replicas}}
		if desired != "" {
			r.Annotations = map[string]string{"deployment.kubernetes.io/desired-replicas": desired}
		}
		return r
	}
	for _, c := range []struct {
		sets []*appsv1.ReplicaSet
		want int64
	}{
		{nil, 0},
		{[]*appsv1.ReplicaSet{set(4, "4"), set(0, "9")}, 4}, // the annotation of one that wants nothing is stale
		{[]*appsv1.ReplicaSet{set(3, "4"), set(2, "4")}, 4},
		{[]*appsv1.ReplicaSet{set(3, ""), set(2, "")}, 5},
		{[]*appsv1.ReplicaSet{set(3, "many"), set(2, "")}, 5},
		{[]*appsv1.ReplicaSet{{}}, 1},
	} {
		if got := translate.DeclaredBy(slices.Values(c.sets)); got != c.want {
			t.Errorf("%+v: %d, want %d", c.sets, got, c.want)
		}
	}
}

func TestControllerSince_IsKnownUnlessARolloutMadeTheReplicaSet(t *testing.T) {
	since := metav1.NewTime(time.Unix(100, 0))
	none := int32(0)
	set := func(number string, replicas *int32) *appsv1.ReplicaSet {
		r := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: since}, Spec: appsv1.ReplicaSetSpec{Replicas: replicas}}
		if number != "" {
			r.Annotations = map[string]string{"deployment.kubernetes.io/revision": number}
		}
		return r
	}
	yes, ofRollout := true, set("", nil)
	ofRollout.OwnerReferences = []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Name: "web", Controller: &yes}}
	for name, c := range map[string]struct {
		controller metav1.Object
		known      bool
	}{
		"a StatefulSet":                     {&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: since}}, true},
		"a ReplicaSet without a Deployment": {set("", nil), true},
		"the first of a Deployment":         {set("1", nil), true},
		"the second of a Deployment":        {set("2", nil), false},
		"one of which nothing is kept":      {set("", &none), false},
		"one of a Rollout":                  {ofRollout, false},
	} {
		if got := translate.ControllerSince(c.controller); got.IsZero() == c.known || c.known && !got.Equal(since.Time) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
