package consolidate

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// Uncounted returns the NodeClaims of the nodes about which a search says nothing, as it
// counts the rules of their pods about other pods only in part: pods stay in their zone, or on
// their node, and a spread over hosts is counted as beside a host without pods of the group.
// Without such rules each pod of these nodes would find room on another node. Those nodes come
// first that waste the most for what moving their pods costs.
func Uncounted(q Question) (claims []string) {
	s := Begin(q)
	onAll := map[int]bool{} // by class: whether a spread binds it, and each node that suits it runs a pod that this counts
	ruled := func(p part) bool {
		c := &s.classes[p.class]
		at := slices.IndexFunc(c.group.Shape.Spread, func(t cluster.Spread) bool { return !t.Soft && t.Key == label.Hostname })
		if c.ruled || at < 0 {
			return c.ruled
		}
		counts := func(q part) bool {
			g := s.classes[q.class].group
			return g.Namespace == c.group.Namespace && c.group.Shape.Spread[at].Selector.Selects(g.Labels)
		}
		if _, known := onAll[p.class]; !known {
			onAll[p.class] = !slices.ContainsFunc(s.nodes, func(n node) bool { return s.suits(p.class, &n) && !slices.ContainsFunc(n.own, counts) })
		}
		return onAll[p.class]
	}
	roomBeside := func(p part, i int) (found bool) {
		c := &s.classes[p.class]
		s.index.each(&c.need, 0, func(j int) bool {
			n := &s.nodes[j]
			found = j != i && c.need.fits(&n.free) && s.suits(p.class, n)
			return !found
		})
		return found && len(c.group.Shape.Unsupported) == 0
	}
	var list []int
	for i := range s.nodes {
		n := &s.nodes[i]
		if !n.Deletable || n.price == 0 || !slices.ContainsFunc(n.own, ruled) {
			continue
		}
		if !slices.ContainsFunc(n.own, func(p part) bool { return !roomBeside(p, i) }) {
			list = append(list, i)
		}
	}
	s.sortByWaste(list)
	for _, i := range list {
		claims = append(claims, s.nodes[i].Claim)
	}
	return claims
}
