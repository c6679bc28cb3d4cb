package moves

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Pools with the policy Balanced give up a node only where the share of the pool's cost
// that is saved is at least half of the share of its pods' disruption that comes. This is
// Karpenter's rule. Written as money, it is a least saving for each node, which grows with
// its pods and with what they cost to evict.

// balance is the whole of a pool with the policy Balanced.
type balance struct {
	cost       quantity.Money // of its nodes, an hour
	disruption int64          // of moving all their pods, in thousandths
}

// balancesOf returns the balances by pool. Pools of other policies have none.
func balancesOf(v view.View) map[string]*balance {
	var out map[string]*balance
	for _, p := range v.Snapshot.Supply().Pools {
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
	for state := range v.Snapshot.States() {
		c := v.ClaimOf(state)
		if b := out[c.Pool]; b != nil && c.Name != "" {
			cost, _ := v.CostOf(c)
			b.cost, b.disruption = b.cost.Add(cost), b.disruption+disruption(state)
		}
	}
	return out
}

// minSaving is what a move must save for the node; 0 where the pool is none with the policy.
func (b *balance) minSaving(state *cluster.NodeState) quantity.Money {
	if b == nil || b.disruption == 0 {
		return 0
	}
	return quantity.Money(quantity.MulDiv(int64(b.cost), disruption(state), 2*b.disruption))
}

// disruption is what moving the pods of a node disturbs, in thousandths of one ordinary
// pod: the node itself counts as one.
func disruption(state *cluster.NodeState) int64 {
	return cluster.OrdinaryPod + state.EvictionCost()
}

// leastOf is what a move must save that takes these NodeClaims away.
func leastOf(v view.View, names []string) quantity.Money {
	sum, balances := quantity.Money(0), balancesOf(v)
	for _, name := range names {
		c, _ := v.Snapshot.Claim(name)
		if state, up := v.Snapshot.State(c.Node); up {
			sum = sum.Add(balances[c.Pool].minSaving(state))
		}
	}
	return max(sum, v.Policy.LeastSaving)
}
