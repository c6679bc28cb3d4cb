// Package fit answers where a shape of pod may run as far as the place alone
// decides: labels, volumes, taints and ports. What other pods decide is package
// topology's.
//
// Invariants: pure; the semantics are those of the kube-scheduler's filters
// TaintToleration, NodeAffinity, NodePorts and VolumeBinding; nothing is allocated
// where the answer is yes.
package fit

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Labels says whether a node with these labels meets the shape's selector and one
// of its affinity terms, and can have its volumes. If not, it returns a requirement
// that is not met: the first one of the last alternative tried.
func Labels(shape cluster.Shape, labels label.Lookup) (label.Requirement, bool) {
	if unmet, ok := Affinity(&shape, labels); !ok {
		return unmet, false
	}
	return Volumes(&shape, labels)
}

// Affinity returns the answer of the filter NodeAffinity: the labels must meet the
// selector and any term of the required node affinity. A term without requirements
// matches no node. If the answer is no, it returns a requirement that is not met.
func Affinity(shape *cluster.Shape, labels label.Lookup) (label.Requirement, bool) {
	if unmet, missing := shape.Selector.Unmet(labels); missing {
		return unmet, false
	}
	if len(shape.NodeAffinity) == 0 {
		return label.Requirement{}, true
	}
	return anyOf(shape.NodeAffinity, labels)
}

// AsksForNames says whether the answer of Affinity may differ between nodes that differ in their
// names alone.
func AsksForNames(shape *cluster.Shape) bool {
	return namesNodes(shape.Selector) || slices.ContainsFunc(shape.NodeAffinity, namesNodes)
}

// VolumesAskForNames says the same of the answer of Volumes.
func VolumesAskForNames(shape *cluster.Shape) bool {
	return slices.ContainsFunc(shape.Volumes, func(alternatives []label.Requirements) bool { return slices.ContainsFunc(alternatives, namesNodes) })
}

func namesNodes(rs label.Requirements) bool {
	return slices.ContainsFunc(rs, func(r label.Requirement) bool { return label.NamesNode(r.Key()) })
}

// Volumes returns the answer of the filter VolumeBinding: the labels must meet any
// alternative of each volume. If the answer is no, it returns a requirement that is
// not met.
func Volumes(shape *cluster.Shape, labels label.Lookup) (label.Requirement, bool) {
	for _, alternatives := range shape.Volumes {
		if unmet, ok := anyOf(alternatives, labels); !ok {
			return unmet, false
		}
	}
	return label.Requirement{}, true
}

func anyOf(terms []label.Requirements, labels label.Lookup) (label.Requirement, bool) {
	var unmet label.Requirement
	for _, term := range terms {
		r, missing := term.Unmet(labels)
		if !missing && len(term) > 0 {
			return label.Requirement{}, true
		}
		unmet = r
	}
	return unmet, false
}

// PortsConflict says whether pods with these ports cannot share a node. This is the
// filter NodePorts.
func PortsConflict(a, b []cluster.HostPort) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Conflicts(y) {
				return true
			}
		}
	}
	return false
}

// Node says whether the shape may run on a node with these labels and taints,
// whatever the node's size and the pods there.
func Node(shape cluster.Shape, labels label.Lookup, taints []cluster.Taint) bool {
	if _, untolerated := cluster.Untolerated(taints, shape.Tolerations); untolerated {
		return false
	}
	_, ok := Labels(shape, labels)
	return ok
}

// Overhead returns what the DaemonSets take of a node with these labels and taints.
func Overhead(daemons []cluster.DaemonSet, labels label.Lookup, taints []cluster.Taint) quantity.Resources {
	var sum quantity.Resources
	for _, d := range daemons {
		if Node(d.Shape, labels, taints) {
			sum = sum.Add(d.Shape.Requests)
		}
	}
	return sum
}

// Missing returns what pods of the DaemonSets are still to take of a node with the labels
// and taints. usedBy says what pods of the DaemonSet with this UID request there. A pod
// that is larger than its DaemonSet now says makes no room for the pod of another.
func Missing(daemons []cluster.DaemonSet, labels label.Lookup, taints []cluster.Taint, usedBy func(uid string) quantity.Resources) quantity.Resources {
	var sum quantity.Resources
	for _, d := range daemons {
		if Node(d.Shape, labels, taints) {
			sum = sum.Add(d.Shape.Requests.Sub(usedBy(d.UID)).Max(quantity.Resources{}))
		}
	}
	return sum
}

// Certain returns the DaemonSets that certainly run where their shape may run. A
// DaemonSet with an unsupported constraint may be kept away by it, and is left out.
func Certain(daemons []cluster.DaemonSet) []cluster.DaemonSet {
	uncertain := func(d cluster.DaemonSet) bool { return len(d.Shape.Unsupported) > 0 }
	if !slices.ContainsFunc(daemons, uncertain) {
		return daemons
	}
	return slices.DeleteFunc(slices.Clone(daemons), uncertain)
}
