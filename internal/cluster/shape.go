package cluster

import (
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Shape is all that a pod asks of the place where it runs. Pods of one
// namespace with equal shapes and labels are interchangeable to the packer.
type Shape struct {
	Requests    quantity.Resources   // including one pod slot, and slots to attach volumes (see AttachSlots)
	Selector    label.Requirements   // nodeSelector
	Affinity    []label.Requirements // required node affinity: any of these; none means no restriction
	Preferred   []Preference         // preferred node affinity
	Tolerations []Toleration
	Priority    int32
	Spread      []Spread  // topologySpreadConstraints
	Together    []PodTerm // podAffinity
	Apart       []PodTerm // podAntiAffinity
	Ports       []HostPort
	// Volumes has one entry for each volume that is tied to a place: the node
	// must meet any of its alternatives.
	Volumes [][]label.Requirements
	Gang    Gang
	// Unsupported names hard constraints of the pod that the core does not carry
	// out, and objects it needs that are missing or broken; a pod that has one is
	// never placed and says so.
	Unsupported []string
}

// Key is a text that is equal exactly for equal shapes, whatever the order in
// which their parts were written. It orders classes; it is not for people.
func (s Shape) Key() string {
	var b strings.Builder
	b.WriteString(s.Requests.String())
	b.WriteByte('|')
	// String rounds memory to MiB; the exact amounts follow.
	for _, n := range []int64{s.Requests.MilliCPU, s.Requests.MemoryBytes, s.Requests.EphemeralBytes, s.Requests.PodSlots, int64(s.Priority)} {
		writeInt(&b, n)
	}
	b.WriteString(s.Selector.String())
	terms := make([]string, len(s.Affinity))
	for i, t := range s.Affinity {
		terms[i] = t.String()
	}
	slices.Sort(terms)
	for _, t := range terms {
		b.WriteString("|or ")
		b.WriteString(t)
	}
	for _, t := range slices.SortedFunc(slices.Values(s.Tolerations), compareToleration) {
		b.WriteString("|tolerates ")
		b.WriteString(t.fingerprint())
	}
	for _, u := range slices.Sorted(slices.Values(s.Unsupported)) {
		b.WriteString("|unsupported ")
		b.WriteString(u)
	}
	return b.String()
}

func writeInt(b *strings.Builder, n int64) {
	const digits = "0123456789abcdef"
	for shift := 60; shift >= 0; shift -= 4 {
		b.WriteByte(digits[uint64(n)>>shift&15])
	}
	b.WriteByte('.')
}

// Alternatives returns the conjunctions of which a node must meet one: the
// selector together with each affinity term.
func (s Shape) Alternatives() []label.Requirements {
	if len(s.Affinity) == 0 {
		return []label.Requirements{s.Selector}
	}
	out := make([]label.Requirements, len(s.Affinity))
	for i, t := range s.Affinity {
		out[i] = s.Selector.And(t)
	}
	return out
}
