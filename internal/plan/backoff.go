package plan

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// BackoffDetail says in words why so many nodes in a row came in vain for pods, and what to do about
// it. Those of one instance type lacked a resource, if there is one; else the taint is the one
// that kept the pods off the last node, zero if none did.
func BackoffDetail(nodes int, instanceType, lacks string, why DeleteReason, taint cluster.Taint) string {
	in := quantity.Count(int64(nodes), "node") + " in a row, the last one "
	switch {
	case lacks != "":
		return in + "of instance type " + instanceType + " and with less " + lacks + " for pods than they need: request less, or let the NodePool have other instance types"
	case taint.Key == "node.kubernetes.io/unschedulable":
		return in + "was cordoned before it took a pod: look for what cordons new nodes"
	case taint != (cluster.Taint{}):
		return in + "had the taint " + taint.String() + ", which neither the NodePool declares nor the pods tolerate: " +
			"declare it in startupTaints if something takes it off, else in taints, or let user data and webhooks leave it out"
	case why.Traits().NeverJoined():
		return in + "did not join the cluster in time: look at the user data, the network and the role of the nodes"
	}
	return in + "did not become ready for the pods in time: look at what its conditions and resources lack"
}
