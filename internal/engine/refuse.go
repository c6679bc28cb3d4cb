package engine

import (
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// refuse says why what is left of the class cannot be placed.
func (s *step) refuse(c *demandClass) {
	if c.count() == 0 {
		return
	}
	c.level = c.last()
	s.refuseAll(c, s.refusals(c))
}

func (s *step) refuseAll(c *demandClass, reasons []plan.Refusal) {
	s.trace.Refused += c.count()
	s.unplaced[rank{true, c.group.Shape.Priority}] += c.real()
	s.unplaced[rank{false, c.group.Shape.Priority}] += c.declared
	s.short = s.short || slices.ContainsFunc(reasons, short)
	s.homeless += len(c.displaced)
	c.refused += c.count()
	if ids := s.ids(c.draw(c.count())); len(ids) > 0 {
		s.outcomes = append(s.outcomes, plan.Outcome{Group: c.group.Key, Pods: ids, Verdict: plan.Unplaceable, Reasons: reasons})
	}
}

func (s *step) refusals(c *demandClass) []plan.Refusal {
	if list := c.shape().Unsupported; len(list) > 0 {
		out := make([]plan.Refusal, len(list))
		for i, u := range list {
			out[i] = plan.Refusal{Cause: plan.NotSupported, Detail: u}
		}
		return out
	}
	if len(s.fleet.Pools) == 0 {
		return []plan.Refusal{{Cause: plan.NoPool}}
	}
	out := make([]plan.Refusal, len(s.fleet.Pools))
	for i := range s.fleet.Pools {
		out[i] = s.refusal(c, i)
	}
	return out
}

// refusal says why the pool cannot take the class, judged by what is required.
func (s *step) refusal(c *demandClass, pool int) plan.Refusal {
	p, shape := s.fleet.Pools[pool], c.shape()
	r := plan.Refusal{Pool: p.Name}
	class, ok := s.in.Snapshot.Class(p.Class)
	switch {
	case p.Deleting:
		r.Cause, r.Detail = plan.PoolNotReady, "it is being deleted"
		return r
	case !p.Ready:
		r.Cause, r.Detail = plan.PoolNotReady, p.NotReady
		return r
	case !ok || !class.Ready:
		r.Cause, r.Detail = plan.PoolNotReady, "its EC2NodeClass "+p.Class+" is not ready: "+class.NotReady
		return r
	}
	if taint, kept := cluster.Untolerated(p.Taints, shape.Tolerations); kept {
		r.Cause, r.Detail, r.Taint = plan.UntoleratedTaint, taint.String(), &taint
		return r
	}
	if text, contradicts := contradiction(shape, p); contradicts {
		r.Cause, r.Detail = plan.Requirements, text
		return r
	}
	return s.refusalByRow(r, c, pool)
}

// contradiction says on which label the pool and the shape cannot agree.
func contradiction(shape *cluster.Shape, p cluster.Pool) (text string, found bool) {
	for _, alternative := range shape.Alternatives() {
		x, bad := alternative.And(p.Requirements).Contradiction()
		if !bad {
			return "", false
		}
		asked, _ := alternative.Get(x.Key())
		if has, ruled := p.Requirements.Get(x.Key()); ruled && !asked.Contradicts() {
			text = "the pool has " + has.String() + ", the pod asks for " + asked.String()
		} else {
			text = "the pod's own about " + x.Key()
		}
	}
	return text, true
}

// why asks the topology rules about the first domain of the pool.
func (s *step) why(c *demandClass, pool int) string {
	if s.rules == nil {
		return ""
	}
	keys := s.domainKeys(c)
	t := &tier{}
	for i := range s.fleet.Rows {
		if s.fleet.Rows[i].Pool == pool {
			t.rows = append(t.rows, i)
		}
	}
	cells := s.cells(t, c, s.where(c), keys)
	for _, x := range cells {
		if text := s.rules.Why(c.rule(), x.place); text != "" {
			return text
		}
	}
	if len(cells) == 0 && len(keys) > 0 {
		return "its nodes lack the label " + strings.Join(keys, " or ")
	}
	return ""
}

// filter returns those that are to be kept.
func filter[T any](in []T, keep func(T) bool) []T {
	return slices.Clip(slices.DeleteFunc(slices.Clone(in), func(x T) bool { return !keep(x) }))
}
