package demand

import "github.com/karpenterd/terraform-provider-karpenter/internal/cluster"

// Repelled says whether demand is planned on the node of the NodeClaim, and the taints keep
// off all of it.
func (d *Demand) Repelled(c *cluster.Claim, taints []cluster.Taint) bool {
	slots, _ := d.memory.PlannedOn(c)
	planned := map[string]bool{}
	for _, s := range slots {
		planned[s.Kind] = true
	}
	found := false
	for _, class := range d.Classes {
		if !planned[class.Group.Kind] {
			continue
		}
		if _, off := cluster.Untolerated(taints, class.Group.Shape.Tolerations); !off {
			return false
		}
		found = true
	}
	return found
}
