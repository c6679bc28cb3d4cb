package translate_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

func poolWith(budgets ...v1.Budget) *v1.NodePool {
	p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	p.Spec.Disruption.Budgets = budgets
	return p
}

func scheduled(text string) v1.Budget {
	return v1.Budget{Nodes: "0", Schedule: &text, Duration: &metav1.Duration{Duration: time.Hour}}
}

func TestPool_ABudgetHasTheTimesOfItsCronExpression(t *testing.T) {
	b := translate.Pool(poolWith(scheduled("30 9-10 1 * mon"))).Disruption.Budgets[0]
	s := b.Schedule
	if b.Invalid != "" || s.Minutes != 1<<30 || s.Hours != 1<<9|1<<10 || s.Days != 1<<1 || s.AnyDay || s.Weekdays != 1<<1 || s.AnyWeekday || s.Zone != time.UTC {
		t.Errorf("%+v, %+v", b, s)
	}
	daily := translate.Pool(poolWith(scheduled("@daily"))).Disruption.Budgets[0].Schedule
	if daily.Minutes != 1 || daily.Hours != 1 || !daily.AnyDay || !daily.AnyWeekday {
		t.Errorf("%+v", daily)
	}
	tabs := translate.Pool(poolWith(scheduled("TZ=UTC\t0\t0\t*\t*\t*"))).Disruption.Budgets[0]
	if tabs.Invalid != "" || tabs.Schedule.Hours != 1 || tabs.Schedule.Zone != time.UTC {
		t.Errorf("with tabs: %+v", tabs)
	}
	if zone := translate.Pool(poolWith(scheduled("TZ=Europe/Paris 0 9 * * *"))).Disruption.Budgets[0].Schedule.Zone; zone.String() != "Europe/Paris" {
		t.Errorf("zone %s", zone)
	}
}

func TestPool_ABudgetThatCannotBeReadAllowsNothingAndSaysWhy(t *testing.T) {
	hour := &metav1.Duration{Duration: time.Hour}
	for name, c := range map[string]struct {
		b    v1.Budget
		says string
	}{
		"minute 61":       {scheduled("61 * * * *"), "give five fields"},
		"a word":          {scheduled("a b c d e"), "give five fields"},
		"an interval":     {scheduled("@every 1h"), "give five fields"},
		"no zone":         {scheduled("TZ= 0 0 * * *"), "names no zone"},
		"only a zone":     {scheduled("TZ=UTC"), "give five fields"},
		"nothing":         {scheduled(" "), "give five fields"},
		"an unknown zone": {scheduled("TZ=Nowhere/Town 0 0 * * *"), "give five fields"},
		"101 %":           {v1.Budget{Nodes: "101%"}, "a percentage from 0% to 100%"},
		"no number":       {v1.Budget{Nodes: "many"}, "give a number of nodes"},
		"duration alone":  {v1.Budget{Nodes: "1", Duration: hour}, "set both or neither"},
	} {
		p := translate.Pool(poolWith(v1.Budget{Nodes: "10%"}, c.b))
		if b := p.Disruption.Budgets[1]; !strings.Contains(b.Invalid, c.says) || p.Ready ||
			!strings.Contains(p.NotReady, "spec.disruption.budgets[1]") || !strings.Contains(p.NotReady, "allows no disruption") {
			t.Errorf("%s: %q, ready %v: %q", name, b.Invalid, p.Ready, p.NotReady)
		}
	}
}

func TestPool_IsPausedByItsAnnotation(t *testing.T) {
	p := poolWith()
	if translate.Pool(p).Disruption.Paused {
		t.Error("paused without the annotation")
	}
	p.Annotations = map[string]string{v1.AnnotationPauseDisruption: "true"}
	if !translate.Pool(p).Disruption.Paused {
		t.Error("not paused")
	}
}

