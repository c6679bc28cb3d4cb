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

// PodSelector selects pods by their labels. The zero value selects every pod,
// like an empty selector of the API. Nothing stands for a missing selector of
// the API, which selects no pod.
type PodSelector struct {
	Match   label.Requirements
	Nothing bool
}

// Selects says whether the selector matches a pod with these labels.
func (s PodSelector) Selects(l label.Labels) bool {
	return !s.Nothing && s.Match.Select(l)
}

// Spread is a topology spread constraint (core/v1 TopologySpreadConstraint).
// Selector includes matchLabelKeys already.
type Spread struct {
	Key        string // topologyKey
	MaxSkew    int64
	MinDomains int64 // 0 and 1 are the same
	Soft       bool  // whenUnsatisfiable ScheduleAnyway
	Selector   PodSelector
	// The policies say which nodes count. By default these are the nodes that the
	// pod's node selector and affinity allow, whatever the taints of the nodes.
	IgnoreAffinity bool // nodeAffinityPolicy Ignore
	HonorTaints    bool // nodeTaintsPolicy Honor
}

// PodTerm is a term of pod affinity or anti-affinity. Selector includes
// matchLabelKeys and mismatchLabelKeys already.
type PodTerm struct {
	Weight   int32  // 1 to 100 where the term is a preference; 0 where it is required
	Key      string // topologyKey
	Selector PodSelector
	// Namespaces are the namespaces where the term selects pods, sorted. The pod's
	// own namespace is listed where the API implies it. InNamespaces adds
	// namespaces by their labels.
	Namespaces   []string
	InNamespaces PodSelector // Nothing where the API has no namespaceSelector
}

// HostPort is a port of the node that the pod takes. IP is "0.0.0.0" where the
// pod names none. As in the kube-scheduler, "0.0.0.0" conflicts with every
// address, and "::" conflicts with "::" only.
type HostPort struct {
	IP, Protocol string
	Port         int32
}

// Conflicts says whether two pods with these ports cannot share a node.
func (p HostPort) Conflicts(o HostPort) bool {
	wild := func(ip string) bool { return ip == "0.0.0.0" || ip == "" }
	return p.Port == o.Port && p.Protocol == o.Protocol && (p.IP == o.IP || wild(p.IP) || wild(o.IP))
}

// Gang names pods that get room together: at least Size of them must find room
// at the same time, or none gets any. The zero value is no gang.
type Gang struct {
	Name string // within the namespace
	Size int64  // 0 means all existing pods of the gang
}

// AttachSlots is the name of the resource that counts how many volumes of a
// driver a node can attach. A node without a known limit has UnlimitedSlots.
func AttachSlots(driver string) string { return "attach/" + driver }

// IsAttachSlots says whether the name of a resource is one of AttachSlots.
func IsAttachSlots(name string) bool { return strings.HasPrefix(name, AttachSlots("")) }

// UnlimitedSlots is more than the volumes that any node can attach.
const UnlimitedSlots = 1 << 20
