package bench

import (
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Node is one node that a decision wants, ours or the peer's.
type Node struct {
	Price quantity.Money // of the cheapest offering that it may become
	Zones []string       // in any of which it may come up
	Pods  []string       // namespace/name
}

// Fleet is the nodes that the plan launches.
func Fleet(p plan.Plan) []Node {
	var nodes []Node
	for _, a := range p.Actions {
		if l, ok := a.(plan.Launch); ok {
			nodes = append(nodes, Node{Price: l.Price, Zones: l.Zones, Pods: l.Pods})
		}
	}
	return nodes
}

// Figures are what a decision is measured by.
type Figures struct {
	Cost      quantity.Money
	Bound     quantity.Money // nothing places the same pods for less; 0: none was given
	Nodes     int
	Unplaced  map[Kind]int // pods without a node, by kind; all other pods are Plain
	Satisfied int64        // weight of the preferences that are met for certain
}

// Read takes the figures of a fleet that is to carry the pods.
func Read(pods []cluster.Pod, nodes []Node, bound quantity.Money) Figures {
	f := Figures{Bound: bound, Nodes: len(nodes), Unplaced: map[Kind]int{}}
	placed := make(map[string]bool, len(pods))
	for _, n := range nodes {
		f.Cost += n.Price
		for _, p := range n.Pods {
			placed[p] = true
		}
	}
	for _, p := range pods {
		if !placed[p.ID()] {
			f.Unplaced[kindOf(p)]++
		}
	}
	f.Satisfied = satisfied(pods, nodes)
	return f
}

// ReadOutput takes the figures of a Step. Pods that get room which is there already
// are not without a node.
func ReadOutput(pods []cluster.Pod, out engine.Output) Figures {
	launched := Fleet(out.Plan)
	nodes := launched
	for _, o := range out.Plan.Outcomes {
		if o.Verdict == plan.OnNode || o.Verdict == plan.OnClaim {
			nodes = append(nodes, Node{Pods: o.Pods})
		}
	}
	f := Read(pods, nodes, boundOf(out.Plan))
	f.Nodes = len(launched)
	return f
}

// boundOf is the lower bound that the plan proves for its cost, where nothing
// runs yet, so that all its proofs are about the same; 0 where it proves none.
func boundOf(p plan.Plan) quantity.Money {
	best := quantity.Money(0)
	for _, c := range p.Proofs {
		best = max(best, c.Bound)
	}
	return best
}

// Gap is how far the cost is above the bound, in per cent. The second result is
// false where there is no bound.
func (f Figures) Gap() (float64, bool) {
	if f.Bound <= 0 {
		return 0, false
	}
	return 100 * (float64(f.Cost)/float64(f.Bound) - 1), true
}

// Missing is the number of pods without a node.
func (f Figures) Missing() int {
	n := 0
	for _, pods := range f.Unplaced {
		n += pods
	}
	return n
}

func kindOf(p cluster.Pod) Kind {
	for _, k := range Kinds() {
		if strings.HasPrefix(p.Name, string(k)) {
			return k
		}
	}
	return Plain
}

// satisfied adds up the weights of preferred node affinity and preferred pod
// anti-affinity that are met wherever the nodes come up. Preferences over
// other keys than zone and hostname are not looked at.
func satisfied(pods []cluster.Pod, nodes []Node) int64 {
	byID := make(map[string]*cluster.Pod, len(pods))
	prefer := false
	for i := range pods {
		byID[pods[i].ID()] = &pods[i]
		prefer = prefer || len(pods[i].Shape.Preferred)+len(pods[i].Shape.PodAntiAffinity) > 0
	}
	if !prefer {
		return 0
	}
	inZone := map[string][]*cluster.Pod{}
	for _, n := range nodes {
		for _, z := range n.Zones {
			inZone[z] = append(inZone[z], lookup(byID, n.Pods)...)
		}
	}
	total := int64(0)
	for _, n := range nodes {
		here := lookup(byID, n.Pods)
		for _, p := range here {
			for _, pref := range p.Shape.Preferred {
				if everywhere(n.Zones, pref.Node) {
					total += int64(pref.Weight)
				}
			}
			for _, t := range p.Shape.PodAntiAffinity {
				around := here
				if t.Key == label.Zone {
					around = nil
					for _, z := range n.Zones {
						around = append(around, inZone[z]...)
					}
				}
				if alone(p, t, around) {
					total += int64(t.Weight)
				}
			}
		}
	}
	return total
}

func lookup(byID map[string]*cluster.Pod, ids []string) []*cluster.Pod {
	out := make([]*cluster.Pod, 0, len(ids))
	for _, id := range ids {
		if p, ok := byID[id]; ok {
			out = append(out, p)
		}
	}
	return out
}

func everywhere(zones []string, need label.Requirements) bool {
	return len(zones) > 0 && !slices.ContainsFunc(zones, func(z string) bool {
		_, unmet := need.Unmet(label.Labels{{Key: label.Zone, Value: z}})
		return unmet
	})
}

func alone(p *cluster.Pod, t cluster.PodTerm, around []*cluster.Pod) bool {
	return !slices.ContainsFunc(around, func(o *cluster.Pod) bool {
		return o != p && t.Selector.Selects(o.Labels)
	})
}
