package translate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robfig/cron/v3"
	policyv1 "k8s.io/api/policy/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

// disruption reads when nodes of the NodePool may go, and which of its budgets cannot be
// read.
func disruption(p *v1.NodePool) (out cluster.Disruption, faults []string) {
	d := p.Spec.Disruption
	out = cluster.Disruption{
		Policy: cluster.Policy(d.ConsolidationPolicy), Never: d.ConsolidateAfter.Never, After: d.ConsolidateAfter.Duration,
		Paused: p.Annotations[v1.AnnotationPauseDisruption] == v1.LabelTrue,
	}
	for i, b := range d.Budgets {
		x := budget(b)
		if x.Invalid != "" {
			faults = append(faults, fmt.Sprintf("spec.disruption.budgets[%d]: %s; until then the budget allows no disruption", i, x.Invalid))
		}
		out.Budgets = append(out.Budgets, x)
	}
	return out, faults
}

// budget reads a budget. If it cannot be read, Invalid says why and what to do.
func budget(b v1.Budget) (out cluster.Budget) {
	for _, r := range b.Reasons {
		out.Reasons = append(out.Reasons, string(r))
	}
	slices.Sort(out.Reasons)
	number, percent := strings.CutSuffix(b.Nodes, "%")
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil || n < 0 || percent && n > 100 {
		out.Invalid = fmt.Sprintf("nodes is %q: give a number of nodes, or a percentage from 0%% to 100%%", b.Nodes)
		return out
	}
	out.Most, out.Percent = n, percent
	if (b.Schedule == nil) != (b.Duration == nil) {
		out.Invalid = "schedule and duration go together: set both or neither"
		return out
	}
	if b.Schedule != nil {
		if out.Schedule, err = schedule(*b.Schedule); err != nil {
			out.Invalid = fmt.Sprintf("schedule is %q: %s: give five fields (minute, hour, day, month, weekday) or a name such as @daily", *b.Schedule, err)
		}
		out.Duration = b.Duration.Duration
	}
	return out
}

var errSchedule = errors.New("not a cron expression")

// star is the bit with which the library marks a field that is not restricted.
const star = 1 << 63

// schedule reads a cron expression, in UTC unless it names a zone.
func schedule(text string) (*cluster.Schedule, error) {
	// The library fails, and panics on some, where a zone is empty or not followed by a
	// space.
	fields := strings.Fields(text)
	zone := "UTC"
	if len(fields) > 0 {
		before, after, found := strings.Cut(fields[0], "=")
		if found && (before == "TZ" || before == "CRON_TZ") {
			zone, fields = after, fields[1:]
		}
	}
	if zone == "" {
		return nil, fmt.Errorf("%w: TZ= names no zone", errSchedule)
	}
	full := "TZ=" + zone + " " + strings.Join(fields, " ")
	parsed, err := cron.ParseStandard(full)
	if err != nil {
		return nil, err
	}
	s, is := parsed.(*cron.SpecSchedule)
	if !is {
		return nil, fmt.Errorf("%w: an interval has no times of day", errSchedule)
	}
	return &cluster.Schedule{
		Minutes: s.Minute &^ star, Hours: s.Hour &^ star, Days: s.Dom &^ star, Months: s.Month &^ star, Weekdays: s.Dow &^ star,
		AnyDay: s.Dom&star != 0, AnyWeekday: s.Dow&star != 0, Zone: s.Location, Text: text,
	}, nil
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
	return out, nil
}
