package sim

import (
	"math"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// Weights of the scores in the default profile; every score is 0 to 100.
const (
	weightTaints   = 3
	weightAffinity = 2
	weightSpread   = 2
	weightFit      = 1
	weightBalance  = 1
	top            = 100
)

// best returns the node with the highest score. Nodes with the same score have
// the same chance.
func (s *scheduler) best(p *pod, feasible []*node) *node {
	totals := s.scores(p, feasible)
	var best *node
	var score, ties int64
	for i, n := range feasible {
		switch {
		case best == nil || totals[i] > score:
			best, score, ties = n, totals[i], 1
		case totals[i] == score:
			if ties++; s.chance.below(ties) == 0 {
				best = n
			}
		}
	}
	return best
}

// scores are the weighted sums of the plugins' scores of the nodes.
func (s *scheduler) scores(p *pod, feasible []*node) []int64 {
	totals := make([]int64, len(feasible))
	part := make([]int64, len(feasible))
	for i, n := range feasible {
		totals[i] = weightFit*leastAllocated(p.kind, n) + weightBalance*balance(p.kind, n)
	}
	sum := func(weight int64) {
		for i := range totals {
			totals[i] += weight * part[i]
		}
	}
	for i, n := range feasible {
		part[i] = repelled(p.kind, n)
	}
	normalize(part, true)
	sum(weightTaints)
	if len(p.Shape.Preferred) > 0 {
		for i, n := range feasible {
			part[i] = preferred(p.kind, n)
		}
		normalize(part, false)
		sum(weightAffinity)
	}
	if s.spread(p, feasible, part) {
		sum(weightSpread)
	}
	if s.social && s.attraction(p, feasible, part) {
		sum(weightAffinity)
	}
	return totals
}

// leastAllocated is the mean share of CPU and memory that stays free
// (NodeResourcesFit with its default strategy).
func leastAllocated(k *kind, n *node) int64 {
	free := func(used, capacity int64) int64 {
		if capacity == 0 || used > capacity {
			return 0
		}
		return (capacity - used) * top / capacity
	}
	return (free(n.milliCPU+k.milliCPU, n.Allocatable.MilliCPU) + free(n.memory+k.memory, n.Allocatable.MemoryBytes)) / 2
}

// balance is higher the closer the pod brings the used shares of CPU and memory
// to each other (NodeResourcesBalancedAllocation). It is 75 if the pod changes
// nothing.
func balance(k *kind, n *node) int64 {
	if k.shape.Requests.MilliCPU == 0 && k.shape.Requests.MemoryBytes == 0 {
		return 0
	}
	even := func(cpu, memory int64) int64 {
		share := func(used, capacity int64) float64 { return min(1, float64(used)/float64(max(1, capacity))) }
		return int64((1 - math.Abs(share(cpu, n.Allocatable.MilliCPU)-share(memory, n.Allocatable.MemoryBytes))/2) * top)
	}
	with := even(n.used.MilliCPU+k.shape.Requests.MilliCPU, n.used.MemoryBytes+k.shape.Requests.MemoryBytes)
	return top/2 + (top/2+with-even(n.used.MilliCPU, n.used.MemoryBytes))/2
}

// repelled counts the node's preferences (PreferNoSchedule) that the pod does
// not tolerate.
func repelled(k *kind, n *node) int64 {
	var count int64
	for _, t := range n.Taints {
		if t.Effect != cluster.PreferNoSchedule {
			continue
		}
		tolerated := false
		for _, x := range k.shape.Tolerations {
			tolerated = tolerated || (x.Effect == "" || x.Effect == cluster.PreferNoSchedule) && x.Tolerates(t)
		}
		if !tolerated {
			count++
		}
	}
	return count
}

// preferred sums the weights of the node affinity preferences that are met.
func preferred(k *kind, n *node) int64 {
	var sum int64
	for _, x := range k.shape.Preferred {
		if _, unmet := x.Node.Unmet(n.Labels); !unmet {
			sum += int64(x.Weight)
		}
	}
	return sum
}

// normalize scales scores to 0..100 of the highest score. With reverse, the
// lowest score becomes the best.
func normalize(scores []int64, reverse bool) {
	var highest int64
	for _, x := range scores {
		highest = max(highest, x)
	}
	for i, x := range scores {
		if highest > 0 {
			x = x * top / highest
		}
		if reverse {
			x = top - x
		}
		scores[i] = x
	}
}

// defaultSpread is the kube-scheduler's own default for pods of a controller
// that declare no spread: over nodes and over zones.
func defaultSpread() []cluster.Spread {
	return []cluster.Spread{
		{Key: label.Hostname, MaxSkew: 3, Soft: true},
		{Key: label.Zone, MaxSkew: 5, Soft: true},
	}
}

// spread scores the soft spreads of the pod. It returns false where the pod has
// none.
func (s *scheduler) spread(p *pod, feasible []*node, out []int64) bool {
	rules, own := defaultSpread(), true
	if len(p.Shape.Spread) > 0 {
		rules, own = nil, false
		for _, x := range p.Shape.Spread {
			if x.Soft {
				rules = append(rules, x)
			}
		}
	}
	if len(rules) == 0 || own && !p.kind.owned {
		return false
	}
	sums := make([]float64, len(feasible))
	ignored := make([]bool, len(feasible))
	for i, n := range feasible {
		for _, r := range rules {
			_, there := n.Labels.Get(r.Key)
			ignored[i] = ignored[i] || !own && !there
		}
	}
	for _, r := range rules {
		s.spreadOver(p, r, own, feasible, ignored, sums)
	}
	lowest, highest := int64(math.MaxInt64), int64(0)
	for i := range sums {
		out[i] = int64(math.Round(sums[i]))
		if !ignored[i] {
			lowest, highest = min(lowest, out[i]), max(highest, out[i])
		}
	}
	for i := range out {
		switch {
		case ignored[i]:
			out[i] = 0
		case highest == 0:
			out[i] = top
		default:
			out[i] = top * (highest + lowest - out[i]) / highest
		}
	}
	return true
}

// spreadOver adds the score of one soft spread: the number of pods that the
// spread counts in the node's domain, weighted by the number of domains.
func (s *scheduler) spreadOver(p *pod, r cluster.Spread, own bool, feasible []*node, ignored []bool, sums []float64) {
	count := func(n *node) int64 {
		if own {
			return n.counts[p.kind]
		}
		return matching(n, p, r.Selector)
	}
	domains := map[string]int64{}
	size := 0
	for i, n := range feasible {
		if ignored[i] {
			continue
		}
		size++
		if v, there := n.Labels.Get(r.Key); there || own {
			domains[v] = 0
		}
	}
	if r.Key != label.Hostname {
		size = len(domains)
		for _, n := range s.nodes {
			v, there := n.Labels.Get(r.Key)
			if _, wanted := domains[v]; !wanted || !there && !own || !r.IgnoreAffinity && n.static(p.kind)&byLabels != 0 ||
				r.HonorTaints && n.static(p.kind)&byTaint != 0 {
				continue
			}
			domains[v] += count(n)
		}
	}
	weight := math.Log(float64(size + 2))
	for i, n := range feasible {
		v, there := n.Labels.Get(r.Key)
		if ignored[i] || !there {
			continue
		}
		c := domains[v]
		if r.Key == label.Hostname {
			c = count(n)
		}
		sums[i] += float64(float64(c)*weight) + float64(r.MaxSkew-1)
	}
}

// matching counts the pods on the node that the selector of a spread selects.
func matching(n *node, p *pod, selector cluster.PodSelector) int64 {
	var count int64
	for _, x := range n.pods {
		if x.Namespace == p.Namespace && selector.Selects(x.Labels) {
			count++
		}
	}
	return count
}

// attraction scores preferred pod affinity and anti-affinity, both of the pod
// and of the running pods. It returns false where there is none.
func (s *scheduler) attraction(p *pod, feasible []*node, out []int64) bool {
	sums := map[[2]string]int64{}
	found := false
	note := func(terms []cluster.PodTerm, sign int64, n *node, of, other *pod) {
		for _, t := range terms {
			v, there := n.Labels.Get(t.Key)
			w := int64(t.Weight)
			if w == 0 && sign > 0 && of != p {
				w = 1 // a required term of a running pod counts with hardPodAffinityWeight, which is 1 by default
			}
			if w > 0 && there && selects(t, of, other) {
				sums[[2]string{t.Key, v}] += sign * w
				found = true
			}
		}
	}
	social := len(p.Shape.PodAffinity)+len(p.Shape.PodAntiAffinity) > 0
	for _, n := range s.nodes {
		for _, x := range n.pods {
			if social {
				note(p.Shape.PodAffinity, 1, n, p, x)
				note(p.Shape.PodAntiAffinity, -1, n, p, x)
			}
			note(x.Shape.PodAffinity, 1, n, x, p)
			note(x.Shape.PodAntiAffinity, -1, n, x, p)
		}
	}
	if !found {
		return false
	}
	lowest, highest := int64(math.MaxInt64), int64(math.MinInt64)
	for i, n := range feasible {
		out[i] = 0
		for at, w := range sums {
			if v, there := n.Labels.Get(at[0]); there && v == at[1] {
				out[i] += w
			}
		}
		lowest, highest = min(lowest, out[i]), max(highest, out[i])
	}
	for i := range out {
		if highest > lowest {
			out[i] = (out[i] - lowest) * top / (highest - lowest)
		} else {
			out[i] = 0
		}
	}
	return true
}

// selects says whether a term of the pod of selects the pod other.
func selects(t cluster.PodTerm, of, other *pod) bool {
	in := t.InNamespaces.Selects(nil)
	for _, ns := range t.Namespaces {
		in = in || ns == other.Namespace
	}
	if len(t.Namespaces) == 0 && t.InNamespaces.Nothing {
		in = of.Namespace == other.Namespace
	}
	return in && t.Selector.Selects(other.Labels)
}
