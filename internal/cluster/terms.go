package cluster

import (
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// Preference is a preferred node affinity term. Weight is 1 to 100.
type Preference struct {
	Weight int32
	Node   label.Requirements
}

// PodSelector selects pods by their labels. The zero value selects every pod, as
// an empty selector of the API does; Nothing is the API's missing selector.
type PodSelector struct {
	Match   label.Requirements
	Nothing bool
}

// Selects says whether the selector matches a pod with these labels.
func (s PodSelector) Selects(l label.Labels) bool {
	if s.Nothing {
		return false
	}
	_, unmet := s.Match.Unmet(l)
	return !unmet
}

// Spread is a topology spread constraint (core/v1 TopologySpreadConstraint).
// matchLabelKeys are part of the selector by now.
type Spread struct {
	Key        string // topologyKey
	MaxSkew    int64
	MinDomains int64 // 0 and 1 are the same
	Soft       bool  // whenUnsatisfiable ScheduleAnyway
	Selector   PodSelector
	// The policies say which nodes count. By default those that the pod's node
	// selector and affinity allow, whatever their taints.
	IgnoreAffinity bool // nodeAffinityPolicy Ignore
	HonorTaints    bool // nodeTaintsPolicy Honor
}

// PodTerm is a term of pod affinity or anti-affinity. matchLabelKeys and
// mismatchLabelKeys are part of the selector by now.
type PodTerm struct {
	Weight   int32  // 1 to 100 where the term is a preference; 0 where it is required
	Key      string // topologyKey
	Selector PodSelector
	// Namespaces are those the pods selected may be in, sorted; the pod's own is
	// listed where the API means it. InNamespaces adds those with such labels.
	Namespaces   []string
	InNamespaces PodSelector // Nothing where the API has no namespaceSelector
}

// HostPort is a port of the node that the pod takes. IP is "0.0.0.0" where the
// pod names none; that one conflicts with every other, and "::" with itself
// only, as the scheduler has it.
type HostPort struct {
	IP, Protocol string
	Port         int32
}

// Conflicts says whether two pods with these ports cannot share a node.
func (p HostPort) Conflicts(o HostPort) bool {
	wild := func(ip string) bool { return ip == "0.0.0.0" || ip == "" }
	return p.Port == o.Port && p.Protocol == o.Protocol && (p.IP == o.IP || wild(p.IP) || wild(o.IP))
}

// Gang names pods of which at least Size must find room at the same time, or
// none gets any. The zero value is no gang.
type Gang struct {
	Name string // within the namespace
	Size int64  // 0 means all of them that exist
}

// AttachSlots is the name under which a volume driver's attach limit is counted
// among the resources. A node without a known limit has UnlimitedSlots.
func AttachSlots(driver string) string { return "attach/" + driver }

// IsAttachSlots says whether the name of a resource is one of AttachSlots.
func IsAttachSlots(name string) bool { return strings.HasPrefix(name, AttachSlots("")) }

// UnlimitedSlots is more volumes than a node can have attached.
const UnlimitedSlots = 1 << 20
