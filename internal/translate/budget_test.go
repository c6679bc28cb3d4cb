package translate_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
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

func TestPod_IsProtectedForEverOrForAWhileAfterItsStart(t *testing.T) {
	began := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	for text, c := range map[string]struct {
		started, always bool
		until           time.Time
	}{
		"true":  {true, true, time.Time{}},
		"4h":    {true, false, began.Add(4 * time.Hour)},
		"2h":    {false, true, time.Time{}},
		"-1h":   {true, false, time.Time{}},
		"maybe": {true, false, time.Time{}},
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
