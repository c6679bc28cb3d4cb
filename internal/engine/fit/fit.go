// Package fit answers where a shape of pod may run, as far as the place alone
// decides: labels, volumes, taints, ports and free resources. Package topology
// answers what other pods decide.
//
// Invariants: all functions are pure. Each constant of type Filter names a filter
// of the kube-scheduler, with the same semantics. Nothing is allocated if the
// answer is yes.
package fit

import (
	"fmt"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Filter is a filter plugin of the kube-scheduler.
type Filter string

// The filters that look at the place alone, in the order in which Check asks them.
const (
	TaintToleration  Filter = "TaintToleration"
	NodeAffinity     Filter = "NodeAffinity"
	NodePorts        Filter = "NodePorts"
	NodeResourcesFit Filter = "NodeResourcesFit"
	VolumeBinding    Filter = "VolumeBinding"
)

// Place is what a node, existing or to come, has for pods.
type Place struct {
	Labels label.Lookup
	Taints []cluster.Taint
	Free   quantity.Resources // allocatable less the requests of the pods there
	Ports  []cluster.HostPort // taken by the pods there
}

// Refused is a filter that refuses a pod, and the reason.
type Refused struct {
	By     Filter
	Detail string
}

// Check asks every filter. It returns the first filter that refuses, and true if
// none does.
func Check(shape *cluster.Shape, p Place) (Refused, bool) {
	if taint, kept := cluster.Untolerated(p.Taints, shape.Tolerations); kept {
		return Refused{TaintToleration, taint.String()}, false
	}
	if unmet, ok := Affinity(shape, p.Labels); !ok {
		return Refused{NodeAffinity, unmet.String()}, false
	}
	if taken, ok := conflict(p.Ports, shape.Ports); ok {
		return Refused{NodePorts, fmt.Sprintf("%s port %d of %s", taken.Protocol, taken.Port, taken.IP)}, false
	}
	if !shape.Requests.Fits(p.Free) {
		lacks := shape.Requests.Lacking(p.Free)[0]
		return Refused{NodeResourcesFit, fmt.Sprintf("needs %d of %s, %d are free", lacks.Need, lacks.Resource, lacks.Free)}, false
	}
	if unmet, ok := Volumes(shape, p.Labels); !ok {
		return Refused{VolumeBinding, unmet.String()}, false
	}
	return Refused{}, true
}

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
	_, taken := conflict(a, b)
	return taken
}

func conflict(there, wanted []cluster.HostPort) (cluster.HostPort, bool) {
	for _, w := range wanted {
		for _, t := range there {
			if w.Conflicts(t) {
				return t, true
			}
		}
	}
	return cluster.HostPort{}, false
}

// Node says whether the shape may run on a node with these labels and taints,
// whatever the node's size and the pods there.
func Node(shape cluster.Shape, labels label.Lookup, taints []cluster.Taint) bool {
	if _, kept := cluster.Untolerated(taints, shape.Tolerations); kept {
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

// Certain returns the DaemonSets that certainly run where their shape may run. A
// DaemonSet with an unsupported constraint may be kept away by it, and is left out.
func Certain(daemons []cluster.DaemonSet) []cluster.DaemonSet {
	doubtful := func(d cluster.DaemonSet) bool { return len(d.Shape.Unsupported) > 0 }
	if !slices.ContainsFunc(daemons, doubtful) {
		return daemons
	}
	return slices.DeleteFunc(slices.Clone(daemons), doubtful)
}
