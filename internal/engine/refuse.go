package engine

import (
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fleet"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
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
	s.homeless += len(c.displaced)
	c.refused += c.count()
	if ids := c.draw(c.count()).ids(); len(ids) > 0 {
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
	if key, contradicts := contradiction(shape, p); contradicts {
		r.Cause, r.Detail = plan.Requirements, key
		return r
	}
	return s.refusalByRow(r, c, pool)
}

// contradiction returns a label on which the pool and the shape cannot agree.
func contradiction(shape *cluster.Shape, p cluster.Pool) (key string, found bool) {
	for _, alternative := range shape.Alternatives() {
		x, bad := alternative.And(p.Requirements).Contradiction()
		if !bad {
			return "", false
		}
		key = x.Key()
	}
	return key, true
}

// refusalByRow looks at what the pool can launch, from what rules out most to
// what rules out least.
func (s *step) refusalByRow(r plan.Refusal, c *demandClass, pool int) plan.Refusal {
	var all, matched, sold, large, free int
	var biggest quantity.Resources
	var limit plan.Limit
	unmet := ""
	where, need, budget := s.where(c), s.withoutAttach(c.shape().Requests), s.budget(s.fleet.Pools[pool])
	for i := range s.fleet.Rows {
		row := &s.fleet.Rows[i]
		if row.Pool != pool {
			continue
		}
		all++
		if where[i] == 0 {
			unmet = s.unmetBy(c, row, unmet)
			continue
		}
		matched++
		biggest = biggest.Max(row.Net)
		if !need.Fits(row.Net) {
			continue
		}
		large++
		if where[i]&s.sale[i] == 0 {
			continue
		}
		sold++
		if x, over := budget.refuses(row.Type.Capacity); over {
			limit = x
			continue
		}
		free++
	}
	switch {
	case matched == 0:
		r.Cause, r.Detail, r.Types = plan.NoType, unmet, all
	case large == 0:
		r.Cause, r.Types = plan.TooLarge, matched
		if lacking := need.Lacking(biggest); len(lacking) > 0 {
			r.Detail, r.Shortage = lacking[0].Resource, &lacking[0]
		}
	case sold == 0:
		r.Cause, r.Types = plan.NoCapacity, large
	case free == 0:
		r.Cause, r.Detail, r.Limit = plan.LimitReached, limit.Name, &limit
	case s.unmet[r.Pool]:
		r.Cause = plan.MinValuesUnmet
	default:
		r.Cause, r.Detail = plan.Topology, s.why(c, pool)
	}
	return r
}

// unmetBy names a requirement of the class that the row does not meet.
func (s *step) unmetBy(c *demandClass, row *fleet.Row, before string) string {
	if before != "" {
		return before
	}
	for z := range s.fleet.Zones {
		if row.Zones>>z&1 == 0 {
			continue
		}
		if unmet, ok := fit.Labels(*c.shape(), row.Labels(z)); !ok {
			return unmet.String()
		}
	}
	return ""
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
