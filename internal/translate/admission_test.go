package translate_test

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

func TestPodsToCome_GetWhatAdmissionGives(t *testing.T) {
	r := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: appsv1.ReplicaSetSpec{Template: template()}}
	r.Spec.Template.Spec.Containers = []corev1.Container{
		{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("2")}}},
		{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"memory": resource.MustParse("1Gi")}}},
	}
	limit := func(name, cpu, memory string) *corev1.LimitRange {
		return &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{
			{Type: corev1.LimitTypePod, DefaultRequest: corev1.ResourceList{"cpu": resource.MustParse("99")}},
			{Type: corev1.LimitTypeContainer, DefaultRequest: corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory)}},
		}}}
	}
	l := translate.Lookups{LimitRanges: func(namespace string) []*corev1.LimitRange {
		if namespace != "shop" {
			return nil
		}
		return []*corev1.LimitRange{limit("b", "7", "7Gi"), limit("a", "250m", "64Mi")}
	}}
	w, _ := translate.ReplicaSet(r, slices.Values([]*corev1.Pod(nil)), l)
	if got := w.Shape.Requests; got.MilliCPU != 2250 || got.MemoryBytes != 1<<30+64<<20 {
		t.Errorf("requests %s, want the limit and the first range's defaults", got)
	}
	if len(w.Shape.Tolerations) != 2 || w.Shape.Tolerations[0].Key != corev1.TaintNodeNotReady {
		t.Errorf("tolerations %+v", w.Shape.Tolerations)
	}
	if _, there := r.Spec.Template.Spec.Containers[0].Resources.Requests["cpu"]; there || len(r.Spec.Template.Spec.Tolerations) > 0 {
		t.Error("the ReplicaSet itself was changed")
	}
}

// classes has the priority classes low (5, the default) and high (1000), and the
// runtime classes micro, of nodes with the label and the taint sandbox=micro, and
// plain.
func classes() translate.Lookups {
	return translate.Lookups{
		PriorityClass: func(name string) (*schedulingv1.PriorityClass, bool) {
			value, found := map[string]int32{"": 5, "low": 5, "high": 1000}[name]
			return &schedulingv1.PriorityClass{Value: value}, found
		},
		RuntimeClass: func(name string) (*nodev1.RuntimeClass, bool) {
			c := &nodev1.RuntimeClass{}
			if name == "micro" {
				c.Overhead = &nodev1.Overhead{PodFixed: corev1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("160Mi")}}
				c.Scheduling = &nodev1.Scheduling{
					NodeSelector: map[string]string{"sandbox": "micro"},
					Tolerations:  []corev1.Toleration{{Key: "sandbox", Value: "micro", Effect: corev1.TaintEffectNoSchedule}},
				}
			}
			return c, name == "micro" || name == "plain"
		},
	}
}

func TestPodsToCome_HaveThePriorityOfTheirClassOrOfTheDefault(t *testing.T) {
	for class, want := range map[string]int32{"": 5, "low": 5, "high": 1000} {
		r := replicaSet()
		r.Spec.Template.Spec.PriorityClassName = class
		w, ok := translate.ReplicaSet(r, slices.Values([]*corev1.Pod(nil)), classes())
		if !ok || w.Shape.Priority != want {
			t.Errorf("class %q: priority %d, %v; want %d", class, w.Shape.Priority, ok, want)
		}
		if r.Spec.Template.Spec.Priority != nil {
			t.Error("the ReplicaSet itself was changed")
		}
	}
	w, ok := translate.ReplicaSet(replicaSet(), slices.Values([]*corev1.Pod(nil)), translate.Lookups{})
	if !ok || w.Shape.Priority != 0 {
		t.Errorf("without any class: priority %d, %v; want none", w.Shape.Priority, ok)
	}
}

