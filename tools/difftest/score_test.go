package difftest

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// scorers are the plugins of the default profile that score.
func scorers() []string {
	return []string{
		names.TaintToleration, names.NodeAffinity, names.NodeResourcesFit, names.NodeResourcesBalancedAllocation,
		names.PodTopologySpread, names.InterPodAffinity, names.ImageLocality,
	}
}

// scoreWorld has some nodes that could all take the one pod that is pending, and
// pods of a few Deployments on them.
func scoreWorld(seed uint64) *world {
	d, w := newDice(seed), &world{}
	for i := range 2 + d.IntN(7) {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i), Labels: map[string]string{
			corev1.LabelHostname: fmt.Sprint("node-", i), corev1.LabelTopologyZone: one(d, "a", "b", "c"),
		}}}
		cpu := one(d, 8, 16, 32)
		n.Status.Allocatable = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(fmt.Sprint(cpu)), corev1.ResourceMemory: resource.MustParse(fmt.Sprint(cpu*one(d, 2, 4, 8), "Gi")),
			corev1.ResourcePods: resource.MustParse("110"),
		}
		if d.in(20) {
			n.Spec.Taints = []corev1.Taint{{Key: "example.com/rather-not", Effect: corev1.TaintEffectPreferNoSchedule}}
			if d.in(50) {
				n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "example.com/by-no-means", Effect: corev1.TaintEffectPreferNoSchedule})
			}
		}
		w.nodes = append(w.nodes, n)
	}
	apps := 1 + d.IntN(4)
	for i := range apps {
		template := scoredPod(d, seed, i, apps)
		set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: template.Namespace, Name: template.Name, UID: types.UID(template.Name)}}
		set.Spec.Selector = &metav1.LabelSelector{MatchLabels: template.Labels}
		controlled := true
		template.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: set.Name, UID: set.UID, Controller: &controlled}}
		w.sets = append(w.sets, set)
		for k := range d.IntN(6) {
			w.pods = append(w.pods, copyOn(template, one(d, w.nodes...).Name, int64(k)))
		}
		if i == apps-1 {
			w.pods = append(w.pods, template)
		}
	}
	return w
}

func scoredPod(d dice, seed uint64, i, apps int) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: fmt.Sprintf("app-%d-%d", seed, i), Labels: app(i)}}
	p.Spec.SchedulerName = corev1.DefaultSchedulerName
	c := corev1.Container{Name: "c"}
	// A request of zero is not one that is missing to the scheduler's scores; to
	// the core it is, so none is drawn.
	c.Resources.Requests = corev1.ResourceList{}
	if !d.in(10) {
		c.Resources.Requests[corev1.ResourceCPU] = *resource.NewMilliQuantity(1+d.Int64N(800), resource.DecimalSI)
	}
	if !d.in(10) {
		c.Resources.Requests[corev1.ResourceMemory] = *resource.NewQuantity(1+d.Int64N(1600)<<20, resource.BinarySI)
	}
	p.Spec.Containers = []corev1.Container{c}
	if d.in(25) {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1 + d.Int32N(2), TopologyKey: one(d, corev1.LabelHostname, corev1.LabelTopologyZone), WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: &metav1.LabelSelector{MatchLabels: app(d.IntN(apps))},
		}}
	}
	p.Spec.Affinity = &corev1.Affinity{}
	if d.in(25) {
		p.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
			Weight: 1 + d.Int32N(50), Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{one(d, "a", "b")}},
			}},
		}}}
	}
	term := func() []corev1.WeightedPodAffinityTerm {
		return []corev1.WeightedPodAffinityTerm{{Weight: 1 + d.Int32N(50), PodAffinityTerm: corev1.PodAffinityTerm{
			TopologyKey: one(d, corev1.LabelHostname, corev1.LabelTopologyZone), LabelSelector: &metav1.LabelSelector{MatchLabels: app(d.IntN(apps))},
		}}}
	}
	if d.in(20) {
		p.Spec.Affinity.PodAffinity = &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: term()}
	}
	if d.in(20) {
		p.Spec.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: term()}
	}
	return p
}

// totals are the scheduler's scores of all nodes.
func (s *scheduler) totals(t *testing.T, w *world, p *corev1.Pod) []int64 {
	t.Helper()
	s.see(w)
	nodes, err := s.snapshot.NodeInfos().List()
	if err != nil {
		t.Fatal(err)
	}
	state := framework.NewCycleState()
	if _, status, _ := s.framework.RunPreFilterPlugins(t.Context(), state, p); !status.IsSuccess() {
		t.Fatal(status.Message())
	}
	if status := s.framework.RunPreScorePlugins(t.Context(), state, p, nodes); !status.IsSuccess() {
		t.Fatal(status.Message())
	}
	scores, status := s.framework.RunScorePlugins(t.Context(), state, p, nodes)
	if !status.IsSuccess() {
		t.Fatal(status.Message())
	}
	byName := map[string]int64{}
	for _, x := range scores {
		byName[x.Name] = x.TotalScore
	}
	out := make([]int64, len(w.nodes))
	for i, n := range w.nodes {
		out[i] = byName[n.Name]
	}
	return out
}

func best(scores []int64) []int {
	top := slices.Max(scores)
	var out []int
	for i, x := range scores {
		if x == top {
			out = append(out, i)
		}
	}
	return out
}

// The simulator chooses by chance among the best nodes, as the scheduler does:
// the same best nodes are the same distribution.
func TestSim_ChoosesAmongTheNodesThatTheKubeSchedulerScoresBest(t *testing.T) {
	const seeds = 1000
	worlds := make([]*world, seeds)
	for i := range worlds {
		worlds[i] = scoreWorld(uint64(i))
	}
	s := newScheduler(t, worlds, scorers()...)
	several, wrong := 0, 0
	for seed, w := range worlds {
		p := w.pending()[0]
		want := s.totals(t, w, p)
		var nodes []cluster.Node
		for _, n := range w.nodes {
			nodes = append(nodes, translate.Node(n, "", nil, nil))
		}
		o := w.objects(t)
		running := slices.DeleteFunc(slices.Clone(o.Pods), func(x cluster.Pod) bool { return x.Node == "" })
		pending := o.Pods[slices.IndexFunc(o.Pods, func(x cluster.Pod) bool { return x.Node == "" })]
		got := sim.Scores(nodes, running, pending)
		if len(best(want)) < len(want) {
			several++ // not all nodes are the same to it
		}
		if !slices.Equal(best(got), best(want)) {
			if wrong++; wrong < 6 {
				t.Errorf("seed %d: scores %v, the scheduler's %v; pod %+v", seed, got, want, p.Spec)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d choices differ", wrong, seeds)
	}
	if several < seeds*8/10 {
		t.Errorf("only %d of %d worlds tell nodes apart", several, seeds)
	}
}
