package spread

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// group is pods that run and are alike to every rule.
type group struct {
	*cluster.Group
	namespace label.Labels // labels of the namespace
}

func (b *builder) running() {
	for g := range b.snapshot.Groups() {
		if g.Bound() > 0 {
			b.groups = append(b.groups, group{g, b.snapshot.Namespace(g.Namespace).Labels})
		}
	}
	b.groupDir = newDirectory(len(b.groups), func(i int) label.Labels { return b.groups[i].Labels })
}

// tally counts all of the group, pods that are being deleted too: they keep
// others away, or attract them, until they are gone.
func (b *builder) tally(y *tally, g *cluster.Group) {
	for node, n := range g.On() {
		if i, ok := b.byName[node]; ok {
			y.add(&spot{node: i}, n)
		}
	}
}

// count adds the group to a spread, for which pods that are being deleted do not
// count.
func (b *builder) count(r *spreadRule, g *cluster.Group) {
	for node, n := range g.On() {
		if i, ok := b.byName[node]; ok {
			r.add(&spot{node: i}, n)
		}
	}
	for node, n := range g.Leaving() {
		if i, ok := b.byName[node]; ok {
			r.add(&spot{node: i}, -n)
		}
	}
}
