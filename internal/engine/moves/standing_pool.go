package moves

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/disrupt"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// pool says why no more nodes of the pool are deleted, from the standings of its nodes.
func (s *standings) pool(p *cluster.Pool, nodes []plan.Standing) plan.PoolStanding {
	out := plan.PoolStanding{Pool: p.Name, UID: p.UID, Saves: disrupt.MaySave(p), Nodes: int64(len(nodes)), Budgets: s.allowances(p)}
	x := count(nodes)
	switch first := func(why plan.StayReason) plan.Stay { return nodes[slices.IndexFunc(nodes, because(why))].Stay }; {
	case p.Deleting:
		out.Reason, out.Detail = plan.PoolDeleting, quantity.Count(int64(len(nodes)), "node")+" left"
	case !p.Ready:
		out.Reason, out.Detail = plan.PoolNotUp, p.NotReady
	case s.Policy.CloudAway:
		out.Reason = plan.PoolCloudAway
	case s.Policy.PauseDisruption:
		out.Reason = plan.PoolAllPaused
	case p.Disruption.Paused:
		out.Reason = plan.PoolSelfPaused
	case len(nodes) == 0:
		out.Reason = plan.PoolHasNone
	case x.stay[plan.BudgetUsed] > 0:
		out.Reason, out.Detail, out.Until = plan.PoolBudgetUsed, first(plan.BudgetUsed).Detail, first(plan.BudgetUsed).Until
	case x.stay[plan.LimitFull] > 0:
		out.Reason = plan.PoolLimitFull
	case len(x.leaving) > 0:
		out.Reason, out.Detail = plan.PoolNodesGo, list(x.leaving)
	case x.stay[plan.NextToGo] > 0:
		out.Reason, out.Detail = plan.PoolNext, quantity.Count(int64(x.stay[plan.NextToGo]), "node")
	case p.Static && len(x.stay) == 1 && x.stay[plan.StaticPool] > 0:
		out.Reason, out.Detail = plan.PoolIsStatic, fmt.Sprintf("spec.replicas is %d", p.Replicas)
	case x.stay[plan.MovesHeld] > 0:
		out.Reason, out.Detail, out.Until = plan.PoolHeld, first(plan.MovesHeld).Detail, first(plan.MovesHeld).Until
	case x.stay[plan.NotSearched] > 0:
		out.Reason, out.Detail, out.Until = plan.PoolSearching, first(plan.NotSearched).Detail, first(plan.NotSearched).Until
	case x.stay[plan.NoSaving]+x.stay[plan.SpotForSpot]+x.stay[plan.NotTried] > 0:
		out.Reason, out.Detail = plan.PoolNoSaving, list(x.stay)
	case len(x.stay) == 1 && x.stay[plan.PolicyForbids] > 0:
		out.Reason = plan.PoolPolicy
	default:
		out.Reason, out.Detail = plan.PoolNodesKept, list(x.stay)
	}
	return out
}

// counts is how many nodes of a pool stay and are deleted, by reason.
type counts struct {
	stay    map[plan.StayReason]int
	leaving map[plan.DeleteReason]int
}

func count(nodes []plan.Standing) counts {
	x := counts{stay: map[plan.StayReason]int{}, leaving: map[plan.DeleteReason]int{}}
	for i := range nodes {
		if n := &nodes[i]; n.DeletedFor != "" {
			x.leaving[n.DeletedFor]++
		} else {
			x.stay[n.Stay.Reason]++
		}
	}
	return x
}

func because(why plan.StayReason) func(plan.Standing) bool {
	return func(n plan.Standing) bool { return n.Stay.Reason == why }
}

// list is the counts as text, by reason.
func list[R ~string](counts map[R]int) string {
	var out []string
	for _, why := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%d %s", counts[why], why))
	}
	return strings.Join(out, ", ")
}

// allowances returns what the budgets of the pool allow.
func (s *standings) allowances(p *cluster.Pool) (out []plan.Allowance) {
	bounded := func(why plan.DeleteReason) bool { t := why.Traits(); return t.Budgets && !t.Asked }
	for _, why := range pick.Those(plan.Reasons(), bounded) {
		a := plan.Allowance{Reason: why, Used: s.gates.ledger().Used(p.Name)}
		a.Most, a.Bounded = s.gates.ledger().Most(p.Name, why)
		out = append(out, a)
	}
	return out
}

// begun returns the moves that have begun, by id.
func (s *standings) begun() []plan.MoveStanding {
	moves := map[string]*plan.MoveStanding{}
	cost := func(m *plan.MoveStanding, c *cluster.Claim, sum *quantity.Money) {
		x, known := s.CostOf(*c)
		*sum, m.Unpriced = sum.Add(x), m.Unpriced || !known
	}
	for _, c := range s.Claims {
		sources := s.Snapshot.SourcesOf(c)
		if len(sources) == 0 {
			continue
		}
		m := moves[c.Move.ID]
		if m == nil {
			m = &plan.MoveStanding{ID: c.Move.ID, Reason: plan.DeleteReason(c.Move.Reason)}
			moves[m.ID] = m
			for _, x := range sources {
				m.Sources = append(m.Sources, x.Name)
				cost(m, &x, &m.Frees)
			}
		}
		m.Replacements = append(m.Replacements, c.Name)
		cost(m, c, &m.Costs)
	}
	var out []plan.MoveStanding
	for _, id := range slices.Sorted(maps.Keys(moves)) {
		out = append(out, *moves[id])
	}
	return out
}

// target returns what is left of the target of the last search.
func (s *standings) target() (out plan.Target) {
	for _, name := range s.gates.state.target.names {
		c, there := s.Snapshot.Claim(name)
		if !there || c.Leaving() || s.IsGoing(name) {
			continue
		}
		cost, _ := s.CostOf(c)
		out.Claims, out.Frees = append(out.Claims, name), out.Frees.Add(cost)
	}
	return out
}
