package plan

import (
	"fmt"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Audit compares the cost of the whole fleet with the least that any fleet for the
// same pods costs, and prices the rules in force.
type Audit struct {
	// Cost is what the instances of our NodeClaims cost an hour by the catalogue. A
	// launched NodeClaim counts at its offering's price, an ordered one at the cheapest
	// offering that it may become.
	Cost quantity.Money
	// Extra is what the nodes of these NodeClaims cost beside their instances, as new
	// nodes of their classes would.
	Extra  Extra
	Claims int   // NodeClaims that Cost counts
	Pods   int64 // pods that run or have a place on these NodeClaims; Proof is about these pods
	// Unpriced names the NodeClaims that the catalogue has no price for, sorted.
	// Neither they nor their pods are counted.
	Unpriced []string
	// Homeless counts the pods on our nodes that no node launched now would hold.
	// Proof leaves them out.
	Homeless int64
	// Proof is the bound from scratch, under the rules that the pools have now. Nodes
	// launched under other rules, or with smaller DaemonSets, may cost less.
	Proof Certificate
	// Constraints are sorted by price, the dearest first.
	Constraints []ConstraintPrice
}

// Constraint is a kind of rule that keeps pods off nodes that may be cheaper.
type Constraint string

// The constraints that have a price.
const (
	PoolRequirement Constraint = "requirement" // of one pool
	PoolWeights     Constraint = "weights"     // nodes are launched in the pool with the highest weight that can hold the pods
	SoftSizeLimit   Constraint = "size"        // of nodes; only a pod that needs a larger node gets one
)

// ConstraintPrice is what one constraint costs an hour: how much the constraint
// raises the lower bound of a fleet for the same pods. It is an estimate, because it
// is the difference of two lower bounds. It assumes that the pods would run on every
// node that the constraint keeps away, such as another architecture or spot.
type ConstraintPrice struct {
	Constraint    Constraint
	Pool          string         // of a requirement
	Key           string         // its label
	Rule          string         // as text
	With, Without quantity.Money // the bounds; With is never lower
}

// Price is the difference.
func (c ConstraintPrice) Price() quantity.Money { return c.With - c.Without }

// Explain says in one sentence what the constraint costs.
func (c ConstraintPrice) Explain() string {
	rule := c.Rule
	if c.Pool != "" {
		rule = fmt.Sprintf("NodePool %q: %s", c.Pool, rule)
	}
	if c.Price() == 0 {
		return fmt.Sprintf("%s costs nothing: a fleet for these pods costs at least %s an hour with the rule and without it", rule, c.With.Dollars())
	}
	return fmt.Sprintf("%s costs about %s an hour: a fleet for these pods costs at least %s with it, and %s without",
		rule, c.Price().Dollars(), c.With.Dollars(), c.Without.Dollars())
}

// Explain says in one sentence how far the fleet's cost is from its bound.
func (a Audit) Explain() string { return a.Proof.Explain(a.Cost, a.Extra) }

// Total is what the nodes of our NodeClaims cost an hour, to compare with the bound.
func (a Audit) Total() quantity.Money { return a.Cost.Add(a.Extra.Total()) }
