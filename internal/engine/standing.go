package engine

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/budget"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/disrupt"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/static"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Standings says of every NodeClaim why its node stays or goes, by name. The input is that
// of the last Step, with the memory that the Step returned. Standings decides nothing.
func Standings(in Input) []plan.Standing {
	in.Policy = in.Policy.WithDefaults()
	v := in.view()
	s := &standings{
		View: v, memory: &in.Memory, judge: disrupt.NewJudge(v, &in.Memory.Memory), ledger: budget.Open(v),
		due: map[string]plan.DeleteReason{}, moves: map[string]string{},
	}
	list, _ := disrupt.Overdue(v)
	for _, d := range list {
		s.due[d.Claim.Name] = d.Why
	}
	for _, c := range v.Claims {
		for _, x := range v.SourcesOf(c) {
			s.moves[x.Name] = c.Move.ID
		}
	}
	var out []plan.Standing
	for c := range v.Snapshot.EachClaim() {
		out = append(out, s.of(c))
	}
	return out
}

type standings struct {
	view.View
	memory *Memory
	judge  *disrupt.Judge
	ledger *budget.Ledger
	due    map[string]plan.DeleteReason // by NodeClaim
	moves  map[string]string            // ids by source
}

func (s *standings) of(c *cluster.Claim) plan.Standing {
	out := plan.Standing{Claim: c.Name, ClaimUID: c.UID, Node: c.Node, Pool: c.Pool, Move: s.moves[c.Name]}
	out.Price, _ = s.PriceOf(*c)
	switch {
	case c.Deleting:
		out.Goes = plan.DeletedAlready
	case c.Interruption != nil:
		out.Goes = plan.Interrupted
	case s.IsGoing(c.Name):
		out.Goes = s.Going[c.Name]
	default:
		out.Stay = s.stay(c)
	}
	return out
}

// stay says why the node stays.
func (s *standings) stay(c *cluster.Claim) plan.Stay {
	if len(s.SourcesOf(c)) > 0 {
		return plan.Stay{Reason: plan.Replaces, Detail: c.Move.ID}
	}
	why, due := s.due[c.Name]
	pool, _ := s.Snapshot.Pool(c.Pool)
	if pool.Static && !due && c.Initialized {
		return plan.KeptBy(pool.Name, pool.Replicas)
	}
	if !due {
		why = plan.Underutilized
		if !s.RunsPods(*c) {
			why = plan.Empty
		}
	}
	if stays, _ := s.judge.Stays(c, why); stays.Reason != "" {
		return stays
	}
	if !due {
		if stays := s.mayNotSave(c, why); stays.Reason != "" {
			return stays
		}
	}
	if stays := s.judge.Turn(c, why); stays.Reason != "" {
		return stays
	}
	if why == plan.Surplus {
		return plan.Stay{Reason: plan.NextToGo} // no budget bounds it
	}
	if until, held := s.memory.sweep.breakers.held(c.Pool, s.Now); held && why != plan.Empty && !disrupt.Asked(why) {
		return plan.Stay{Reason: plan.PoolHeldBack, Detail: c.Pool + " until " + until.UTC().Format(time.RFC3339)}
	}
	if _, restored := memory.FirstSeen(s.memory.Restored, c.Name); restored {
		return plan.Stay{Reason: plan.NoPlace}
	}
	if _, allowed := s.ledger.Allows(c.Pool, why); !allowed {
		return plan.Stay{Reason: plan.BudgetUsed, Detail: c.Pool}
	}
	if pool.Static && static.Full(s.View, &pool) {
		return plan.Stay{Reason: plan.LimitFull, Detail: c.Pool}
	}
	sweep := &s.memory.sweep
	switch {
	case due || why == plan.Empty || slices.Contains(sweep.target.names, c.Name):
		return plan.Stay{Reason: plan.NextToGo}
	case sweep.search != nil || !sweep.of.Same(s.Snapshot):
		return plan.Stay{Reason: plan.NotSearched}
	}
	return plan.Stay{Reason: plan.NoSaving}
}

// mayNotSave says which setting keeps the node from going to save money.
func (s *standings) mayNotSave(c *cluster.Claim, why plan.DeleteReason) plan.Stay {
	pool, _ := s.Snapshot.Pool(c.Pool)
	node, _ := s.Snapshot.Node(c.Node)
	_, known := s.PriceOf(*c)
	_, quiet := s.judge.Quiet(c, &pool)
	switch {
	case pool.Disruption.Never || why == plan.Underutilized && !disrupt.MaySave(&pool):
		return plan.Stay{Reason: plan.PolicyForbids}
	case node.Stays:
		return plan.Stay{Reason: plan.NodeStays}
	case why == plan.Underutilized && !quiet:
		return plan.Stay{Reason: plan.NotQuiet}
	case why == plan.Empty:
		if at, empty := memory.FirstSeen(s.memory.EmptySince, c.Name); !empty || s.Now.Before(at.Add(pool.Disruption.After)) {
			return plan.Stay{Reason: plan.NotQuiet}
		}
	case !known:
		return plan.Stay{Reason: plan.NoPrice}
	}
	return plan.Stay{}
}
