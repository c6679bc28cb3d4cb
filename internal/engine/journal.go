package engine

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// journal is what every stage writes to: what became of which pods, when to look
// again, and how much work it was.
type journal struct {
	outcomes []plan.Outcome
	names    []string // of pods that have a place; see ids
	wait     plan.Wait
	trace    Trace
}

// ids are those of the draw's pods, in memory that all draws share.
func (j *journal) ids(d draw) []string {
	if j.names == nil {
		j.names = make([]string, 0, j.trace.Pods)
	}
	from := len(j.names)
	for _, p := range d.pods {
		j.names = append(j.names, p.id)
	}
	for _, p := range d.displaced {
		j.names = append(j.names, p.id)
	}
	return j.names[from:len(j.names):len(j.names)]
}

// outcome says that the pods have a place on the host, and what they gave up in
// this plan. What was given up for a promise was said when it was made.
func (j *journal) outcome(c *demandClass, h *host, pods []string) {
	if len(pods) == 0 {
		return
	}
	verdict := plan.OnNode
	if h.stage != stageNode {
		verdict = plan.OnClaim
	}
	j.outcomes = append(j.outcomes, plan.Outcome{
		Group: c.group.Key, Pods: pods, Verdict: verdict, On: h.name(), Dropped: c.levels[c.level].dropped,
	})
}

// postpone says that the class has not been planned for yet.
func (j *journal) postpone(c *demandClass) {
	n := c.count()
	c.waiting += n
	if ids := j.ids(c.draw(n)); len(ids) > 0 {
		j.outcomes = append(j.outcomes, plan.Outcome{Group: c.group.Key, Pods: ids, Verdict: plan.Waiting, Reasons: unplanned()})
	}
}

// waitUntil asks for another Step at t; the earliest wins.
func (j *journal) waitUntil(t time.Time, why plan.WaitReason) {
	if j.wait.Until.IsZero() || t.Before(j.wait.Until) {
		j.wait = plan.Wait{Until: t, Why: why}
	}
}

func (j *journal) keepItem(x *item, n int64) {
	x.left -= n
	x.class.waiting += n
	if ids := j.ids(x.class.draw(n)); len(ids) > 0 {
		j.outcomes = append(j.outcomes, plan.Outcome{Group: x.class.group.Key, Pods: ids, Verdict: plan.Waiting})
	}
}

// keepWaiting takes the pods of bins that wait out of the demand of this Step.
func (j *journal) keepWaiting(items []*item, bins []pack.Bin) {
	for _, b := range bins {
		for _, part := range b.Parts {
			x, n := items[part.Class], part.Count*b.Copies
			j.keepItem(x, n*x.unit)
			if x.with != nil {
				j.keepItem(x.with, n)
			}
		}
	}
}
