package proof

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// rule is one that a pod has about others like it, itself among them. It is of one
// of four kinds.
type rule struct {
	key       string // equal for equal rules
	namespace string // of a spread: the one where it counts pods
	port      *cluster.HostPort
	apart     *cluster.PodTerm // required anti-affinity over hostnames or zones
	spread    *cluster.Spread  // required spread over zones
	together  *cluster.PodTerm // required affinity over hostnames
}

// rulesOf lists the rules of a pod.
func rulesOf(namespace string, labels label.Labels, s cluster.Shape) (out []rule) {
	for i := range s.Ports {
		out = append(out, rule{key: cluster.Shape{Ports: s.Ports[i : i+1]}.Key(), port: &s.Ports[i]})
	}
	for i, t := range s.Apart {
		if (t.Key == label.Hostname || t.Key == label.Zone) && t.Weight == 0 && selects(t, namespace, labels) {
			out = append(out, rule{key: cluster.Shape{Apart: s.Apart[i : i+1]}.Key(), apart: &s.Apart[i]})
		}
	}
	for i, x := range s.Spread { // one without requirements counts nothing
		if x.Key == label.Zone && !x.Soft && len(x.Selector.Match) > 0 && x.Selector.Selects(labels) {
			out = append(out, rule{key: namespace + cluster.Shape{Spread: s.Spread[i : i+1]}.Key(), namespace: namespace, spread: &s.Spread[i]})
		}
	}
	for i, t := range s.Together {
		if t.Key == label.Hostname && t.Weight == 0 && t.InNamespaces.Nothing && selects(t, namespace, labels) {
			out = append(out, rule{key: cluster.Shape{Together: s.Together[i : i+1]}.Key(), together: &s.Together[i]})
		}
	}
	return out
}

// selects says whether a pod is certain to be one of the term's: which namespaces
// it finds by their labels is not looked at.
func selects(t cluster.PodTerm, namespace string, labels label.Labels) bool {
	return slices.Contains(t.Namespaces, namespace) && t.Selector.Selects(labels)
}

// common are the rules that are in both lists.
func common(a, b []rule) []rule {
	return slices.DeleteFunc(slices.Clone(a), func(r rule) bool {
		return !slices.ContainsFunc(b, func(x rule) bool { return x.key == r.key })
	})
}

// selected counts the pods, declared ones included, that are in the namespaces and
// have such labels.
func (p *proof) selected(namespaces []string, s cluster.PodSelector) (n int64) {
	for _, x := range p.objects.Pods {
		if slices.Contains(namespaces, x.Namespace) && s.Selects(x.Labels) {
			n++
		}
	}
	for _, w := range p.objects.Workloads {
		if slices.Contains(namespaces, w.Namespace) && s.Selects(w.Labels) {
			n = addUp(n, max(0, w.Missing))
		}
	}
	return n
}

// join makes one big pod of a group whose pods must all be on one node: each has
// the same affinity, and no other pod meets it that one of them could go to.
func (p *proof) join(g *group) error {
	for _, r := range g.rules {
		t := r.together
		if t == nil || p.selected(t.Namespaces, t.Selector) != g.count {
			continue
		}
		g.need = g.need.Times(g.count)
		for i := range g.shapes {
			g.shapes[i].Requests = g.shapes[i].Requests.Times(g.count)
		}
		g.count = 1
		return nil
	}
	return fmt.Errorf("%w: group %q", ErrTogether, g.key)
}

// set is the groups that the certificate names as one set of pods apart, and the
// rules that all of them have: each keeps them apart.
type set struct {
	rules  []rule
	groups []*group
}

