package consolidate

import "slices"

// Uncounted returns the NodeClaims of the nodes about which a search says nothing, as it
// counts the rules of their pods about other pods only in part: pods stay in their zone, or on
// their node. Without such rules each pod of these nodes would find room on another node. Those
// nodes come first that waste the most for what moving their pods costs.
func Uncounted(q Question) (claims []string) {
	s := Begin(q)
	ruled := func(p part) bool { return s.classes[p.class].ruled }
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
		if !n.May || n.price == 0 || !slices.ContainsFunc(n.own, ruled) {
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
