package world

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

func newWorld() *World {
	return New(nil, catalog.Market{}, func() time.Time { return time.Unix(1000, 0) })
}

func meta(name string, version int) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: fmt.Sprint(version)}
}

func nodeClaim(name string, version int) *v1.NodeClaim {
	c := &v1.NodeClaim{ObjectMeta: meta(name, version)}
	c.Spec.NodeClassRef = v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: "default"}
	return c
}

func TestWorld_LeavesNodeClaimsOfAnotherKindOfClassAlone(t *testing.T) {
	w := newWorld()
	foreign := nodeClaim("auto", 1)
	foreign.Spec.NodeClassRef = v1.NodeClassReference{Group: "eks.amazonaws.com", Kind: "NodeClass", Name: "default"}
	w.Observe(foreign)
	if _, there := w.NodeClaim("auto"); there {
		t.Error("a NodeClaim of EKS Auto Mode is taken for ours")
	}
}

func pod(name string, version int, node string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: meta(name, version), Spec: corev1.PodSpec{NodeName: node}}
	p.Namespace = "default"
	return p
}

func TestWorld_OlderVersionNeverReplacesANewerOne(t *testing.T) {
	w := newWorld()
	w.Observe(pod("a", 9, "n"))  // the answer to a write
	w.Observe(pod("a", 10, "n")) // its watch event
	w.Observe(pod("a", 7, ""))   // an event from before, late
	if got := w.objects.pods["default/a"]; got.ResourceVersion != "10" || len(w.PodsOn("n")) != 1 {
		t.Errorf("version %s on %v", got.ResourceVersion, w.PodsOn("n"))
	}
}

func TestWorld_WhatIsGoneDoesNotComeBack(t *testing.T) {
	w := newWorld()
	c := nodeClaim("c", 5)
	w.Observe(c)
	w.Forget(c)
	w.Observe(nodeClaim("c", 6)) // a late answer to a patch
	if _, there := w.NodeClaim("c"); there {
		t.Error("a deleted NodeClaim came back")
	}
	again := nodeClaim("c", 7)
	again.UID = "another"
	w.Observe(again)
	if _, there := w.NodeClaim("c"); !there {
		t.Error("another object of the same name is taken for the deleted one")
	}
}

func TestWorld_NodeBelongsToTheClaimOfItsProviderID(t *testing.T) {
	w := newWorld()
	var told []string
	unsubscribe := w.Subscribe(Subscriber{Claim: func(c string) { told = append(told, c) }})
	defer unsubscribe()
	c := nodeClaim("c", 1)
	c.Status.ProviderID = "aws:///a/i-1"
	w.Observe(c)
	n := &corev1.Node{ObjectMeta: meta("n", 2), Spec: corev1.NodeSpec{ProviderID: "aws:///a/i-1"}}
	w.Observe(n)
	w.Observe(pod("a", 3, "n"))
	s, faults := w.Snapshot()
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if node, _ := s.Node("n"); node.Claim != "c" {
		t.Errorf("node belongs to %q", node.Claim)
	}
	if claim, _ := s.Claim("c"); claim.Node != "n" {
		t.Errorf("claim's node is %q", claim.Node)
	}
	if len(told) != 3 {
		t.Errorf("told of %v, want the claim for itself, its node and the pod", told)
	}
}

// A watch that begins anew shows a pod that was deleted, and one that has come with its name, as
// one change.
func TestWorld_TheNodeThatAPodHasLeftIsToldWhereAnotherOneHasItsName(t *testing.T) {
	w := newWorld()
	c := nodeClaim("mine", 1)
	c.Status.ProviderID = "aws:///a/i-1"
	w.Observe(c)
	n := &corev1.Node{ObjectMeta: meta("n", 2)}
	n.Spec.ProviderID = "aws:///a/i-1"
	w.Observe(n)
	old := &corev1.Pod{ObjectMeta: meta("web-0", 3)}
	old.UID, old.Spec.NodeName = "first", "n"
	w.Observe(old)
	var told []string
	unsubscribe := w.Subscribe(Subscriber{Claim: func(c string) { told = append(told, c) }})
	defer unsubscribe()
	told = nil
	again := &corev1.Pod{ObjectMeta: meta("web-0", 4)}
	again.UID = "second"
	if w.Observe(again); !slices.Equal(told, []string{"mine"}) {
		t.Errorf("told of %v", told)
	}
}

