package view

import (
	"strconv"

	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// LandingIn says how evicted pods come to their places in a cluster of so many nodes.
func (p *Policy) LandingIn(nodes int) plan.Landing {
	switch {
	case p.Landing == LandPreferred:
		return plan.Landing{Reason: plan.LandsAsSet}
	case p.CannotBind:
		return plan.Landing{Reason: plan.LandsWithoutRight}
	case p.Landing == LandBound:
		return plan.Landing{Binds: true, Reason: plan.LandsAsSet}
	case p.TaintReader != "":
		return plan.Landing{Reason: plan.LandsBesideReader, Detail: p.TaintReader}
	case nodes > p.MostClosed:
		return plan.Landing{Reason: plan.LandsInLargeFleet, Detail: strconv.Itoa(p.MostClosed)}
	}
	return plan.Landing{Binds: true, Reason: plan.LandsAutomatically}
}
