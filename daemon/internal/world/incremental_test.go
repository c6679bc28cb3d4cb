package world

import (
	"fmt"
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// history makes random events of few objects that refer to each other, as watches
// would bring them.
type history struct {
	*rapid.T
	version int
	alive   map[string]metav1.Object // kind and key -> newest version
}

func (h *history) pick(label string, from ...string) string {
	return rapid.SampledFrom(from).Draw(h.T, label)
}

func (h *history) yes(label string) bool { return rapid.Bool().Draw(h.T, label) }

// meta is the metadata of a new version of the object. An object that exists keeps
// its uid.
func (h *history) meta(kind, namespace, name string) metav1.ObjectMeta {
	h.version++
	uid := types.UID(fmt.Sprint(kind, namespace, name, h.version))
	if old, there := h.alive[kind+namespace+"/"+name]; there {
		uid = old.GetUID()
	}
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid, ResourceVersion: fmt.Sprint(h.version), Generation: 1}
}

// owned gives the object its controller as owner, if the controller exists.
func (h *history) owned(m *metav1.ObjectMeta, kind string) {
	if owner, there := h.alive[kind+m.Namespace+"/own"]; there {
		yes := true
		version := "apps/v1"
		if kind == "ReplicationController" {
			version = "v1"
		}
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: "own", UID: owner.GetUID(), Controller: &yes}}
	}
}

var kinds = []string{
	"Pod", "Pod", "Pod", "Node", "NodeClaim", "NodePool", "EC2NodeClass", "DaemonSet", "ReplicaSet", "StatefulSet", "Job", "Namespace",
	"PersistentVolumeClaim", "PersistentVolumeClaim", "PersistentVolume", "PersistentVolume", "StorageClass", "CSINode", "LimitRange", "Service",
	"PriorityClass", "RuntimeClass", "ReplicationController",
}

func (h *history) object(kind string) metav1.Object {
	ns := h.pick("namespace", "ns1", "ns1", "ns1", "ns2")
	switch kind {
	case "Pod":
		return h.pod(ns)
	case "Node", "NodeClaim", "NodePool", "EC2NodeClass", "CSINode":
		return h.ofNodes(kind)
	case "DaemonSet", "ReplicaSet", "StatefulSet", "Job":
		return h.controller(kind, ns)
	case "Namespace":
		return &corev1.Namespace{ObjectMeta: h.meta(kind, "", ns)}
	case "PriorityClass":
		return &schedulingv1.PriorityClass{
			ObjectMeta: h.meta(kind, "", h.pick("class", "c1", "c2")), Value: int32(h.version), GlobalDefault: h.yes("default"),
		}
	case "RuntimeClass":
		return &nodev1.RuntimeClass{ObjectMeta: h.meta(kind, "", "c1"), Overhead: &nodev1.Overhead{
			PodFixed: corev1.ResourceList{"cpu": resource.MustParse(h.pick("cpu", "1", "2"))},
		}}
	case "ReplicationController":
		return &corev1.ReplicationController{ObjectMeta: h.meta(kind, ns, "own"), Spec: corev1.ReplicationControllerSpec{Selector: map[string]string{"app": h.pick("app", "a", "b")}}}
	case "LimitRange":
		return &corev1.LimitRange{ObjectMeta: h.meta(kind, ns, "l"), Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer, DefaultRequest: corev1.ResourceList{"cpu": resource.MustParse(h.pick("cpu", "1", "2"))},
		}}}}
	case "Service":
		return &corev1.Service{ObjectMeta: h.meta(kind, ns, h.pick("service", "s1", "s2")), Spec: corev1.ServiceSpec{Selector: map[string]string{"app": h.pick("app", "a", "b")}}}
	}
	return h.storage(kind, ns)
}