func TestWorld_NodeClaimsAreToldWhenTheirPoolConsolidatesAtAnotherTime(t *testing.T) {
	w := newWorld()
	mine, other := nodeClaim("mine", 1), nodeClaim("other", 2)
	mine.Labels, other.Labels = map[string]string{v1.LabelNodePool: "p"}, map[string]string{v1.LabelNodePool: "q"}
	w.Observe(mine)
	w.Observe(other)
	var told []string
	unsubscribe := w.Subscribe(Subscriber{Claim: func(c string) { told = append(told, c) }})
	defer unsubscribe()
	version := 2
	says := func(what string, want int, do func(*v1.NodePool)) {
		t.Helper()
		version++
		told = nil
		p := &v1.NodePool{ObjectMeta: meta("p", version)}
		p.Spec.Template.Spec.NodeClassRef = mine.Spec.NodeClassRef
		p.Spec.Disruption.ConsolidateAfter.Duration = time.Minute
		do(p)
		if len(told) != want || want > 0 && told[0] != "mine" {
			t.Errorf("%s: told of %v, want %d of the pool", what, told, want)
		}
	}
	says("the pool comes", 1, func(p *v1.NodePool) { w.Observe(p) })
	says("it has another weight", 0, func(p *v1.NodePool) { weight := int32(7); p.Spec.Weight = &weight; w.Observe(p) })
	says("it consolidates later", 1, func(p *v1.NodePool) { p.Spec.Disruption.ConsolidateAfter.Duration = time.Hour; w.Observe(p) })
	says("it never consolidates", 1, func(p *v1.NodePool) {
		p.Spec.Disruption.ConsolidateAfter = v1.NillableDuration{Never: true}
		w.Observe(p)
	})
	says("it goes", 1, func(p *v1.NodePool) { w.Forget(p) })
}

func TestWorld_AClaimWithANoteThatCannotBeReadWorksWithoutItAndIsNamed(t *testing.T) {
	for _, note := range []string{v1.AnnotationMove, v1.AnnotationInterruption} {
		w := newWorld()
		c := nodeClaim("c", 1)
		c.Annotations = map[string]string{note: "{"}
		w.Observe(c)
		for range 2 {
			if s, faults := w.Snapshot(); len(faults) != 1 || len(s.Claims()) != 1 {
				t.Errorf("%s: snapshot = %v, %v", note, s.Claims(), faults)
			}
		}
	}
}

func TestWorld_OneUnreadableClaimDoesNotHoldUpTheRest(t *testing.T) {
	w := newWorld()
	bad := nodeClaim("bad", 1)
	bad.Spec.Requirements = []v1.Requirement{{Key: "k", Operator: "Near"}}
	w.Observe(bad)
	w.Observe(nodeClaim("good", 2))
	s, faults := w.Snapshot()
	if len(faults) != 1 || len(s.Claims()) != 1 {
		t.Errorf("snapshot = %v, %v", s.Claims(), faults)
	}
}

