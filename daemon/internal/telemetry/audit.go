package telemetry

import (
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// How often the fleet is audited at most, and how often that is logged where
// nothing much changes.
const (
	auditEvery  = time.Minute
	repeatAudit = time.Hour
)

// audits publishes what the whole fleet costs, and must cost.
type audits struct {
	cost, bound prometheus.Gauge

	mu     sync.Mutex
	newest engine.Input
	armed  bool      // newest will be looked at
	last   time.Time // of an audit
	logged plan.Audit
	said   time.Time // when logged was
}

func newAudits() *audits {
	return &audits{
		cost: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "karpenterd_fleet_cost_dollars_per_hour",
			Help: "What all NodeClaims cost by the catalogue.",
		}),
		bound: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "karpenterd_fleet_bound_dollars_per_hour",
			Help: "What a fleet for the same pods costs at least, proven from scratch.",
		}),
	}
}

// look audits the fleet beside the loop, not more than once in auditEvery, and
// then the newest that there is.
func (a *audits) look(in engine.Input, out engine.Output, logger hclog.Logger) {
	in.Memory = out.Memory // knows what can be launched
	a.mu.Lock()
	defer a.mu.Unlock()
	a.newest = in
	if a.armed {
		return
	}
	a.armed = true
	time.AfterFunc(time.Until(a.last.Add(auditEvery)), func() {
		a.mu.Lock()
		in := a.newest
		a.newest, a.armed, a.last = engine.Input{}, false, time.Now()
		a.mu.Unlock()
		a.publish(engine.Audit(in), logger)
	})
}

// publish sets the gauges, and logs the audit where it is not as when it was
// logged last.
func (a *audits) publish(now plan.Audit, logger hclog.Logger) {
	a.cost.Set(dollars(now.Cost))
	a.bound.Set(dollars(now.Proof.Bound))
	if now.Claims == 0 || !a.worthSaying(now) {
		return
	}
	constraints := make([]string, len(now.Constraints))
	for i, c := range now.Constraints {
		constraints[i] = c.Explain()
	}
	logger.Info("fleet audit", "summary", now.Explain(), "cost", now.Cost.Dollars(), "bound", now.Proof.Bound.Dollars(),
		"nodeclaims", now.Claims, "pods", now.Pods, "without_price", len(now.Unpriced), "pods_that_fit_nothing", now.Homeless,
		"constraints", constraints)
}

// worthSaying says whether the audit is to be logged, and if so remembers it.
func (a *audits) worthSaying(now plan.Audit) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Since(a.said) < repeatAudit && !changed(a.logged, now) {
		return false
	}
	a.logged, a.said = now, time.Now()
	return true
}

// changed says whether a constraint costs over 5 % more or less than before;
// what is below a thousandth of the bound is not looked at.
func changed(before, now plan.Audit) bool {
	type rule struct {
		kind       plan.Constraint
		pool, rule string
	}
	old := map[rule]quantity.Money{}
	for _, c := range before.Constraints {
		old[rule{c.Constraint, c.Pool, c.Rule}] = c.Price()
	}
	differ := func(was, is quantity.Money) bool {
		by := max(was-is, is-was)
		return by > was/20 && by > now.Proof.Bound/1000
	}
	for _, c := range now.Constraints {
		r := rule{c.Constraint, c.Pool, c.Rule}
		if differ(old[r], c.Price()) {
			return true
		}
		delete(old, r)
	}
	for _, was := range old {
		if differ(was, 0) {
			return true
		}
	}
	return false
}