func (h *history) storage(kind, ns string) metav1.Object {
	class := h.pick("class", "c1", "c2")
	switch kind {
	case "PersistentVolumeClaim":
		c := &corev1.PersistentVolumeClaim{ObjectMeta: h.meta(kind, ns, h.pick("claim", "data", "data-own-1"))}
		c.Spec.StorageClassName = &class
		c.Spec.VolumeName = h.pick("volume", "", "", "pv")
		return c
	case "PersistentVolume":
		v := &corev1.PersistentVolume{ObjectMeta: h.meta(kind, "", "pv")}
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: h.pick("driver", "ebs.csi.aws.com", "local.example.com")}
		v.Labels = map[string]string{label.Zone: h.pick("zone", "a", "b")}
		v.Spec.StorageClassName = class
		v.Status.Phase = corev1.PersistentVolumePhase(h.pick("phase", string(corev1.VolumeAvailable), string(corev1.VolumeBound)))
		return v
	}
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	c := &storagev1.StorageClass{ObjectMeta: h.meta(kind, "", class), Provisioner: h.pick("provisioner", "ebs.csi.aws.com", "efs.csi.aws.com", "kubernetes.io/no-provisioner"), VolumeBindingMode: &wait}
	c.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": fmt.Sprint(h.yes("default"))}
	return c
}

func (h *history) spec() corev1.PodSpec {
	s := corev1.PodSpec{Containers: []corev1.Container{{}}}
	if h.yes("requests") {
		s.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("500m")}
	}
	if class := h.pick("class", "", "", "c1", "c2"); class != "" {
		s.PriorityClassName, s.RuntimeClassName = class, &class
	}
	switch h.pick("volumes", "none", "claim", "ephemeral", "default") {
	case "claim":
		s.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	case "ephemeral":
		class := "c1"
		s.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
			VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class}},
		}}}}
	case "default":
		s.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
			VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{},
		}}}}
	}
	return s
}

func (h *history) pod(ns string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: h.meta("Pod", ns, h.pick("pod", "own-0", "own-1", "own-2")), Spec: h.spec()}
	p.Labels = map[string]string{"app": h.pick("app", "a", "b")}
	h.owned(&p.ObjectMeta, h.pick("owner", "DaemonSet", "ReplicaSet", "StatefulSet", "Job", "ReplicationController", "none"))
	p.Spec.NodeName = h.pick("node", "", "n1")
	p.Status.Phase = corev1.PodPhase(h.pick("phase", "Pending", "Running", "Succeeded", "Failed"))
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionStatus(h.pick("ready", "True", "False"))}}
	return p
}

func (h *history) controller(kind, ns string) metav1.Object {
	m, three := h.meta(kind, ns, "own"), int32(3)
	t := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "a"}}, Spec: h.spec()}
	of := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
	seen := int64(h.version % 2)
	switch kind {
	case "DaemonSet":
		return &appsv1.DaemonSet{ObjectMeta: m, Spec: appsv1.DaemonSetSpec{Template: t}}
	case "ReplicaSet":
		return &appsv1.ReplicaSet{ObjectMeta: m, Spec: appsv1.ReplicaSetSpec{Replicas: &three, Template: t, Selector: of}, Status: appsv1.ReplicaSetStatus{ObservedGeneration: seen}}
	case "StatefulSet":
		claims := []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
		return &appsv1.StatefulSet{
			ObjectMeta: m, Spec: appsv1.StatefulSetSpec{Replicas: &three, Template: t, Selector: of, VolumeClaimTemplates: claims},
			Status: appsv1.StatefulSetStatus{ObservedGeneration: seen},
		}
	}
	return &batchv1.Job{ObjectMeta: m, Spec: batchv1.JobSpec{Parallelism: &three, Template: t}, Status: batchv1.JobStatus{StartTime: &metav1.Time{}}}
}