func TestWorld_DeclaredReplicasFollowThePodsThatExist(t *testing.T) {
	w := newWorld()
	five := int32(5)
	rs := &appsv1.ReplicaSet{ObjectMeta: meta("rs", 1), Spec: appsv1.ReplicaSetSpec{Replicas: &five}}
	rs.Namespace = "default"
	w.Observe(rs)
	yes := true
	for i := range 3 {
		p := pod(fmt.Sprint("p", i), 10+i, "")
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", UID: rs.UID, Controller: &yes}}
		w.Observe(p)
	}
	s, _ := w.Snapshot()
	if len(s.Workloads()) != 1 || s.Workloads()[0].Missing != 2 {
		t.Errorf("workloads = %+v; want 2 missing", s.Workloads())
	}
	if since, ok := w.WaitingSince("default/p0"); !ok || since.Unix() != 1000 {
		t.Errorf("waiting since %v, %v", since, ok)
	}
	w.Observe(pod("p0", 20, "n"))
	if _, ok := w.WaitingSince("default/p0"); ok {
		t.Error("a bound pod still waits")
	}
}

func TestWorld_PodIsReadAgainWhenItsVolumeAppears(t *testing.T) {
	w := newWorld()
	p := pod("a", 1, "")
	p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}}}
	w.Observe(p)
	shape := func() cluster.Shape {
		s, _ := w.Snapshot()
		return s.Pods()[0].Shape
	}
	if got := shape().Unsupported; len(got) != 1 || got[0] != "persistent volume claim default/data does not exist: create it" {
		t.Errorf("without its claim the pod waits for %q", got)
	}
	c := &corev1.PersistentVolumeClaim{ObjectMeta: meta("data", 2), Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv"}}
	c.Namespace = "default"
	w.Observe(c)
	if got := shape().Unsupported; len(got) != 1 || got[0] != "persistent volume claim default/data: persistent volume pv does not exist: restore it or delete the claim" {
		t.Errorf("without its volume the pod waits for %q", got)
	}
	v := &corev1.PersistentVolume{ObjectMeta: meta("pv", 3)}
	v.Labels = map[string]string{label.Zone: "a"}
	w.Observe(v)
	if got := shape(); len(got.Unsupported) != 0 || fmt.Sprint(got.Volumes) != "[[topology.kubernetes.io/zone In [a]]]" {
		t.Errorf("with its volume: %q, %v", got.Unsupported, got.Volumes)
	}
}

func TestWorld_ATerminatingPodReturnsWhileItsStatefulSetDeclaresIt(t *testing.T) {
	const replicas = 2
	set := func(version int, change func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
		s := &appsv1.StatefulSet{ObjectMeta: meta("db", version)}
		s.Namespace, s.Spec.Replicas = "default", new(int32(replicas))
		change(s)
		return s
	}
	version, now := 1, metav1.Unix(1000, 0)
	for _, c := range []struct {
		what   string
		change func(*corev1.Pod)
		then   *appsv1.StatefulSet // nil for deleted
		want   bool
	}{
		{"terminates", func(*corev1.Pod) {}, set(9, func(*appsv1.StatefulSet) {}), true},
		{"runs", func(p *corev1.Pod) { p.DeletionTimestamp = nil }, set(9, func(*appsv1.StatefulSet) {}), false},
		{"is one too many", func(*corev1.Pod) {}, set(9, func(s *appsv1.StatefulSet) { *s.Spec.Replicas = 1 }), false},
		{"is below the first", func(*corev1.Pod) {}, set(9, func(s *appsv1.StatefulSet) { s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 2} }), false},
		{"is of a StatefulSet that is being deleted", func(*corev1.Pod) {}, set(9, func(s *appsv1.StatefulSet) { s.DeletionTimestamp = &now }), false},
		{"is of a StatefulSet that is gone", func(*corev1.Pod) {}, nil, false},
		{"is of another of the name", func(p *corev1.Pod) { p.OwnerReferences[0].UID = "old" }, set(9, func(*appsv1.StatefulSet) {}), false},
	} {
		w := newWorld()
		before := set(version, func(*appsv1.StatefulSet) {})
		w.Observe(before)
		p := pod("db-1", 2, "n")
		p.DeletionTimestamp = &now
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(before, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
		c.change(p)
		w.Observe(p)
		w.Snapshot()
		if c.then != nil {
			w.Observe(c.then)
		} else {
			w.Forget(before)
		}
		s, _ := w.Snapshot()
		if got := s.Pods()[0].Returns; got != c.want {
			t.Errorf("a pod that %s: returns is %t", c.what, got)
		}
	}
}

