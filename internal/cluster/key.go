package cluster

import (
	"bytes"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Key is a text that is equal for two shapes if and only if the shapes are
// equal, whatever the order of their parts. Keys order shapes by requested CPU
// and memory first. They are not for people.
func (s Shape) Key() string {
	var room [512]byte
	return string(s.appendKey(room[:0]))
}

func (s Shape) appendKey(b []byte) []byte {
	b = appendResources(b, s.Requests)
	b = label.AppendNumber(b, int64(s.Priority))
	if len(s.Selector) > 0 {
		b = s.Selector.AppendKey(append(b, 'S'))
	}
	b = appendSet(b, 'A', s.NodeAffinity, appendRequirements)
	b = appendSet(b, 'P', s.Preferred, appendPreference)
	b = appendSet(b, 'T', s.Tolerations, appendToleration)
	b = appendSet(b, 'Z', s.Spread, appendSpread)
	b = appendSet(b, 'W', s.PodAffinity, appendPodTerm)
	b = appendSet(b, 'X', s.PodAntiAffinity, appendPodTerm)
	b = appendSet(b, 'H', s.Ports, appendPort)
	b = appendSet(b, 'V', s.Volumes, appendVolume)
	if s.Gang != (Gang{}) {
		b = label.AppendNumber(label.AppendText(append(b, 'G'), s.Gang.Name), s.Gang.Size)
	}
	return appendSet(b, 'U', s.Unsupported, label.AppendText)
}

// appendSet appends the texts of the parts in sorted order. A mark before them
// names the field of the shape. An empty set appends nothing.
func appendSet[T any](b []byte, mark byte, parts []T, text func([]byte, T) []byte) []byte {
	if len(parts) == 0 {
		return b
	}
	b = label.AppendNumber(append(b, mark), int64(len(parts)))
	start, last, ordered := len(b), len(b), true
	for i, p := range parts {
		at := len(b)
		b = text(b, p)
		ordered = ordered && (i == 0 || bytes.Compare(b[last:at], b[at:]) <= 0)
		last = at
	}
	if ordered {
		return b
	}
	b = b[:start]
	for _, t := range slices.Sorted(texts(parts, text)) {
		b = append(b, t...)
	}
	return b
}

func texts[T any](parts []T, text func([]byte, T) []byte) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, p := range parts {
			if !yield(string(text(nil, p))) {
				return
			}
		}
	}
}

func appendResources(b []byte, r quantity.Resources) []byte {
	for _, n := range [4]int64{r.MilliCPU, r.MemoryBytes, r.EphemeralBytes, r.PodSlots} {
		b = label.AppendNumber(b, n)
	}
	for _, a := range r.Extended {
		b = label.AppendNumber(label.AppendText(append(b, '+'), a.Name), a.Count)
	}
	return append(b, ' ')
}

func appendRequirements(b []byte, rs label.Requirements) []byte { return rs.AppendKey(b) }

func appendVolume(b []byte, alternatives []label.Requirements) []byte {
	return append(appendSet(b, '|', alternatives, appendRequirements), '.')
}

func appendPreference(b []byte, p Preference) []byte {
	return p.Node.AppendKey(label.AppendNumber(b, int64(p.Weight)))
}

func appendToleration(b []byte, t Toleration) []byte {
	b = label.AppendText(appendFlags(b, t.Exists), t.Key)
	return label.AppendText(label.AppendText(b, t.Value), t.Effect)
}

func appendSelector(b []byte, s PodSelector) []byte {
	return s.Match.AppendKey(appendFlags(b, s.Nothing))
}

func appendSpread(b []byte, s Spread) []byte {
	b = label.AppendText(appendFlags(b, s.Soft, s.IgnoreAffinity, s.HonorTaints), s.Key)
	b = label.AppendNumber(label.AppendNumber(b, s.MaxSkew), max(1, s.MinDomains))
	return appendSelector(b, s.Selector)
}

func appendPodTerm(b []byte, t PodTerm) []byte {
	b = label.AppendText(label.AppendNumber(b, int64(t.Weight)), t.Key)
	b = appendSelector(appendSelector(b, t.Selector), t.InNamespaces)
	return append(appendSet(b, 'N', t.Namespaces, label.AppendText), '.')
}

func appendPort(b []byte, p HostPort) []byte {
	return label.AppendNumber(label.AppendText(label.AppendText(b, p.IP), p.Protocol), int64(p.Port))
}

func appendFlags(b []byte, flags ...bool) []byte {
	set := byte('a')
	for i, f := range flags {
		if f {
			set += 1 << i
		}
	}
	return append(b, set)
}

// canonical returns the shape with its parts in the order of its key, so that
// shapes with one key look the same.
func (s Shape) canonical() Shape {
	if len(s.Selector) == 0 {
		s.Selector = nil
	}
	if len(s.Requests.Extended) == 0 {
		s.Requests.Extended = nil
	}
	s.NodeAffinity = inOrder(s.NodeAffinity, appendRequirements)
	s.Preferred = inOrder(s.Preferred, appendPreference)
	s.Tolerations = inOrder(s.Tolerations, appendToleration)
	s.Spread = inOrder(s.Spread, appendSpread)
	for i := range s.Spread {
		if s.Spread[i].MinDomains <= 1 {
			s.Spread[i].MinDomains = 0
		}
	}
	s.PodAffinity = canonicalTerms(s.PodAffinity)
	s.PodAntiAffinity = canonicalTerms(s.PodAntiAffinity)
	s.Ports = inOrder(s.Ports, appendPort)
	s.Volumes = inOrder(s.Volumes, appendVolume)
	for i := range s.Volumes {
		s.Volumes[i] = inOrder(s.Volumes[i], appendRequirements)
	}
	s.Unsupported = inOrder(s.Unsupported, label.AppendText)
	return s
}

func canonicalTerms(terms []PodTerm) []PodTerm {
	terms = inOrder(terms, appendPodTerm)
	for i := range terms {
		terms[i].Namespaces = inOrder(terms[i].Namespaces, label.AppendText)
	}
	return terms
}

// inOrder returns a copy of the parts in the order of their texts.
func inOrder[T any](parts []T, text func([]byte, T) []byte) []T {
	if len(parts) == 0 {
		return nil
	}
	out := slices.Clone(parts)
	if len(out) > 1 {
		slices.SortStableFunc(out, func(a, b T) int { return strings.Compare(string(text(nil, a)), string(text(nil, b))) })
	}
	return out
}
