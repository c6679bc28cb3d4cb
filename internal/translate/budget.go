package translate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

// disruption reads when nodes of the NodePool may be deleted.
func disruption(p *v1.NodePool) cluster.Disruption {
	d := p.Spec.Disruption
	out := cluster.Disruption{
		Policy: cluster.Policy(d.ConsolidationPolicy), Never: d.ConsolidateAfter.Never, After: d.ConsolidateAfter.Duration,
		Paused: p.Annotations[v1.AnnotationPauseDisruption] == v1.LabelTrue,
	}
	for _, b := range d.Budgets {
		out.Budgets = append(out.Budgets, budget(b))
	}
	return out
}

// budget reads a budget. If it cannot be read, Invalid says why.
func budget(b v1.Budget) (out cluster.Budget) {
	if err := b.Check(); err != nil {
		return cluster.Budget{Invalid: err.Error()}
	}
	for _, r := range b.Reasons {
		out.Reasons = append(out.Reasons, string(r))
	}
	slices.Sort(out.Reasons)
	number, percent := strings.CutSuffix(b.Nodes, "%")
	out.Most, _ = strconv.ParseInt(number, 10, 32) // checked
	out.Percent = percent
	if b.Schedule != nil {
		out.Schedule, out.Duration = schedule(*b.Schedule), b.Duration.Duration
	}
	return out
}

// star is the bit with which the library marks a field that is not restricted.
const star = 1 << 63

// schedule reads a cron expression that has been checked.
func schedule(text string) *cluster.Schedule {
	s, _ := v1.ParseSchedule(text)
	return &cluster.Schedule{
		Minutes: s.Minute &^ star, Hours: s.Hour &^ star, Days: s.Dom &^ star, Months: s.Month &^ star, Weekdays: s.Dow &^ star,
		AnyDay: s.Dom&star != 0, AnyWeekday: s.Dow&star != 0, Zone: s.Location, Text: text,
	}
}

// evictsNotReady says whether the API evicts pods that are not ready whatever the budget
// allows: always by unhealthyPodEvictionPolicy AlwaysAllow, else while enough other pods
// are ready.
func evictsNotReady(b *policyv1.PodDisruptionBudget) bool {
	if p := b.Spec.UnhealthyPodEvictionPolicy; p != nil && *p == policyv1.AlwaysAllow {
		return true
	}
	return b.Status.DesiredHealthy > 0 && b.Status.CurrentHealthy >= b.Status.DesiredHealthy
}

// BudgetsOf returns those of the budgets that are about the pod.
func BudgetsOf(p *corev1.Pod, all []cluster.PodBudget) []cluster.PodBudget {
	labels := podLabels(p.Labels)
	return pick.Those(all, func(b cluster.PodBudget) bool { return b.Selects(p.Namespace, labels) })
}

// Refusing returns those of the budgets for which the eviction API refuses the pod now: the
// one that allows nothing, or all that select the pod where several do, which the API does
// not support.
func Refusing(p *corev1.Pod, all []cluster.PodBudget) []cluster.PodBudget {
	x := cluster.Pod{NotReady: !PodReady(p), NotStarted: p.Status.Phase == corev1.PodPending}
	about := BudgetsOf(p, all)
	if len(about) == 1 && about[0].Evicts(&x) || x.NotStarted {
		return nil
	}
	return about
}

// PodBudget reads a PodDisruptionBudget. Unlike elsewhere, an absent selector selects no
// pod and an empty one all pods of the namespace (policy/v1). With a selector that cannot
// be read it selects all of them and allows nothing.
func PodBudget(b *policyv1.PodDisruptionBudget) (cluster.PodBudget, error) {
	out := cluster.PodBudget{UID: string(b.UID), Namespace: b.Namespace, Name: b.Name}
	s, err := selector(b.Spec.Selector)
	if err != nil {
		return out, fmt.Errorf("poddisruptionbudget %s selector: %w; until then no pod of the namespace is disrupted", out.ID(), err)
	}
	out.Selector, out.Allowed = s, int64(b.Status.DisruptionsAllowed)
	out.EvictsNotReady = evictsNotReady(b)
	return out, nil
}