func TestWorld_PodsSayHowLongTheirControllerHasBeenThere(t *testing.T) {
	yes := true
	w := newWorld()
	p := &corev1.Pod{ObjectMeta: meta("web-0", 1), Spec: corev1.PodSpec{NodeName: "n"}}
	p.Namespace, p.OwnerReferences = "default", []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", UID: "uid-web", Controller: &yes}}
	s := &appsv1.StatefulSet{ObjectMeta: meta("web", 1)}
	s.Namespace, s.CreationTimestamp = "default", metav1.NewTime(time.Unix(500, 0))
	since := func() time.Time {
		snapshot, faults := w.Snapshot()
		got, there := snapshot.Pod("default/web-0")
		if len(faults) > 0 || !there {
			t.Fatalf("faults %v, pod %v", faults, there)
		}
		return got.OwnedSince
	}
	w.Observe(p)
	if got := since(); !got.IsZero() {
		t.Errorf("before the controller is known: %s", got)
	}
	w.Observe(s)
	if got := since(); !got.Equal(s.CreationTimestamp.Time) {
		t.Errorf("since %s, want %s", got, s.CreationTimestamp)
	}
	w.remove(s)
	if got := since(); !got.IsZero() {
		t.Errorf("when the controller is gone: %s", got)
	}
}

func TestWorld_DeclaredPodsAreReadAgainWhenTheirClassesAppear(t *testing.T) {
	w := newWorld()
	two, micro := int32(2), "micro"
	rs := &appsv1.ReplicaSet{ObjectMeta: meta("rs", 1), Spec: appsv1.ReplicaSetSpec{Replicas: &two}}
	rs.Namespace, rs.Spec.Template.Spec.RuntimeClassName = "default", &micro
	w.Observe(rs)
	if s, _ := w.Snapshot(); len(s.Workloads()) != 0 {
		t.Errorf("without its runtime class: %+v, want none", s.Workloads())
	}
	w.Observe(&nodev1.RuntimeClass{ObjectMeta: meta(micro, 2), Overhead: &nodev1.Overhead{PodFixed: corev1.ResourceList{"cpu": resource.MustParse("2")}}})
	first := func() cluster.Workload {
		t.Helper()
		s, _ := w.Snapshot()
		if len(s.Workloads()) != 1 {
			t.Fatalf("workloads %+v, want one", s.Workloads())
		}
		return s.Workloads()[0]
	}
	if got := first(); got.Missing != 2 || got.Shape.Requests.MilliCPU != 2000 {
		t.Errorf("%d missing of %s, want two with the overhead", got.Missing, got.Shape.Requests)
	}
	for i, c := range []struct{ value, want int32 }{{7, 7}, {9, 7}, {3, 3}} { // the lowest of several defaults
		w.Observe(&schedulingv1.PriorityClass{ObjectMeta: meta(fmt.Sprint("c", i), 3+i), Value: c.value, GlobalDefault: true})
		if got := first().Shape.Priority; got != c.want {
			t.Errorf("priority %d, want %d", got, c.want)
		}
	}
	w.Forget(&schedulingv1.PriorityClass{ObjectMeta: meta("c2", 5)})
	if got := first().Shape.Priority; got != 7 {
		t.Errorf("priority %d when the lowest is gone, want 7", got)
	}
}