func (h *history) ofNodes(kind string) metav1.Object {
	number, id := h.pick("number", "1", "2"), ""
	if h.yes("launched") {
		id = "aws:///a/i-" + number // no two nodes have the same
	}
	switch kind {
	case "Node":
		return &corev1.Node{ObjectMeta: h.meta(kind, "", "n"+number), Spec: corev1.NodeSpec{ProviderID: id}}
	case "NodeClaim":
		c := &v1.NodeClaim{ObjectMeta: h.meta(kind, "", "nc"+number)}
		c.Spec.NodeClassRef = v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: "default"}
		c.Spec.Requirements = []v1.Requirement{{Key: "k", Operator: corev1.NodeSelectorOperator(h.pick("operator", "Exists", "Near"))}}
		c.Status.ProviderID = id
		return c
	case "NodePool":
		p := &v1.NodePool{ObjectMeta: h.meta(kind, "", "p")}
		p.Spec.Template.Spec.NodeClassRef = v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: h.pick("class", "x", "y")}
		return p
	case "EC2NodeClass":
		return &awsv1.EC2NodeClass{ObjectMeta: h.meta(kind, "", h.pick("class", "x", "y"))}
	}
	return csiNode(h.meta(kind, "", "n"+number))
}

func csiNode(m metav1.ObjectMeta) *storagev1.CSINode {
	count := int32(20)
	return &storagev1.CSINode{ObjectMeta: m, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
		{Name: "ebs.csi.aws.com", Allocatable: &storagev1.VolumeNodeResources{Count: &count}},
		{Name: "local.example.com", Allocatable: &storagev1.VolumeNodeResources{Count: &count}},
	}}}
}

// contents is everything in a snapshot.
func contents(s cluster.Snapshot, faults []error) map[string]any {
	out := map[string]any{
		"pods": s.Pods(), "nodes": s.Nodes(), "claims": s.Claims(), "pools": s.Pools(), "classes": s.Classes(),
		"daemonSets": s.DaemonSets(), "workloads": s.Workloads(), "ns1": s.Namespace("ns1"), "ns2": s.Namespace("ns2"), "faults": fmt.Sprint(faults),
	}
	return out
}

func empty(x any) bool {
	v := reflect.ValueOf(x)
	return v.Kind() == reflect.Slice && v.Len() == 0
}

// scratch is the contents of a new world with the objects that exist now.
func (h *history) scratch(spread []cluster.Spread, limited bool) map[string]any {
	fresh := newWorld()
	fresh.SpreadByDefault(spread)
	if limited { // a limit that was known once stays known
		c := csiNode(metav1.ObjectMeta{Name: "n0", UID: "n0", ResourceVersion: "1"})
		fresh.Observe(c)
		fresh.Forget(c)
	}
	for _, o := range h.alive {
		fresh.Observe(o)
	}
	return contents(fresh.Snapshot())
}

func TestSnapshot_IncrementalEqualsOneBuiltFromScratch(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := &history{T: rt, alive: map[string]metav1.Object{}}
		spread := []cluster.Spread{{Key: label.Zone, MaxSkew: 3, Soft: true}}
		w := newWorld()
		w.SpreadByDefault(spread)
		limited := false
		for range rapid.IntRange(50, 100).Draw(rt, "events") {
			kind := h.pick("kind", kinds...)
			o := h.object(kind)
			id := kind + o.GetNamespace() + "/" + o.GetName()
			if known, there := h.alive[id]; there && h.pick("event", "changed", "changed", "gone") == "gone" {
				w.Forget(known)
				delete(h.alive, id)
			} else {
				w.Observe(o)
				h.alive[id] = o
				limited = limited || kind == "CSINode"
			}
			if h.yes("wait") {
				continue
			}
			got, want := contents(w.Snapshot()), h.scratch(spread, limited)
			for what := range want {
				if !reflect.DeepEqual(got[what], want[what]) && !(empty(got[what]) && empty(want[what])) {
					rt.Fatalf("%s: %+v\nfrom scratch: %+v", what, got[what], want[what])
				}
			}
		}
	})
}
