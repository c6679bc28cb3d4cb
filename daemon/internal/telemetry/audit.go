package telemetry

import (
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

const (
	auditEvery  = time.Minute // the shortest time between two audits of the fleet
	repeatAudit = time.Hour   // after this time an audit is logged although little has changed
)

// audits publishes what the whole fleet costs, and what it must cost at least.
type audits struct {
	cost  *prometheus.GaugeVec
	bound prometheus.Gauge
	newest

	mu     sync.Mutex
	latest plan.Audit // the zero value if there is none yet
	made   bool       // there is one
	logged plan.Audit
	said   time.Time // when logged was logged
}

func newAudits() *audits {
	return &audits{
		newest: newest{every: auditEvery},
		cost:   newCosts("karpenterd_fleet_cost_dollars_per_hour", "Cost of all NodeClaims by the catalogue's prices, by kind."),
		bound: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "karpenterd_fleet_bound_dollars_per_hour",
			Help: "Proven lower bound of the cost of any fleet for the same pods.",
		}),
	}
}

// publish sets the gauges, and logs the audit if it differs from the last one that was
// logged.
func (a *audits) publish(now plan.Audit, logger hclog.Logger) {
	a.mu.Lock()
	a.latest, a.made = now, true
	a.mu.Unlock()
	setCosts(a.cost, now.Cost, now.Extra)
	a.bound.Set(dollars(now.Proof.Bound))
	if now.Claims == 0 || !a.worthSaying(now) {
		return
	}
	constraints := make([]string, len(now.Constraints))
	for i, c := range now.Constraints {
		constraints[i] = c.Explain()
	}
	args := append([]any{"summary", now.Explain()}, costs(now.Cost, now.Extra)...)
	logger.Info("fleet audit", append(args, "bound", now.Proof.Bound.Dollars(),
		"nodeclaims", now.Claims, "pods", now.Pods, "without_price", len(now.Unpriced), "pods_that_fit_nothing", now.Homeless,
		"constraints", constraints)...)
}

// Audited returns the last audit, which may be of no NodeClaim, and whether there has been one.
func (m *Metrics) Audited() (plan.Audit, bool) { return m.fleet.last() }

// last returns the last audit, and whether there has been one.
func (a *audits) last() (plan.Audit, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.latest, a.made
}

// worthSaying reports whether the audit is to be logged, and then remembers it.
func (a *audits) worthSaying(now plan.Audit) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Since(a.said) < repeatAudit && !changed(a.logged, now) {
		return false
	}
	a.logged, a.said = now, time.Now()
	return true
}

// changed reports whether the price of a constraint has changed by more than 5 %. It
// ignores changes below a thousandth of the bound.
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
