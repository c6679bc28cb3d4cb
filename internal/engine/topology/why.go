package topology

import (
	"fmt"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Why returns the first rule that keeps the class from the place, with its counts,
// as text. It returns the empty text if no rule does.
func (t *Table) Why(class int, p Place) string {
	c := &t.classes[class]
	at := t.locate(p)
	for _, s := range c.spreads {
		if text := s.why(&at); text != "" {
			return text
		}
	}
	if c.affinity != nil && !c.affinity.allows(&at) {
		return c.affinity.why(&at)
	}
	for i := range c.antiAffinity {
		if y := c.antiAffinity[i].tally; c.antiAffinity[i].room(&at) == 0 {
			n, d := y.most(&at)
			return fmt.Sprintf("anti-affinity over %s: the pod must not join %s in %s (%s)",
				y.topology.key, quantity.Count(n, "pod"), y.topology.name(d, at.Place), selected(*c.antiAffinity[i].selector))
		}
	}
	for i := range c.labelSet.inverse {
		if y := c.labelSet.inverse[i].tally; c.labelSet.inverse[i].room(&at) == 0 {
			n, d := y.most(&at)
			return fmt.Sprintf("anti-affinity over %s of other pods: %s in %s must not be joined by pods with %s",
				y.topology.key, quantity.Count(n, "pod"), y.topology.name(d, at.Place), selected(*c.labelSet.inverse[i].selector))
		}
	}
	return ""
}

func (r *spreadRule) why(s *spot) string {
	if r.room(s) > 0 {
		return ""
	}
	st := r.stateAt(s)
	if st.missing {
		return fmt.Sprintf("topology spread over %s: the node has no such label", r.topology.key)
	}
	text := fmt.Sprintf("topology spread over %s: %s in %s, %d in the least of %s, maxSkew %d",
		r.topology.key, quantity.Count(st.count, "pod"), r.topology.name(r.topology.at(s), s.Place), st.floor(), quantity.Count(r.domains, "domain"), r.maxSkew)
	if r.domains < r.minDomains {
		text += fmt.Sprintf(", minDomains %d", r.minDomains)
	}
	if n := len(r.vacated); n > 0 {
		text += fmt.Sprintf(", without %s about to be deleted", quantity.Count(int64(n), "node"))
	}
	return text
}

func (r *affinityRule) why(s *spot) string {
	met := r.first() // by the rule alone
	for _, y := range r.tallies {
		switch n, d := y.at(s); {
		case d == missing:
			return fmt.Sprintf("affinity over %s: the node has no such label", y.topology.key)
		case n == 0 && met:
			return fmt.Sprintf("affinity over %s: pods that must be with this one cannot run in %s", y.topology.key, y.topology.name(d, s.Place))
		case n == 0:
			return fmt.Sprintf("affinity over %s: no pod that the term selects is in %s; %d elsewhere",
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
