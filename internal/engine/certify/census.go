package certify

import (
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// sharesOne says whether all placed pods of the class must share one node. That is
// so if they have required affinity over hostnames to each other, and to no other
// pod.
func (k *certifier) sharesOne(c *demand.Class) bool {
	return len(k.launches) > 0 && c.Placed() > 1 && slices.ContainsFunc(c.Group.Shape.PodAffinity, func(t cluster.PodTerm) bool {
		return t.Weight == 0 && t.Key == label.Hostname && t.InNamespaces.Nothing && slices.Contains(t.Namespaces, c.Group.Namespace) &&
			t.Selector.Selects(c.Group.Labels) && k.selected(t.Namespaces, &t.Selector) == c.Placed()
	})
}

// selected returns the number of all pods, declared ones included, that are in the
// namespaces and that the selector selects.
func (k *certifier) selected(namespaces []string, x *cluster.PodSelector) (n int64) {
	if k.alike == nil {
		k.gatherAlike()
	}
	for _, namespace := range slices.Compact(slices.Sorted(slices.Values(namespaces))) {
		for i := range k.alike[namespace] {
			a := &k.alike[namespace][i]
			if !x.Nothing && x.Match.Select(&a.labels) {
				n += min(a.pods, math.MaxInt64-n)
			}
		}
	}
	return n
}

// alike is a set of pods that no selector tells from each other.
type alike struct {
	labels label.Labels
	pods   int64
}

func (k *certifier) gatherAlike() {
	k.alike = map[string][]alike{}
	index := map[string]int{}
	var key []byte
	enter := func(namespace string, labels label.Labels, pods int64) {
		all := k.alike[namespace]
		key = labels.AppendKey(label.AppendText(key[:0], namespace))
		i, known := index[string(key)]
		if !known {
			index[string(key)] = len(all)
			k.alike[namespace] = append(all, alike{labels, pods})
			return
		}
		all[i].pods += min(pods, math.MaxInt64-all[i].pods)
	}
	for g := range k.Snapshot.Groups() {
		enter(g.Namespace, g.Labels, g.Size())
	}
	for _, w := range k.Snapshot.Workloads() {
		if w.Missing > 0 {
			enter(w.Namespace, w.Labels, w.Missing)
		}
	}
}

// fewLaunches limits, for each zone, the number of launches with which a spread
// over zones is looked at. Such a spread asks for one node in each zone at most,
// which means little among more launches.
const fewLaunches = 16

// spreadOf returns the class as an exclusive set if its zone spread forces its pods
// into several zones, each of which then has a node with one of them.
func (k *certifier) spreadOf(c *demand.Class) (exclusive, bool) {
	shape := &c.Group.Shape
	if len(shape.Spread) == 0 || len(k.market.Fleet.Zones)*fewLaunches < len(k.launches) {
		return exclusive{}, false
	}
	launched := k.launchedFor(c)
	for i := 0; i < len(shape.Spread) && launched > 1; i++ {
		x := &shape.Spread[i]
		// A spread with an empty selector counts no pods.
		if x.Soft || x.Key != label.Zone || len(x.Selector.Match) == 0 || !x.Selector.Selects(c.Group.Labels) {
			continue
		}
		if zones := k.zonesOf(c, x); zones > 1 && zones <= launched {
			return exclusive{key: c.Group.Key, spread: x, members: []*demand.Class{c}, pods: zones}, true
		}
	}
	return exclusive{}, false
}

// zonesOf is the least number of zones that get pods of the class, whatever nodes
// come and in whatever order.
//
// To the scheduler a zone may exceed the least count of all zones by the skew. It
// looks at zones only that have a node which counts for the pod, and takes the least
// for zero where these are fewer than minDomains. A zone without a node forces
// nothing: pods may come to another while it has none. So the zones that are sure to
// matter are those of nodes that stay, or as many as minDomains if that is more.
//
// Suppose that the class gets into fewer zones than those. One of its zones gets the
// mean of its pods at least, rounded up. When the last of these comes, some zone that
// the class does not get into counts, or zero does. The least of these has at most the
// mean of all other pods that the spread counts. The two are within the skew.
func (k *certifier) zonesOf(c *demand.Class, x *cluster.Spread) int64 {
	n := c.Placed()
	sure := max(k.zonesWithNodes(&c.Group.Shape, x), x.MinDomains)
	others := k.selected([]string{c.Group.Namespace}, &x.Selector) - n + min(n, k.displaced(c.Group))
	used := 1 + sort.Search(int(max(sure, 1)-1), func(i int) bool {
		used := int64(i) + 1
		return (n-1)/used+1-others/(sure-used) <= max(1, x.MaxSkew)
	})
	return min(int64(used), n)
}

// zonesWithNodes counts the zones of nodes that count for the spread of such pods and
// that stay: they do not leave, and run pods, so that they are not taken for empty.
func (k *certifier) zonesWithNodes(s *cluster.Shape, x *cluster.Spread) int64 {
	zones := map[string]bool{}
	for state := range k.Snapshot.States() {
		n := &state.Node
		zone, there := n.Labels.Get(label.Zone)
		if !there || zones[zone] || k.leaves(state) || !countsFor(s, x, n) {
			continue
		}
		for p := range state.Pods() {
			zones[zone] = zones[zone] || p.Moves()
		}
	}
	maps.DeleteFunc(zones, func(_ string, runs bool) bool { return !runs })
	return int64(len(zones))
}

// countsFor says whether the scheduler counts pods on the node for the spread: it has
// the keys of all required spreads, and the policies let it in.
func countsFor(s *cluster.Shape, x *cluster.Spread, n *cluster.Node) bool {
	for i := range s.Spread {
		if _, there := n.Labels.Get(s.Spread[i].Key); !there && !s.Spread[i].Soft {
			return false
		}
	}
	_, selected := fit.Affinity(s, n.Labels)
	_, untolerated := cluster.Untolerated(n.Taints, s.Tolerations)
	return (selected || x.IgnoreAffinity) && !(untolerated && x.HonorTaints)
}

// leaves says whether the node is leaving or about to be deleted.
func (k *certifier) leaves(state *cluster.NodeState) bool {
	c := k.ClaimOf(state)
	return state.Node.Leaving(&c) || k.IsGoing(c.Name)
}

// displaced counts the pods of the group that run on nodes that leave. Each counts for
// its zone until it is evicted and comes anew.
func (k *certifier) displaced(g *cluster.Group) (n int64) {
	for node, pods := range g.On() {
		if state, there := k.Snapshot.State(node); there && k.leaves(state) {
			n += pods
		}
	}
	return n
}

// launchedFor returns how many launches hold pods of the class.
func (k *certifier) launchedFor(c *demand.Class) (n int64) {
	for i := range k.launches {
		if slices.ContainsFunc(k.launches[i].Planned, func(x cluster.Slot) bool { return x.Kind == c.Group.Kind }) {
			n++
		}
	}
	return n
}
