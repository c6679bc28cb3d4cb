package proof

import (
	"fmt"
	"math/big"
	"slices"
	"sort"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// rule is a rule of a pod about a set of pods, where the pod itself belongs to
// the set. Each rule is of one of four kinds.
type rule struct {
	key          string // equal for equal rules
	namespace    string // of a spread: the namespace where the spread counts pods
	port         *cluster.HostPort
	antiAffinity *cluster.PodTerm // required anti-affinity over hostnames or zones
	spread       *cluster.Spread  // required spread over zones
	affinity     *cluster.PodTerm // required affinity over hostnames
}

// rulesOf lists the rules of a pod.
func rulesOf(namespace string, labels label.Labels, s cluster.Shape) (out []rule) {
	for i := range s.Ports {
		out = append(out, rule{key: cluster.Shape{Ports: s.Ports[i : i+1]}.Key(), port: &s.Ports[i]})
	}
	for i, t := range s.PodAntiAffinity {
		if (t.Key == label.Hostname || t.Key == label.Zone) && t.Weight == 0 && selects(t, namespace, labels) {
			out = append(out, rule{key: cluster.Shape{PodAntiAffinity: s.PodAntiAffinity[i : i+1]}.Key(), antiAffinity: &s.PodAntiAffinity[i]})
		}
	}
	for i, x := range s.Spread { // a spread whose selector is empty counts nothing
		if x.Key == label.Zone && !x.Soft && len(x.Selector.Match) > 0 && x.Selector.Selects(labels) {
			out = append(out, rule{key: namespace + cluster.Shape{Spread: s.Spread[i : i+1]}.Key(), namespace: namespace, spread: &s.Spread[i]})
		}
	}
	for i, t := range s.PodAffinity {
		if t.Key == label.Hostname && t.Weight == 0 && t.InNamespaces.Nothing && selects(t, namespace, labels) {
			out = append(out, rule{key: cluster.Shape{PodAffinity: s.PodAffinity[i : i+1]}.Key(), affinity: &s.PodAffinity[i]})
		}
	}
	return out
}

// selects says whether the term is certain to select the pod. Namespaces that
// the term finds by their labels are left out.
func selects(t cluster.PodTerm, namespace string, labels label.Labels) bool {
	return slices.Contains(t.Namespaces, namespace) && t.Selector.Selects(labels)
}

// common are the rules that are in both lists.
func common(a, b []rule) []rule {
	return slices.DeleteFunc(slices.Clone(a), func(r rule) bool {
		return !slices.ContainsFunc(b, func(x rule) bool { return x.key == r.key })
	})
}

// selected counts the pods in the namespaces that the selector selects. Declared
// pods count, too.
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

// join makes one big pod of a group whose pods must all be on one node: every
// pod has the same affinity, and no pod of another group meets it.
func (p *proof) join(g *group) error {
	for _, r := range g.rules {
		t := r.affinity
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

// set is the groups that the certificate names as one exclusive set, with
// the rules that all of them have. Each of these rules keeps the pods apart.
type set struct {
	rules  []rule
	groups []*group
}

// gatherSets finds the sets. A pod of a set takes one of the places that a node
// has for the set.
func (p *proof) gatherSets() error {
	for i, d := range p.certificate.Dimensions {
		if !plan.IsExclusive(d.Resource) {
			continue
		}
		var s set
		for _, g := range p.groups {
			if g.prices[i] == 0 {
				continue
			}
			if len(s.groups) == 0 {
				s.rules = slices.DeleteFunc(slices.Clone(g.rules), func(r rule) bool { return r.affinity != nil })
			}
			s.rules, s.groups = common(s.rules, g.rules), append(s.groups, g)
			for j := range g.shapes {
				g.shapes[j].Requests = g.shapes[j].Requests.Extend(d.Resource, 1)
			}
		}
		// Where another rule keeps all pods apart, a spread adds nothing. A spread of
		// several groups does not say how many pods of each group are in a zone.
		strict := slices.DeleteFunc(slices.Clone(s.rules), func(r rule) bool { return r.spread != nil })
		if len(strict) > 0 || len(s.groups) > 1 {
			s.rules = strict
		}
		if len(s.groups) > 0 && len(s.rules) == 0 {
			return fmt.Errorf("%w: %q", ErrExclusive, d.Resource)
		}
		p.sets[d.Resource] = s
	}
	return nil
}

// roomForSets is the place with its room for each set: one pod; none beside a pod
// that keeps the set's pods away; or enough for all where no rule of the set is
// in force.
func (p *proof) roomForSets(x place) place {
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
// nothing about a node without the label, but every new node will have a
// hostname.
func (r rule) inForce(x place) bool {
	if r.antiAffinity == nil {
		return true
	}
	_, named := x.labels.Get(r.antiAffinity.Key)
	return named || x.node == "" && r.antiAffinity.Key == label.Hostname
}

func (r rule) repelledBy(x cluster.Pod) bool {
	return r.port != nil && slices.ContainsFunc(x.Shape.Ports, r.port.Conflicts) ||
		r.antiAffinity != nil && selects(*r.antiAffinity, x.Namespace, x.Labels)
}

// worthOfSets is what the sets add to the worth of all pods: one unit for each
// pod of a set, or for each zone that must get pods.
func (p *proof) worthOfSets() *big.Int {
	sum := new(big.Int)
	for name, s := range p.sets {
		one := quantity.Resources{}.Extend(name, 1)
		for _, g := range s.groups {
			n := g.count
			if s.rules[0].spread != nil {
				n = 0
				for _, r := range s.rules {
					n = max(n, p.zones(g, r))
				}
			}
			sum.Add(sum, new(big.Int).Mul(big.NewInt(n), p.worth(one, g.prices)))
		}
	}
	return sum
}

// zones is the least number of zones that get pods of a group that is spread
// over zones, whatever nodes are launched.
//
// The scheduler compares the count of a zone with the least count of all zones. It
// only looks at zones that have a node. If there are fewer zones than minDomains,
// the least count is zero. A zone that gets its first node later forces nothing,
// because the pods may run before that. So only these zones are certain to
// matter: the zones of nodes that stay, or as many zones as minDomains, if that is
// more.
func (p *proof) zones(g *group, r rule) int64 {
	sure := max(p.zonesWithNodes(g, r.spread), r.spread.MinDomains)
	others := p.selected([]string{r.namespace}, r.spread.Selector) - g.count + min(g.count, g.running)
	// Suppose that the group gets into fewer zones than that. One of the used zones
	// gets at least the mean of the group's pods, rounded up. When the last of these
	// pods comes, the least count is zero, or one of the other zones has it or has
	// more. One of the other zones has at most the mean of all other pods that count.
	// Are the two within the skew?
	used := 1 + sort.Search(int(max(sure, 1)-1), func(i int) bool {
		used := int64(i) + 1
		most, lowest := (g.count-1)/used+1, others/(sure-used)
		return most-lowest <= max(1, r.spread.MaxSkew)
	})
	return min(int64(used), g.count)
}

// zonesWithNodes counts the zones of nodes that stay and that count for the spread
// of every pod of the group. A node stays if nothing takes it away and it runs
// pods: an empty node may be removed.
func (p *proof) zonesWithNodes(g *group, x *cluster.Spread) int64 {
	names := map[string]bool{}
	for _, n := range p.objects.Nodes {
		runs := slices.ContainsFunc(p.podsOn[n.Name], func(x cluster.Pod) bool { return !x.Pinned && !x.Deleting })
		left := func(s cluster.Shape) bool { return !countsFor(s, x, n) }
		if zone, named := n.Labels.Get(label.Zone); named && runs && !n.Deleting && p.keeps(n) && !slices.ContainsFunc(g.shapes, left) {
			names[zone] = true
		}
	}
	return int64(len(names))
}

// countsFor says whether pods on the node count for the spread of a pod. The node
// has the keys of all required spreads of the pod. The policies of the spread say
// whether the pod must also be allowed on the node.
func countsFor(s cluster.Shape, x *cluster.Spread, n cluster.Node) bool {
	lacks := func(x cluster.Spread) bool { _, there := n.Labels.Get(x.Key); return !there && !x.Soft }
	_, untolerated := cluster.Untolerated(n.Taints, s.Tolerations)
	on := place{labels: n.Labels.With(label.NodeName, n.Name)}
	return !slices.ContainsFunc(s.Spread, lacks) && (x.IgnoreAffinity || on.selected(s, true)) && !(x.HonorTaints && untolerated)
}
