package engine

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Pools with the policy Balanced give up a node only where the share of the pool's cost
// that goes is at least half of the share of its pods' disruption that comes. This is
// Karpenter's rule. Written as money, it is a least saving for each node, which grows with
// its pods and with what they cost to evict.

// balance is the whole of a pool with the policy Balanced.
type balance struct {
	cost       quantity.Money // of its nodes, an hour
	disruption int64          // of moving all their pods, in thousandths
}

// balances returns the balances by pool. Pools of other policies have none.
func (m *mover) balances() map[string]*balance {
	var out map[string]*balance
	for _, p := range m.in.Snapshot.Supply().Pools {
		if p.Disruption.Policy == cluster.Balanced {
			if out == nil {
				out = map[string]*balance{}
			}
			out[p.Name] = &balance{}
		}
	}
	if out == nil {
		return nil
	}
	for state := range m.in.Snapshot.States() {
		c := m.view.ClaimOf(state)
		if b := out[c.Pool]; b != nil && c.Name != "" {
			price, _ := m.view.PriceOf(c)
			b.cost, b.disruption = b.cost.Add(price).Add(m.view.ExtraOf(c.Class).Total()), b.disruption+disruption(state)
		}
	}
	return out
}

// least is what a move must save for the node; 0 where the pool is none with the policy.
func (b *balance) least(state *cluster.NodeState) quantity.Money {
	if b == nil || b.disruption == 0 {
		return 0
	}
	return quantity.Money(quantity.MulDiv(int64(b.cost), disruption(state), 2*b.disruption))
}

// disruption is what moving the pods of a node disturbs, in thousandths of one ordinary
// pod: the node itself counts as one.
func disruption(state *cluster.NodeState) int64 {
	sum := int64(cluster.OrdinaryPod)
	for p := range state.Pods() {
		if p.Moves() {
			sum += p.EvictionCost()
		}
	}
	return sum
}

// leastOf is what a move must save that takes these NodeClaims away.
func (m *mover) leastOf(names []string) quantity.Money {
	sum, balances := quantity.Money(0), m.balances()
	for _, name := range names {
		c, _ := m.view.Snapshot.Claim(name)
		if state, up := m.view.Snapshot.State(c.Node); up {
			sum = sum.Add(balances[c.Pool].least(state))
		}
	}
	return max(sum, m.in.Policy.LeastSaving)
}