// gatherSets finds the sets. A pod takes one of the places that a node has for
// its set.
func (p *proof) gatherSets() error {
	for i, d := range p.certificate.Dimensions {
		if !plan.IsApart(d.Resource) {
			continue
		}
		var s set
		for _, g := range p.groups {
			if g.prices[i] == 0 {
				continue
			}
			if len(s.groups) == 0 {
				s.rules = slices.DeleteFunc(slices.Clone(g.rules), func(r rule) bool { return r.together != nil })
			}
			s.rules, s.groups = common(s.rules, g.rules), append(s.groups, g)
			for j := range g.shapes {
				g.shapes[j].Requests = g.shapes[j].Requests.Extend(d.Resource, 1)
			}
		}
		// Where all are apart, it does not matter that they are spread; and several
		// groups that are spread say nothing about how many of each are where.
		strict := slices.DeleteFunc(slices.Clone(s.rules), func(r rule) bool { return r.spread != nil })
		if len(strict) > 0 || len(s.groups) > 1 {
			s.rules = strict
		}
		if len(s.groups) > 0 && len(s.rules) == 0 {
			return fmt.Errorf("%w: %q", ErrApart, d.Resource)
		}
		p.sets[d.Resource] = s
	}
	return nil
}

// roomApart is the place with what it has for the sets: one, none beside a pod
// that keeps those of the set away, or enough where no rule of it is in force.
func (p *proof) roomApart(x place) place {
	slots := max(0, x.room.PodSlots)
	for name, s := range p.sets {
		room := slots
		for _, r := range s.rules {
			if !r.inForce(x) {
				continue
			}
			room = min(room, 1)
			if x.node != "" && slices.ContainsFunc(p.podsOn[x.node], r.repelledBy) {
				room = 0
			}
		}
		x.room = x.room.Extend(name, room)
	}
	return x
}

// inForce says whether the rule keeps pods off the place. Anti-affinity says
// nothing about a node without the label, but one to come will have a hostname.
// A spread may count no other zone than those of the nodes that are there.
func (r rule) inForce(x place) bool {
	switch {
	case r.spread != nil:
		return x.forSale
	case r.apart != nil:
		_, named := x.labels.Get(r.apart.Key)
		return named || x.node == "" && r.apart.Key == label.Hostname
	}
	return true
}

func (r rule) repelledBy(x cluster.Pod) bool {
	return r.port != nil && slices.ContainsFunc(x.Shape.Ports, r.port.Conflicts) ||
		r.apart != nil && selects(*r.apart, x.Namespace, x.Labels)
}

// worthApart is what the pods of the sets are worth that need a node each.
func (p *proof) worthApart(offerings []source) *big.Int {
	sum := new(big.Int)
	for name, s := range p.sets {
		one := quantity.Resources{}.Extend(name, 1)
		for _, g := range s.groups {
			n := g.count
			if s.rules[0].spread != nil {
				n = 0
				for _, r := range s.rules {
					n = max(n, p.zones(g, r, offerings))
				}
			}
			sum.Add(sum, new(big.Int).Mul(big.NewInt(n), p.worth(one, g.prices)))
		}
	}
	return sum
}

// zones is how many zones at least get pods of a group that is spread over them.
// Every zone counts where a pool sells a place for all pods of the group.
func (p *proof) zones(g *group, r rule, offerings []source) int64 {
	names := map[string]bool{}
	for _, o := range offerings {
		for _, x := range o.places {
			if o.count == unlimited && !slices.ContainsFunc(g.shapes, func(s cluster.Shape) bool { return !x.holds(s) }) {
				zone, _ := x.labels.Get(label.Zone)
				names[zone] = true
			}
		}
	}
	all := int64(len(names))
	others := p.selected([]string{r.namespace}, r.spread.Selector) - g.count
	for used := int64(1); used < all; used++ {
		// One of the zones used has at least the mean of the group's pods, rounded up,
		// and one of the others has at most the mean of all other pods that count:
		// are the two within the skew?
		most, least := (g.count-1)/used+1, others/(all-used)
		if most-least <= max(1, r.spread.MaxSkew) {
			return used
		}
	}
	return min(all, g.count)
}