func TestWorld_PodsOfAReplicationControllerAreSpreadByItsSelector(t *testing.T) {
	w := newWorld()
	w.SpreadByDefault([]cluster.Spread{{Key: label.Zone, MaxSkew: 1}})
	yes := true
	p := pod("a", 1, "")
	p.Labels = map[string]string{"app": "web", "version": "1"}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ReplicationController", Name: "web", UID: "uid-web", Controller: &yes}}
	w.Observe(p)
	if s, _ := w.Snapshot(); len(s.Pods()[0].Shape.Spread) != 0 {
		t.Errorf("spread %v before anything selects the pod", s.Pods()[0].Shape.Spread)
	}
	rc := &corev1.ReplicationController{ObjectMeta: meta("web", 2)}
	rc.Namespace, rc.Spec.Selector = "default", map[string]string{"app": "web"}
	w.Observe(rc)
	s, _ := w.Snapshot()
	if got := s.Pods()[0].Shape.Spread; len(got) != 1 || fmt.Sprint(got[0].Selector.Match) != "app In [web]" {
		t.Errorf("spread %v, want over zones of app=web", got)
	}
}

// The limit of EBS volumes is known from EC2, that of other drivers only from a node.
func TestWorld_CountsVolumesOfEBSAndOfDriversWithAKnownLimit(t *testing.T) {
	w := newWorld()
	for i, driver := range []string{"ebs.csi.aws.com", "local.example.com"} {
		v := &corev1.PersistentVolume{ObjectMeta: meta(driver, 1+i)}
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: driver}
		c := &corev1.PersistentVolumeClaim{ObjectMeta: meta("of-"+driver, 3+i), Spec: corev1.PersistentVolumeClaimSpec{VolumeName: driver}}
		p := pod("with-"+driver, 5+i, "")
		c.Namespace = p.Namespace
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c.Name},
		}}}
		w.Observe(v)
		w.Observe(c)
		w.Observe(p)
	}
	counted := func() (out []string) {
		s, _ := w.Snapshot()
		for _, p := range s.Pods() {
			for _, a := range p.Shape.Requests.Extended {
				out = append(out, fmt.Sprint(a.Name, " ", a.Count))
			}
		}
		return out
	}
	if got := fmt.Sprint(counted()); got != "[attach/ebs.csi.aws.com 1]" {
		t.Errorf("counted %s before any node has named a limit", got)
	}
	w.Observe(csiNode(meta("n", 7)))
	if got := fmt.Sprint(counted()); got != "[attach/ebs.csi.aws.com 1 attach/local.example.com 1]" {
		t.Errorf("counted %s when a node has named limits of both drivers", got)
	}
}

func TestWorld_ConflictingObjectDoesNotHoldUpTheRest(t *testing.T) {
	w := newWorld()
	w.Observe(pod("a", 1, ""))
	twin := pod("b", 2, "")
	twin.UID = "uid-a"
	w.Observe(twin)
	w.Observe(pod("c", 3, ""))
	s, faults := w.Snapshot()
	if len(faults) != 1 || len(s.Pods()) != 2 {
		t.Fatalf("%d pods, faults %v; want two and one", len(s.Pods()), faults)
	}
	fixed := pod("b", 4, "")
	fixed.UID = "uid-b"
	kept := pod("a", 5, "")
	w.Observe(fixed)
	w.Observe(kept)
	if s, faults := w.Snapshot(); len(faults) != 0 || len(s.Pods()) != 3 {
		t.Errorf("without the conflict: %d pods, faults %v", len(s.Pods()), faults)
	}
}

func TestWorld_ConflictingObjectIsTriedAgainWhenTheConflictIsGone(t *testing.T) {
	w := newWorld()
	first := pod("a", 1, "")
	w.Observe(first)
	w.Snapshot()
	twin := pod("b", 2, "")
	twin.UID = first.UID
	w.Observe(twin)
	for range 2 { // it stays left out, and is named each time
		if s, faults := w.Snapshot(); len(faults) != 1 || len(s.Pods()) != 1 || s.Pods()[0].Name != "a" {
			t.Fatalf("pods %v, faults %v; want a alone and one fault", s.Pods(), faults)
		}
	}
	mended := pod("a", 3, "")
	mended.UID = "uid-other"
	w.Observe(mended)
	if s, faults := w.Snapshot(); len(faults) != 0 || len(s.Pods()) != 2 {
		t.Errorf("pods %v, faults %v; want both", s.Pods(), faults)
	}
	if len(w.translations.conflicting) != 0 || len(w.translations.stale) != 0 {
		t.Errorf("still to be read: %v, %v", w.translations.conflicting, w.translations.stale)
	}
}

