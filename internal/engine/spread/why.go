package spread

import (
	"fmt"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

// Why returns the first rule that keeps the class from the place, with its
// counts; the empty text where none does.
func (t *Table) Why(class int, p Place) string {
	c := &t.classes[class]
	at := t.locate(p)
	for _, s := range c.spreads {
		if text := s.why(&at); text != "" {
			return text
		}
	}
	if c.together != nil && !c.together.allows(&at) {
		return c.together.why(&at)
	}
	for i := range c.apart {
		if y := c.apart[i].tally; c.apart[i].room(&at) == 0 {
			n, d := y.most(&at)
			return fmt.Sprintf("anti-affinity over %s: %d pods that it wants to be apart from (%s) are in %s",
				y.topology.key, n, selected(*c.apart[i].selector), y.topology.name(d, at.Place))
		}
	}
	for i := range c.kin.inverse {
		if y := c.kin.inverse[i].tally; c.kin.inverse[i].room(&at) == 0 {
			n, d := y.most(&at)
			return fmt.Sprintf("anti-affinity over %s of others: %d pods in %s keep away those with %s",
				y.topology.key, n, y.topology.name(d, at.Place), selected(*c.kin.inverse[i].selector))
		}
	}
	return ""
}

func (r *spreadRule) why(s *spot) string {
	if r.room(s) > 0 {
		return ""
	}
	st := r.look(s)
	if st.missing {
		return fmt.Sprintf("topology spread over %s: the node has no such label", r.topology.key)
	}
	text := fmt.Sprintf("topology spread over %s: %d pods in %s, %d in the least of %d domains, maxSkew %d",
		r.topology.key, st.count, r.topology.name(r.topology.at(s), s.Place), st.floor(), r.domains, r.maxSkew)
	if r.domains < r.minDomains {
		text += fmt.Sprintf(", minDomains %d", r.minDomains)
	}
	return text
}

func (r *togetherRule) why(s *spot) string {
	for _, y := range r.tallies {
		switch n, d := y.at(s); {
		case d == missing:
			return fmt.Sprintf("affinity over %s: the node has no such label", y.topology.key)
		case n == 0:
			return fmt.Sprintf("affinity over %s: no pod that it wants to be with is in %s; %d are elsewhere",
				y.topology.key, y.topology.name(d, s.Place), r.total)
		}
	}
	return ""
}

func selected(s cluster.PodSelector) string {
	if len(s.Match) == 0 {
		return "any labels"
	}
	return s.Match.String()
}
