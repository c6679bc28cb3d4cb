package room

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

// A starting node may have taints that its NodeClaim does not know. They may stay for ever,
// as those of user data do: then the node is up, and takes the pods that tolerate them. Or
// an agent takes its own off in a moment, which the pool ought to name among its startup
// taints. So a node waits for that if none of the pods that it is for tolerates the taints.
// Another node would come up with the same. A node that is for nobody waits for nothing.

// IsUsable says whether pods could run on the node if the daemon's own taint were off: it
// is View.Usable, and its taints do not keep all its pods off.
func (r *Room) IsUsable(n *cluster.Node, c *cluster.Claim) bool {
	return r.Usable(*n, *c) && !r.repels(n, c)
}

// Opens says whether the node is up and only the daemon's own taint keeps its pods away.
func (r *Room) Opens(n *cluster.Node, c *cluster.Claim) bool {
	return r.IsKept(*n, *c) && !r.repels(n, c)
}

// OpensForDevices says whether the node lacks nothing but devices, and only the daemon's own
// taint may keep away the pods that would report them. A node that its pods have to wait for
// all the same stays closed: once open and with its devices, it would be no place for them.
func (r *Room) OpensForDevices(n *cluster.Node, c *cluster.Claim) bool {
	return r.AwaitsDevices(*n, *c) && !r.repels(n, c)
}

// expected returns the taints that a starting node has once it is up. Those that nobody
// declared are among them from when the node has lost what starting nodes have, unless its
// pods wait for them to be removed.
func expected(r *Room, n *cluster.Node, c *cluster.Claim) []cluster.Taint {
	if !r.Clear(*n, *c) || r.repels(n, c) {
		return c.Taints
	}
	return slices.Concat(c.Taints, c.Undeclared(n.Taints))
}

// repels says whether taints that nobody declared keep off all demand that is planned on
// the node. What it says first holds for the whole try.
func (r *Room) repels(n *cluster.Node, c *cluster.Claim) bool {
	taints := c.Undeclared(n.Taints)
	if len(taints) == 0 {
		return false
	}
	off, known := r.repelled[c.Name]
	if !known {
		off = r.demand.Repelled(c, taints)
		r.repelled[c.Name] = off
	}
	return off
}