func TestWorld_AnotherObjectOfTheSameNameLeavesNothingOfTheOld(t *testing.T) {
	w := newWorld()
	two := int32(2)
	for version, uid := range []types.UID{"old", "new"} {
		p := pod("p", 10+version, "")
		p.UID = uid
		w.Observe(p)
		rs := &appsv1.ReplicaSet{ObjectMeta: meta("rs", 20+version), Spec: appsv1.ReplicaSetSpec{Replicas: &two}}
		rs.Namespace, rs.UID = "default", uid+"-rs"
		w.Observe(rs)
	}
	late := &appsv1.ReplicaSet{ObjectMeta: meta("rs", 5)} // an event from before
	late.Namespace, late.UID = "default", "older-rs"
	w.Observe(late)
	if _, there := w.seen["new"]; len(w.seen) != 1 || !there {
		t.Errorf("pods that wait: %v, want the new one alone", w.seen)
	}
	if _, there := w.objects.controllers["new-rs"]; len(w.objects.controllers) != 1 || !there {
		t.Errorf("controllers: %v, want the new one alone", w.objects.controllers)
	}
}

func TestWorld_NamespaceWithoutObjectsIsForgotten(t *testing.T) {
	w := newWorld()
	limits, service := &corev1.LimitRange{ObjectMeta: meta("l", 1)}, &corev1.Service{ObjectMeta: meta("s", 1)}
	limits.Namespace, service.Namespace = "team", "team"
	w.Observe(limits)
	w.Observe(service)
	if len(w.objects.limitRanges["team"]) != 1 || len(w.objects.services["team"]) != 1 {
		t.Fatalf("%v, %v; want one each", w.objects.limitRanges, w.objects.services)
	}
	w.Forget(limits)
	w.Forget(service)
	if len(w.objects.limitRanges) != 0 || len(w.objects.services) != 0 {
		t.Errorf("%v, %v are left of a namespace that has none", w.objects.limitRanges, w.objects.services)
	}
}

// Each look at a class is nine or more calls of AWS.
func TestSubscribe_AClassIsLookedAtForItsSpecAndItsEndAndNotForItsStatus(t *testing.T) {
	w := New(nil, catalog.Market{}, time.Now)
	var told []string
	w.Subscribe(Subscriber{Class: func(name string) { told = append(told, name) }})
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "c", ResourceVersion: "1", Generation: 1}}
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n", ResourceVersion: "1"}}
	claim.Spec.NodeClassRef = v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: "c"}
	version := 1
	step := func(what string, want int, change func(c *awsv1.EC2NodeClass)) {
		t.Helper()
		version++
		class = class.DeepCopy()
		class.ResourceVersion = strconv.Itoa(version)
		change(class)
		before := len(told)
		w.Observe(class)
		if got := len(told) - before; got != want {
			t.Errorf("%s: told %d times, want %d", what, got, want)
		}
	}
	step("a new class", 1, func(*awsv1.EC2NodeClass) {})
	step("a status", 0, func(c *awsv1.EC2NodeClass) { c.Status.InstanceProfile = "p" })
	step("the finalizer", 1, func(c *awsv1.EC2NodeClass) { c.Finalizers = []string{"f"} })
	step("a spec", 1, func(c *awsv1.EC2NodeClass) { c.Generation = 2 })
	w.Observe(claim)
	before := len(told)
	w.Forget(claim)
	if len(told) != before {
		t.Error("a NodeClaim of a class that stays is gone: told of the class")
	}
	step("its deletion", 1, func(c *awsv1.EC2NodeClass) { c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} })
	claim = claim.DeepCopy()
	claim.UID, claim.ResourceVersion = "n2", "9"
	w.Observe(claim)
	before = len(told)
	if w.Forget(claim); len(told) != before+1 {
		t.Error("the last NodeClaim of a deleted class is gone: not told of the class")
	}
}

