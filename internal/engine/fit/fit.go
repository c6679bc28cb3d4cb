// Package fit answers where a shape of pod may run: which labels and taints it
// accepts, and what the DaemonSets of a node leave for it.
//
// Invariants: pure; the semantics are those of the kube-scheduler's NodeAffinity
// and TaintToleration filters.
package fit

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Labels says whether a node with these labels meets the shape's selector and
// one of its affinity terms; the requirement returned is the first unmet one of
// the last term tried.
func Labels(shape cluster.Shape, labels label.Lookup) (label.Requirement, bool) {
	var unmet label.Requirement
	for _, alternative := range shape.Alternatives() {
		r, missing := alternative.Unmet(labels)
		if !missing {
			return label.Requirement{}, true
		}
		unmet = r
	}
	return unmet, false
}

// Node says whether the shape may run on a node with these labels and taints,
// its size aside.
func Node(shape cluster.Shape, labels label.Lookup, taints []cluster.Taint) bool {
	if _, kept := cluster.Untolerated(taints, shape.Tolerations); kept {
		return false
	}
	_, ok := Labels(shape, labels)
	return ok
}

// Overhead returns what the DaemonSets take of a node with these labels and
// taints.
func Overhead(daemons []cluster.DaemonSet, labels label.Lookup, taints []cluster.Taint) quantity.Resources {
	var sum quantity.Resources
	for _, d := range daemons {
		if Node(d.Shape, labels, taints) {
			sum = sum.Add(d.Shape.Requests)
		}
	}
	return sum
}
