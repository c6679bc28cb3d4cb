package engine

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// refuse says why what is left of the class cannot be placed.
func (s *step) refuse(c *demandClass) {
	n := c.count()
	if n == 0 {
		return
	}
	s.trace.Refused += n
	reasons := s.refusals(c.shape)
	for _, list := range [][]cluster.Pod{c.pods, c.displaced} {
		for _, p := range list {
			s.outcomes = append(s.outcomes, plan.Outcome{Pod: p.ID(), Verdict: plan.Unplaceable, Reasons: reasons})
		}
	}
}

func (s *step) refusals(shape cluster.Shape) []plan.Refusal {
	if len(shape.Unsupported) > 0 {
		var out []plan.Refusal
		for _, u := range shape.Unsupported {
			out = append(out, plan.Refusal{Cause: plan.NotSupported, Detail: u})
		}
		return out
	}
	pools := s.in.Snapshot.PoolsByWeight()
	if len(pools) == 0 {
		return []plan.Refusal{{Cause: plan.NoPool}}
	}
	out := make([]plan.Refusal, len(pools))
	for i, p := range pools {
		out[i] = s.refusal(p, shape)
	}
	return out
}

func (s *step) refusal(p cluster.Pool, shape cluster.Shape) plan.Refusal {
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
	contradiction, possible := "", false
	for _, alternative := range shape.Alternatives() {
		if x, bad := alternative.And(p.Requirements).Contradiction(); bad {
			contradiction = x.Key()
			continue
		}
		possible = true
	}
	if !possible {
		r.Cause, r.Detail = plan.Requirements, contradiction
		return r
	}
	return s.refusalByType(r, p, class, shape)
}

func (s *step) refusalByType(r plan.Refusal, p cluster.Pool, class cluster.Class, shape cluster.Shape) plan.Refusal {
	list, _, _ := s.offers([]cluster.Pool{p})
	var largest quantity.Resources
	matched, unmet := 0, ""
	for _, o := range list {
		ok := false
		for _, z := range o.zones {
			u, fits := fit.Labels(shape, z.labels)
			if ok = ok || fits; !fits {
				unmet = u.String()
			}
		}
		if !ok {
			continue
		}
		matched++
		largest = largest.Max(o.net)
		if shape.Requests.Fits(o.net) {
			r.Cause, r.Types = plan.LimitReached, 0
			return r
		}
	}
	switch {
	case matched > 0:
		lacking := shape.Requests.Lacking(largest)
		r.Cause, r.Types = plan.TooLarge, matched
		if len(lacking) > 0 {
			r.Detail, r.Shortage = lacking[0].Resource, &lacking[0]
		}
	case len(list) == 0 && len(s.memory.Unavailable) > 0:
		r.Cause = plan.NoCapacity
	default:
		r.Cause, r.Detail, r.Types = plan.NoType, unmet, len(class.Types)
	}
	return r
}