func TestNodeClaimOf_FindsTheNodeClaimOfAnInstance(t *testing.T) {
	w := New(nil, catalog.Market{}, time.Now)
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n", ResourceVersion: "1"}}
	claim.Spec.NodeClassRef = v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: "c"}
	claim.Status.ProviderID = "aws:///us-west-2a/i-1"
	w.Observe(claim)
	for id, want := range map[string]bool{"i-1": true, "i-2": false, "1": false, "": false} {
		if c, ok := w.NodeClaimOf(id); ok != want || ok && c.Name != "n" {
			t.Errorf("%q: %v, %v", id, c, ok)
		}
	}
	w.Forget(claim)
	if _, ok := w.NodeClaimOf("i-1"); ok {
		t.Error("the NodeClaim is gone, and is found")
	}
}

// A machine that joins again under another name has two Nodes.
func TestWorld_OfTwoNodesOfAnInstanceOneBelongsToTheClaim(t *testing.T) {
	w := newWorld()
	c := nodeClaim("c", 1)
	c.Status.ProviderID = "aws:///a/i-1"
	w.Observe(c)
	ready := func(name string, version int, age time.Duration, status corev1.ConditionStatus) *corev1.Node {
		n := &corev1.Node{ObjectMeta: meta(name, version), Spec: corev1.NodeSpec{ProviderID: "aws:///a/i-1"}}
		n.CreationTimestamp = metav1.NewTime(time.Unix(10_000, 0).Add(-age))
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
		return n
	}
	is := func(when, want string) {
		t.Helper()
		s, faults := w.Snapshot()
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		got, _ := w.NodeOf("aws:///a/i-1")
		claim, _ := s.Claim("c")
		if got == nil || got.Name != want || claim.Node != want {
			t.Errorf("%s the claim's node is %q, and %+v by provider id; want %s", when, claim.Node, got, want)
		}
		for _, name := range []string{"first", "second"} {
			if n, there := s.Node(name); there && (n.Claim == "c") != (name == want) {
				t.Errorf("%s node %s belongs to %q", when, name, n.Claim)
			}
		}
	}
	w.Observe(ready("first", 2, time.Hour, corev1.ConditionTrue))
	w.Observe(ready("second", 3, time.Minute, corev1.ConditionTrue))
	is("at first", "first")
	w.Observe(ready("second", 4, time.Minute, corev1.ConditionTrue))
	is("after a heartbeat of the second", "first")
	w.Observe(ready("first", 5, time.Hour, corev1.ConditionUnknown))
	is("while the first is silent", "second")
	w.Observe(ready("first", 6, time.Hour, corev1.ConditionTrue))
	is("when the first is back", "first")
	deleted := ready("first", 7, time.Hour, corev1.ConditionTrue)
	deleted.DeletionTimestamp = &metav1.Time{Time: time.Unix(10_000, 0)}
	w.Observe(deleted)
	is("when somebody has deleted the first", "second")
	if all := w.NodesOf("aws:///a/i-1"); len(all) != 2 || all[0].Name != "second" || all[1].Name != "first" {
		t.Errorf("the nodes of the instance are %v", all)
	}
	w.Forget(ready("first", 8, time.Hour, corev1.ConditionTrue))
	is("without the first", "second")
	if len(w.twins) > 0 {
		t.Errorf("nodes of one instance are kept: %v", w.twins)
	}
}