func TestPodsToCome_TakeTheOverheadAndTheNodesOfTheirRuntimeClass(t *testing.T) {
	r := replicaSet()
	micro := "micro"
	r.Spec.Template.Spec.RuntimeClassName = &micro
	r.Spec.Template.Spec.NodeSelector = map[string]string{"disk": "fast"}
	w, ok := translate.ReplicaSet(r, slices.Values([]*corev1.Pod(nil)), classes())
	if !ok || w.Shape.Requests.MilliCPU != 750 || w.Shape.Requests.MemoryBytes != 160<<20 {
		t.Errorf("requests %s, %v; want the overhead, too", w.Shape.Requests, ok)
	}
	if got, want := fmt.Sprint(w.Shape.Selector), "disk In [fast] and sandbox In [micro]"; got != want {
		t.Errorf("selector %s, want %s", got, want)
	}
	taint := []cluster.Taint{{Key: "sandbox", Value: "micro", Effect: cluster.NoSchedule}}
	if _, kept := cluster.Untolerated(taint, w.Shape.Tolerations); kept {
		t.Errorf("tolerations %+v do not let the pod on its nodes", w.Shape.Tolerations)
	}
	if len(r.Spec.Template.Spec.NodeSelector) != 1 || len(r.Spec.Template.Spec.Tolerations) != 0 {
		t.Error("the ReplicaSet itself was changed")
	}
}

func TestPodsToCome_AreShapedLikeTheOnesThatCame(t *testing.T) {
	micro := "micro"
	tolerated := corev1.Toleration{Key: "sandbox", Value: "micro", Effect: corev1.TaintEffectNoSchedule}
	r := replicaSet()
	r.Spec.Template.Spec.RuntimeClassName, r.Spec.Template.Spec.Tolerations = &micro, []corev1.Toleration{tolerated}
	r.Spec.Template.Spec.PriorityClassName = "high"
	came := pods("a")[0]
	came.Spec.Containers = r.Spec.Template.Spec.Containers
	came.Spec.Overhead = corev1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("160Mi")}
	came.Spec.NodeSelector = map[string]string{"sandbox": "micro"}
	came.Spec.Tolerations = []corev1.Toleration{
		tolerated, // once, though its RuntimeClass tolerates it as well
		{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	}
	priority := int32(1000)
	came.Spec.Priority = &priority
	declared, _ := translate.ReplicaSet(r, slices.Values([]*corev1.Pod(nil)), classes())
	actual, _ := translate.Pod(came, classes())
	if declared.Shape.Key() != actual.Shape.Key() {
		t.Errorf("declared %+v\nactual %+v", declared.Shape, actual.Shape)
	}
}

func TestPodsToCome_OfAClassThatKeepsThemOutDoNotCount(t *testing.T) {
	gone, micro := "gone", "micro"
	for name, change := range map[string]func(*corev1.PodSpec){
		"no such priority class": func(s *corev1.PodSpec) { s.PriorityClassName = gone },
		"no such runtime class":  func(s *corev1.PodSpec) { s.RuntimeClassName = &gone },
		"a selector at odds with the runtime class": func(s *corev1.PodSpec) {
			s.RuntimeClassName, s.NodeSelector = &micro, map[string]string{"sandbox": "none"}
		},
	} {
		r := replicaSet()
		change(&r.Spec.Template.Spec)
		if w, ok := translate.ReplicaSet(r, slices.Values([]*corev1.Pod(nil)), classes()); ok {
			t.Errorf("%s: %d missing of a ReplicaSet, want none", name, w.Missing)
		}
		s := statefulSet()
		change(&s.Spec.Template.Spec)
		if w, ok := translate.StatefulSet(s, slices.Values([]*corev1.Pod(nil)), classes()); ok {
			t.Errorf("%s: %d missing of a StatefulSet, want none", name, w.Missing)
		}
		j := &batchv1.Job{Spec: batchv1.JobSpec{Template: template()}, Status: batchv1.JobStatus{StartTime: &metav1.Time{}}}
		change(&j.Spec.Template.Spec)
		if w, ok := translate.Job(j, slices.Values([]*corev1.Pod(nil)), classes()); ok {
			t.Errorf("%s: %d missing of a Job, want none", name, w.Missing)
		}
		if w, ok := translate.ReplicaSet(r, slices.Values(pods("a")), classes()); !ok || w.Missing != 2 {
			t.Errorf("%s: %d missing beside a pod that was let in, want 2", name, w.Missing)
		}
	}
}

func TestDaemonSet_RoomIsKeptForItWhereItsClassKeepsItOut(t *testing.T) {
	gone := "gone"
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent"}, Spec: appsv1.DaemonSetSpec{Template: template()}}
	d.Spec.Template.Spec.RuntimeClassName = &gone
	if got := translate.DaemonSet(d, slices.Values([]*corev1.Pod(nil)), classes()).Shape; got.Requests.MilliCPU != 500 {
		t.Errorf("requests %s, want those of the template", got.Requests)
	}
}

func replicaSet() *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       appsv1.ReplicaSetSpec{Replicas: number(3), Template: template()},
	}
}
