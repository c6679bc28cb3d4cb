package engine

import (
	"math"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// sharesOne says whether all pods of the class that have a place must share one
// node: they have affinity over hostnames to each other, and to no other pod.
func (s *step) sharesOne(c *demandClass) bool {
	return len(s.launches) > 0 && c.placed() > 1 && slices.ContainsFunc(c.group.Shape.Together, func(t cluster.PodTerm) bool {
		return t.Weight == 0 && t.Key == label.Hostname && t.InNamespaces.Nothing && slices.Contains(t.Namespaces, c.group.Namespace) &&
			t.Selector.Selects(c.group.Labels) && s.selected(t.Namespaces, &t.Selector) == c.placed()
	})
}

// selected counts all pods, declared ones included, that are in the namespaces and
// have such labels.
func (s *step) selected(namespaces []string, x *cluster.PodSelector) (n int64) {
	if s.alike == nil {
		s.gatherAlike()
	}
	for _, namespace := range slices.Compact(slices.Sorted(slices.Values(namespaces))) {
		for i := range s.alike[namespace] {
			a := &s.alike[namespace][i]
			if _, unmet := x.Match.Unmet(&a.labels); !unmet && !x.Nothing {
				n += min(a.pods, math.MaxInt64-n)
			}
		}
	}
	return n
}

// alike is pods that are alike to every selector.
type alike struct {
	labels label.Labels
	pods   int64
}

func (s *step) gatherAlike() {
	s.alike = map[string][]alike{}
	index := map[string]int{}
	var key []byte
	enter := func(namespace string, labels label.Labels, pods int64) {
		all := s.alike[namespace]
		key = labels.AppendKey(label.AppendText(key[:0], namespace))
		i, known := index[string(key)]
		if !known {
			index[string(key)] = len(all)
			s.alike[namespace] = append(all, alike{labels, pods})
			return
		}
		all[i].pods += min(pods, math.MaxInt64-all[i].pods)
	}
	for g := range s.in.Snapshot.Groups() {
		enter(g.Namespace, g.Labels, g.Size())
	}
	for _, w := range s.in.Snapshot.Workloads() {
		if w.Missing > 0 {
			enter(w.Namespace, w.Labels, w.Missing)
		}
	}
}

// fewLaunches is up to how many launches there may be for each node that a spread
// over zones asks for: it asks for one in each zone at most.
const fewLaunches = 16

// spreadOf is the class as a set of pods apart where it is spread over zones, and
// is over as many as its rule asks for if all zones count where a place for it is
// for sale: it need not where a pool of less weight has more zones.
func (s *step) spreadOf(c *demandClass, where pack.Where) (apart, bool) {
	shape, n := &c.group.Shape, c.placed()
	if len(shape.Spread) == 0 || len(s.fleet.Zones)*fewLaunches < len(s.launches) {
		return apart{}, false
	}
	for i := range shape.Spread {
		x := &shape.Spread[i]
		// One without requirements counts nothing.
		if x.Soft || x.Key != label.Zone || len(x.Selector.Match) == 0 || !x.Selector.Selects(c.group.Labels) {
			continue
		}
		zones := s.zonesFor(shape, where)
		if min(zones, n) < 2 {
			continue
		}
		others := s.selected([]string{c.group.Namespace}, &x.Selector) - n
		used := int64(1)
		for used < min(zones, n) && (n-1)/used+1-others/(zones-used) > max(1, x.MaxSkew) {
			used++
		}
		if used > 1 && used <= s.launchedFor(c) {
			return apart{key: c.group.Key, spread: x, members: []*demandClass{c}, pods: used}, true
		}
	}
	return apart{}, false
}

// launchedFor is how many launches are for pods of the class.
func (s *step) launchedFor(c *demandClass) (n int64) {
	for i := range s.launches {
		if slices.ContainsFunc(s.launches[i].Planned, func(x cluster.Slot) bool { return x.Kind == c.group.Kind }) {
			n++
		}
	}
	return n
}