// What cannot be read protects: an eviction cannot be taken back.
func TestPod_IsProtectedForEverOrForAWhileAfterItsStart(t *testing.T) {
	began := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	for text, c := range map[string]struct {
		started, always bool
		until           time.Time
	}{
		"true":    {true, true, time.Time{}},
		"4h":      {true, false, began.Add(4 * time.Hour)},
		"2h":      {false, true, time.Time{}},
		"-1h":     {true, false, time.Time{}},
		"4 hours": {true, true, time.Time{}},
		"True":    {true, true, time.Time{}},
		"false":   {true, false, time.Time{}},
		"":        {true, false, time.Time{}},
	} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p", Annotations: map[string]string{v1.AnnotationDoNotDisrupt: text}}}
		if c.started {
			p.Status.StartTime = &began
		}
		x, _ := translate.Pod(p, translate.Lookups{})
		if x.DoNotDisrupt != c.always || !x.ProtectedUntil.Equal(c.until) {
			t.Errorf("%q: %v, %s", text, x.DoNotDisrupt, x.ProtectedUntil)
		}
	}
	old := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p", Annotations: map[string]string{v1.AnnotationDoNotEvict: "true"}}}
	if x, _ := translate.Pod(old, translate.Lookups{}); !x.DoNotDisrupt {
		t.Error("do-not-evict does not protect")
	}
}

func TestNode_IsProtectedForEverOrForAWhileAfterItsCreation(t *testing.T) {
	created := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	for text, c := range map[string]struct {
		always bool
		until  time.Time
	}{"true": {true, time.Time{}}, "4h": {false, created.Add(4 * time.Hour)}, "soon": {true, time.Time{}}, "false": {}, "": {}} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", CreationTimestamp: created, Annotations: map[string]string{v1.AnnotationDoNotDisrupt: text}}}
		if x := translate.Node(n, "", nil, nil); x.DoNotDisrupt != c.always || !x.ProtectedUntil.Equal(c.until) {
			t.Errorf("%q: %v, %s", text, x.DoNotDisrupt, x.ProtectedUntil)
		}
	}
}

func TestRemarks_NameTheObjectTheAnnotationTheValueAndTheRemedy(t *testing.T) {
	for text, want := range map[string]string{"true": "", "false": "", "": "", "4h": "", "-1h": "", "4 hours": `"4 hours"`} {
		meta := metav1.ObjectMeta{Namespace: "n", Name: "x", Annotations: map[string]string{v1.AnnotationDoNotDisrupt: text}}
		pod, node := translate.PodRemarks(&corev1.Pod{ObjectMeta: meta}), translate.NodeRemarks(&corev1.Node{ObjectMeta: meta})
		if want == "" {
			if len(pod) > 0 || len(node) > 0 {
				t.Errorf("%q: %v, %v", text, pod, node)
			}
			continue
		}
		if len(pod) != 1 || pod[0].Reason != translate.RemarkInvalid || !strings.Contains(pod[0].Text, "pod n/x") || !strings.Contains(pod[0].Text, want) {
			t.Errorf("%q: %v", text, pod)
		}
		if len(node) != 1 || !strings.Contains(node[0].Text, "node x") || !strings.Contains(node[0].Text, v1.AnnotationDoNotDisrupt) {
			t.Errorf("%q: %v", text, node)
		}
	}
	old := map[string]string{v1.AnnotationDoNotEvict: "true", v1.AnnotationDoNotConsolidate: "true"}
	pod := translate.PodRemarks(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: old}})
	if len(pod) != 1 || pod[0].Reason != translate.RemarkOld || !strings.Contains(pod[0].Text, v1.AnnotationDoNotEvict) || !strings.Contains(pod[0].Text, v1.AnnotationDoNotDisrupt) {
		t.Error(pod)
	}
	node := translate.NodeRemarks(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: old}})
	if len(node) != 1 || !strings.Contains(node[0].Text, v1.AnnotationDoNotConsolidate) {
		t.Error(node)
	}
}

// These are the rules by which the API server evicts.
func TestPodBudget_EvictsPodsThatAreNotReady(t *testing.T) {
	always, healthy := policyv1.AlwaysAllow, policyv1.IfHealthyBudget
	for _, c := range []struct {
		policy           *policyv1.UnhealthyPodEvictionPolicyType
		current, desired int32
		want             bool
	}{{&always, 0, 3, true}, {&healthy, 2, 3, false}, {nil, 2, 3, false}, {nil, 3, 3, true}, {&healthy, 3, 3, true}, {nil, 0, 0, false}} {
		b := &policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{UnhealthyPodEvictionPolicy: c.policy}}
		b.Status.CurrentHealthy, b.Status.DesiredHealthy = c.current, c.desired
		for range 2 { // and so does what is kept of it
			x, err := translate.PodBudget(b)
			sick, ready := cluster.Pod{NotReady: true}, cluster.Pod{}
			if err != nil || x.Evicts(&sick) != c.want || x.Evicts(&ready) {
				t.Errorf("%+v: evicts %v, a ready pod %v, error %v", c, x.Evicts(&sick), x.Evicts(&ready), err)
			}
			translate.NewKeeper().Keep(b)
		}
	}
}

