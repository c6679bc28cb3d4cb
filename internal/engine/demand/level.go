package demand

import (
	"slices"
	"strconv"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// Level is a pod's shape in which some preferences have become requirements and the
// others are dropped. It has no preferences.
type Level struct {
	Shape   cluster.Shape
	Avoid   bool     // avoid nodes with PreferNoSchedule taints
	Dropped []string // the preferences given up on the way to this level, as text
}

// Levels returns the levels to try for the shape, in order: the first has all
// preferences, the last has requirements only. Preferences are given up in
// Karpenter's order: pod affinity, pod anti-affinity, node affinity (heaviest first
// within each), soft spreads, and last PreferNoSchedule taints, if any pool has
// one. If ignore is set, there is one level: the one with requirements only.
func Levels(shape cluster.Shape, ignore, preferNoSchedule bool) []Level {
	hard := shape
	hard.Preferred, hard.Spread, hard.PodAffinity, hard.PodAntiAffinity = nil, nil, nil, nil
	soft := preferences{node: slices.Clone(shape.Preferred)}
	for _, t := range shape.Spread {
		if t.Soft {
			soft.spread = append(soft.spread, t)
		} else {
			hard.Spread = append(hard.Spread, t)
		}
	}
	hard.PodAffinity, soft.affinity = split(shape.PodAffinity)
	hard.PodAntiAffinity, soft.antiAffinity = split(shape.PodAntiAffinity)
	if ignore {
		return []Level{{Shape: hard}}
	}
	heaviestFirst(soft.affinity, func(t cluster.PodTerm) int32 { return t.Weight })
	heaviestFirst(soft.antiAffinity, func(t cluster.PodTerm) int32 { return t.Weight })
	heaviestFirst(soft.node, func(p cluster.Preference) int32 { return p.Weight })
	out := []Level{{Shape: soft.with(hard), Avoid: preferNoSchedule}}
	for {
		what, more := soft.drop()
		if !more {
			break
		}
		out = append(out, Level{Shape: soft.with(hard), Avoid: preferNoSchedule, Dropped: append(slices.Clone(out[len(out)-1].Dropped), what)})
	}
	if preferNoSchedule {
		last := out[len(out)-1]
		out = append(out, Level{Shape: last.Shape, Dropped: append(slices.Clone(last.Dropped), "taints with the effect PreferNoSchedule")})
	}
	return out
}

// preferences are the preferences that have not been given up yet.
type preferences struct {
	affinity, antiAffinity []cluster.PodTerm
	node                   []cluster.Preference
	spread                 []cluster.Spread
}

// with returns the hard shape with the preferences as requirements. Only the
// heaviest preferred node affinity term counts, as with Karpenter, because several
// such terms may contradict each other.
func (p preferences) with(hard cluster.Shape) cluster.Shape {
	out := hard
	out.PodAffinity = append(slices.Clone(hard.PodAffinity), required(p.affinity)...)
	out.PodAntiAffinity = append(slices.Clone(hard.PodAntiAffinity), required(p.antiAffinity)...)
	out.Spread = slices.Clone(hard.Spread)
	for _, t := range p.spread {
		t.Soft = false
		out.Spread = append(out.Spread, t)
	}
	if len(p.node) == 0 {
		return out
	}
	wish := p.node[0].Node
	if len(hard.NodeAffinity) == 0 {
		out.NodeAffinity = []label.Requirements{wish}
		return out
	}
	out.NodeAffinity = nil
	for _, term := range hard.NodeAffinity {
		if len(term) > 0 { // a term without requirements matches nothing
			term = term.And(wish)
		}
		out.NodeAffinity = append(out.NodeAffinity, term)
	}
	return out
}

// drop gives up the next preference and returns its text. It returns false if none
// is left.
func (p *preferences) drop() (what string, ok bool) {
	switch {
	case len(p.affinity) > 0:
		what, p.affinity = "pod affinity over "+p.affinity[0].Key, p.affinity[1:]
	case len(p.antiAffinity) > 0:
		what, p.antiAffinity = "pod anti-affinity over "+p.antiAffinity[0].Key, p.antiAffinity[1:]
	case len(p.node) > 0:
		what, p.node = "node affinity "+p.node[0].Node.String(), p.node[1:]
	case len(p.spread) > 0:
		what, p.spread = "spread over "+p.spread[0].Key+" with maxSkew "+strconv.FormatInt(p.spread[0].MaxSkew, 10), p.spread[1:]
	default:
		return "", false
	}
	return what, true
}

func split(terms []cluster.PodTerm) (hard, soft []cluster.PodTerm) {
	for _, t := range terms {
		if t.Weight == 0 {
			hard = append(hard, t)
		} else {
			soft = append(soft, t)
		}
	}
	return hard, soft
}

func required(terms []cluster.PodTerm) []cluster.PodTerm {
	out := slices.Clone(terms)
	for i := range out {
		out[i].Weight = 0
	}
	return out
}

func heaviestFirst[T any](list []T, weight func(T) int32) {
	slices.SortStableFunc(list, func(a, b T) int { return int(weight(b)) - int(weight(a)) })
}
