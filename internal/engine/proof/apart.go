package proof

import (
	"fmt"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// rule is one of a pod's that keeps others like it off its node: a host port, or
// a required anti-affinity over hostnames.
type rule struct {
	key  string // equal for equal rules
	port *cluster.HostPort
	term *cluster.PodTerm // nil where it is a port
}

// repels says whether pods that have the rule cannot come to the node of this
// one. Where a term finds namespaces by their labels, it is not looked at.
func (r rule) repels(namespace string, labels label.Labels, s cluster.Shape) bool {
	if r.term == nil {
		return slices.ContainsFunc(s.Ports, r.port.Conflicts)
	}
	return slices.Contains(r.term.Namespaces, namespace) && r.term.Selector.Selects(labels)
}

// rulesOf lists the rules of a pod that repel it itself: any two pods that have
// one of them in common cannot share a node.
func rulesOf(namespace string, labels label.Labels, s cluster.Shape) (out []rule) {
	for i := range s.Ports {
		out = append(out, rule{key: cluster.Shape{Ports: s.Ports[i : i+1]}.Key(), port: &s.Ports[i]})
	}
	for i := range s.Apart {
		r := rule{key: cluster.Shape{Apart: s.Apart[i : i+1]}.Key(), term: &s.Apart[i]}
		if r.term.Weight == 0 && r.term.Key == label.Hostname && r.repels(namespace, labels, s) {
			out = append(out, r)
		}
	}
	return out
}

// enter puts a pod into the sets of pods apart that its group has a price for,
// and leaves of their rules those that it has, too. It returns the shape with the
// one place that the pod takes of each.
func (p *proof) enter(g *group, namespace string, labels label.Labels, s cluster.Shape) cluster.Shape {
	for i, d := range p.certificate.Dimensions {
		if !plan.IsApart(d.Resource) || g.prices[i] == 0 {
			continue
		}
		rules := rulesOf(namespace, labels, s)
		if all, known := p.apart[d.Resource]; known {
			rules = slices.DeleteFunc(rules, func(r rule) bool {
				return !slices.ContainsFunc(all, func(x rule) bool { return x.key == r.key })
			})
		}
		p.apart[d.Resource] = rules
		s.Requests = s.Requests.Extend(d.Resource, 1)
	}
	return s
}

// checkApart wants a rule for every set.
func (p *proof) checkApart() error {
	for _, d := range p.certificate.Dimensions {
		if rules, known := p.apart[d.Resource]; known && len(rules) == 0 {
			return fmt.Errorf("%w: %q", ErrApart, d.Resource)
		}
	}
	return nil
}

// apartOn is how many pods of a set a node may take beside those that it has. A
// term says nothing about a node without a hostname.
func (p *proof) apartOn(n cluster.Node, set string, slots int64) int64 {
	_, named := n.Labels.Get(label.Hostname)
	for _, r := range p.apart[set] {
		if r.term != nil && !named {
			continue
		}
		if slices.ContainsFunc(p.podsOn[n.Name], func(x cluster.Pod) bool { return r.repels(x.Namespace, x.Labels, x.Shape) }) {
			return 0
		}
		slots = min(slots, 1)
	}
	return max(0, slots)
}