func TestPod_HasTheDeletionCostOfItsAnnotation(t *testing.T) {
	for text, want := range map[string]int32{"-7": -7, "100": 100, "cheap": 0, "": 0, "99999999999": 0} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: map[string]string{corev1.PodDeletionCost: text, v1.AnnotationDoNotEvict: "true"}}}
		for range 2 { // and so does what is kept of it
			if x, _ := translate.Pod(p, translate.Lookups{}); x.DeletionCost != want || !x.DoNotDisrupt {
				t.Errorf("%q: %d", text, x.DeletionCost)
			}
			translate.NewKeeper().Keep(p)
		}
	}
}

func TestPod_IsReadyByItsConditionAndStartedByItsPhase(t *testing.T) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Status: corev1.PodStatus{Phase: corev1.PodPending}}
	if x, _ := translate.Pod(p, translate.Lookups{}); !x.NotReady || !x.NotStarted {
		t.Errorf("%+v", x)
	}
	p.Status.Phase, p.Status.Conditions = corev1.PodRunning, []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if x, _ := translate.Pod(p, translate.Lookups{}); x.NotReady || x.NotStarted {
		t.Errorf("%+v", x)
	}
}

func TestPodBudget_SelectsByTheRulesOfPolicyV1(t *testing.T) {
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "b", UID: "u"}}
	budget.Status.DisruptionsAllowed = 2
	web := label.FromMap(map[string]string{"app": "web"})
	for name, c := range map[string]struct {
		s       *metav1.LabelSelector
		selects bool
	}{
		"none":    {nil, false},
		"empty":   {&metav1.LabelSelector{}, true},
		"its own": {&metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, true},
		"another": {&metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}, false},
	} {
		budget.Spec.Selector = c.s
		x, err := translate.PodBudget(budget)
		if err != nil || x.Allowed != 2 || x.Selects("n", web) != c.selects || x.Selects("other", web) {
			t.Errorf("%s: %+v, %v", name, x, err)
		}
	}
	budget.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
	if x, err := translate.PodBudget(budget); err == nil || x.Allowed != 0 || !x.Selects("n", web) {
		t.Errorf("with an unknown operator: %+v, %v", x, err)
	}
}

func TestPool_WithReplicasIsStatic(t *testing.T) {
	p := poolWith()
	if x := translate.Pool(p); x.Static || x.Replicas != 0 {
		t.Errorf("%+v", x)
	}
	for _, n := range []int64{0, 3} {
		p.Spec.Replicas = &n
		if x := translate.Pool(p); !x.Static || x.Replicas != n {
			t.Errorf("%d replicas: %+v", n, x)
		}
	}
}

func TestPool_IsTerminatedByItsAnnotation(t *testing.T) {
	p := poolWith()
	if translate.Pool(p).Terminate {
		t.Error("terminated without the annotation")
	}
	p.Annotations = map[string]string{v1.AnnotationTerminate: "true"}
	if !translate.Pool(p).Terminate {
		t.Error("not terminated")
	}
}

// The NodePool's definition is Karpenter's: what it lets a budget name is what Karpenter has.
func TestReasons_BudgetsCanNameThoseThatKarpenterHas(t *testing.T) {
	var want []string
	for _, doc := range v1.CRDs() {
		if text := string(doc); strings.Contains(text, "kind: NodePool\n") {
			_, enum, found := strings.Cut(text, "description: DisruptionReason is why a node is removed.\n")
			_, enum, listed := strings.Cut(enum, "enum:\n")
			if enum, _, _ = strings.Cut(enum, "type:"); !found || !listed {
				t.Fatal("no enumeration of reasons")
			}
			want = strings.Fields(strings.ReplaceAll(enum, "- ", ""))
		}
	}
	got := []string{string(v1.ReasonUnhealthy)} // the daemon repairs no nodes
	for _, why := range plan.Reasons() {
		if why.Traits().InBudgets {
			got = append(got, string(why))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("budgets can name %q, and the definition has %q", got, want)
	}
}
