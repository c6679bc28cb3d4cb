package plan

import (
	"fmt"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Audit is what the whole fleet costs, what a fleet for the same pods would cost
// at the least, and what the rules in force add to that.
type Audit struct {
	// Cost is that of our NodeClaims, an hour, by the catalogue: those that are
	// launched at their price, those on order at the cheapest they may become.
	Cost   quantity.Money
	Claims int   // that it is the cost of
	Pods   int64 // that run on them or have a place there; Proof is about these
	// Unpriced names the NodeClaims that the catalogue has no price for, sorted.
	// They count nothing, nor do their pods.
	Unpriced []string
	// Homeless pods run on our nodes though nothing that can be launched now
	// would hold them. Proof is silent about them.
	Homeless int64
	// Proof is the bound from scratch. It is about what the pools allow now: what
	// was launched under other rules, or at another size of the DaemonSets, may
	// cost less.
	Proof Certificate
	// Constraints are sorted by price, the dearest first.
	Constraints []ConstraintPrice
}

// Constraint is a kind of rule that keeps pods off what might be cheaper.
type Constraint string

// The constraints that have a price.
const (
	PoolRequirement Constraint = "requirement" // of one pool
	PoolWeights     Constraint = "weights"     // pods go to the heaviest pool that can hold them
	SoftSizeLimit   Constraint = "size"        // of nodes; only pods that need it go beyond
)

// ConstraintPrice is about what one constraint costs an hour: by how much it
// raises the least that a fleet for the same pods can cost. As a difference of
// two lower bounds it is an estimate. Whether the pods would run on all that the
// constraint keeps away (on another architecture, on spot) it does not ask.
type ConstraintPrice struct {
	Constraint    Constraint
	Pool          string         // of a requirement
	Key           string         // its label
	Rule          string         // in words
	With, Without quantity.Money // the bounds; With is never lower
}

// Price is the difference.
func (c ConstraintPrice) Price() quantity.Money { return c.With - c.Without }

// Explain makes one sentence of it.
func (c ConstraintPrice) Explain() string {
	rule := c.Rule
	if c.Pool != "" {
		rule = fmt.Sprintf("pool %q: %s", c.Pool, rule)
	}
	if c.Price() == 0 {
		return fmt.Sprintf("%s costs nothing: a fleet for these pods costs at least %s an hour with it or without", rule, c.With.Dollars())
	}
	return fmt.Sprintf("%s costs about %s an hour: a fleet for these pods costs at least %s with it, and %s without",
		rule, c.Price().Dollars(), c.With.Dollars(), c.Without.Dollars())
}

// Explain makes one sentence of the fleet's cost and its bound.
func (a Audit) Explain() string { return a.Proof.Explain(a.Cost) }
